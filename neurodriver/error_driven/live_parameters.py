"""``LiveParameters``: parameters and states that are set while a network runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.arguments import number
from neurodriver.errors import CircuitError, RequestError, quoted

from .averages import Averages
from .changes import PathSynapses
from .circuit import ignored_cycles, inhibition_name
from .inhibition import OF_INHIBITION
from .layers import NetworkLayer
from .network import Network
from .rules import means, selected
from .settings import LAYER, check_names, value_of
from .shown import as_numbers
from .striatum import READ_BY_PATHS

if TYPE_CHECKING:
    from neurodriver.run.lpu import LPU

Reals = NDArray[np.float64]


CHANGING = "lrate", "synapse_threshold", "swt_rate", "credit"
"""Parameters of paths that may change while a network runs."""

FIXED = "it is fixed when the trainer is made; give it to Network.set before"
"""What is said of all other parameters of paths, and of those of layers beside their units."""


class LiveParameters:
    """Sets parameters and states of layers, and parameters of paths.

    Parameters
    ----------
    lpu : LPU
        Of this network.
    averages : mapping of str to Averages
        Layer -> its averages, which have the factor of its inhibition.
    synapses : PathSynapses
        The synapses of all paths.
    items : int or None
        Number of items; None if the states have no axis of items.

    Attributes
    ----------
    rates : dict of str to float
        Path -> its present learning rate.
    """

    def __init__(
        self,
        network: Network,
        lpu: LPU,
        averages: Mapping[str, Averages],
        synapses: PathSynapses,
        items: int | None,
    ) -> None:
        self._network, self._lpu, self._averages, self._items = network, lpu, averages, items
        self._synapses = synapses
        paths = network.paths.values()
        self._bases = {path.name: float(network.parameters(path)["lrate"]) for path in paths}
        self.rates = dict(self._bases)
        self._named = {one.name for layer in network.layers.values() for one in layer.inhibited_as}

    def set(self, layer: NetworkLayer, name: str, value: ArrayLike) -> None:
        """Set a parameter or a state of a layer, and what follows from it.

        Other layers may get the inhibition of this layer, so its parameters are set there, too.
        """
        where = f"layer {quoted(layer.name)}, {name}"
        _may_change(layer, name, where)
        given = self._values(layer, value, where)
        follows: dict[str, tuple[str, Reals | float]] = {}
        if name in OF_INHIBITION and layer.name in self._named:
            follows[inhibition_name(layer)] = name, _of_layer(given, where)
        if name == "clears":
            ignored = ignored_cycles(self._network, layer) if _single(given, where) else 0
            follows[f"{layer.name}_arrivals"] = "ignored", ignored
        factor = _single(given, where) if name == "gi_mult" else None
        self._lpu[layer.name].set(name, given if given.ndim else float(given))
        for population, (what, values) in follows.items():
            self._lpu[population].set(what, values)
        if factor is not None:
            self._averages[layer.name].gi_mult = factor

    def set_selected(self, selector: str, given: Mapping[str, Any]) -> None:
        """Set parameters of all layers or paths that a selector means; see `Network.set`.

        Layers whose units do not have a parameter stay as they are.
        """
        where, network = f"set({selector!r})", self._network
        what = selected(selector, network.layers, network.paths)
        check_names(what, given, where)
        values = {n: float(value_of(what, n, value, where)) for n, value in given.items()}
        layers = [one for one in network.layers.values() if means(selector, "layer", one)]
        paths = [one for one in network.paths.values() if means(selector, "path", one)]
        for name in values:
            if name not in CHANGING if paths else name in LAYER:
                raise RequestError(f"{where}, {name}: {FIXED}")
        having = {n: [one for one in layers if n in self._lpu[one.name].names] for n in values}
        for name, some in having.items():
            for layer in some:
                _may_change(layer, name, where)
            if layers and not some:
                raise RequestError(f"{where}, {name}: no unit of these layers has it")
        for name, value in values.items():
            for layer in having[name]:
                self.set(layer, name, value)
            for path in paths:
                self._synapses.set_number(path.name, name, value)
                if name == "lrate":
                    self._bases[path.name] = self.rates[path.name] = value

    def set_rates(self, selector: str, lrate: float | None, factor: float | None) -> None:
        """Set the learning rates of paths, and multiply them; see `Trainer.set_rate`."""
        where, paths = f"set_rate({selector!r})", self._network.paths
        if selected(selector, self._network.layers, paths) != "path":
            raise CircuitError(f"{selector!r} means layers; paths are needed")
        if lrate is None and factor is None:
            raise RequestError(f"{where}: lrate or factor is needed")
        base = None if lrate is None else float(value_of("path", "lrate", lrate, where))
        times = 1.0 if factor is None else number(factor, f"{where}: factor")
        if times < 0:
            raise RequestError(f"{where}: factor must be at least 0 (got {factor!r:.60})")
        for path in (one for one in paths.values() if means(selector, "path", one)):
            if base is not None:
                self._bases[path.name] = base
            self.rates[path.name] = rate = self._bases[path.name] * times
            self._synapses.set_number(path.name, "lrate", rate)

    def _values(self, layer: NetworkLayer, value: ArrayLike, where: str) -> Reals:
        """Return one value, (units,) or (items, units) values."""
        given = as_numbers(value, where)
        if self._items is not None and given.shape == (self._items, *layer.shape):
            return given.reshape(self._items, -1)
        return given.ravel() if given.ndim else given


def _may_change(layer: NetworkLayer, name: str, where: str) -> None:
    """Raise RequestError for a parameter that is read only when a network is built."""
    if layer.modulators and name in READ_BY_PATHS:
        say = f"{name} is read by paths when a network is built; give it to Network.set before"
        raise RequestError(f"layer {quoted(layer.name)}: {say}")
    if name in LAYER:
        raise RequestError(f"{where}: {FIXED}")


def _of_layer(given: Reals, where: str) -> Reals | float:
    """Return the value that all units of a layer have, (items, 1) if items differ."""
    if not given.ndim:
        return float(given)
    if not (given == given[..., :1]).all():
        raise RequestError(f"{where}: one value for all units of the layer is needed")
    return given[..., :1] if given.ndim > 1 else float(given[0])


def _single(given: Reals, where: str) -> float:
    """Return the value that all units and items have."""
    found = np.unique(given)
    if len(found) != 1:
        raise RequestError(f"{where}: one value for all units and items is needed")
    return float(found[0])
