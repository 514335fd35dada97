"""Several LPUs in one process: ports, patterns, and circuits that are cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

import neurodriver as nd

from .case import COUNT, DT, STEPS, Case, How, Values, drawn, managed, named, simulated
from .models import AMPA, CURRENT, IAF
from .names import cut, optic_lobe, shipped
from .networks import ALL, current, spiking
from .weighted import RULES, WEIGHTS, network, projections

SIZE = 141
"""Neurons, and ports of a kind, of one LPU."""


def lpu(name: str, seed: int) -> nd.Circuit:
    """Return neurons whose spikes and potentials leave by ports, and others that ports feed.

    ``<name>_i`` has a synapse for spikes and one for potentials from outside.
    """
    rng, graph = np.random.default_rng(seed), nx.MultiDiGraph()
    cells, ampa = drawn(rng, IAF, SIZE), drawn(rng, AMPA, SIZE)
    for i in range(SIZE):
        given = {k: float(np.broadcast_to(v, SIZE)[i]) for k, v in cells.items()}
        graph.add_node(f"{name}_{i}", **{"class": "LeakyIAF"}, **given)
        given = {k: float(v[i]) for k, v in ampa.items()}
        graph.add_node(f"s_{i}", **{"class": "SynapseAMPA"}, **given, reverse=0.0)
        graph.add_node(f"p_{i}", **{"class": "PowerGPotGPot"}, threshold=-65.0, slope=0.004,
                       power=1.0, saturation=0.05, reverse=-80.0 * (i % 3 == 0))  # fmt: skip
        for variable, kind in (("spike_state", "spike"), ("V", "gpot")):
            for io in ("in", "out"):
                graph.add_node(f"{io}_{kind}_{i}", **{"class": "Port"}, port_type=kind,
                               port_io=io, selector=f"/{name}/{io}/{kind}/{i}")  # fmt: skip
            graph.add_edge(f"{name}_{i}", f"out_{kind}_{i}", variable=variable)
        graph.add_edge(f"in_spike_{i}", f"s_{i}", delay=float(rng.integers(1, 6)) * DT)
        graph.add_edge(f"in_gpot_{i}", f"p_{i}", delay=float(rng.integers(1, 6)) * DT)
        for synapse in (f"s_{i}", f"p_{i}"):
            graph.add_edge(synapse, f"{name}_{rng.integers(SIZE)}")
    return nd.Circuit.from_graph(graph, name=name)


def wired(one: str, other: str, first: int) -> Any:
    """Return a pattern in both directions into every fourth input port from ``first`` on.

    Some outputs lead to several inputs.
    """
    rng = np.random.default_rng(60 + first)
    sides = [
        ",".join(f"/{name}/{io}/{kind}[0:{SIZE}]" for io in ("in", "out")
                 for kind in ("spike", "gpot"))
        for name in (one, other)
    ]  # fmt: skip
    pattern = nd.Pattern(*sides)
    for a, b in ((one, other), (other, one)):
        for kind in ("spike", "gpot"):
            for target in range(first, SIZE, 4):
                source = rng.integers(SIZE)
                pattern[f"/{a}/out/{kind}/{source}", f"/{b}/in/{kind}/{target}"] = 1
    for side, name in enumerate((one, other)):
        for kind in ("spike", "gpot"):
            chosen = f"/{name}/in/{kind}[0:{SIZE}],/{name}/out/{kind}[0:{SIZE}]"
            pattern.interface[chosen, "interface", "type"] = [side, kind]
    return pattern


def of_ports(names: Sequence[str], delay: float, how: How) -> Values:
    """Run LPUs in a chain; currents enter neurons, and spikes enter free input ports."""
    circuits = {name: lpu(name, 50 + i) for i, name in enumerate(names)}
    patterns = {pair: wired(*pair, 2 * i) for i, pair in enumerate(pairwise(names))}
    free = [f"in_spike_{i}" for i in range(1, SIZE, 2)]
    inputs: dict[str, list[nd.Input]] = {
        name: [*current([f"{name}_{i}" for i in range(SIZE)], 0.5, 3.0, seed=70 + i),
               nd.PoissonInput("spike_state", free, 400.0, seed=80 + i)]
        for i, name in enumerate(names)
    }  # fmt: skip
    ports = [f"{io}_gpot_{i}" for io in ("in", "out") for i in range(0, SIZE, 4)]
    heads = {name: [f"{name}_{i}" for i in range(SIZE)] for name in names}
    wanted = {
        name: [("V", [*heads[name], *(ports if name == names[0] else ())]), *ALL[1:]]
        for name in names
    }
    return managed(how, circuits, patterns, inputs, wanted, delay=delay)


def port_inputs(how: How) -> Values:
    """Run one LPU alone whose input ports take potentials and spikes."""
    rng = np.random.default_rng(51)
    ports = [f"in_gpot_{i}" for i in range(SIZE)], [f"in_spike_{i}" for i in range(SIZE)]
    values = rng.uniform(-80.0, -20.0, (STEPS, SIZE))
    inputs = [
        nd.ArrayInput({"V": (ports[0], values)}),
        nd.PoissonInput("spike_state", ports[1], 500.0, seed=5),
        nd.StepInput("I", [f"a_{i}" for i in range(SIZE)], 1.5),
    ]
    return simulated(how, lpu("a", 50), inputs, ALL)


@dataclass(frozen=True)
class Whole:
    """A circuit to cut, what enters it and what is recorded of each part.

    Attributes
    ----------
    neurons : int
        Its first components, which are dealt out at random.
    current : (low, high) float
    """

    circuit: nd.Circuit
    neurons: int
    current: tuple[float, float]
    wanted: Sequence[str] = ("V", "spike_state")


def whole(kind: str) -> Whole:
    """Return a circuit to cut."""
    late = nd.Uniform(3.5 * DT, 20.5 * DT)
    match kind:
        case "synapses":
            return Whole(spiking(20), COUNT, (1.2, 4.0), ALL)
        case "weights":
            return Whole(network("LeakyIAFDelta"), COUNT, (0.0, 1.5))
        case "weights, two receptors":
            return Whole(network("LeakyIAFExpCurrent", 5), COUNT, (200.0, 900.0))
        case "noise":
            return Whole(network("IzhikevichNoisy", 2), COUNT, (0.0, 10.0))
        case _:
            made = projections(RULES["total"], WEIGHTS["normal"], late)
            return Whole(made, 2 * COUNT, (200.0, 800.0))


def divided(given: Whole, parts: int) -> np.ndarray:
    """Return a random part for each component; a synapse goes with its target."""
    part = np.random.default_rng(90).integers(0, parts, given.circuit.count)
    for links in given.circuit.connections:
        if links.variable == "g":
            part[links.source] = part[links.target]
    return part


def of_cut(kind: str, parts: int, fed: bool, delay: float, options: Any, how: How) -> Values:
    """Cut a circuit and run the parts; ``fed``: with currents and spikes from outside."""
    given, names = whole(kind), [f"part{i}" for i in range(parts)]
    part = divided(given, parts)
    pieces = cut(given.circuit, part, names)
    inputs: dict[str, list[nd.Input]] = {}
    for i, name in enumerate(names) if fed else ():
        mine = given.circuit.uids[: given.neurons][part[: given.neurons] == i].tolist()
        inputs[name] = current(mine, *given.current, seed=91 + i)
        if kind != "synapses":
            spikes = nd.PoissonInput("spike_state", mine, 200.0, seed=91)
            inputs[name].append(spikes)
    wanted = dict.fromkeys(names, given.wanted)
    return managed(
        how, pieces.circuits, pieces.patterns(), inputs, wanted, delay=delay, seed=9, **options
    )


def lobes(how: How) -> Values:
    """Run the four neuropils of the optic lobe."""
    made = optic_lobe.parts(3)
    wanted = dict.fromkeys(made.circuits, ("V", "r"))
    inputs: dict[str, list[nd.Input]] = {}
    for name, circuit in made.circuits.items():
        uids = [u for u in circuit.uids.tolist() if not u.startswith("port")][:150]
        values = np.random.default_rng(len(name)).uniform(0.0, 1.0, (60, len(uids)))
        inputs[name] = [nd.ArrayInput({"I": (uids, values)})]
    return managed(how, made.circuits, made.patterns(), inputs, wanted, dt=5e-3, steps=60)


def apart(how: How) -> Values:
    """Run two LPUs of one Manager between which nothing flows, one of them with noise."""
    rng, models = np.random.default_rng(95), shipped()
    uids = named("LeakyIAFExpCurrent", COUNT)
    group = (models["LeakyIAFExpCurrent"], COUNT, drawn(rng, CURRENT, COUNT), uids)
    circuits = {"a": nd.Circuit.from_arrays([group]), "b": network("IzhikevichNoisy")}
    inputs = {"a": current(uids, 200.0, 900.0)}
    wanted = dict.fromkeys(circuits, ("V", "spike_state"))
    return managed(how, circuits, {}, inputs, wanted, seed=4)


def cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    yield Case("two LPUs, ports", partial(of_ports, "ab", 0.0))
    yield Case("two LPUs, ports, later", partial(of_ports, "ab", 5 * DT))
    yield Case("three LPUs, ports", partial(of_ports, "abc", 0.0))
    yield Case("two LPUs apart", apart)
    yield Case("inputs into ports", port_inputs)
    for kind in ("synapses", "weights", "weights, two receptors", "noise", "projections"):
        for fed in (True, False) if kind != "synapses" else (True,):
            told = f"cut, {kind}{'' if fed else ', no inputs'}"
            yield Case(f"{told}, 2 LPUs", partial(of_cut, kind, 2, fed, 0.0, {}))
        yield Case(f"cut, {kind}, 3 LPUs, later", partial(of_cut, kind, 3, True, 4 * DT, {}))
    for name, options in (("no plans", {"plans": False}), ("not merged", {"merge": False})):
        yield Case(f"cut, synapses, {name}", partial(of_cut, "synapses", 2, True, 0.0, options))
    yield Case("optic lobe, four LPUs", lobes)
