"""Networks of neurons and synapses: delays, plans, merging, gap junctions, plasticity, lattices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

import neurodriver as nd

from .case import COUNT, DT, STEPS, Case, How, Values, delays, drawn, ends, named, simulated
from .models import ALPHA, AMPA, IAF, POWER, SQUID
from .names import generic, optic_lobe, shipped

ALL = ("V", "spike_state", "g")
NEURONS = named("LeakyIAF", COUNT)

VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    ", not merged": {"merge": False},
    ", no plans": {"plans": False},
}
"""How a circuit may be compiled."""


def spiking(longest: int, seed: int = 1, fan_in: int = 3) -> nd.Circuit:
    """Return LeakyIAF with AlphaSynapses and SynapseAMPA between random pairs.

    Latencies are 1 to ``longest`` steps; 1: none is given.
    """
    rng = np.random.default_rng(seed)
    edges, models = fan_in * COUNT, shipped()
    alpha = edges // 2
    groups = [
        (models["LeakyIAF"], COUNT, drawn(rng, IAF, COUNT), NEURONS),
        (models["AlphaSynapse"], alpha, drawn(rng, ALPHA, alpha), None),
        (models["SynapseAMPA"], edges - alpha, drawn(rng, AMPA, edges - alpha), None),
    ]
    synapse = COUNT + np.arange(edges, dtype=np.int32)
    source, target = ends(rng, COUNT, COUNT, edges)
    reverse = {"reverse": np.where(rng.random(edges) < 0.8, 0.0, -80.0)}
    late: list[Any] = [delays(rng, most, edges) for most in (longest, min(longest, 3))]
    if longest == 1:
        late = [np.zeros(()), np.zeros(())]
    return nd.Circuit.from_arrays(
        groups,
        [
            nd.Connections("spike_state", "spike_state", source, synapse, late[0]),
            nd.Connections("g", "I", synapse, target, late[1], reverse),
        ],
    )


def converging(distinct: bool) -> nd.Circuit:
    """Return LeakyIAF, each with six to eight AlphaSynapses; equal kinetics unless ``distinct``."""
    rng = np.random.default_rng(3)
    degree = rng.integers(6, 9, COUNT)
    edges, models = int(degree.sum()), shipped()
    alpha = ALPHA if distinct else {**ALPHA, "ar": 0.7, "ad": 0.3}
    groups = [
        (models["LeakyIAF"], COUNT, drawn(rng, IAF, COUNT), NEURONS),
        (models["AlphaSynapse"], edges, drawn(rng, alpha, edges), None),
    ]
    synapse = (COUNT + rng.permutation(edges)).astype(np.int32)
    source = rng.integers(0, COUNT, edges).astype(np.int32)
    target = np.repeat(np.arange(COUNT, dtype=np.int32), degree)
    reverse = {"reverse": np.where(rng.random(edges) < 0.8, 0.0, -80.0)}
    return nd.Circuit.from_arrays(
        groups,
        [
            nd.Connections("spike_state", "spike_state", source, synapse, delays(rng, 9, edges)),
            nd.Connections("g", "I", synapse, target, data=reverse),
        ],
    )


def all_to_all(neurons: int = 37) -> nd.Circuit:
    """Return HodgkinHuxley2, an AlphaSynapse from each to each."""
    rng = np.random.default_rng(2)
    edges, models = neurons * neurons, shipped()
    cells = {**SQUID, "initV": (-70.0, -60.0)}
    alpha = {"gmax": (1e-4, 2e-4), "ar": 0.5, "ad": 0.3}
    groups = [
        (models["HodgkinHuxley2"], neurons, drawn(rng, cells, neurons), NEURONS[:neurons]),
        (models["AlphaSynapse"], edges, drawn(rng, alpha, edges), None),
    ]
    synapse = neurons + np.arange(edges, dtype=np.int32)
    each = np.arange(neurons, dtype=np.int32)
    return nd.Circuit.from_arrays(
        groups,
        [
            nd.Connections("spike_state", "spike_state", np.tile(each, neurons), synapse),
            nd.Connections(
                "g", "I", synapse, np.repeat(each, neurons), data={"reverse": np.asarray(0.0)}
            ),
        ],
    )


def current(
    uids: list[str], low: float, high: float, steps: int = STEPS, seed: int = 4
) -> list[nd.Input]:
    """Return a random current for each component and step."""
    values = np.random.default_rng(seed).uniform(low, high, (steps, len(uids)))
    return [nd.ArrayInput({"I": (uids, values)})]


def of_spikes(longest: int, wanted: Any, options: dict[str, Any], how: How) -> Values:
    """Run a network with delays."""
    inputs = current(NEURONS, 1.2, 4.0)
    return simulated(how, spiking(longest), inputs, wanted, **options)


def of_converging(distinct: bool, wanted: Any, options: dict[str, Any], how: How) -> Values:
    """Run a network in which synapses may be merged."""
    inputs = current(NEURONS, 2.0, 4.0)
    return simulated(how, converging(distinct), inputs, wanted, **options)


def of_pairs(options: dict[str, Any], how: How) -> Values:
    """Run a network of all pairs."""
    return simulated(how, all_to_all(), current(NEURONS[:37], 5.0, 40.0), ALL, **options)


def gaps(how: How) -> Values:
    """Run a ring of neurons with gap junctions: of edges, and of components."""
    rng = np.random.default_rng(8)
    graph, count = nx.MultiDiGraph(), 157
    cells = drawn(rng, {**SQUID, "initV": (-70.0, -60.0)}, count)
    for i in range(count):
        given = {k: float(np.broadcast_to(v, count)[i]) for k, v in cells.items()}
        graph.add_node(f"n{i}", **{"class": "HodgkinHuxley2"}, **given)
    for i in range(count):
        other = f"n{(7 * i + 1) % count}"
        graph.add_edge(f"n{i}", other, variable="V", conductance=0.02 + 0.001 * i)
        if i % 3 == 0:
            graph.add_node(f"j{i}", **{"class": "GapJunction"}, conductance=0.05)
            graph.add_edge(f"n{i}", f"j{i}", variable="V", receptor="pre")
            graph.add_edge(f"n{i + 1}" if i + 1 < count else "n0", f"j{i}", variable="V",
                           receptor="post")  # fmt: skip
            graph.add_edge(f"j{i}", f"n{i + 1}" if i + 1 < count else "n0")
    uids = [f"n{i}" for i in range(0, count, 2)]
    return simulated(how, graph, current(uids, 5.0, 40.0), ("V", "spike_state", "I"))


def plasticity(options: dict[str, Any], how: How) -> Values:
    """Run neurons whose synapses learn from spikes."""
    rng, models = np.random.default_rng(9), shipped()
    edges = 2 * COUNT
    stdp = {"tau_g": (2.0, 4.0), "tau_plus": 5.0, "tau_minus": 7.0, "eta_plus": 3.0,
            "eta_minus": 2.0, "w_max": 0.3, "w_min": 0.01,
            "initweight": (0.02, 0.2)}  # fmt: skip
    groups = [
        (models["LeakyIAF"], COUNT, drawn(rng, IAF, COUNT), NEURONS),
        (models["exponential_with_stdp"], edges, drawn(rng, stdp, edges), None),
    ]
    synapse = COUNT + np.arange(edges, dtype=np.int32)
    source, target = ends(rng, COUNT, COUNT, edges)
    links = [
        nd.Connections("spike_state", "pre", source, synapse, delays(rng, 5, edges)),
        nd.Connections("spike_state", "post", target, synapse),
        nd.Connections("g", "I", synapse, target, data={"reverse": np.asarray(0.0)}),
    ]
    circuit = nd.Circuit.from_arrays(groups, links)
    return simulated(how, circuit, current(NEURONS, 2.0, 5.0), ALL, **options)


def graded(how: How) -> Values:
    """Run potentials that set conductances through every graded synapse, over long delays."""
    rng, models = np.random.default_rng(10), shipped()
    kinds: dict[str, dict[str, Any]] = {
        "PowerGPotGPot": POWER,
        "SigmoidSynapse": {"threshold": -55.0, "slope": (0.02, 0.1), "gmax": 0.2, "scale": 1.0},
        "power_gpot_gpot_sig": {"threshold": -55.0, "slope": (0.1, 0.2), "saturation": 20.0},
    }
    groups = [(models["LeakyIAF"], COUNT, drawn(rng, IAF, COUNT), NEURONS)]
    groups += [(models[k], COUNT, drawn(rng, given, COUNT), None) for k, given in kinds.items()]
    edges = len(kinds) * COUNT
    synapse = COUNT + np.arange(edges, dtype=np.int32)
    source, target = ends(rng, COUNT, COUNT, edges)
    reverse = {"reverse": np.where(rng.random(edges) < 0.5, 0.0, -80.0)}
    links = [
        nd.Connections("V", "V", source, synapse, delays(rng, 30, edges)),
        nd.Connections("g", "I", synapse, target, delays(rng, 4, edges), reverse),
    ]
    circuit = nd.Circuit.from_arrays(groups, links)
    return simulated(how, circuit, current(NEURONS, 1.0, 4.0), ALL)


def lobe(options: dict[str, Any], how: How) -> Values:
    """Run the optic lobe, whose connections form lattices."""
    circuit = optic_lobe.circuit(5)
    uids = circuit.uids[:COUNT].tolist()
    inputs = current(uids, 0.0, 1.0, 60)
    return simulated(how, circuit, inputs, ("V", "r"), dt=5e-3, steps=60, **options)


def mixed(how: How) -> Values:
    """Run the generic circuit of spiking and graded neurons with ports."""
    circuit = generic.circuit(25, 20, 17, seed=3)
    uids, values = generic.current(circuit, DT, STEPS)
    return simulated(how, circuit, [nd.ArrayInput({"I": (uids.tolist(), values)})], ALL)


def eye(how: How) -> Values:
    """Run photoreceptors behind buffers, whose potentials go through buffers to neurons."""
    rng, models, cells = np.random.default_rng(11), shipped(), 141
    photo = {"num_microvilli": rng.integers(20, 41, cells).astype(float), "init_V": -82.0}
    uids = named("BufferPhoton", cells)
    groups = [
        (models["BufferPhoton"], cells, {}, uids),
        (models["PhotoreceptorModel"], cells, photo, None),
        (models["BufferVoltage"], cells, {}, None),
        (models["PowerGPotGPot"], cells, {**POWER, "power": 1.0, "threshold": -83.0}, None),
        (models["LeakyIAF"], cells, drawn(rng, IAF, cells), None),
    ]
    step = np.arange(cells, dtype=np.int32)
    reverse = {"reverse": np.asarray(0.0)}
    links = [
        nd.Connections("photon", "photon", step, step + cells, delays(rng, 4, cells)),
        nd.Connections("V", "V", step + cells, step + 2 * cells, delays(rng, 4, cells)),
        nd.Connections("V", "V", step + 2 * cells, step + 3 * cells),
        nd.Connections("g", "I", step + 3 * cells, step + 4 * cells, data=reverse),
    ]
    circuit = nd.Circuit.from_arrays(groups, links)
    light = nd.StepInput("photon", uids, rng.uniform(1e3, 3e4, cells), 2e-3, 12e-3)
    return simulated(how, circuit, [light], ("V", "photon", "g", "spike_state"), seed=5)


def noise(how: How) -> Values:
    """Run neurons that noise of each kind drives, through connections."""
    rng, models = np.random.default_rng(12), shipped()
    groups = [
        (models["LeakyIAF"], COUNT, drawn(rng, IAF, COUNT), NEURONS),
        (models["NoisyCurrent"], COUNT, {"mean": 2.0, "sigma": 0.5}, None),
        (models["OrnsteinUhlenbeckCurrent"], COUNT, {"mean": 1.0, "sigma": 0.5,
                                                     "time_constant": 5.0}, None),
        (models["PoissonSource"], COUNT, {"rate": 400.0}, None),
        (models["SynapseAMPA"], COUNT, drawn(rng, AMPA, COUNT), None),
    ]  # fmt: skip
    step = np.arange(COUNT, dtype=np.int32)
    links = [
        nd.Connections("I", "I", step + COUNT, step, delays(rng, 6, COUNT)),
        nd.Connections("I", "I", step + 2 * COUNT, step[::-1].copy()),
        nd.Connections("spike_state", "spike_state", step + 3 * COUNT, step + 4 * COUNT),
        nd.Connections("g", "I", step + 4 * COUNT, step, data={"reverse": np.asarray(0.0)}),
    ]
    circuit = nd.Circuit.from_arrays(groups, links)
    return simulated(how, circuit, [], (*ALL, "I"), seed=6)


def cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    for longest, told in ((1, "one step"), (20, "1 to 20 steps"), (150, "1 to 150 steps")):
        for which, options in VARIANTS.items():
            name = f"spiking, delays of {told}{which}"
            yield Case(name, partial(of_spikes, longest, ALL, options))
    for which, options in VARIANTS.items():
        yield Case(
            f"converging, equal kinetics{which}", partial(of_converging, False, ALL, options)
        )
        name = f"converging, equal kinetics, no g{which}"
        yield Case(name, partial(of_converging, False, ALL[:2], options))
        name = f"converging, different kinetics, no g{which}"
        yield Case(name, partial(of_converging, True, ALL[:2], options))
        yield Case(f"all pairs{which}", partial(of_pairs, options))
    for which, options in (("", {}), (", no plans", {"plans": False})):
        yield Case(f"optic lobe{which}", partial(lobe, options))
        yield Case(f"plasticity{which}", partial(plasticity, options))
    yield Case("gap junctions", gaps)
    yield Case("graded synapses", graded)
    yield Case("generic circuit", mixed)
    yield Case("photoreceptors and buffers", eye)
    yield Case("sources of noise", noise)
