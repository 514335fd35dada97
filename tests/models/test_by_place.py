"""Rules of place whose connections are stored nowhere: the bits of stored ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.circuits import optic_lobe
from neurodriver.errors import CircuitError

WAYS = ("sum", "weighted", "max", "min", "mean", "product", "any")
EACH = {"weighted": "weight * x", "product": "1 + 0.1 * x", "any": "x > 0.685 ? 1 : 0"}
REDUCE = {"weighted": "sum"}


class Fading(nd.NDComponent):
    """Has a value that changes in each step."""

    updates, states, params = {"x": "1"}, {"x": nd.State("1", "first")}, {"first": "1"}
    update = "x = x * 0.9 + 0.01;"


class Seen(nd.NDComponent):
    """Shows what it makes of the values that it reads, in each of the ways."""

    accesses = [
        nd.Access("x", f"by_{way}", EACH.get(way, ""),
                  {"weight": nd.Parameter("", 1.0)} if way == "weighted" else {},
                  reduce=REDUCE.get(way, way))
        for way in WAYS
    ]  # fmt: skip
    updates = {f"r_{way}": "1" for way in WAYS}
    update = " ".join(f"r_{way} = by_{way};" for way in WAYS)


def axis(rng: np.random.Generator, count: int, kind: str) -> nd.Axis:
    period = 4.0 if "closed" in kind else None
    if "uneven" in kind:
        return nd.Axis.at(np.sort(rng.choice(4000, count, replace=False)) / 1000, period=period)
    return nd.Axis.span(count, 0, 4, period=period)


def circuit(kind: str, masked: bool, stored: bool) -> nd.Circuit:
    """Return two layers that read a third one, with masks, delays and several rules."""
    rng = np.random.default_rng(7)
    y, x = axis(rng, 11, kind), axis(rng, 50, kind)
    mask = (np.abs(np.arange(11)[:, None] - 5) + np.abs(np.arange(50) - 25) < 26)[None]
    given = {"mask": np.repeat(mask, 3, axis=0)} if masked else {}
    axes: dict[str, Any] = {"t": 3, "y": y, "x": x}
    a = nd.Population(Fading, name="a", axes=axes, first=rng.random((3, 11, 50)), **given)
    to = x if kind == "closed" else axis(rng, 40, "even") if kind == "uneven" else x.windows(4)
    b = nd.Population(Seen, name="b", axes={"t": 3, "y": y.windows(3), "x": to})
    holes = rng.random((11, to.count)) < 0.9
    c = nd.Population(Seen, name="c", axes={"y": y, "x": to}, mask=holes)
    links = []
    for way in WAYS:
        more: dict[str, Any] = {"receptor": f"by_{way}", "stored": stored}
        more |= {"weight": 0.7} if way == "weighted" else {}
        rules = (b, nd.Near(t="same", y=3, x=4), 0.0), (b, nd.Within(x=0.5, y=0.3), 2e-3)
        for n, (target, rule, delay) in enumerate([*rules, (c, nd.Within(y=0.4, x=0.4), 0.0)]):
            name = f"{way} {n}"
            links.append(nd.Projection(a, target, rule, delay=delay, name=name, **more))
    if kind == "even":
        step, over = x.step, b.x.positions[0] - x.positions[3]
        y_over = b.y.positions[0] - y.positions[0]
        offsets = {"t": [0, 0, 1], "y": [y_over] * 3, "x": np.array([0, step, -2 * step]) + over}
        rule = nd.Offsets(offsets, [1.0, 2.0, 3.0])
        more = {"receptor": "by_weighted", "stored": stored}
        links.append(nd.Projection(a, b, rule, name="offsets", **more))
    return nd.Circuit([a, b, c], links)


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
            found.append(lpu["b"].get("r_sum").copy())
            now = lpu["a"].get("x").copy()
    assert found[0][5] == now[4] + now[5] + now[6]
    assert found[0].tobytes() == found[1].tobytes()


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
    y = nd.Axis.span(20, 0, 20)
    a = nd.Population(Fading, name="a", axes={"y": y}, first=1.0)
    b = nd.Population(Seen, name="b", axes={"y": y})
    more: dict[str, Any] = {"receptor": "by_weighted", "name": "p"}
    for rule, given in ((nd.Within(2.0), {}), (nd.Near(y=2), {"weight": nd.Uniform(0, 1)})):
        one = nd.Circuit([a, b], [nd.Projection(a, b, rule, stored=False, **given, **more)])
        with pytest.raises(CircuitError, match="projection 'p': stored=False is possible on a CPU"):
            run(one)
    with pytest.raises(CircuitError, match="'stored' must be True, False or 'auto'"):
        nd.Circuit([a, b], [nd.Projection(a, b, nd.Near(y=2), stored="no", **more)])
