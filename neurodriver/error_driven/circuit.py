"""Translate a network into a circuit: populations, connections, and their order in a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurodriver.circuit import Circuit, Connections, Population
from neurodriver.errors import CircuitError, quoted
from neurodriver.model.kinds import SPIKES

from .deep import AxonBurstNeuron, AxonContextArrivals, AxonContextNeuron, AxonPulvinarNeuron
from .network import Network, NetworkLayer, NetworkPath
from .neuron import AnyArrivals, AnyAxonNeuron, AxonArrivals, AxonNeuron
from .neuron_pools import AxonPoolArrivals, AxonPoolNeuron
from .starts import Weights, first_weights
from .synapse import AxonSynapse

CYCLE = 1e-3
"""Length of a cycle, which is one step, in s."""


def circuit_of(network: Network, weights: Mapping[str, Weights] | None = None) -> Circuit:
    """Return the circuit of a network.

    A layer ``Hidden`` becomes two populations. ``Hidden`` has the neurons. ``Hidden_arrivals`` sums
    the arriving spikes, and is computed before ``Hidden`` in each step. Paths of the kind
    ``context`` send no spikes, and are no part of the circuit; see `ContextPath`.

    Parameters
    ----------
    network : Network
    weights : mapping of str to Weights, optional
        Name of a path -> its weights; the initial weights by default.
    """
    arrivals: list[Population] = []
    neurons: dict[str, Population] = {}
    for layer in network.layers.values():
        first, neurons[layer.name] = _populations(network, layer, neurons)
        arrivals.append(first)
    known = first_weights(network) if weights is None else weights
    links = [
        _connections(network, path, known[path.name].weight)
        for path in network.paths.values()
        if path.kind != "context"
    ]
    return Circuit(
        [*arrivals, *neurons.values()],
        links,
        order=[[one.name for one in some] for some in (arrivals, neurons.values())],
        shared={"minus": network.minus, "plus": network.plus},
        seed=network.seed,
    )


def _populations(
    network: Network, layer: NetworkLayer, before: Mapping[str, Population]
) -> tuple[Population, Population]:
    """Return the population that sums the arriving spikes of a layer, and that of its neurons.

    ``before`` are the neurons of the layers before, among them the driver.
    """
    own, axes = network.parameters(layer), {"unit": layer.count}
    models = _models(network, layer, bool(own["pool_inhibits"]))
    if own["pool_inhibits"]:
        axes = {"pool": layer.pools, "unit": layer.count // layer.pools}
    name, ignored = f"{layer.name}_arrivals", _ignored(network, layer)
    first = Population(models[0], name=name, axes=axes, ignored=ignored)
    more: dict[str, Any] = {n: v for n, v in own.items() if n in models[1].params}
    if layer.driver is not None:
        more["driver"] = before[layer.driver.name]
    return first, Population(models[1], name=layer.name, axes=axes, arrivals=first, **more)


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
        return AxonPoolArrivals, AxonPoolNeuron
    if layer.kind == "ct":
        return AxonContextArrivals, AxonContextNeuron
    if layer.kind == "pulvinar":
        return AxonArrivals, AxonPulvinarNeuron
    return AxonArrivals, AxonBurstNeuron if network.bursts(layer) else AxonNeuron


def first_units(network: Network) -> dict[str, int]:
    """Return the number of the first unit of each layer; units are numbered layer by layer."""
    counts = [layer.count for layer in network.layers.values()]
    return dict(zip(network.layers, np.cumsum([0, *counts]).tolist(), strict=False))


def _connections(network: Network, path: NetworkPath, weight: NDArray[np.float64]) -> Connections:
    first, order, pairs = first_units(network), path.pairs.by_sender, path.pairs
    behind = sum(layer.count for layer in network.layers.values())
    cycles = int(network.parameters(path)["delay"]) + 1
    return Connections(
        SPIKES,
        path.conductance,
        (behind + first[path.sender.name] + pairs.pre[order]).astype(np.int32),
        (first[path.receiver.name] + pairs.post[order]).astype(np.int32),
        delay=np.asarray(cycles * CYCLE),
        data={"weight": weight[order]},
        name=path.name,
        plasticity=AxonSynapse(scale=network.scale(path)),
    )


def _ignored(network: Network, layer: NetworkLayer) -> int:
    """Return in how many first cycles of a trial a layer ignores arriving spikes."""
    if not network.parameters(layer)["clears"]:
        return 0
    delays = {int(network.parameters(path)["delay"]) for path in network.into(layer)}
    if len(delays) > 1:
        listed = ", ".join(map(str, sorted(delays)))
        say = f"the paths into it need one delay (got {listed})"
        raise CircuitError(f"layer {quoted(layer.name)}, clears: {say}")
    return 1 + delays.pop() if delays else 0
