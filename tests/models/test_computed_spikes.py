"""Spikes whose connections are computed when they are sent: the bits of stored connections."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sheets import CELL, DOG, DT, drawn
from test_stencils import run

import neurodriver as nd
from neurodriver.circuit import computed
from neurodriver.circuit.gaussians import Gaussians, gaussians_of
from neurodriver.errors import CircuitError
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.spikes.computed import ComputedPlan

WAYS = [(space, period) for space in ("axes", "masks", "points") for period in (True, False)]
DELAY = nd.Formula("5e-4 + 1e-4 * d")
SUM = nd.Formula("1.2 * exp(-d2 / 8) - 0.5 * exp(-d2 / 50)")


class Banked(nd.NDComponent):
    """A neuron on axes with weights by place, which fires now and then."""

    axes = ("y", "x")
    fields = {"bank": nd.Field(axes="dy dx")}
    accesses = [nd.Weighted("spike_state")]
    states, updates = {"V": nd.State("mV", "first")}, ["spike_state", "V"]
    params = {"first": nd.Parameter("mV", 0.0)}
    update = """
        V = 0.95 * V + input_spike_state + 1.2 * uniform();
        if (V > 15) { V = 0; spike_state = 1; }
    """


def cells(name: str, space: str, period: bool, seed: int, **more: Any) -> nd.Population:
    """Return 600 cells on uneven axes, in part of these, or anywhere, within 10 x 30."""
    rng = np.random.default_rng(seed)
    given = {"drive_rate": 3000.0, "drive_weight": 1.3, **CELL, **more}
    model = "LeakyIAFDeltaDriven"
    ends = (10.0, 30.0)
    if space == "points":
        at = rng.random((600, 2)) * ends
        where: dict[str, Any] = {"positions": {"y": at[:, 0], "x": at[:, 1]}}
        if period:
            where["period"] = {"y": 10.0, "x": 30.0}
        return nd.Population(model, name=name, **where, **given)
    y, x = (
        nd.Axis.at(np.sort(rng.choice(5000, n, replace=False)) * end / 5000, **closed)
        for n, end in ((20, 10.0), (30, 30.0))
        for closed in ([{"period": end}] if period else [{}])
    )
    if space == "masks":
        given["mask"] = rng.random((20, 30)) < 0.85
    return nd.Population(model, name=name, axes={"y": y, "x": x}, **given)


def networks(stored: Any, space: str, period: bool) -> nd.Circuit:
    """Return three populations; rules of every kind, drawn numbers, connections stored anyway."""
    a, b, c = (cells(name, space, period, seed) for seed, name in enumerate("abc"))
    near = nd.Near(5) if space == "points" else nd.Near(y=3, x=4)
    more: dict[str, Any] = {"stored": stored}
    links = [
        nd.Projection(a, a, nd.Within(3.5, autapses=False), weight=DOG, delay=DELAY, **more),
        nd.Projection(a, b, near, weight=0.7, delay=6e-4, **more),
        nd.Projection(b, c, nd.Within(2.5), weight=nd.Normal(0.3, 0.2), delay=7e-4, **more),
        nd.Projection(c, b, nd.Within(2.0), weight=-0.3, delay=nd.Uniform(5e-4, 2e-3), **more),
        nd.Projection(c, c, nd.Within(3.0), weight=SUM, delay=DELAY, **more),
        nd.Projection(c, a, nd.FixedProbability(0.05), weight=0.2, delay=nd.Uniform(5e-4, 2e-3)),
    ]
    return nd.Circuit([a, b, c], links, seed=3)


@pytest.mark.parametrize(("space", "period"), WAYS)
def test_bits_of_stored_connections(space: str, period: bool) -> None:
    """Any number of threads, both types, columns without special plans."""
    one, all_stored = (networks(stored, space, period) for stored in (False, True))
    for dtype in ("float32", "float64"):
        spikes, bits, forms = run(one, dtype=dtype, threads=3)
        assert spikes > 2000 and forms.count("stencil") == 5
        assert not any("_columns" in vars(links) for links in drawn(one))
        assert run(one, dtype=dtype, threads=1)[:2] == (spikes, bits)
        for more in ({"threads": 2}, {"plans": False, "threads": 1}):
            found = run(all_stored, dtype=dtype, **more)
            assert found[:2] == (spikes, bits) and "stencil" not in found[2]


@pytest.mark.parametrize(("error", "off"), [(1e-3, 0.0), (1e-11, 8e-12), (1e-11, -8e-12)])
def test_weights_that_sums_of_products_leave_open(
    monkeypatch: pytest.MonkeyPatch, error: float, off: float
) -> None:
    """Sums that are off by a hundredth of a unit, and are said to be, give the formula's bits."""

    def unsure(*given: Any) -> Gaussians | None:
        found = gaussians_of(*given)
        asked.append(found)
        if found is None:
            return None
        terms = tuple((factor * (1 + off), rate) for factor, rate in found.terms)
        return replace(found, error=error, terms=terms)

    asked: list[Gaussians | None] = []
    expected = run(networks(False, "axes", True), 120)
    monkeypatch.setattr(computed, "gaussians_of", unsure)
    monkeypatch.setattr(computed, "CLEAR", np.inf)
    assert run(networks(False, "axes", True), 120) == expected
    assert any(one is not None for one in asked)


