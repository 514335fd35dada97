"""Gap junctions: closed form, symmetry, what is inserted, and what is refused."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from support import (
    AMPA,
    DT,
    HH2,
    IAF,
    Recorded,
    assert_same_bits,
    build,
    model,
    node,
    simulate,
    spike_rows,
)
from test_closed_form import assert_first_order, errors, halved

from neurodriver import Circuit, Connections, StepInput
from neurodriver.errors import CircuitError

PASSIVE = {**IAF, "threshold": 1e6}
GAP = {"variable": "V", "conductance": 0.15}


def pair(kind: str = "LeakyIAF", one: Any = PASSIVE, other: Any = PASSIVE, **edge: Any) -> Circuit:
    """Return two cells that are coupled both ways."""
    nodes = {"a": node(kind, one, initV=-50.0), "b": node(kind, other, initV=-75.0)}
    return build(nodes, [("a", "b", {**GAP, **edge}), ("b", "a", {**GAP, **edge})])


def coupled(circuit: Circuit, dt: float, steps: int) -> np.ndarray:
    """Return V of both cells."""
    return simulate(circuit, dt, steps, record=[("V", ["a", "b"])])["V"]


def test_two_compartments() -> None:
    """The mean decays with the membrane's rate, the difference with ``2 g / C`` more."""

    def exact(time: np.ndarray) -> np.ndarray:
        ms = 1000 * time
        mean = -70.0 + 7.5 * np.exp(-ms / 20.0)
        return mean + 12.5 * np.exp(-ms * (1 / 20.0 + 2 * 0.15 / 2.0))

    for column in (0, 1):
        found = errors(
            lambda dt, n, column=column: coupled(pair(), dt, n)[:, column],
            lambda time, column=column: exact(time)
            if column == 0
            else 2 * (-70.0 + 7.5 * np.exp(-time * 50.0)) - exact(time),
            0.016, halved(1e-4),
        )  # fmt: skip
        assert_first_order(found, 10.0)


def test_what_one_cell_loses_the_other_gains() -> None:
    """The currents are opposite at every row, and those of the potentials one row before."""
    record = [("V", ["a", "b"]), ("I", ["gap_0", "gap_1"])]
    data = simulate(pair(), DT, 400, record=record)
    into_b, into_a = data["I"].T  # named in the order of the edges
    assert into_b[1] > 1.0
    assert np.array_equal(into_a, -into_b)
    expected = 0.15 * (data["V"][:-1, 0] - data["V"][:-1, 1])
    assert np.array_equal(into_b[1:], expected)
    assert data["I"][0].tolist() == [0.0, 0.0]


def test_nodes_and_edges_give_the_same_bits() -> None:
    """A GapJunction node, a GapJunctions node and an edge with a conductance are one thing."""
    cells = {"a": node("LeakyIAF", PASSIVE, initV=-50.0), "b": node("LeakyIAF", IAF)}
    single = {"j": node("GapJunction", {"conductance": 0.15})}
    several = {"j": node("GapJunctions", {})}
    runs: list[Recorded] = []
    for more, edges in (
        ({}, [("a", "b", GAP)]),
        (single, [("a", "j", {"receptor": "pre"}), ("b", "j", {"receptor": "post"}), ("j", "b")]),
        (several, [("a", "j", {"receptor": "neighbour", "conductance": 0.15}), ("b", "j"),
                   ("j", "b")]),
    ):  # fmt: skip
        circuit = build({**cells, **more}, edges)
        runs.append(simulate(circuit, DT, 300, record=[("V", ["a", "b"])]))
    assert_same_bits(runs[0], runs[1])
    assert_same_bits(runs[0], runs[2])


def test_gap_junctions_beside_synapses() -> None:
    """One cell has both: an Aggregator and GapJunctions, whose currents add up."""
    nodes = {
        "a": node("LeakyIAF", IAF),
        "s": node("SynapseAMPA", {**AMPA, "gmax": 0.02}, reverse=0.0),
        "b": node("LeakyIAF", PASSIVE),
        "c": node("LeakyIAF", PASSIVE, initV=-60.0),
    }
    edges = [("a", "s"), ("c", "b", {**GAP, "delay": 5e-4}), ("s", "b"), ("a", "b", GAP)]
    record = [("V", ["a", "b", "c"]), ("I", ["auto_0", "gap_0"])]
    data = simulate(build(nodes, edges), DT, 600, StepInput("I", ["a"], 10.0), record)
    a, b, c = data["V"].T
    late = np.concatenate([np.repeat(c[:1], 4), c[:-4]])
    np.testing.assert_allclose(
        data["I"][1:, 1], (0.15 * ((late - b) + (a - b)))[:-1], rtol=1e-12, atol=1e-12
    )
    decay = np.exp(-0.1 / 20.0)
    expected = b[:-1] * decay + (10.0 * data["I"][:-1].sum(axis=1) - 70.0) * (1 - decay)
    np.testing.assert_allclose(b[1:], expected, rtol=1e-12)
    assert np.abs(data["I"][:, 0]).max() > 0.1


