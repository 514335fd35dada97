"""Which units of two layers a path connects: patterns of sub-pools, and random ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neurodriver.errors import CircuitError

from .scaling import rounded

Shape = tuple[int, ...]
Pair = tuple[int, int]
Bools = NDArray[np.bool_]


class PathPattern(ABC):
    """Says which units of two layers a path connects."""

    @abstractmethod
    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return an array of bool (senders, receivers) that is true where units are connected.

        Parameters
        ----------
        senders, receivers : tuple of int
            Shapes of both layers.

        Raises
        ------
        CircuitError
            For layers that the pattern cannot connect.
        """


@dataclass(frozen=True)
class PoolOneToOne(PathPattern):
    """All units of a sub-pool are connected with all units of the sub-pool of the same number."""

    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return which units are connected; see `PathPattern`."""
        low, high = _pools(senders, receivers)
        if low != high:
            raise CircuitError(f"PoolOneToOne: as many sub-pools are needed (got {low} and {high})")
        return _of_units(np.eye(low[0] * low[1], dtype=bool), senders, receivers)


@dataclass(frozen=True)
class PoolTile(PathPattern):
    """Each receiving sub-pool is connected with a rectangle of sending sub-pools.

    The rectangle of the next receiving sub-pool begins ``skip`` sub-pools further on.

    Parameters
    ----------
    size : (int, int)
        Rows and columns of the rectangle, in sub-pools.
    skip : (int, int)
        Distance between the rectangles of neighbouring receiving sub-pools, in sub-pools.
    start : (int, int)
        Row and column of the first sub-pool of the first rectangle; may be negative.
    wrap : bool
        Whether a rectangle that crosses an edge continues at the opposite edge. If not, it is cut.
    """

    size: Pair = (4, 4)
    skip: Pair = (2, 2)
    start: Pair = (0, 0)
    wrap: bool = True

    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return which units are connected; see `PathPattern`."""
        low, high = _pools(senders, receivers)
        along = [self._along(axis, low[axis], high[axis]) for axis in (0, 1)]
        pools = np.einsum("ac,bd->abcd", *along).reshape(low[0] * low[1], high[0] * high[1])
        return _of_units(pools, senders, receivers)

    def _along(self, axis: int, low: int, high: int) -> Bools:
        """Return which sub-pools are connected along one axis, (senders, receivers)."""
        out = np.zeros((low, high), bool)
        for number in range(high):
            first = self.start[axis] + number * self.skip[axis]
            seen = np.arange(first, first + self.size[axis])
            seen = seen % low if self.wrap else seen[(seen >= 0) & (seen < low)]
            out[seen, number] = True
        return out


@dataclass(frozen=True)
class UniformRandom(PathPattern):
    """Each receiver is connected with the same number of senders, which are drawn at random.

    Parameters
    ----------
    share : float
        Share of the senders, above 0 and at most 1. Their number is rounded.
    seed : int
    """

    share: float
    seed: int = 0

    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return which units are connected; see `PathPattern`."""
        if not 0 < self.share <= 1:
            raise CircuitError(f"UniformRandom: share is in (0, 1] (got {self.share!r:.40})")
        low, high = int(np.prod(senders)), int(np.prod(receivers))
        draw = np.random.Generator(np.random.Philox(np.random.SeedSequence(self.seed)))
        out = np.zeros((low, high), bool)
        for number in range(high):
            out[draw.permutation(low)[: rounded(self.share * low)], number] = True
        return out


def _pools(senders: Shape, receivers: Shape) -> tuple[Shape, Shape]:
    """Return rows and columns of the sub-pools of both layers."""
    for shape in (senders, receivers):
        if len(shape) != 4:
            raise CircuitError(f"the pattern needs layers of shape (py, px, y, x) (got {shape})")
    return senders[:2], receivers[:2]


def _of_units(pools: Bools, senders: Shape, receivers: Shape) -> Bools:
    """Return which units are connected, from which sub-pools are, (senders, receivers)."""
    sizes = int(np.prod(senders[2:])), int(np.prod(receivers[2:]))
    return np.kron(pools, np.ones(sizes, bool))
