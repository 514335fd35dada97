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
    most : float
        Greatest absolute value.
    """

    def __init__(self, layers: Mapping[str, NetworkLayer], levels: set[str], most: float) -> None:
        self._layers, self._levels, self._most = layers, levels, most

    def layer(self, name: str) -> NetworkLayer:
        """Return a layer by its name."""
        if name not in self._layers:
            known = [*self._layers, *self._levels]
            raise RequestError(f"no layer {quoted(str(name))}{near(str(name), known)}")
        return self._layers[name]

    def count(self, name: str) -> int:
        """Return how many values of a layer are shown, or of a modulator."""
        return 1 if name in self._levels else self.layer(name).count

    def is_one_item(self, shown: Mapping[str, ArrayLike]) -> bool:
        """Whether values are those of one item: for any layer there are as many as units."""
        return any(_array(given).size == self.count(name) for name, given in shown.items())

    def values(self, name: str, given: ArrayLike, items: int | None) -> Reals:
        """Return the input or target of a layer as an array (items, units); or a level.

        ``items`` is the number of items; None if ``given`` has no axis of items.
        """
        count, modulator = self.count(name), name in self._levels
        if not modulator and self.layer(name).hidden:
            say = f"a {self.layer(name).kind} layer has neither input nor target"
            raise RequestError(f"layer {quoted(name)}: {say}")
        values = _array(given)
        fits = values.size == (items or 1) * count
        fits &= items is None or values.shape[:1] == (items,)
        least, most = (values.min(), values.max()) if fits and values.size else (0.0, 0.0)
        if not fits or not (-self._most <= least and most <= self._most):  # nan is neither
            each = "" if items is None else f" for each of {items} items"
            what, s = ("modulator", "") if modulator else ("layer", "s")
            want = f"{count} finite number{s} {'is' if modulator else 'are'} needed{each}"
            raise RequestError(f"{what} {quoted(name)}: {want}, got {given!r:.60}")
        return values.reshape(items or 1, count)


def as_numbers(given: ArrayLike, where: str) -> Reals:
    """Return numbers as an array; raise RequestError for what are no numbers."""
    try:
        return np.asarray(given).astype(np.float64, casting="same_kind", copy=False)
    except (TypeError, ValueError):
        raise RequestError(f"{where}: numbers are needed, got {given!r:.60}") from None


def _array(given: ArrayLike) -> Reals:
    """Return numbers as an array; an empty one for what are no numbers."""
    try:
        return as_numbers(given, "")
    except RequestError:
        return np.empty(0)
