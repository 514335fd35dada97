"""``EventMemory``: the events of one variable, in arrays that are filled block after block."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..side_by_side import in_threads
from ..system import cores

_FIRST = 1 << 25
"""Events of the first piece at most. Its pages take memory only when they are written, and large
arrays have large pages, which are faster to get."""

_FEW = 1 << 20
"""So many events are copied in some milliseconds."""

_THREADS, _WORTH = 4, 1 << 18
"""Threads that copy events, at most, and events that are worth a thread."""

Events = tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]
"""Times and column indices."""


class EventMemory:
    """Keeps times and column indices of events.

    Few events are copied again, unless there are more than fit into the first piece. One thread may
    append while another one reads.

    Parameters
    ----------
    most : int, optional
        How many events there can be, if that is known.
    """

    def __init__(self, most: int | None = None) -> None:
        first = _piece(_FIRST if most is None else min(most, _FIRST))
        # pieces, and events of each; replaced as a whole, for other threads
        self._held: list[tuple[Events, int]] = [(first, 0)]

    def append(self, time: npt.NDArray[np.float64], index: npt.NDArray[np.int32]) -> None:
        """Copy the next events."""
        *before, (piece, begin) = self._held
        new = len(time)
        if begin + new > len(piece[0]):
            before = self._held
            piece, begin = _piece(max(2 * len(piece[0]), new), new), 0
        _copy(piece[0][begin : begin + new], time)
        _copy(piece[1][begin : begin + new], index)
        self._held = [*before, (piece, begin + new)]

    def trim(self) -> None:
        """Give most of a large piece back that holds few events; as many again have room."""
        count = sum(n for _, n in self._held)
        if count <= _FEW and len(self._held[-1][0][0]) > 4 * count:
            self._held = [(self._copied(), count)]

    def so_far(self) -> Events:
        """Return a copy of times and indices of all events."""
        some = [(time[:n], index[:n]) for (time, index), n in self._held]
        return np.concatenate([t for t, _ in some]), np.concatenate([i for _, i in some])

    def whole(self) -> Events:
        """Return times and indices of all events in one piece; no other thread may append.

        Events that follow do not change these arrays.
        """
        if len(self._held) > 1:
            self._held = [(self._copied(), sum(n for _, n in self._held))]
        (((time, index), count),) = self._held
        return time[:count], index[:count]

    def _copied(self) -> Events:
        """Return a piece with all events, and room for as many again."""
        count = sum(n for _, n in self._held)
        time, index = _piece(2 * count, count)
        np.concatenate([one[:n] for (one, _), n in self._held], out=time[:count])
        np.concatenate([one[:n] for (_, one), n in self._held], out=index[:count])
        return time, index


def _copy(to: npt.NDArray[Any], of: npt.NDArray[Any]) -> None:
    """Copy an array, a large one in several threads: new pages of memory take time to get."""
    threads = max(1, min(_THREADS, cores(), len(of) // _WORTH))
    parts = zip(np.array_split(to, threads), np.array_split(of, threads), strict=True)
    in_threads(np.copyto, [*parts], "neurodriver-copy")


def _piece(events: int, least: int = 1 << 20) -> Events:
    """Return arrays of so many elements, or of fewer where there is no address space for them."""
    while True:
        try:
            return np.empty(events), np.empty(events, np.int32)
        except MemoryError:
            if events <= least:
                raise
            events = max(events // 2, least)
