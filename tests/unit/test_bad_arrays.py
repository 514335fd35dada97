"""Circuits given as columns: what does not fit is refused, what fits is not copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import AMPA, IAF, model

from neurodriver import LPU, Circuit, CircuitError, Connections, NDComponent, StepInput
from neurodriver.circuit.random_keys import component_keys

IAFS, AMPAS = model("LeakyIAF"), model("SynapseAMPA")
GROUPS: list[Any] = [(IAFS, 3, IAF, None), (AMPAS, 2, AMPA, None)]


def links(
    variable: str, access: str, source: Any, target: Any, delay: Any = 0.0, **data: Any
) -> Connections:
    """Return connections whose columns are taken as they are given."""
    return Connections(variable, access, source, target, delay, data)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (links("spike_stat", "spike_state", [0], [3]), ["LeakyIAF updates", "mean 'spike_state'?"]),
        (links("spike_state", "x", [0], [3]), ["'x'", "SynapseAMPA accesses spike_state"]),
        (links("spike_state", "spike_state", [0], [1]), ["target LeakyIAF accesses I"]),
        (links("g", "V", [3], [0]), ["'g' -> 'V'", "target LeakyIAF accesses I"]),
        (links("g", "I", [3, 4], [0]), ["2 sources", "1 targets"]),
        (links("g", "I", [3, 5], [0, -1]), ["source is 5", "0 to 4", "target is -1", "2 faults"]),
        (links("g", "I", [3], [2**40]), ["target is", "0 to 4"]),
        (links("g", "I", [3.5], [0]), ["source must be whole numbers or uids", "float64"]),
        (links("g", "I", [[3]], [0]), ["source must be", "(1, 1)"]),
        (links("g", "I", [3], [0], [0.0, 1.0]), ["'delay'", "expected a number or 1", "(2,)"]),
        (links("g", "I", [3], [0], -1.0), ["'SynapseAMPA/0' -> 'LeakyIAF/0'", "'delay'", "-1 s"]),
        (links("g", "I", [3], [0], np.nan), ["'delay'", "finite", "nan"]),
        (links("g", "I", [3], [0], reverse="x"), ["'reverse'", "numbers"]),
        (links("g", "I", [3], [0], reverse=np.inf), ["'reverse'", "finite", "inf"]),
        (links("g", "I", [3], [0], reverse=np.nan), ["'reverse'", "finite", "nan"]),
        (links("g", "I", [3, 4], [0, 1], reverse=[0.0, np.nan]), ["'reverse'", "connection 1"]),
    ],
)
def test_bad_connections(given: Connections, words: list[str]) -> None:
    """Connections name their variable, or their edge, and what is allowed."""
    with pytest.raises(CircuitError) as caught:
        Circuit.from_arrays(GROUPS, [given], name="mine")
    for word in ["mine: ", *words]:
        assert word in str(caught.value)


def test_bad_ends_are_found_wherever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """One wrong target among many edges, which are looked at in parts."""
    monkeypatch.setattr("neurodriver.circuit.validate.BLOCK", 2)
    for at in range(5):
        target = np.full(5, 3)
        target[at] = 1
        given = links("spike_state", "spike_state", np.zeros(5, int), target)
        with pytest.raises(CircuitError, match="target LeakyIAF accesses I"):
            Circuit.from_arrays(GROUPS, [given])


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ((IAFS, 3, {**IAF, "capacitance": "x"}, None), ["LeakyIAF.capacitance", "numbers"]),
        ((IAFS, 3, {**IAF, "capacitance": [1, 2]}, None), ["LeakyIAF.capacitance", "3", "(2,)"]),
        ((IAFS, 3, {**IAF, "capacitance": [1, -2, 1]}, None), ["'LeakyIAF/1'", "positive", "-2"]),
        (
            (IAFS, 3, {**IAF, "threshold": np.nan}, None),
            ["all 3 nodes (LeakyIAF)", "'threshold'", "nan mV"],
        ),
        ((IAFS, 3, {**IAF, "capacitence": 1}, None), ["'capacitence'", "mean 'capacitance'?"]),
        ((IAFS, 3, {}, None), ["'threshold' [mV] is missing", "5 faults"]),
        ((IAFS, 3, IAF, ["a", "b"]), ["expected 3 uids", "(2,)"]),
        ((IAFS, 3, IAF, ["a", "b", "b"]), ["node 'b'", "unique"]),
        ((IAFS, 3, IAF, ["a", "", "b"]), ["number 1", "empty uid"]),
        ((IAFS, 3, IAF, ["a", "c" * 300, "b"]), ["300 characters", "256"]),
        ((IAFS, -3, IAF, None), ["count", "-3"]),
        ((IAFS, 2.5, IAF, None), ["count", "2.5"]),
        ((IAFS, 0, IAF, None), ["LeakyIAF", "at least 1", "got 0"]),
        (("LeakyIAF", 3, IAF, None), ["NDComponent subclass", "'LeakyIAF'"]),
        ((NDComponent, 3, {"x": 1}, None), ["'x'"]),
        ((IAFS, 3, IAF), ["(model, count, params, uids)", "leaky_iaf"]),
        ((IAFS, 3, None, None), ["LeakyIAF", "params must be a mapping", "None"]),
    ],
)
def test_bad_groups(group: Any, words: list[str]) -> None:
    """Groups name their model, their component and what is allowed."""
    with pytest.raises(CircuitError) as caught:
        Circuit.from_arrays([group], name="mine")
    for word in ["mine: ", *words]:
        assert word in str(caught.value)


def test_good_columns() -> None:
    """Lists, scalars and integers are columns too; large columns are shared, not copied."""
    threshold = np.array([-45.0, -46.0, -47.0])
    given = [
        links("spike_state", "spike_state", [0, 1], np.array([3, 4], dtype=np.int64)),
        links("g", "I", [3, 4], [1, 2], 1e-3, reverse=0),
    ]
    groups = [(IAFS, 3, {**IAF, "threshold": threshold}, None), GROUPS[1]]
    circuit = Circuit.from_arrays(groups, given)
    assert (circuit.count, circuit.edges) == (5, 4)
    assert np.shares_memory(circuit.groups[0].params["threshold"], threshold)
    assert {c.source.dtype for c in circuit.connections} == {np.dtype(np.int32)}
    with LPU(circuit, 1e-4) as lpu:
        lpu.run(steps=3)
        assert len(lpu.get("V")) == 3


def test_groups_of_one_model_have_names_of_their_own() -> None:
    """What goes to one component goes to no other, and random numbers are those of its place."""
    groups: list[Any] = [(IAFS, 2, IAF, None), (AMPAS, 1, AMPA, None), (IAFS, 2, IAF, None),
                         (IAFS, 1, IAF, ["own"]), (IAFS, 2, IAF, None)]  # fmt: skip
    circuit = Circuit.from_arrays(groups)
    numbers = [uid.removeprefix("LeakyIAF/") for uid in circuit.uids]
    assert numbers == ["0", "1", "SynapseAMPA/0", "2", "3", "own", "5", "6"]
    assert [component_keys(circuit, g).tolist() for g in (0, 2, 4)] == [[0, 1], [3, 4], [6, 7]]
    size = np.arange(7.0)
    cells = circuit.uids[circuit.uids != "SynapseAMPA/0"]
    with LPU(circuit, 1e-4, [StepInput("I", cells, size)]) as lpu:
        lpu.run(steps=50)
        moved = lpu.get("V")
    assert (np.diff(moved) > 0).all() and moved[0] == IAF["resting_potential"]
