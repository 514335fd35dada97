"""``LiveParameters``: parameters and states of layers that are set while a network runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.errors import RequestError, quoted

from .averages import Averages
from .circuit import ignored_cycles, inhibition_name
from .inhibition import OF_INHIBITION
from .layers import NetworkLayer
from .network import Network
from .settings import LAYER
from .striatum import READ_BY_PATHS

if TYPE_CHECKING:
    from neurodriver.run.lpu import LPU

Reals = NDArray[np.float64]


class LiveParameters:
    """Sets parameters and states of layers.

    Parameters
    ----------
    lpu : LPU
        Of this network.
    averages : mapping of str to Averages
        Layer -> its averages, which have the factor of its inhibition.
    items : int or None
        Number of items; None if the states have no axis of items.
    """

    def __init__(
        self, network: Network, lpu: LPU, averages: Mapping[str, Averages], items: int | None
    ) -> None:
        self._network, self._lpu, self._averages, self._items = network, lpu, averages, items
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

    def _values(self, layer: NetworkLayer, value: ArrayLike, where: str) -> Reals:
        """Return one value, (units,) or (items, units) values."""
        try:
            given = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            raise RequestError(f"{where}: numbers are needed, got {value!r:.60}") from None
        if self._items is not None and given.shape == (self._items, *layer.shape):
            return given.reshape(self._items, -1)
        return given.ravel() if given.ndim else given


def _may_change(layer: NetworkLayer, name: str, where: str) -> None:
    """Raise RequestError for a parameter that is read only when a network is built."""
    if layer.modulators and name in READ_BY_PATHS:
        say = f"{name} is read by paths when a network is built; give it to Network.set before"
        raise RequestError(f"layer {quoted(layer.name)}: {say}")
    if name in LAYER:
        say = "it is fixed when the trainer is made; give it to Network.set before"
        raise RequestError(f"{where}: {say}")


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
