"""An environment, which yields what a network is shown in each trial, and a rule to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.errors import RequestError

if TYPE_CHECKING:
    from .statistics import Log

Shown = dict[str, NDArray[np.float64]]


class Table:
    """An environment that shows items in random order, without end.

    After all items were shown, a new order is drawn.

    Parameters
    ----------
    seed : int
        Seed of the order.
    shuffled : bool
        Whether the order is random. If not, the items are shown in the order of the arrays.
    **layers : (items, units) array
        Input or target of each layer. The units may have several axes, as the layer's shape.
    """

    def __init__(self, seed: int = 0, shuffled: bool = True, **layers: ArrayLike) -> None:
        found = {name: np.asarray(values, np.float64) for name, values in layers.items()}
        counts = {len(values) if values.ndim > 1 else 0 for values in found.values()}
        if len(counts) != 1 or 0 in counts:
            shapes = ", ".join(f"{name} {values.shape}" for name, values in found.items())
            say = "each layer takes an array (items, units), with the same number of items"
            raise RequestError(f"Table: {say} (got {shapes or 'nothing'})")
        self.layers = {name: values.reshape(len(values), -1) for name, values in found.items()}
        self.count = counts.pop()
        self._draw = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
        self.shuffled = shuffled

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Shown]:
        """Yield what is shown in each trial, without end."""
        while True:
            for number in self._draw.permutation(self.count) if self.shuffled else self.once():
                yield self.item(int(number))

    def item(self, number: int) -> Shown:
        """Return one item."""
        return {name: values[number] for name, values in self.layers.items()}

    def once(self) -> range:
        """Return the numbers of the items, in their order."""
        return range(self.count)


def side_by_side(items: Sequence[Mapping[str, ArrayLike]]) -> Shown:
    """Return what several items are shown, as arrays (items, units)."""
    first = items[0]
    if any(one.keys() != first.keys() for one in items):
        raise RequestError("items that are shown side by side have values of equal layers")
    return {n: np.stack([np.ravel(one[n]).astype(np.float64) for one in items]) for n in first}


def without_end(
    environment: Iterable[Mapping[str, ArrayLike]],
) -> Iterator[Mapping[str, ArrayLike]]:
    """Yield what is shown in each trial; a sequence begins anew after its last trial."""
    yield from environment
    while isinstance(environment, Sequence) and environment:
        yield from environment


def stop_after_zero(epochs: int) -> Callable[[Log], bool]:
    """Return a rule that ends a training after ``epochs`` successive epochs without an error."""

    def stop(log: Log) -> bool:
        return log.zero_epochs >= epochs

    return stop
