"""Buffers that the threads of a CPU fill with the events they find."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..tables import EventTable


class EventBuffers:
    """Steps and columns of events, of each table and thread.

    Parameters
    ----------
    tables : sequence of EventTable
        Get their pointers here.
    spare : int
        Events of a thread that there is room for beyond those of the steps between two barriers.
    window : int
        How many these are.
    """

    def __init__(
        self, threads: int, tables: Sequence[EventTable], spare: int, window: int = 1
    ) -> None:
        self._made: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]] = []
        for events in tables:
            events.capacity = 2 * window * events.count + spare
            step, index = (np.empty((threads, events.capacity), np.int32) for _ in range(2))
            found = np.zeros(threads, np.int64)
            events.step, events.index, events.found = (a.ctypes.data for a in (step, index, found))
            self._made.append((step, index, found))

    def clear(self) -> None:
        """Forget the events of the last call."""
        for *_, found in self._made:
            found[:] = 0

    def found(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return steps and columns of one table's events, ordered by step, then by column."""
        step, index, found = self._made[number]
        steps = np.concatenate([step[t, :n] for t, n in enumerate(found)])
        columns = np.concatenate([index[t, :n] for t, n in enumerate(found)])
        order = np.argsort(steps, kind="stable")  # threads hold ascending columns
        return steps[order].astype(np.int64), columns[order]
