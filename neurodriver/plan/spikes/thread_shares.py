"""``SharesByThread``: short rows of connections that learn, of which each thread's lie together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .thread_ranges import ThreadRanges

SHORT_ROW = 64
"""Connections of a row on average, below which those of a thread lie together."""


@dataclass(frozen=True)
class SharesByThread(ThreadRanges):
    """Connections by thread, then by source, then by row; `ThreadRanges` has the order of a plan.

    Attributes
    ----------
    rows : int
        Of all sources; some of them may have no connections and no ``place``.

    Notes
    -----
    A source that spikes reaches its rows one after the other, in the next steps. So a cache still
    holds what the next row needs, and no other thread writes there.
    """

    rows: int = 0

    def of(self, cuts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the share of each thread in each row begins, (threads * rows + 1,)."""
        return np.concatenate([[0], np.cumsum(np.diff(self._parts(cuts), axis=1).T)])

    def _parts(self, cuts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where they begin and end in the order of the plan, (rows, threads + 1)."""
        parts = super().of(cuts)
        out: NDArray[np.int64] = np.pad(parts, ((0, self.rows - len(parts)), (0, 0)))
        return out

    def order(self, cuts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each stored connection in the order of the plan, (m,)."""
        parts = self._parts(cuts)
        length = np.diff(parts, axis=1).T.reshape(-1)
        begin = np.cumsum(length) - length
        more: NDArray[np.int64] = np.repeat(parts[:, :-1].T.reshape(-1) - begin, length)
        return more + np.arange(len(more))
