"""``EventMemory``: the events of one variable in two arrays that grow."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

Events = dict[str, npt.NDArray[np.float64] | npt.NDArray[np.int32]]
"""``time`` in s and ``index``."""

_FIRST = 1 << 20
"""Events for which there is room at first. Pages of new arrays take memory only when they are
written, and large arrays have large pages, which are faster to get."""


class EventMemory:
    """Keeps times and column indices of events, block after block.

    The arrays are enlarged where they stand, or moved page by page; no event is copied again. So
    nobody else may hold them before the end. One thread may append while another one reads.
    """

    def __init__(self) -> None:
        self._count, self._lock = 0, threading.Lock()
        self._time, self._index = np.empty(_FIRST), np.empty(_FIRST, np.int32)

    def append(self, time: npt.NDArray[np.float64], index: npt.NDArray[np.int32]) -> None:
        """Copy the next events."""
        end = self._count + len(time)
        if end > len(self._time):
            with self._lock:
                self._resize(2 * end)
        self._time[self._count : end] = time
        self._index[self._count : end] = index
        self._count = end

    def so_far(self) -> Events:
        """Return a copy of all events."""
        with self._lock:
            count = self._count
            return {"time": self._time[:count].copy(), "index": self._index[:count].copy()}

    def whole(self) -> Events:
        """Return all events as ``time`` and ``index``; the memory that they do not need is freed.

        Nothing can be appended afterwards.
        """
        self._resize(self._count)
        return {"time": self._time, "index": self._index}

    def _resize(self, room: int) -> None:
        for one in (self._time, self._index):
            one.resize(room, refcheck=False)
