"""``Lesions``: units that are switched off, between two trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.errors import RequestError, quoted

from .averages import Averages
from .changes import PathSynapses
from .circuit import inhibition_name
from .layers import NetworkLayer
from .network import Network
from .neuron import OF_POOLS
from .striatum import LEVELS

if TYPE_CHECKING:
    from neurodriver.run.lpu import LPU

Bools = NDArray[np.bool_]
Reals = NDArray[np.float64]

KEPT = {"Ext", "Driven", *OF_POOLS, *(state for state, _ in LEVELS.values())}
"""States that a unit keeps when it is switched off: they are given, or are those of its layer."""


class Lesions:
    """Which units are on.

    A unit that is switched off is as one that is not there: it gets no input and does not spike.
    Its states are those of the start. Means over a layer are over the other units. Its synapses
    carry nothing, and do not change.

    Parameters
    ----------
    lpu : LPU
        Of this network.

    Attributes
    ----------
    on : dict of str to (units,) bool
        Layer -> which of its units are on.
    counts : dict of str to int
        Layer -> how many of its units are on.
    layers : set of str
        Layers with units that are off.
    """

    def __init__(self, network: Network, lpu: LPU, synapses: PathSynapses) -> None:
        self._network, self._lpu, self._synapses = network, lpu, synapses
        self.on: dict[str, Bools] = {
            name: np.ones(layer.count, bool) for name, layer in network.layers.items()
        }
        self.counts = {name: layer.count for name, layer in network.layers.items()}
        self.layers: set[str] = set()

    def counted(self, layer: str, values: Reals) -> Reals:
        """Return the values of those units of a layer that are on, (items, units)."""
        return values[:, self.on[layer]] if layer in self.layers else values

    def switch(self, layer: NetworkLayer, units: ArrayLike, averages: Averages) -> None:
        """Switch units of a layer off where ``units`` is true, and all others on."""
        given = np.asarray(units)
        if given.dtype != bool or given.shape not in ((), layer.shape, (layer.count,)):
            want = f"an array of bool of shape {layer.shape} is needed"
            got = f"{given.dtype} of shape {given.shape}"
            raise RequestError(f"layer {quoted(layer.name)}: {want}, got {got}")
        off = np.broadcast_to(given.ravel(), layer.count)
        self.on[layer.name] = averages.on = on = ~off
        self.counts[layer.name] = int(np.count_nonzero(on))
        self.layers = {name for name, one in self.on.items() if not one.all()}
        self._synapses.lesion(layer, self.on)
        population = self._lpu[layer.name]
        named = any(layer in one.inhibited_as for one in self._network.layers.values())
        for name in (layer.name, inhibition_name(layer))[: 1 + named]:
            self._lpu[name].set("mean_factor", float(_factors(on[None])[0]))
        if self._network.parameters(layer)["pool_inhibits"]:
            population.set("pool_mean_factor", _factors(on.reshape(layer.pools, -1)))
        if layer.kind == "pulvinar":
            population.set("Driven", on.astype(np.float64))
        if not off.any():
            return
        (part,) = population._parts
        states = self._lpu.simulation.program.circuit.groups[part.number].model.states
        for name, state in states.items():
            if name not in KEPT:
                first = state.initial
                at_start = np.asarray(population.get(first) if isinstance(first, str) else first)
                population.set(name, np.where(off, at_start, population.get(name)))


def _factors(on: Bools) -> NDArray[np.float64]:
    """Return the factor of a mean over all units of each row, which makes it one over those on."""
    counts = np.count_nonzero(on, axis=1)
    found: NDArray[np.float64] = on.shape[1] / np.maximum(counts, 1)
    return found
