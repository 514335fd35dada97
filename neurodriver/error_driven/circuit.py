"""Translate a network into a circuit: populations, connections, and their order in a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurodriver.circuit import Circuit, Connections, Population
from neurodriver.errors import CircuitError, quoted
from neurodriver.model.kinds import SPIKES

from .deep import AxonBurstNeuron, AxonContextArrivals, AxonContextNeuron, AxonPulvinarNeuron
from .inhibition import OF_INHIBITION, AxonInhibition, AxonPulvinarInhibition
from .layers import NetworkLayer, NetworkPath
from .network import Network
from .neuron import (
    AnyArrivals,
    AnyAxonNeuron,
    AxonArrivals,
    AxonNeuron,
    AxonPoolArrivals,
    AxonPoolNeuron,
    AxonSpikes,
)
from .neuron_text import UNIT
from .starts import Weights, first_weights, most_weight
from .striatum import AxonMatrixNeuron, AxonMatrixPoolNeuron
from .synapse import AxonSynapse, carried

CYCLE = 1e-3
"""Length of a cycle, which is one step, in s."""


@dataclass(frozen=True)
class PathPlace:
    """Where the synapses of a path are in the circuit.

    Attributes
    ----------
    links : str
        Name of the connections that carry its weights.
    first : int
        Number of the first of its synapses there. They are ordered by sender.
    """

    links: str
    first: int


@dataclass(frozen=True)
class NetworkCircuit:
    """The circuit of a network, and where its paths are in it.

    Attributes
    ----------
    paths : dict of str to PathPlace
        Without paths of the kind ``context``, which send no spikes; see `ContextPath`.
    """

    circuit: Circuit
    paths: dict[str, PathPlace]


def circuit_of(network: Network, weights: Mapping[str, Weights] | None = None) -> Circuit:
    """Return the circuit of a network; see `placed_circuit`."""
    return placed_circuit(network, weights).circuit


def placed_circuit(
    network: Network, weights: Mapping[str, Weights] | None = None
) -> NetworkCircuit:
    """Return the circuit of a network, and where its paths are in it.

    A layer ``Hidden`` becomes three populations, which are computed one after the other in each
    step. ``Hidden_spikes`` sums the weights of the spikes that arrive. These populations of all
    layers are computed together. ``Hidden_arrivals`` has the mean over the layer, and ``Hidden``
    the neurons. All paths that change the same conductance are one set of connections.

    Parameters
    ----------
    weights : mapping of str to Weights, optional
        Name of a path -> its weights; the initial weights by default.
    """
    if not network.layers:
        raise CircuitError("the network has no layers; add some with Network.layer")
    spikes: list[Population] = []
    arrivals: list[Population] = []
    neurons: dict[str, Population] = {}
    named = {one.name for layer in network.layers.values() for one in layer.inhibited_as}
    for layer in network.layers.values():
        made = _populations(network, layer, neurons)
        spikes.append(made[0])
        arrivals.append(made[1])
        neurons[layer.name] = made[2]
    known = first_weights(network) if weights is None else weights
    links, paths = _connections(network, known)
    inhibition = [_inhibition(network, network.layers[name]) for name in sorted(named)]
    cells = [*neurons.values()]
    phases = [one for one in (spikes, arrivals, inhibition, cells) if one]
    circuit = Circuit(
        [*spikes, *arrivals, *cells, *inhibition],
        links,
        order=[[one.name for one in some] for some in phases],
        shared={"minus": network.minus, "plus": network.plus},
        seed=network.seed,
    )
    return NetworkCircuit(circuit, paths)


def inhibition_name(layer: NetworkLayer) -> str:
    """Return the name of the population that computes the inhibition of a layer for others."""
    return f"{layer.name}_inhibition"


def _inhibition(network: Network, layer: NetworkLayer) -> Population:
    """Return what computes the inhibition of a layer for others."""
    own = network.parameters(layer)
    values: dict[str, Any] = {n: own[n] for n in OF_INHIBITION}
    return Population(
        AxonPulvinarInhibition if layer.driver is not None else AxonInhibition,
        name=inhibition_name(layer), axes={"layer": 1}, arrivals=f"{layer.name}_arrivals",
        neurons=layer.name, **values,
    )  # fmt: skip


def _populations(
    network: Network, layer: NetworkLayer, before: Mapping[str, Population]
) -> tuple[Population, Population, Population]:
    """Return what sums the spikes that arrive at a layer, what has their mean, and the neurons.

    ``before`` are the neurons of the layers before, among them the driver.
    """
    own, axes = network.parameters(layer), {"unit": layer.count}
    models = _models(network, layer, bool(own["pool_inhibits"]))
    if own["pool_inhibits"]:
        axes = {"pool": layer.pools, "unit": layer.count // layer.pools}
    spikes = Population(AxonSpikes, layer.count, name=f"{layer.name}_spikes")
    arrivals = Population(
        models[0], name=f"{layer.name}_arrivals", axes=axes, spikes=spikes,
        ignored=_ignored(network, layer),
    )  # fmt: skip
    more: dict[str, Any] = {n: v for n, v in own.items() if n in models[1].params}
    more["others"] = [inhibition_name(one) for one in layer.inhibited_as]
    if own["pool_inhibits"]:
        more["pool_mean_factor"] = np.ones(layer.pools)
    if layer.driver is not None:
        more["driver"] = before[layer.driver.name]
    neurons = Population(models[1], name=layer.name, axes=axes, arrivals=arrivals, **more)
    return spikes, arrivals, neurons


def first_units(network: Network) -> dict[str, int]:
    """Return the number of the first unit of each layer; units are numbered layer by layer."""
    counts = [layer.count for layer in network.layers.values()]
    return dict(zip(network.layers, np.cumsum([0, *counts]).tolist(), strict=False))


def _models(
    network: Network, layer: NetworkLayer, pools: bool
) -> tuple[type[AnyArrivals], type[AnyAxonNeuron]]:
    """Return the models of a layer: of its arriving spikes, and of its neurons."""
    where, deep = f"layer {quoted(layer.name)}, pool_inhibits", layer.kind in ("ct", "pulvinar")
    if pools and len(layer.shape) != 4:
        raise CircuitError(f"{where}: a shape (py, px, y, x) is needed (got {layer.shape})")
    if pools and (deep or network.bursts(layer)):
        say = "ct and pulvinar layers, and layers that send context or drive others, have one pool"
        raise CircuitError(f"{where}: {say}; leave it out")
    if pools:
        return AxonPoolArrivals, AxonMatrixPoolNeuron if layer.modulators else AxonPoolNeuron
    if layer.modulators:
        return AxonArrivals, AxonMatrixNeuron
    if layer.kind == "ct":
        return AxonContextArrivals, AxonContextNeuron
    if layer.kind == "pulvinar":
        return AxonArrivals, AxonPulvinarNeuron
    return AxonArrivals, AxonBurstNeuron if network.bursts(layer) else AxonNeuron


def _connections(
    network: Network, weights: Mapping[str, Weights]
) -> tuple[list[Connections], dict[str, PathPlace]]:
    """Return the connections of all paths, and where each path is in them."""
    sets: dict[str, list[NetworkPath]] = {}
    for path in network.paths.values():
        if path.kind != "context":
            sets.setdefault(path.conductance, []).append(path)
    places: dict[str, PathPlace] = {}
    for conductance, paths in sets.items():
        firsts = np.cumsum([0, *(len(path.pairs) for path in paths)]).tolist()
        made = (PathPlace(conductance, first) for first in firsts)
        places |= {path.name: place for path, place in zip(paths, made, strict=False)}
    return [_joined(network, *one, weights) for one in sets.items()], places


def _joined(
    network: Network,
    conductance: str,
    paths: Sequence[NetworkPath],
    weights: Mapping[str, Weights],
) -> Connections:
    """Return the connections of some paths, one after the other, each ordered by sender."""
    first = first_units(network)
    behind = 2 * sum(layer.count for layer in network.layers.values())
    source, target, weight, delay = [], [], [], []
    for path in paths:
        order, pairs = path.pairs.by_sender, path.pairs
        source.append(behind + first[path.sender.name] + pairs.pre[order])
        target.append(first[path.receiver.name] + pairs.post[order])
        weight.append(carried(weights[path.name].weight[order], network.scale(path)))
        delay.append((int(network.parameters(path)["delay"]) + 1) * CYCLE)
    delays = np.repeat(delay, [len(one) for one in source]) if len({*delay}) > 1 else delay[0]
    most = max(most_weight(network.parameters(path)) * network.scale(path) for path in paths)
    return Connections(
        SPIKES,
        conductance,
        np.concatenate(source).astype(np.int32),
        np.concatenate(target).astype(np.int32),
        delay=np.asarray(delays),
        data={"weight": np.concatenate(weight)},
        name=conductance,
        plasticity=AxonSynapse(w_max=max(most, UNIT)),
    )


def _ignored(network: Network, layer: NetworkLayer) -> int:
    """Return in how many first cycles of a trial a layer ignores arriving spikes."""
    return ignored_cycles(network, layer) if network.parameters(layer)["clears"] else 0


def ignored_cycles(network: Network, layer: NetworkLayer) -> int:
    """Return in how many cycles spikes of the trial before arrive at a layer that ``clears``."""
    delays = {int(network.parameters(path)["delay"]) for path in network.into(layer)}
    if len(delays) > 1:
        listed = ", ".join(map(str, sorted(delays)))
        say = f"the paths into it need one delay (got {listed})"
        raise CircuitError(f"layer {quoted(layer.name)}, clears: {say}")
    return 1 + delays.pop() if delays else 0
