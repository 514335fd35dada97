"""Random circuits of all models against a plain simulator that shares no code with the package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from models import MODELS
from naive import Edge, Naive
from support import HH2, IAF, ML, graph, node, simulate

from neurodriver import ArrayInput, Circuit

AGREEMENT = 1e-10
"""Relative to the largest value. Sums in another order and another exp differ by 1e-15 a step,
which a few spikes of a neuron magnify."""

STEPS = 200
SEEDS = range(10)

GATES = {"n": 0.1559, "m": 0.0101, "h": 0.9659, "a": 0.5404, "b": 0.2885}
SQUID = ("HodgkinHuxley", "HodgkinHuxley2", "ConnorStevens", "Rinzel", "Wilson")
IAFS = ("LeakyIAF", "LeakyIAF_bias", "LeakyIAFwithRefractoryPeriod")
EVENTS = (
    "AlphaSynapse",
    "AlphaSynapse2",
    "SynapseAMPA",
    "SynapseGABA",
    "ExpSynapse",
    "SynapseNMDA",
)
GRADED = ("PowerGPotGPot", "SigmoidSynapse")

Nodes = dict[str, dict[str, Any]]


def random_node(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    """Return a component whose parameters are drawn around usual ones."""

    def near(value: float, spread: float = 0.1) -> float:
        return float(value * rng.uniform(1 - spread, 1 + spread))

    start = {"initV": float(rng.uniform(-70, -50))} if rng.random() < 0.5 else {}
    if kind in IAFS:
        given = {**IAF, "resistance": near(10.0), "capacitance": near(0.5)}
        more = {"bias_current": near(0.5)} if kind != "LeakyIAF" else {}
        if kind == "LeakyIAFwithRefractoryPeriod":
            del given["resistance"]
            more.update(time_constant=near(5.0), refractory_period=near(1.95, 0.01))
        return node(kind, given, threshold=float(rng.uniform(-62, -50)), **start, **more)
    if kind == "HodgkinHuxley2":
        gates = {"initn": 0.3, "initm": 0.05, "inith": 0.6} if rng.random() < 0.7 else {}
        return node(kind, {k: near(v, 0.02) for k, v in HH2.items()}, **start, **gates)
    if kind in SQUID:
        names = {"HodgkinHuxley": "nmh", "ConnorStevens": "nmhab"}.get(kind, "")
        return node(kind, {x: near(GATES[x]) for x in names}, **start)
    if kind == "MorrisLecar":
        return node(kind, {k: near(v, 0.05) for k, v in ML.items()}, phi=near(0.05), **start)
    if kind == "GradedNeuron":
        start = {"initV": float(rng.normal())} if start else {}
        given = {"time_constant": float(rng.uniform(0.05, 5.0)), "bias": float(rng.normal())}
        return node(kind, given, **start)
    reverse = {"reverse": float(rng.uniform(-90, 20))}
    if kind in ("AlphaSynapse", "AlphaSynapse2"):
        return node(kind, {"gmax": near(0.2), "ar": near(0.9), "ad": near(0.4)}, **reverse)
    if kind == "ExpSynapse":
        return node(kind, {"gmax": near(0.2), "tau": near(3.0), "a": near(2.0)}, **reverse)
    if kind == "SynapseNMDA":
        return node(kind, {"gmax": near(0.2), "st": near(9.0), "Mg": near(1.0)}, **reverse)
    if kind in EVENTS:
        return node(kind, {"gmax": near(0.05), "st": near(3.0)}, **reverse)
    if kind == "SigmoidSynapse":
        given = {"threshold": near(-55.0), "slope": near(0.1), "gmax": near(0.02), "scale": 1.5}
        return node(kind, given, **reverse)
    power = float(rng.choice([1.0, 1.5, 2.0]))
    given = {"threshold": near(-58.0), "slope": near(0.01), "power": power, "saturation": 0.2}
    return node("PowerGPotGPot", given, **reverse)


def random_circuit(rng: np.random.Generator, dt: float) -> tuple[Nodes, list[Edge]]:
    """Return nodes of all models and edges with random delays, some of them parallel."""
    kinds = list(rng.permutation([k for k in MODELS if k not in ("Aggregator", "GapJunctions")]))
    nodes: Nodes = {}
    for kind in kinds:
        for i in range(int(rng.integers(1, 5))):
            nodes[f"{kind}_{i}"] = random_node(str(kind), rng)
    of = {k: [uid for uid, p in nodes.items() if p["class"] == k] for k in kinds}
    spiking = [uid for k in (*IAFS, *SQUID) for uid in of[k]]
    neurons = spiking + of["MorrisLecar"]
    events = [uid for k in EVENTS for uid in of[k]]
    graded = [uid for k in GRADED for uid in of[k]]

    def delay(longest: float) -> dict[str, float]:
        return {"delay": float(rng.uniform(0, longest) * dt)} if rng.random() < 0.7 else {}

    edges: list[Edge] = []
    for uid in events:
        for _ in range(rng.integers(1, 4)):
            edges.append((str(rng.choice(spiking)), uid, {"variable": "spike_state", **delay(25)}))
    for uid in graded + of["SynapseNMDA"]:
        edges.append((str(rng.choice(neurons)), uid, {"variable": "V", **delay(10)}))
    for _ in range(4):
        a, b = (str(uid) for uid in rng.choice(neurons, 2))
        gap = {"variable": "V", "conductance": float(rng.uniform(0, 0.3)), **delay(3)}
        edges.append((a, b, gap))
    for uid in events + graded:
        for _ in range(rng.integers(1, 3)):
            target = str(rng.choice(neurons))
            name = str(rng.choice(["reverse", "Vr", "VR", "reverse_potential"]))
            own = {name: float(rng.uniform(-90, 20))} if rng.random() < 0.4 else {}
            edges.append((uid, target, {**own, **delay(5)}))
    for _ in range(3 * len(of["GradedNeuron"])):
        a, b = (str(uid) for uid in rng.choice(of["GradedNeuron"], 2))
        edges.append((a, b, {"weight": float(rng.normal(0, 0.4)), **delay(8)}))
    if rng.random() < 0.5:
        nodes["sum"] = {"class": "Aggregator"}
        target = of["MorrisLecar"][0]
        edges += [(target, "sum", {}), ("sum", target, {}), (of["SynapseAMPA"][0], "sum", delay(4))]
    nodes[of["GradedNeuron"][0]].update(bias=1.0, initV=0.5)  # so that one rate moves for sure
    order = rng.permutation(len(edges))
    return nodes, [edges[i] for i in order]


def random_inputs(nodes: Nodes, rng: np.random.Generator) -> dict[tuple[str, str], np.ndarray]:
    """Return currents into neurons and spikes into some synapses, a value for each step."""
    out = {}
    for uid, p in nodes.items():
        kind = p["class"]
        if kind in (*IAFS, *SQUID, "MorrisLecar"):
            high = 6.0 if kind in IAFS else {"MorrisLecar": 20.0, "Wilson": 80.0}.get(kind, 30.0)
            out["I", uid] = rng.uniform(0.0, high) * rng.uniform(0.5, 1.0, STEPS)
        elif kind == "GradedNeuron" and rng.random() < 0.5:
            out["I", uid] = rng.normal(0.0, 1.0, STEPS)
        elif kind in EVENTS and rng.random() < 0.5:
            out["spike_state", uid] = (rng.random(STEPS) < 0.03).astype(float)
    return out


def as_input(injected: Mapping[tuple[str, str], np.ndarray]) -> ArrayInput:
    """Return the same values as an input of the package."""
    given = {}
    for variable in {variable for variable, _ in injected}:
        uids = [uid for v, uid in injected if v == variable]
        given[variable] = (uids, np.column_stack([injected[variable, uid] for uid in uids]))
    return ArrayInput(given)


def random_order(nodes: Nodes, rng: np.random.Generator) -> list[list[str]]:
    """Return the models in a random order of at most four phases."""
    kinds = [str(kind) for kind in rng.permutation(sorted({p["class"] for p in nodes.values()}))]
    number = np.sort(rng.integers(0, 4, len(kinds)))
    phases = [[k for k, n in zip(kinds, number, strict=True) if n == one] for one in range(4)]
    return [phase for phase in phases if phase]


@pytest.mark.parametrize("seed", range(6))
def test_random_circuit_in_phases(seed: int) -> None:
    """The same of circuits whose models are computed in a random order within a step."""
    agrees([11, seed], ordered=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_circuit(seed: int) -> None:
    """Every variable of every component agrees at every step, spikes exactly."""
    agrees([7, seed], ordered=False)


def agrees(seed: list[int], ordered: bool) -> None:
    """Compare a random circuit with the plain simulator."""
    rng = np.random.default_rng(seed)
    dt = float(rng.choice([2e-5, 1e-4, 1.3e-4, 2e-4]))
    nodes, edges = random_circuit(rng, dt)
    injected = random_inputs(nodes, rng)
    made: Any = graph(nodes, edges)
    order = random_order(nodes, rng) if ordered else [list({p["class"] for p in nodes.values()})]
    place = {kind: number for number, phase in enumerate(order) for kind in phase}
    phase = {uid: place[p["class"]] for uid, p in nodes.items()}
    # in the order in which the graph says
    naive = Naive(nodes, list(made.edges(data=True)), dt, phase)
    naive.run(STEPS, injected)
    if ordered:
        made = Circuit.from_graph(made).in_order(order)
    uids: dict[str, list[str]] = {}
    for variable, uid in naive.history:
        uids.setdefault(variable, []).append(uid)
    data = simulate(
        made,
        dt,
        STEPS,
        as_input(injected),
        list(uids.items()),
        threads=int(rng.integers(1, 4)),
        chunk=int(rng.choice([1, 17, 1000])),
        plans=bool(rng.random() < 0.7),
    )
    assert set(uids) == {"V", "spike_state", "g", "I", "r"} == set(data)
    for variable, names in uids.items():
        expected = np.array([naive.history[variable, uid][:STEPS] for uid in names]).T
        moved = np.ptp(expected, axis=0) > 0
        assert moved.any(), f"{variable} never moved"
        still = [u for u, did in zip(names, moved, strict=True) if not did]
        assert variable != "V" or all(u.startswith("GradedNeuron") for u in still)
        gaps = [u for u in names if u.startswith("gap_")]
        assert variable != "I" or not set(gaps) <= set(still)
        if variable == "spike_state":
            assert np.array_equal(data[variable], expected)
        else:
            scale = np.abs(expected).max()
            np.testing.assert_allclose(
                data[variable], expected, rtol=AGREEMENT, atol=AGREEMENT * scale, err_msg=variable
            )


def test_the_plain_simulator_knows_the_chain() -> None:
    """The plain simulator itself: spike in row 2, g in row 3, I in row 4, V in row 5."""
    eager = {**IAF, "threshold": -69.9999}
    nodes = {
        "a": node("LeakyIAF", eager),
        "s": node("SynapseAMPA", {"gmax": 0.003, "st": 20.0}, reverse=0.0),
        "b": node("LeakyIAF", IAF),
    }
    naive = Naive(nodes, [("a", "s", {}), ("s", "b", {})], 1e-4)
    naive.run(10, {("I", "a"): [0.0, 100.0] + [0.0] * 8})
    found = {key: np.flatnonzero(np.diff(rows))[0] + 1 for key, rows in naive.history.items()
             if np.ptp(rows) > 0 and key != ("V", "a")}  # fmt: skip
    assert found == {("spike_state", "a"): 2, ("g", "s"): 3, ("I", "auto_0"): 4, ("V", "b"): 5}
