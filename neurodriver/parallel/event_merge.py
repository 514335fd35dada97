"""The events of several parts of a circuit in the order of the whole."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.ctypeslib import ndpointer
from numpy.typing import NDArray

from ..errors import CompileError
from ..native.compiler import build
from ..native.headers import header
from ..side_by_side import in_threads
from ..system import cores

Times = NDArray[np.float64]
Events = tuple[Times, NDArray[np.int32]]
"""Times in s, and columns."""

Cut = tuple[int, int]
"""Places in two lists."""

MANY = 1 << 14
"""For at least so many events loops are compiled: they are several times faster than NumPy."""

THREADS, EVENTS_WORTH = 4, 1 << 17
"""Threads that merge, at most, and events that are worth a thread."""

RUNS = 1 << 10
"""Runs of columns at most. They all may be passed at each step, but an array of all columns lies
outside the caches."""

_LAST = np.iinfo(np.int32).max


class ColumnsOfPart:
    """Which columns of the whole a part has.

    Parameters
    ----------
    column : (n,) int64
        The column of the whole for each column of the part, ascending.
    """

    def __init__(self, column: NDArray[np.int64]) -> None:
        self.column = column
        first = np.flatnonzero(np.diff(column, prepend=-2) != 1)
        self._few = len(first) <= RUNS
        self._place = column.astype(np.int32)
        self._first = np.append(first, _LAST).astype(np.int32)
        self._shift = (column[first] - first).astype(np.int32)

    def given(self, events: Events) -> _PartEvents:
        """Return events of the part for compiled loops."""
        some: list[NDArray[Any]] = [*events, self._place, self._first, self._shift]
        addresses = [None if self._few and one is self._place else one.ctypes.data for one in some]
        return _PartEvents(*addresses, len(events[0]))


class _PartEvents(ct.Structure):
    _fields_ = [(name, ct.c_void_p) for name in ("time", "index", "place", "first", "shift")]
    _fields_ += [("count", ct.c_longlong)]


def merged(parts: Sequence[tuple[Sequence[Events], ColumnsOfPart]]) -> Events:
    """Return the events of all parts by time, and by column where times are equal.

    Parameters
    ----------
    parts : sequence of (events, columns)
        ``events`` are pieces of those of a part, in this order, one after the other.
    """
    lists = [(_joined(pieces), columns) for pieces, columns in parts]
    count = sum(len(time) for (time, _), _ in lists)
    loops = _compiled() if count >= MANY else None
    if loops is None:
        return _sorted([(time, columns.column[index]) for (time, index), columns in lists])
    room = np.empty(count, np.int32)
    while True:  # two and two
        lists += [(_joined([]), _WHOLE)] * (len(lists) % 2)
        pairs = zip(lists[::2], lists[1::2], strict=True)
        lists = [(_together(loops, *pair, room), _WHOLE) for pair in pairs]
        if len(lists) == 1:
            return lists[0][0]


_WHOLE = ColumnsOfPart(np.arange(1))
"""Of events that have the columns of the whole."""


def _joined(pieces: Sequence[Events]) -> Events:
    """Return pieces that follow one another as one."""
    if len(pieces) == 1:
        return pieces[0]
    time = np.concatenate([np.empty(0), *(one for one, _ in pieces)])
    return time, np.concatenate([np.empty(0, np.int32), *(one for _, one in pieces)])


def _sorted(lists: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]]) -> Events:
    """Do it by NumPy alone."""
    time, column = _joined([(time, column.astype(np.int32)) for time, column in lists])
    order = np.lexsort((column, time))
    return time[order], column[order]


def _together(
    loops: ct.CDLL,
    one: tuple[Events, ColumnsOfPart],
    other: tuple[Events, ColumnsOfPart],
    room: NDArray[np.int32],
) -> Events:
    """Return the events of two lists; ``room`` has as many elements as both have events.

    Threads merge the events of different steps.
    """
    lists = one, other
    cuts = [*_cuts(*(time for (time, _), _ in lists))]
    out = np.empty(sum(cuts[-1])), np.empty(sum(cuts[-1]), np.int32)

    def merge(begin: Cut, end: Cut) -> None:
        given = [
            columns.given((time[low:high], index[low:high]))
            for ((time, index), columns), low, high in zip(lists, begin, end, strict=True)
        ]
        at = sum(begin)
        loops.nd_merge_events(*given, out[0][at:], out[1][at:], room[at:])

    in_threads(merge, [*pairwise(cuts)], "neurodriver-merge")
    return out


def _cuts(one: Times, other: Times) -> Iterator[Cut]:
    """Yield where in two lists the events of each thread begin, and where the last ones end."""
    longer, whole = max(one, other, key=len), (len(one), len(other))
    threads = max(1, min(THREADS, cores(), sum(whole) // EVENTS_WORTH))
    yield 0, 0
    for number in range(1, threads):
        time = longer[number * len(longer) // threads]  # one thread takes all events of a step
        yield int(np.searchsorted(one, time)), int(np.searchsorted(other, time))
    yield whole


@cache
def _compiled() -> ct.CDLL | None:
    """Return the compiled loops, or None if there is no compiler."""
    try:
        loops = build([(header("native/event_merge.h"), ())])[0]
    except CompileError:
        return None
    time, index = (ndpointer(kind, flags="C") for kind in (np.float64, np.int32))
    loops.nd_merge_events.argtypes = [_PartEvents, _PartEvents, time, index, index]
    loops.nd_merge_events.restype = None
    return loops
