"""``Showing``: what a network can be shown in a trial, and the check of what is given."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.errors import RequestError, near, quoted

from .layers import NetworkLayer

Reals = NDArray[np.float64]


class Showing:
    """The names by which inputs, targets and levels of modulators are given.

    Parameters
    ----------
    levels : set of str
        Names of the levels of modulators.
    items : int or None
        Number of items; None if what is shown has no axis of items.
    most : float
        Greatest absolute value.
    """

    def __init__(
        self, layers: Mapping[str, NetworkLayer], levels: set[str], items: int | None, most: float
    ) -> None:
        self._layers, self._levels, self._items, self._most = layers, levels, items, most

    def layer(self, name: str) -> NetworkLayer:
        """Return a layer by its name."""
        if name not in self._layers:
            known = [*self._layers, *self._levels]
            raise RequestError(f"no layer {quoted(str(name))}{near(str(name), known)}")
        return self._layers[name]

    def count(self, name: str) -> int:
        """Return how many values of a layer are shown, or of a modulator."""
        return 1 if name in self._levels else self.layer(name).count

    def values(self, name: str, given: ArrayLike) -> Reals:
        """Return the input or target of a layer as an array (items, units); or a level."""
        count, modulator = self.count(name), name in self._levels
        if not modulator and self.layer(name).hidden:
            say = f"a {self.layer(name).kind} layer has neither input nor target"
            raise RequestError(f"layer {quoted(name)}: {say}")
        try:
            values = np.asarray(given).astype(np.float64, casting="same_kind", copy=False)
        except (TypeError, ValueError):
            values = np.empty(0)
        items, several = self._items or 1, self._items is not None
        fits = values.size == items * count
        fits &= values.shape[:1] == (items,) if several else True
        if not fits or not (np.abs(values) <= self._most).all():
            each = f" for each of {items} items" if several else ""
            what, s = ("modulator", "") if modulator else ("layer", "s")
            want = f"{count} finite number{s} {'is' if modulator else 'are'} needed{each}"
            raise RequestError(f"{what} {quoted(name)}: {want}, got {given!r:.60}")
        return values.reshape(items, count)
