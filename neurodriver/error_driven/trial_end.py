"""``TrialEnd``: what learning and statistics read at the end of a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

ALL, TARGETS = ("CaDBefore", "ActBeforeM"), ("ActM", "ActP", "ActBeforeP")
"""States of all units that are read, and those of layers with targets alone."""


class TrialEnd:
    """States of all items.

    Parameters
    ----------
    read : mapping of str to (items, units) array
        The states `ALL` of all units, and `TARGETS` of the units of layers with targets.
    first : sequence of int
        Number of the first unit of each layer, and the number of units.
    targets : mapping of str to (int, slice)
        Layer with a target -> its number, and where its units are among those of such layers.
    """

    def __init__(
        self,
        read: Mapping[str, NDArray[Any]],
        first: Sequence[int],
        targets: Mapping[str, tuple[int, slice]],
    ) -> None:
        self._read, self._first, self._targets = read, first, targets

    @cached_property
    def greatest(self) -> Reals:
        """Greatest CaD of each layer before the last cycle, (items, layers)."""
        found = np.maximum.reduceat(self._read["CaDBefore"], self._first[:-1], axis=1)
        return found.astype(np.float64)

    @cached_property
    def means(self) -> Reals:
        """Mean activity of each layer in the last cycle of the minus phase, (items, layers)."""
        return self._means("ActBeforeM", [*map(slice, self._first[:-1], self._first[1:])])

    def of_target(self, layer: str) -> tuple[Reals, Reals, tuple[Reals, Reals]]:
        """Return ActM and ActP of a layer with a target, (items, units), and means over the layer.

        These are the mean activities in the last cycles of both phases, (items, 1).
        """
        number, units = self._targets[layer]
        minus, plus = (self._read[name][:, units].astype(np.float64) for name in ("ActM", "ActP"))
        return minus, plus, (self.means[:, number, None], self._means("ActBeforeP", [units]))

    def _means(self, name: str, layers: Sequence[slice]) -> Reals:
        """Return the mean of a state over each of some layers, (items, layers)."""
        values = self._read[name]
        found = np.empty((len(values), len(layers)))
        for number, units in enumerate(layers):
            np.add.reduce(values[:, units].astype(np.float64), axis=1, out=found[:, number])
        found /= [units.stop - units.start for units in layers]
        return found
