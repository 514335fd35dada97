"""NIR: networks become circuits that compute its equations, and return with their bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from support import model, simulate

import neurodriver as nd
from neurodriver import Circuit, CircuitError, NeurodriverError
from neurodriver.io.nir_write import as_nir

nir = pytest.importorskip("nir", reason="the package nir is not installed")

H = 1e-3
"""Step in seconds."""


def vector(rng: np.random.Generator, low: float, high: float, count: int, kind: Any) -> Any:
    """Return random numbers."""
    return rng.uniform(low, high, count).astype(kind)


def network(kind: Any = np.float32) -> Any:
    """Return a graph with every primitive: 5 inputs, 4 LIF with a loop, and layers behind."""
    rng = np.random.default_rng(4)

    def some(low: float, high: float, count: int) -> Any:
        return vector(rng, low, high, count, kind)

    matrix = rng.normal(0.0, 8.0, (4, 5)).astype(kind)
    matrix[0, :3], matrix[1, 0] = 0.0, -0.0
    loop = np.diag(some(-1.0, 1.0, 4)).astype(kind)
    nodes = {
        "in": nir.Input(np.array([5])),
        "w": nir.Affine(weight=matrix, bias=some(0.0, 1.0, 4)),
        "lif": nir.LIF(
            tau=some(0.01, 0.03, 4), r=some(0.5, 2.0, 4), v_leak=some(-0.5, 0.5, 4),
            v_threshold=some(0.5, 1.0, 4), v_reset=some(-0.5, 0.0, 4),
        ),
        "late": nir.Delay(delay=np.array([0.002, 0.0, 0.004, 0.001], kind)),
        "loop": nir.Linear(weight=loop),
        "v": nir.Linear(weight=rng.normal(10.0, 3.0, (3, 4)).astype(kind)),
        "after": nir.Delay(delay=np.array([0.001, 0.003, 0.0], kind)),
        "cuba": nir.CubaLIF(
            tau_syn=some(0.004, 0.006, 3), tau_mem=some(0.01, 0.02, 3), r=some(1.0, 2.0, 3),
            v_leak=np.zeros(3, kind), v_threshold=some(0.5, 1.0, 3), v_reset=np.zeros(3, kind),
            w_in=some(1.0, 2.0, 3),
        ),
        "if": nir.IF(r=some(90.0, 200.0, 3), v_threshold=some(0.1, 0.4, 3),
                     v_reset=some(-0.1, 0.0, 3)),
        "u": nir.Linear(weight=rng.normal(3.0, 1.0, (2, 3)).astype(kind)),
        "li": nir.LI(tau=some(0.01, 0.02, 2), r=some(0.5, 2.0, 2), v_leak=some(-0.5, 0.5, 2)),
        "x": nir.Affine(weight=rng.normal(3.0, 1.0, (1, 3)).astype(kind), bias=np.zeros(1, kind)),
        "cubali": nir.CubaLI(tau_syn=some(0.005, 0.006, 1), tau_mem=some(0.01, 0.02, 1),
                             r=some(0.5, 2.0, 1), v_leak=some(-0.5, 0.5, 1), w_in=some(1, 2, 1)),
        "out": nir.Output(np.array([2])), "out2": nir.Output(np.array([1])),
    }  # fmt: skip
    edges = [
        ("in", "w"), ("w", "lif"), ("lif", "loop"), ("loop", "lif"), ("lif", "late"), ("late", "v"),
        ("v", "cuba"), ("cuba", "after"), ("after", "if"), ("if", "u"), ("u", "li"), ("li", "out"),
        ("if", "x"), ("x", "cubali"), ("cubali", "out2"),
    ]  # fmt: skip
    return nir.NIRGraph(nodes=nodes, edges=edges)


def arrays(node: Any) -> dict[str, Any]:
    """Return the numbers of a node: type, shape and bytes."""
    found = {k: np.asarray(v) for k, v in vars(node).items() if isinstance(v, np.ndarray)}
    return {k: (v.dtype.str, v.shape, v.tobytes()) for k, v in found.items()}


def same(a: Any, b: Any) -> None:
    """Assert that two graphs have the same nodes, bit by bit, and edges."""
    assert set(a.nodes) == set(b.nodes) and set(a.edges) == set(b.edges)
    for name, node in a.nodes.items():
        assert type(node) is type(b.nodes[name])
        assert arrays(node) == arrays(b.nodes[name]), name


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_bits_return(kind: Any, tmp_path: Path) -> None:
    """A graph returns from a circuit, by memory and by a file; so does the circuit."""
    graph = network(kind)
    circuit = Circuit.from_nir(graph)
    same(as_nir(circuit), graph)
    circuit.save(tmp_path / "a.nir")
    again = Circuit.from_file(tmp_path / "a.nir")
    same(as_nir(again), graph)
    for links in circuit.connections:
        assert links.data["weight"].dtype == np.float64
    orders = sorted(again.uids.tolist()), sorted(circuit.uids.tolist())
    assert orders[0] == orders[1] and again.edges == circuit.edges


def test_what_it_becomes() -> None:
    """Populations by name; a zero is no connection, but for those whose delay would be lost."""
    circuit = Circuit.from_nir(network())
    found = {name: (s.model.__name__, len(s)) for name, s in circuit.populations.items()}
    assert found == {
        "in": ("SpikeSource", 5), "lif": ("NIRLIF", 4), "cuba": ("NIRCubaLIF", 3),
        "if": ("NIRIF", 3), "li": ("NIRLI", 2), "cubali": ("NIRCubaLI", 1),
    }  # fmt: skip
    first, loop, late, after = circuit.connections[:4]
    assert len(first) == 20 - 3 and len(loop) == 4 and len(late) == 12 and len(after) == 3
    assert late.delay[:3].tolist() == [np.float32(0.002)] * 3


def reference(graph: Any, spikes: Any, steps: int) -> dict[str, Any]:
    """Return V of each neuron node, row by row, from the matrix exponential of each cell."""
    nodes, rows = graph.nodes, {n: [] for n in ("lif", "cuba", "if", "li", "cubali")}
    state = {n: np.zeros((2, len(nodes[n].r))) for n in rows}
    fired: dict[str, list[Any]] = {n: [np.zeros(len(nodes[n].r))] for n in rows}
    fired["in"] = list(spikes)

    def past(name: str, k: int, back: int, cell: int) -> float:
        at = k - max(back, 1) + 1
        return float(fired[name][at][cell]) if 0 <= at < len(fired[name]) else 0.0

    def arriving(name: str, matrix: str, k: int, delays: Any = 0.0, direct: Any = None) -> Any:
        steps_of = np.broadcast_to(np.round(np.asarray(delays, float) / H), len(fired[name][0]))
        seen = np.array([past(name, k, int(d), i) for i, d in enumerate(steps_of)])
        return seen if direct else np.asarray(nodes[matrix].weight, float) @ seen

    for k in range(steps):
        drive = {
            "lif": arriving("in", "w", k) + np.asarray(nodes["w"].bias, float)
            + arriving("lif", "loop", k),
            "cuba": arriving("lif", "v", k, nodes["late"].delay),
            "if": arriving("cuba", "", k, nodes["after"].delay, True),
            "li": arriving("if", "u", k), "cubali": arriving("if", "x", k),
        }  # fmt: skip
        new = {}
        for name, given in drive.items():
            node, z = nodes[name], state[name]
            p = {k: np.asarray(v, float) for k, v in vars(node).items() if k in node.__dict__
                 and isinstance(v, np.ndarray)}  # fmt: skip
            for i, inp in enumerate(given):
                a, b = np.zeros((2, 2)), np.zeros(2)
                if name in ("cuba", "cubali"):
                    a[0] = [-1 / p["tau_mem"][i], p["r"][i] / p["tau_mem"][i]]
                    a[1, 1] = -1 / p["tau_syn"][i]
                    b[:] = p["v_leak"][i] / p["tau_mem"][i], p["w_in"][i] * inp / p["tau_syn"][i]
                elif name == "if":
                    b[0] = p["r"][i] * inp
                else:
                    a[0, 0] = -1 / p["tau"][i]
                    b[0] = (p["v_leak"][i] + p["r"][i] * inp) / p["tau"][i]
                whole = np.zeros((3, 3))
                whole[:2, :2], whole[:2, 2] = a, b
                z[:, i] = (expm(whole * H) @ [*z[:, i], 1.0])[:2]
            new[name] = np.zeros(len(given))
            if "v_threshold" in p:
                new[name] = (z[0] > p["v_threshold"]).astype(float)
                z[0] = np.where(new[name] > 0, p["v_reset"], z[0])
            rows[name].append(z[0].copy())
        for name, column in new.items():
            fired[name].append(column)
    return {n: np.array(v) for n, v in rows.items()} | {"fired": fired}


def test_it_computes() -> None:
    """Potentials and spikes of all neurons are those of an independent solution."""
    graph, steps = network(np.float64), 60
    rng = np.random.default_rng(8)
    pulses = (rng.random((steps, 5)) < 0.2).astype(float)
    pulses[-5:] = 0.0
    circuit = Circuit.from_nir(graph)
    given = nd.ArrayInput({"spike_state": ([f"in/{i}" for i in range(5)], pulses)})
    neurons = [u for u in circuit.uids.tolist() if not u.startswith("in/")]
    found = simulate(circuit, H, steps, given, [("V", neurons)])["V"]
    sent = np.vstack([np.zeros(5), pulses])  # a source sends on, one step later
    want = reference(graph, sent, steps)
    names = np.array([uid.partition("/")[0] for uid in neurons])
    fired = {n: sum(map(np.sum, want["fired"][n])) for n in ("lif", "cuba", "if")}
    assert min(fired.values()) > 5, fired
    for name in ("lif", "cuba", "if", "li", "cubali"):  # a weight is kept with 30 bits
        assert_allclose(found[1:, names == name], want[name][:-1], rtol=0, atol=1e-7)


def test_written_by_hand(tmp_path: Path) -> None:
    """A circuit that was not read gets a Delay, a matrix with its bias, and an Output."""
    cells = nd.Population("NIRLIF", 3, name="cells", tau=0.02, r=1.0, v_leak=0.0, v_threshold=1.0,
                          bias=[0.5, 0.0, 0.25])  # fmt: skip
    source = nd.Population("SpikeSource", 2, name="in")
    link = nd.Projection(source, cells, nd.AllToAll(), receptor="spikes", weight=0.1, delay=2e-3)
    circuit = Circuit([cells, source], [link])
    graph = as_nir(circuit)
    assert {n: type(v).__name__ for n, v in graph.nodes.items()} == {
        "cells": "LIF", "in": "Input", "in_to_cells_delay": "Delay", "in_to_cells": "Affine",
        "cells_output": "Output",
    }  # fmt: skip
    assert_array_equal(graph.nodes["in_to_cells"].bias, [0.5, 0.0, 0.25])
    assert_array_equal(graph.nodes["in_to_cells"].weight, np.full((3, 2), 0.1))
    assert graph.nodes["cells"].tau.dtype == np.float64  # 0.02 is no number of float32
    again = Circuit.from_nir(graph)
    for one in (circuit, again):
        assert one.populations["cells"].column("bias").tolist() == [0.5, 0.0, 0.25]
        assert set(np.atleast_1d(one.connections[0].expanded().delay)) == {2e-3}


def changed(name: str, node: Any) -> Any:
    """Return the graph with another node."""
    graph = network()
    graph.nodes[name] = node
    return graph


ONES = np.ones(4, np.float32)
BAD: list[tuple[Any, list[str]]] = [
    (lambda: changed("v", nir.Threshold(ONES)), ["node 'v'", "primitive Threshold", "known are"]),
    (lambda: changed("v", nir.Conv1d(4, np.ones((3, 1, 2)), 1, 0, 1, 1, np.ones(3))), ["Conv1d"]),
    (lambda: changed("v", nir.Scale(ONES)), ["the primitive Scale has no model here"]),
    (lambda: changed("v", network()), ["primitive NIRGraph"]),
    (lambda: changed("v", nir.Linear(np.ones((3, 9)))), ["'weight'", "(3, 4), got (3, 9)"]),
    (lambda: changed("in", nir.Input(np.array([5, 1]))), ["node 'in' (Input)", "(5, 1)"]),
    (lambda: changed("late", nir.Linear(np.ones((4, 4)))), ["several nodes Linear or Affine"]),
    (lambda: changed("late", nir.Delay(-ONES)), ["node 'late' (Delay)", "at least 0 s"]),
    (lambda: changed("cuba", nir.LI(*[np.ones(3)] * 3)), ["LI has no spikes"]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "words"), BAD)
def test_refused(make: Any, words: list[str]) -> None:
    """Node and primitive are named."""
    with pytest.raises(CircuitError) as caught:
        Circuit.from_nir(make())
    for word in words:
        assert word in str(caught.value)


def test_not_written(tmp_path: Path) -> None:
    """What NIR has no primitive for is told; nothing is left of the file."""
    cell = {
        "resting_potential": 0.0,
        "threshold": 1.0,
        "reset_potential": 0.0,
        "time_constant": 9.0,
    }
    circuit = Circuit.from_arrays([(model("LeakyIAFDelta"), 2, cell, None)])
    with pytest.raises(CircuitError, match="NIR has no primitive for LeakyIAFDelta"):
        circuit.save(tmp_path / "a.nir")
    cells = nd.Population("NIRIF", 2, name="c", r=1.0, v_threshold=1.0, initV=0.5, bias=1.0)
    with pytest.raises(CircuitError, match="'initV' is given"):
        Circuit([cells]).save(tmp_path / "a.nir")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "b.nir").write_text("x")
    for name, words in (("b", "cannot be read as HDF5"), ("c", "no such file")):
        with pytest.raises(NeurodriverError, match=words):
            Circuit.from_file(tmp_path / f"{name}.nir")


def test_texts_in_place_of_numbers(tmp_path: Path) -> None:
    """The node and the parameter are named, as for any other wrong column."""
    path = tmp_path / "texts.nir"
    nir.write(path, network())
    with h5py.File(path, "r+") as file:
        values = file["node/nodes/lif/tau"]
        count = len(values)
        del file["node/nodes/lif/tau"]
        file["node/nodes/lif/tau"] = np.array([b"x"] * count)
    said = r"texts\.nir: node 'lif' \(LIF\): 'tau' must be .* numbers"
    with pytest.raises(CircuitError, match=said):
        Circuit.from_nir(path)
