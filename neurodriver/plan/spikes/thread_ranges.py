"""``ThreadRanges``: the connections of each source, divided by the threads that own the targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...native.buffers import LANES, padded

SINGLE = 1 << 40
"""What a block of single connections holds its first one less: ``ND_SINGLE`` of ``singles.h``."""


@dataclass(frozen=True)
class ThreadRanges:
    """The connections of each source, divided by the threads that own the targets.

    Attributes
    ----------
    first : (sources + 1,) int64
    code : (edges,) int32 or uint16
        Their remainders by ``width`` are targets, ascending among those of a source.
    blocks : (blocks, 4 or more) int64
        Of sources, as `SourceRows` has them.
    single : (blocks,) bool or None
        In which blocks each source has one connection at most, as `singles` finds them.
    place : (sources,) int64 or None
        Where the offsets of each source lie; None: one after the other.
    """

    first: NDArray[np.int64]
    code: NDArray[np.int32] | NDArray[np.uint16]
    width: int
    blocks: NDArray[np.int64]
    single: NDArray[np.bool_] | None = None
    place: NDArray[np.int64] | None = None

    def of(self, cuts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the offsets of the shares of threads that own the targets between ``cuts``.

        Returns
        -------
        (sources, threads + 1) int64
            Where `place` is given, by it; other rows are zeros.
        """
        out = np.empty((len(self.first) - 1, len(cuts)), dtype=np.int64)
        out[:, 0], out[:, -1] = self.first[:-1], self.first[1:]
        for thread in range(1, len(cuts) - 1):
            low, high = out[:, thread - 1].copy(), out[:, -1].copy()
            while (low < high).any():  # by halves, all sources at once
                middle = (low + high) // 2
                code = self.code[np.minimum(middle, len(self.code) - 1)].astype(np.int64)
                below = (code % self.width < cuts[thread]) & (low < high)
                low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
            out[:, thread] = low
        if self.place is None:
            return out
        ordered = np.zeros((int(self.place.max(initial=-1)) + 1, len(cuts)), np.int64)
        ordered[self.place] = out
        return ordered

    def blocks_of(self, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the blocks of each thread, which begin and end with sources of its own targets.

        Example: each slot of an input has one target, so a thread looks at the slots of its own
        targets alone.

        Parameters
        ----------
        parts : (sources, threads + 1) int64
            As `of` returns them.

        Returns
        -------
        (threads, blocks, 4 or more) int64
            A block of single connections begins and ends with a source that has one, and holds
            the connection of the first element, less ``SINGLE``, instead of the first source.
        """
        out = np.repeat(self.blocks[None], parts.shape[1] - 1, axis=0)
        for thread, blocks in enumerate(out):
            reaches = parts[:, thread] < parts[:, thread + 1]
            for n, block in enumerate(blocks):
                _, begin, end, source = block[:4].tolist()
                has = np.flatnonzero(reaches[source : source + end - begin])
                low, high = (int(has[0]), int(has[-1]) + 1) if len(has) else (0, 0)
                if self.single is None or not self.single[n]:
                    low, high = low // LANES * LANES, padded(high)
                block[1:4] = begin + low, begin + high, source + low
        if self.single is not None:
            out[:, self.single, 3] = self.first[out[:, self.single, 3]] - SINGLE
        return out

    def singles(self) -> NDArray[np.bool_]:
        """Return the blocks in which sources have one connection each, which acts at once.

        Example: the slots of an input. Sources without connection may come before and after those
        with one, not between them.
        """
        degree = np.diff(self.first)
        found = np.zeros(len(self.blocks), bool)
        for i, (_, begin, end, source) in enumerate(self.blocks[:, :4].tolist()):
            has = np.flatnonzero(degree[source : source + end - begin])
            if not len(has) or int(self.first[source + end - begin] - self.first[source]) != len(
                has
            ):
                continue
            at = int(self.first[source])
            found[i] = has[-1] - has[0] + 1 == len(has)
            found[i] &= bool((self.code[at : at + len(has)] < self.width).all())
        return found

    def mean_of_others(self) -> int:
        """Return the mean number of connections of sources that are not single, 0 without any."""
        others = np.diff(self.first)
        for _, begin, end, source in self.blocks[self.single, :4].tolist():
            others[source : source + end - begin] = 0
        return int(others.sum()) // max(int(np.count_nonzero(others)), 1)

    def taken_at_once(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the first element and the numbers of connections of each block without lag."""
        degree = np.diff(self.first)
        for lag, begin, end, source in self.blocks[:, :4].tolist():
            if lag == 0:
                yield begin, degree[source : source + end - begin]