def test_coupled_cells_fire_together() -> None:
    """A strong junction brings the spikes of two unequal neurons to the same steps."""
    hh = {**HH2, "initn": 0.3, "initm": 0.05, "inith": 0.6}
    rows = {}
    for conductance in (0.0, 1.0):
        circuit = pair("HodgkinHuxley2", hh, {**hh, "g_L": 0.35}, conductance=conductance)
        data = simulate(circuit, DT, 2000, StepInput("I", ["a", "b"], 12.0),
                        [("spike_state", ["a", "b"])])  # fmt: skip
        rows[conductance] = [np.array(spike_rows(data, i)) for i in (0, 1)]
        assert all(len(found) > 8 for found in rows[conductance])

    def apart(found: list[np.ndarray]) -> int:
        return int(np.abs(found[0][-4:, None] - found[1][None, :]).min(axis=1).max())

    assert apart(rows[1.0]) <= 1
    assert apart(rows[0.0]) > 5


def ring(count: int) -> list[Any]:
    """Return arrays of a ring of cells, each coupled to both neighbours."""
    i = np.arange(count, dtype=np.int32)
    start = np.linspace(-80.0, -50.0, count)
    groups = [(model("LeakyIAF"), count, {**PASSIVE, "initV": start}, None)]
    source = np.concatenate([(i - 1) % count, (i + 1) % count])
    target = np.concatenate([i, i])
    data = {"conductance": np.linspace(0.01, 0.2, 2 * count)}
    return [groups, [Connections("V", "I", source, target, data=data)]]


def test_a_ring_from_arrays(dtype: str) -> None:
    """Connections of V into I are gap junctions; bits depend on no thread, chunk or plan."""
    circuit = Circuit.from_arrays(*ring(53))
    one = simulate(circuit, DT, 200, dtype=dtype)
    assert_same_bits(one, simulate(circuit, DT, 200, dtype=dtype, threads=2, chunk=3))
    assert_same_bits(one, simulate(circuit, DT, 200, dtype=dtype, plans=False))
    assert np.ptp(one["V"][-1]) < 0.8 * np.ptp(one["V"][0])


def test_a_junction_survives_a_file(tmp_path: Any) -> None:
    """GEXF keeps variable and conductance."""
    made = nx.MultiDiGraph()
    made.add_node("a", **node("LeakyIAF", PASSIVE, initV=-50.0))
    made.add_node("b", **node("LeakyIAF", PASSIVE, initV=-75.0))
    for ends in (("a", "b"), ("b", "a")):
        made.add_edge(*ends, **GAP)
    nx.write_gexf(made, tmp_path / "pair.gexf")
    read = Circuit.from_file(tmp_path / "pair.gexf")
    assert_same_bits(simulate(pair(), steps=200), simulate(read, steps=200))


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (
            {},
            [("a", "b", {"variable": "V"})],
            r"'V' into 'I': every edge needs the attribute 'conductance' \[mS/cm\^2\] \(of the gap",
        ),
        ({}, [("a", "b", GAP), ("b", "a", {"variable": "V"})], "'b' -> 'a', attribute 'conduc"),
        ({}, [("a", "b", {**GAP, "conductance": -1.0})], r"at least 0 \(got -1\)"),
        ({}, [("a", "b", {**GAP, "conductance": "big"})], "must be a finite number"),
        (
            {"j": node("GapJunction", {"conductance": 1.0})},
            [("a", "j"), ("b", "j"), ("j", "b")],
            r"node 'j' \(GapJunction\): needs one edge that carries 'V' into 'pre' \(got 2\)",
        ),
        (
            {"j": node("GapJunctions", {})},
            [("a", "j", {"receptor": "neighbour", "conductance": 1.0}), ("j", "b")],
            r"needs one edge that carries 'V' into 'own' \(got 0\)",
        ),
        (
            {"j": node("GapJunctions", {})},
            [("b", "j"), ("a", "j", {"receptor": "neighbour"}), ("j", "b")],
            "every edge needs the attribute 'conductance'",
        ),
    ],
)
def test_what_is_refused(nodes: dict[str, Any], edges: list[Any], message: str) -> None:
    """A missing or bad conductance, and ends that are not told apart, are named."""
    cells = {"a": node("LeakyIAF", IAF), "b": node("LeakyIAF", IAF)}
    with pytest.raises(CircuitError, match=message):
        build({**cells, **nodes}, edges)


def test_a_synapse_is_no_cell() -> None:
    """V into a component without a potential of its own still has no meaning."""
    nodes = {"a": node("LeakyIAF", IAF), "s": node("SynapseAMPA", AMPA)}
    with pytest.raises(CircuitError, match="'variable' is 'V', which does not fit"):
        build(nodes, [("a", "s", GAP)])
