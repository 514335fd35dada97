"""Inputs of a running network: currents and spikes that Python objects decide on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..inputs.base import Chunk, EventChunk, Input


class CurrentFeed(Input):
    """Injects the constant currents and the current sources of cells, pA.

    Parameters
    ----------
    uids : sequence of str
        Cells with a constant current or a source.
    offsets : function
        Returns the constant currents, (n,) pA.
    sources : sequence of (source, (m,) int)
        Current sources, and the columns that each of them feeds.
    """

    def __init__(self, variable: str, uids: Sequence[str], offsets: Any, sources: Any) -> None:
        super().__init__([(variable, uids)])
        self.offsets, self.sources = offsets, sources

    def chunk(self, number: int, first: int, steps: int) -> Chunk:
        """Return the currents of some steps."""
        constant = self.offsets()
        if not self.sources:
            return Chunk(constant[None, :].astype(self.dtype), np.zeros(steps, np.int32))
        table = np.tile(constant, (steps, 1))
        at = np.arange(first, first + steps)
        for source, columns in self.sources:
            np.add.at(table.T, columns, 1000.0 * source.amplitudes_at(at))
        return Chunk(table.astype(self.dtype), np.arange(steps, dtype=np.int32))


class SpikeFeed(Input):
    """Injects spikes into sources; ``trains()`` are rows and columns, sorted by row."""

    def __init__(self, variable: str, uids: Sequence[str], trains: Any) -> None:
        super().__init__([(variable, uids)])
        self.trains = trains

    def chunk(self, number: int, first: int, steps: int) -> EventChunk:
        """Return the events of some steps: a spike of row k is injected at step k - 1."""
        rows, columns = self.trains()
        low, high = np.searchsorted(rows, [first + 1, first + steps + 1])
        key = (rows[low:high] - 1 - first) * len(self.targets[0][1]) + columns[low:high]
        key, count = np.unique(key, return_counts=True)
        step, column = np.divmod(key, len(self.targets[0][1]))
        begin = np.searchsorted(step, np.arange(steps + 1)).astype(np.int64)
        values = count.astype(self.dtype)
        return EventChunk(len(self.targets[0][1]), begin, column.astype(np.int32), values)
