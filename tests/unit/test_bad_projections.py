"""Projections that cannot be: what is wrong is named, all of it at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support import AMPA, IAF, model

from neurodriver import (
    AllToAll,
    Circuit,
    CircuitError,
    Connections,
    Exponential,
    FixedInDegree,
    FixedOutDegree,
    FixedProbability,
    FixedTotal,
    Lattice,
    LogNormal,
    Normal,
    OneToOne,
    Projection,
    Uniform,
)
from neurodriver.plan.compile import compile_circuit

NEURON = model("Izhikevich")
TEN = FixedTotal(10)
CELLS = [[0, 0], [0, 1], [1, 0]]
GROUPS: list[Any] = [
    (NEURON, 30, {}, None),
    (model("LeakyIAF"), 10, IAF, None),
    (model("SynapseAMPA"), 5, AMPA, None),
]


def refused(*given: Any, seed: Any = 0, groups: Any = GROUPS) -> str:
    """Return how a circuit with these connections is refused."""
    with pytest.raises(CircuitError) as caught:
        Circuit.from_arrays(groups, given, "mine", seed=seed)
    return str(caught.value)


def one(rule: Any = TEN, source: Any = (0, 30), target: Any = (0, 30), **more: Any) -> Projection:
    """Return a projection that is right but for what is given."""
    given = {"variable": "spike_state", "access": "spike_state", "name": "p", **more}
    return Projection(source=source, target=target, rule=rule, **given)


@pytest.mark.parametrize("ends", ["source", "target"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((0, 46), ["neighbours from 0 to 44", "(0, 46)"]),
        ((-1, 5), ["neighbours from 0 to 44", "(-1, 5)"]),
        ((7, 7), ["at least one of them", "(7, 7)"]),
        (range(0, 10, 2), ["neighbours", "range(0, 10, 2)"]),
        ((0, 1.5), ["a range, (first, stop) or the name of a model", "(0, 1.5)"]),
        ((0, True), ["a range, (first, stop)"]),
        (5, ["a range, (first, stop)", "got 5"]),
        ("Izhikevitch", ["no group is of 'Izhikevitch'", "mean 'Izhikevich'?", "LeakyIAF"]),
    ],
)
def test_bad_ends(ends: str, given: Any, words: list[str]) -> None:
    """Ends name the projection, and what numbers there are."""
    said = refused(one(**{ends: given}))
    for word in ["mine: projection 'p': ", f"'{ends}'", *words]:
        assert word in said


def test_a_model_of_two_groups() -> None:
    """A name that could mean two groups is refused; the class stands for its name."""
    groups = [*GROUPS, GROUPS[0]]
    assert "2 groups are of Izhikevich; give component numbers" in refused(
        one(source="Izhikevich"), groups=groups
    )
    made = Circuit.from_arrays(GROUPS, [one(source=NEURON, target="Izhikevich")])
    assert made.connections[0].source.max() < 30


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (0.1, ["'rule' must be a rule", "got 0.1"]),
        (AllToAll, ["'rule' must be a rule"]),
        (FixedProbability(1.1), ["FixedProbability: p must be a probability", "1.1"]),
        (FixedProbability(-1e-9), ["a probability", "-1e-09"]),
        (FixedProbability(math.nan), ["a probability", "nan"]),
        (FixedProbability("x"), ["a probability", "'x'"]),  # type: ignore[arg-type]
        (FixedInDegree(31, multapses=False), ["k = 31", "30 sources", "allow multapses"]),
        (FixedInDegree(30, False, False), ["k = 30", "29 sources other than itself"]),
        (FixedOutDegree(30, False, False), ["k = 30", "29 targets other than itself"]),
        (FixedOutDegree(-1), ["k must be a whole number", "-1"]),
        (FixedInDegree(2.0), ["k must be a whole number", "2.0"]),  # type: ignore[arg-type]
        (FixedTotal(-1), ["n must be a whole number", "-1"]),
        (FixedTotal(1 << 40), ["2^40"]),
        (Lattice([[0, 0]], 1.0, CELLS, CELLS), ["3 cells for 30 components"]),
        (Lattice([0, 1], 1.0, CELLS, CELLS), ["'offsets' must be a table", "(2,)"]),
        (Lattice([[0.5, 1]], 1.0, CELLS, CELLS), ["'offsets' must be a table", "float64"]),
        (Lattice([[0, 0], [1]], 1.0, CELLS, CELLS), ["'offsets' must be a table"]),
        (Lattice([[0, 0, 0]], 1.0, CELLS, CELLS), ["as many dimensions", "3 in 'offsets'"]),
        (Lattice([[0, 0]], [1.0, 2.0], CELLS, CELLS), ["a number or 1 of them", "(2,)"]),
        (Lattice([[0, 0]], [math.inf], CELLS, CELLS), ["'weights' must be finite"]),
        (Lattice([[0, 1 << 30]], 1.0, CELLS, CELLS), ["less than 2^20"]),
    ],
)
def test_bad_rules(rule: Any, words: list[str]) -> None:
    """Rules say what they need, what they got and what to do."""
    said = refused(one(rule))
    for word in ["projection 'p'", *words]:
        assert word in said


def test_one_to_one_needs_equal_numbers() -> None:
    """And a single component has no other than itself."""
    assert "30 sources and 29 targets" in refused(one(OneToOne(), target=(1, 30)))
    rule = FixedInDegree(1, autapses=False)
    assert "0 sources other than itself" in refused(one(rule, (3, 4), (3, 4)))
    both = Circuit.from_arrays(GROUPS, [one(rule, (3, 5), (3, 5))]).connections[0]
    assert both.source.tolist() == [3, 4] and both.target.tolist() == [4, 3]


@pytest.mark.parametrize("key", ["weight", "delay"])
@pytest.mark.parametrize(
    ("law", "words"),
    [
        ("1", ["a finite number or a distribution", "'1'"]),
        (math.nan, ["finite", "nan"]),
        (np.ones(3), ["a finite number or a distribution", "an array of shape (3,)"]),
        (Normal(1.0, -1.0), ["'sd' must be finite and at least 0", "-1"]),
        (Normal(1.0, 1.0, multiple_of=-2.0), ["'multiple_of' must be finite and at least 0", "-2"]),
        (Normal(math.inf, 1.0), ["'mean' must be finite"]),
        (Normal("x", 1.0), ["mean must be numbers"]),  # type: ignore[arg-type]
        (Normal(1.0, 0.1, 3.0, 2.0), ["'low' must not be above 'high'", "3 and 2"]),
        (Normal(1.0, 0.1, 2.0, 3.0), ["leave", "outside='clip'"]),
        (Normal(1.0, 0.0, 2.0, 3.0), ["leave 0 of"]),
        (Normal(1.0, 0.1, outside="cut"), ["'redraw' or 'clip'", "'cut'"]),
        (Uniform(2.0, 1.0), ["'low' must not be above 'high'"]),
        (Uniform(0.0, math.inf), ["'high' must be finite"]),
        (LogNormal(0.0, -1.0), ["'sigma'"]),
        (LogNormal(800.0, 1.0), ["too large"]),
        (LogNormal(0.0, 1.0, high=1e-9), ["leave"]),
        (Exponential(-1.0), ["'mean' must be finite and at least 0"]),
        (Exponential(1.0, low=20.0), ["leave"]),
    ],
)
def test_bad_values(key: str, law: Any, words: list[str]) -> None:
    """Weights and delays tell which law and which number of it."""
    said = refused(one(**{key: law}))
    for word in [f"projection 'p': '{key}': ", *words]:
        assert word in said


@pytest.mark.parametrize(
    ("law", "got"),
    [
        (-1e-3, "-0.001 s"),
        (Normal(1e-3, 1e-3), "-0.00766 to 0.00966 s; give bounds"),
        (Uniform(-1e-3, 1e-3), "-0.001 to 0.001 s"),
        (LogNormal(-7.0, 0.1, factor=-1.0), "-0.00216789 to -0.000383566 s"),
    ],
)
def test_delays_are_not_negative(law: Any, got: str) -> None:
    """What a law could draw is known before it draws."""
    said = refused(one(delay=law))
    assert f"'delay' must be at least 0 (got {got}" in said
    Circuit.from_arrays(GROUPS, [one(delay=Normal(1e-3, 1e-4))])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"variable": "spike_stat"},
            ["'spike_stat' -> 'spike_state'", "Izhikevich updates", "'spike_state'?"],
        ),
        ({"access": "exc"}, ["'spike_state' -> 'exc'", "Izhikevich accesses", "spike_state"]),
        ({"target": (25, 35)}, ["-> 'spike_state'", "the target LeakyIAF accesses I"]),
        ({"target": "SynapseAMPA", "weight": 2.0}, ["'weight' is 2", "takes a weight"]),
        ({"target": "SynapseAMPA", "weight": Uniform(1, 2)}, ["'weight' is 1 to 2"]),
    ],
)
def test_bad_wiring(more: dict[str, Any], words: list[str]) -> None:
    """Variables and accesses are those of the models in the ranges."""
    said = refused(one(**more))
    for word in ["projection 'p': ", *words]:
        assert word in said


def test_all_faults_at_once() -> None:
    """Every projection is told, with its name or what stands for it; so are the columns."""
    said = refused(
        one(FixedProbability(2.0), source=(0, 99), name=""),
        one(FixedTotal(-3), "Izhikevich", "Izhikevich", name="", weight=math.nan),
        one(FixedTotal(-3), name="twice"),
        one(name="twice"),
        one(FixedOutDegree(99, multapses=False), delay=-1.0, name="late"),
        seed=1.5,
    )
    for word in [
        "mine: 7 faults",
        "seed must be a whole number (got 1.5)",
        "projection '0:99 -> 0:30, spike_state': 'source'",
        "projection 'Izhikevich -> Izhikevich, spike_state': 'weight'",
        "projection 'twice': FixedTotal: n must",
        "projection 'twice': two projections have this name",
        "projection 'late': FixedOutDegree: k = 99",
        "projection 'late': 'delay' must be",
    ]:
        assert word in said


def test_something_else_than_connections() -> None:
    """What is neither columns nor a rule is refused by name."""
    assert "expected Connections or a Projection, got [1, 2]" in refused([1, 2])


@pytest.mark.parametrize("law", [110.0, Uniform(1e-3, 130.0)])
def test_delays_that_are_too_long_for_the_step(law: Any) -> None:
    """Milliseconds, say, that were taken for seconds: told when the step is known."""
    circuit = Circuit.from_arrays(GROUPS, [one(delay=law)])
    with pytest.raises(CircuitError) as caught:
        compile_circuit(circuit, 1e-4)
    for word in ("projection 'p': 'delay'", "1,000,000 are allowed", "of 0.0001 s", "in seconds"):
        assert word in str(caught.value)
    assert compile_circuit(circuit, 1e-3).gathers[0, "spike_state"].edges == 10


CONDUCTANCES = ("LeakyIAFExpConductance", "LeakyIAFExpConductanceEuler", "TraubMiles",
                "LeakyIAFAlphaConductance", "AdaptiveExpIAFConductance",
                "AdaptiveExpIAFAlphaConductance")  # fmt: skip


@pytest.mark.parametrize("receptor", ["exc", "inh"])
@pytest.mark.parametrize("name", CONDUCTANCES)
def test_conductances_are_not_negative(name: str, receptor: str) -> None:
    """Inhibition has a receptor of its own: a sign, as other programs want it, is refused."""
    cell = model(name)
    needed = {n: 1.0 for n, p in cell.params.items() if p.default is None}
    groups: list[Any] = [(cell, 30, needed, None)]

    def given(weight: Any) -> Projection:
        return one(access=receptor, weight=weight)

    for weight in (-4.0, Normal(4.0, 1.0)):
        said = refused(given(weight), groups=groups)
        assert "'weight' must be at least 0 (got -4" in said
    columns = Connections("spike_state", receptor, [0], [1], 0.0, {"weight": -4.0})
    assert "'weight': must be finite and at least 0 (got -4)" in refused(columns, groups=groups)
    Circuit.from_arrays(groups, [given(Normal(4.0, 1.0, low=0.0))])
