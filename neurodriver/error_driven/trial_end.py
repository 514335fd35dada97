"""``TrialEnd``: what learning and statistics read at the end of a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .statistics import absent, joined, target_statistics

if TYPE_CHECKING:
    from .layers import NetworkLayer
    from .lesions import Lesions

Reals = NDArray[np.float64]

OF_ALL = ("ActBeforeM",)
"""States of all units that are read."""

OF_TARGETS = ("ActM", "ActP", "ActBeforeP")
"""States of layers with targets alone."""


class TrialEnd:
    """States of all items. They may be on their way from a GPU: whoever reads one waits for it.

    Parameters
    ----------
    read : callable
        Waits for the states and returns them, (items, units) each: `OF_ALL` of all units, and
        `OF_TARGETS` of the units of layers with targets.
    first : sequence of int
        Number of the first unit of each layer, and the number of units.
    targets : mapping of str to (int, slice)
        Layer with a target -> its number, and where its units are among those of such layers.
    lesions : Lesions
        Which units of each layer are on; the activity of all others is 0.
    """

    def __init__(
        self,
        read: Callable[[], Mapping[str, NDArray[Any]]],
        first: Sequence[int],
        targets: Mapping[str, tuple[int, slice]],
        lesions: Lesions,
    ) -> None:
        self._arrive, self._first, self._targets, self._lesions = read, first, targets, lesions
        self._counts = [max(count, 1) for count in lesions.counts.values()]

    @cached_property
    def _read(self) -> Mapping[str, NDArray[Any]]:
        return self._arrive()

    def complete(self) -> None:
        """Wait for all states: the next step changes them."""
        _ = self._read

    @cached_property
    def means(self) -> Reals:
        """Mean activity of each layer in the last cycle of the minus phase, (items, layers)."""
        layers = [*map(slice, self._first[:-1], self._first[1:])]
        return self._means("ActBeforeM", layers, self._counts)

    def of_layers(self, names: Sequence[str]) -> dict[str, Reals]:
        """Return mean and greatest activity at the end of the minus phase, (items,) each."""
        most = np.maximum.reduceat(self._read["ActBeforeM"], self._first[:-1], axis=1)
        found = {f"{name}.Act": self.means[:, i] for i, name in enumerate(names)}
        return found | {f"{n}.ActMMax": most[:, i].astype(float) for i, n in enumerate(names)}

    def of_target(self, layer: str) -> tuple[Reals, Reals, tuple[Reals, Reals]]:
        """Return ActM and ActP of a layer with a target, (items, units), and means over the layer.

        These are the mean activities in the last cycles of both phases, (items, 1). Only units that
        count are returned.
        """
        number, units = self._targets[layer]
        minus, plus = (self._read[name][:, units].astype(np.float64) for name in ("ActM", "ActP"))
        after = self._means("ActBeforeP", [units], [self._counts[number]])
        minus, plus = (self._lesions.counted(layer, values) for values in (minus, plus))
        return minus, plus, (self.means[:, number, None], after)

    def statistics(
        self, layers: Mapping[str, NetworkLayer], shown: Mapping[str, Reals]
    ) -> dict[str, Reals]:
        """Return the errors and the correlation of all layers, and of each; see `Trials`.

        Parameters
        ----------
        shown : mapping of str to (items, units) array
            Layer -> input or target.
        """
        items = len(self.means)
        every = {n: self._judged(layers[n], shown) for n in self._targets}
        counted = [n for n in every if layers[n].kind != "compare"]
        total = joined([every[n] for n in counted if every[n]] or [absent(items)])
        each = {n: one or absent(items) for n, one in every.items()}
        named = {f"{n}.{name}": values for n, one in each.items() for name, values in one.items()}
        return (total if counted else {}) | named

    def _judged(self, layer: NetworkLayer, shown: Mapping[str, Reals]) -> dict[str, Reals]:
        """Return the statistics of a layer, (items,) each; nothing without a target."""
        name, off = layer.name, self._lesions
        if name not in shown or not off.counts[name]:
            return {}
        wanted = off.counted(name, shown[name])
        return target_statistics(*self.of_target(name), wanted, bool(layer.driver))

    def _means(self, name: str, layers: Sequence[slice], counts: Sequence[int]) -> Reals:
        """Return the mean of a state over each of some layers, (items, layers)."""
        values = self._read[name]
        found = np.empty((len(values), len(layers)))
        for number, units in enumerate(layers):
            np.add.reduce(values[:, units].astype(np.float64), axis=1, out=found[:, number])
        found /= counts
        return found
