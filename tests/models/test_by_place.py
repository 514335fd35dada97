"""Rules of place whose connections are stored nowhere: the bits of stored ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from placed import WAYS, Fading, Seen, circuit

import neurodriver as nd
from neurodriver.circuits import optic_lobe
from neurodriver.errors import CircuitError


def test_phases_of_a_step() -> None:
    """Without a delay, a later phase reads what an earlier one wrote in the same step."""
    y = nd.Axis.span(40, 0, 20)
    a = nd.Population(Fading, name="a", axes={"y": y}, first=np.arange(40.0))
    b = nd.Population(Seen, name="b", axes={"y": y})
    found = []
    for stored in (False, True):
        rule = nd.Near(y=3)
        link = nd.Projection(a, b, rule, receptor="by_sum", name="p", stored=stored)
        with nd.LPU(nd.Circuit([a, b], [link], order="listed"), dt=1e-3) as lpu:
            lpu.advance(1)
            forms = {gather.form for gather in lpu.program.gathers.values()}
            assert ("by_place" in forms) == (not stored)
            found.append(lpu["b"].get("r_sum").copy())
            now = lpu["a"].get("x").copy()
    assert found[0][5] == now[4] + now[5] + now[6]
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_of_any_length(dtype: str) -> None:
    """Vectors are computed that have few sources, or lie at the ends of what is stored."""
    for count in (1, 5, 17, 33, 49, 64, 65, 130):
        y = nd.Axis.span(count, 0, count)
        a = nd.Population(Own, name="a", axes={"y": y}, first=0.1 + np.arange(count) / count)
        offsets = np.array([[-count + 1.0], [-33.0], [-1.0], [0.0], [2.0], [17.0], [count - 1.0]])
        found = []
        for stored in (False, True):
            rule = nd.Offsets(offsets, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
            link = nd.Projection(a, a, rule, receptor="others", name="p", stored=stored)
            with nd.LPU(nd.Circuit([a], [link]), dt=1e-3, dtype=dtype, threads=1) as lpu:
                lpu.advance(3)
                forms = {gather.form for gather in lpu.program.gathers.values()}
                assert ("by_place" in forms) == (not stored)
                found.append(lpu["a"].get("x").tobytes())
        assert found[0] == found[1]


class Own(nd.NDComponent):
    """Takes up the values of others."""

    accesses = [nd.Access("x", "others", "weight * x", {"weight": nd.Parameter("", 1.0)})]
    updates, states, params = {"x": "1"}, {"x": nd.State("1", "first")}, {"first": "1"}
    update = "x = 0.5 * x + 0.01 * others;"


def run(one: nd.Circuit, **more: Any) -> tuple[dict[str, Any], set[str]]:
    with nd.LPU(one, dt=1e-3, **more) as lpu:
        lpu.advance(5)
        gathers = lpu.program.gathers.values()
        forms = {gather.form for gather in gathers}
        assert sum(gather.edges for gather in gathers) == one.edges
        return {f"r_{way}": lpu["Seen"].get(f"r_{way}").copy() for way in WAYS}, forms


@pytest.mark.parametrize(
    ("kind", "masked", "dtype", "threads"),
    [("even", True, "float64", 1), ("even", False, "float32", 3), ("closed", False, "float32", 1),
     ("closed uneven", False, "float64", 1), ("uneven", True, "float32", 3)],
)  # fmt: skip
def test_bits_of_stored_connections(kind: str, masked: bool, dtype: str, threads: int) -> None:
    found, forms = run(circuit(kind, masked, False), dtype=dtype, threads=threads)
    want, stored = run(circuit(kind, masked, True), dtype=dtype)
    assert forms == {"by_place"} and "by_place" not in stored
    for name, values in want.items():
        assert len(np.unique(values)) > 1
        assert values.tobytes() == found[name].tobytes(), name


def test_the_optic_lobe_from_its_rules() -> None:
    """The same activity as from its table of connections; no connection is looked at."""
    bits = []
    ways = optic_lobe.from_rules(3, stored=False), optic_lobe.circuit(3)
    for one in ways:
        with nd.LPU(one, dt=1e-3, dtype="float32") as lpu:
            lpu["R1"].set("V", 0.7)
            lpu.advance(30)
            bits.append({name: lpu[name].get("r").tobytes() for name in one.populations})
    assert len(bits[0]) == 65 and bits[0] == bits[1]
    assert ways[0].edges == ways[1].edges
    assert not any("_columns" in vars(links) for links in ways[0].connections)


def test_where_connections_have_to_be_stored() -> None:
    y = nd.Axis.at(np.sort(np.random.default_rng(0).random(20)))
    a = nd.Population(Fading, name="a", axes={"y": y}, first=1.0)
    b = nd.Population(Seen, name="b", axes={"y": y})
    more: dict[str, Any] = {"receptor": "by_weighted", "name": "p"}
    for rule, given in ((nd.Within(0.2), {}), (nd.Near(y=2), {"weight": nd.Uniform(0, 1)})):
        one = nd.Circuit([a, b], [nd.Projection(a, b, rule, stored=False, **given, **more)])
        with pytest.raises(CircuitError, match="'p': stored=False is possible where rules"):
            run(one)
    with pytest.raises(CircuitError, match="'stored' must be True, False or 'auto'"):
        nd.Circuit([a, b], [nd.Projection(a, b, nd.Near(y=2), stored="no", **more)])


EVEN = {"y": nd.Axis.span(6, 0, 6), "x": nd.Axis.span(8, 0, 8)}
HOLE = {"mask": np.arange(48).reshape(6, 8) != 19}
CLOSED = {"y": EVEN["y"], "x": nd.Axis.span(8, 0, 8, period=8)}
NEAR = nd.Near(y=3, x=3)
REASONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a mask": ({**HOLE}, {}, "the mask of the source has a hole along its last axis 'x'"),
    "offsets around": (
        {"axes": CLOSED},
        {"rule": nd.Offsets([[0, 0], [0, 1]])},
        "offsets lead around the closed axis 'x'",
    ),
    "a part": ({}, {"source": slice(2, 4)}, "an end is a part of a population"),
    "delays": ({}, {"delay": nd.Uniform(1e-3, 9e-3)}, "delays differ"),
    "a law": ({}, {"weight": nd.Uniform(0, 1)}, "the weight is drawn from a distribution"),
    "another": ({}, {"again": True}, "of the connections 'q' into the same access, stored=True"),
    "uneven": (
        {"axes": {"y": EVEN["y"], "x": nd.Axis.at(np.arange(8.0) ** 1.2)}},
        {"rule": nd.Within(2.0)},
        "distances or weights differ between the cells of a row along 'x'",
    ),
    "points": (
        {"axes": None, "positions": {"y": np.arange(5.0), "x": np.arange(5.0)}},
        {"rule": nd.Within(2.0)},
        "cells have positions= and no axes",
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_why_connections_have_to_be_stored(name: str) -> None:
    """The message says what is in the way."""
    space, given, said = REASONS[name]
    more = {"rule": NEAR, "receptor": "by_weighted", "stored": False, **given}
    a = nd.Population(Fading, name="a", first=1.0, **{"axes": EVEN, **space})
    b = nd.Population(Seen, name="b", **{"axes": EVEN, **space})
    source, again = (more.pop(n, None) for n in ("source", "again"))
    links = [nd.Projection(a[source] if source else a, b, name="p", **more)]
    links += [nd.Projection(a, b, NEAR, "by_weighted", name="q", stored=True)] if again else []
    with pytest.raises(CircuitError, match=f"'p': stored=False is possible .*; here {said}"):
        nd.LPU(nd.Circuit([a, b], links), 1e-3)


@pytest.mark.parametrize(
    ("period", "masked", "dtype"),
    [(True, False, "float32"), (False, False, "float64"), (False, True, "float32")],
)
def test_distances_and_formulas(period: bool, masked: bool, dtype: str) -> None:
    """A difference of Gaussians within a distance, with and without own cells, and coarser rows."""
    rng = np.random.default_rng(5)
    y, x = (
        nd.Axis.span(n, 0, size, period=size if period else None)
        for n, size in ((12, 6.0), (40, 40.0))
    )
    rows = nd.Axis.span(6, 0, 6.0, period=6.0 if period else None)
    mask = {"mask": rng.random((12, 40)) < 0.8} if masked else {}
    found = []
    for stored in (False, True):
        a = nd.Population(
            Fading, name="a", axes={"y": y, "x": x}, first=np.arange(480.0).reshape(12, 40) % 37
        )
        b = nd.Population(Seen, name="b", axes={"y": y, "x": x}, **mask)
        c = nd.Population(Seen, name="c", axes={"y": rows, "x": x})
        weight = nd.Formula("exp(-d2 / 4) - 0.3 * exp(-d2 / 9) + 0.01 * dx + 0.02 * dy")
        links = []
        for way, target, rule, delay in (
            ("weighted", b, nd.Within(3.2), 0.0),
            ("weighted", c, nd.Within(4.0, y=1.0), 2e-3),
            ("sum", c, nd.Within(2.5), 0.0),
            ("max", b, nd.Near(y=3, x=5), 0.0),
        ):
            more: dict[str, Any] = {"receptor": f"by_{way}", "name": f"{way} {target.name}"}
            more |= {"weight": weight} if way == "weighted" else {}
            links.append(nd.Projection(a, target, rule, delay=delay, stored=stored, **more))
        found.append(run(nd.Circuit([a, b, c], links), dtype=dtype))
    assert "by_place" in found[0][1] and "by_place" not in found[1][1]
    for name in ("r_weighted", "r_sum", "r_max"):
        want = found[1][0][name]
        assert len(np.unique(want)) > 20 and want.tobytes() == found[0][0][name].tobytes(), name


def test_own_cells_are_left_out() -> None:
    bits = []
    for stored in (False, True):
        side = nd.Axis.span(20, 0, 20, period=20)
        cells = nd.Population(Own, name="own", axes={"y": side, "x": side}, first=np.arange(400.0))
        rule = nd.Within(3.0, autapses=False)
        weight = nd.Formula("exp(-d2)")
        link = nd.Projection(cells, cells, rule, weight=weight, name="p", stored=stored)
        with nd.LPU(nd.Circuit([cells], [link]), dt=1e-3) as lpu:
            lpu.advance(5)
            bits.append(np.array(lpu["own"].get("x")).tobytes())
            forms = {gather.form for gather in lpu.program.gathers.values()}
            assert ("by_place" in forms) is not stored
            assert sum(g.edges for g in lpu.program.gathers.values()) == 400 * 28
    assert bits[0] == bits[1]