@pytest.mark.parametrize(("space", "period"), WAYS)
def test_no_array_is_as_long_as_the_connections(space: str, period: bool) -> None:
    one = networks(False, space, period)
    program = compile_circuit(one, DT, "float64")
    plans = [p for g in program.gathers.values() for p in g.stencils]
    assert len(plans) == 5 and all(isinstance(p, ComputedPlan) for p in plans)
    for plan in plans:
        assert plan.edges > 2000
        assert all(array.size < 100 for array in plan.arrays.values())


@pytest.mark.parametrize("space", ["axes", "points"])
@pytest.mark.parametrize("ways", [(False, True), (True, False)])
def test_a_run_goes_on_with_the_other_plan(
    tmp_path: Path, ways: tuple[bool, bool], space: str
) -> None:
    """Spikes on their way go over to stored connections, and back."""
    whole = run(networks(False, space, True), 300)
    kick = nd.ArrayInput({"spike_state": (["a/7", "b/9", "c/3"], np.ones((300, 3)))})
    with nd.LPU(networks(ways[0], space, True), dt=DT, seed=1, inputs=[kick]) as lpu:
        lpu.run(steps=157)
        lpu.save(tmp_path / "a.h5")
    with nd.LPU(networks(ways[1], space, True), dt=DT, seed=1, inputs=[kick]) as lpu:
        lpu.resume(tmp_path / "a.h5")
        lpu.run(steps=143)
        V = [np.asarray(lpu[name].get("V")).tobytes() for name in lpu.circuit.populations]
    assert V == whole[1][1:]


def banked(stored: Any) -> nd.Circuit:
    """Return cells whose weights are those of a field, by place."""
    bank = np.random.default_rng(5).normal(0.2, 0.4, (5, 7))
    y, x = nd.Axis.at([0.0, 1.0, 2.5, 4.0, 5.7, 9.0]), nd.Axis.span(40, 0, 40, period=40)
    sheet = nd.Population(
        Banked, name="s", axes={"y": y, "x": x}, bank=bank, first=nd.Uniform(0, 9)
    )
    more: dict[str, Any] = {"weight": "bank[dy, dx]", "delay": 2e-4, "stored": stored}
    return nd.Circuit([sheet], [nd.Projection(sheet, sheet, nd.Near(y=5, x=7), **more)], seed=2)


def test_weights_of_fields() -> None:
    found = []
    for stored in (False, True):
        with nd.LPU(banked(stored), DT, seed=1) as lpu:
            lpu.advance(300)
            forms = {p.form for g in lpu.program.gathers.values() for p in g.stencils}
            assert forms == ({"stencil"} if stored is False else set())
            found.append(np.asarray(lpu["s"].get("V")).tobytes())
    assert found[0] == found[1]


def test_many_targets_whose_slots_are_marked(dtype: str) -> None:
    """So many cells have a bitmap of their slots."""
    found = []
    for stored in (False, True):
        x = nd.Axis.at(np.sort(np.random.default_rng(1).random(40_000)) * 1e4)
        given: dict[str, Any] = {"drive_rate": 4000.0, "drive_weight": 1.3, **CELL}
        line = nd.Population("LeakyIAFDeltaDriven", name="s", axes={"x": x}, **given)
        more: dict[str, Any] = {"weight": DOG, "delay": DELAY, "stored": stored}
        links = [nd.Projection(line, line, nd.Within(3.0), **more)]
        with nd.LPU(nd.Circuit([line], links, seed=1), DT, dtype=dtype, seed=1, threads=2) as lpu:
            lpu.advance(250)
            assert ("dirty" in lpu.program.gathers[0, "spike_state"].blanks) is True
            found.append(np.asarray(lpu["s"].get("V")).tobytes())
    assert found[0] == found[1]


def test_where_connections_have_to_be_stored() -> None:
    """A synapse sums no weighted spikes."""
    sheet = cells("a", "axes", False, 0)
    axes = {name: nd.Axis.at(np.arange(n) ** 1.1) for name, n in (("y", 20), ("x", 30))}
    synapses = nd.Population("AlphaSynapse", name="s", axes=axes, ar=1.0, ad=1.0, gmax=1.0)
    link = nd.Projection(sheet, synapses, nd.Near(y=1, x=1), stored=False, name="p")
    with pytest.raises(CircuitError, match="'p': stored=False is possible for weighted spikes"):
        nd.LPU(nd.Circuit([sheet, synapses], [link]), DT)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("space", ["even", "axes", "masks", "points"])
def test_a_rule_that_connects_nothing(space: str) -> None:
    """Nothing would be stored, so nothing is refused."""
    a, b = (cells(name, space if space != "even" else "axes", False, 0) for name in "ab")
    if space == "even":
        axes = {name: nd.Axis.regular(6, start=0, step=1) for name in ("y", "x")}
        far = {name: nd.Axis.regular(6, start=50, step=1) for name in ("y", "x")}
        a, b = (
            nd.Population("LeakyIAFDelta", name=name, axes=some, **CELL)
            for name, some in (("a", axes), ("b", far))
        )
    rule = nd.Within(1e-9, autapses=False)
    links = [nd.Projection(one, one, rule, delay=2e-4, stored=False) for one in (a, b)]
    links.append(nd.Projection(a, b, nd.Within(1e-9), delay=2e-4, stored=False))
    with nd.LPU(nd.Circuit([a, b], links), DT) as lpu:
        assert lpu.circuit.edges == (0 if space == "even" else a.count)
        lpu.advance(3)
