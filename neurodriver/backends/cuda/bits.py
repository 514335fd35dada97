"""Events that stand as bits: their steps and columns, by compiled code where there is a compiler.

A GPU needs no compiler of the host, so without one numpy does the same, more slowly.
"""

from __future__ import annotations

import ctypes as ct
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import CompileError
from ...native.compiler import build, find_compiler

EventList = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Steps and columns of events."""


class Bits:
    """Finds the events in rows of bits, call after call.

    Parameters
    ----------
    words : int
        32-bit words of a row; one row a step.
    """

    def __init__(self, words: int) -> None:
        self._words = words
        self._library = _library()
        # not made anew for each call: new memory costs a page fault each 4 kB
        self._step, self._column = np.empty(0, np.int64), np.empty(0, np.int32)

    def found(self, flat: NDArray[np.uint32]) -> EventList:
        """Return steps, counted from the first row, and columns of the events, in this order.

        Parameters
        ----------
        flat : (steps * words,) uint32
            Bit b of word w of a row is column 32 w + b.

        Returns
        -------
        steps : (n,) int64
            Hold until the next call.
        columns : (n,) int32
        """
        if self._library is None:
            return events_by_numpy(flat, self._words)
        rows = len(flat) // max(self._words, 1)
        while True:
            room = len(self._step)
            places = self._step.ctypes.data, self._column.ctypes.data
            count = self._library.nd_events(flat.ctypes.data, rows, self._words, room, *places)
            if count <= room:
                return self._step[:count], self._column[:count].copy()
            room = count + count // 4  # for more in later calls, too
            self._step, self._column = np.empty(room, np.int64), np.empty(room, np.int32)


def before(found: EventList, steps: int) -> EventList:
    """Return the events of the first steps alone; they are in the order of their steps."""
    count = int(np.searchsorted(found[0], steps))
    return found[0][:count], found[1][:count]


def events_by_numpy(flat: NDArray[np.uint32], words: int) -> EventList:
    """Return what `Bits.found` does, without compiled code."""
    some = np.flatnonzero(flat)
    each = np.unpackbits(flat[some].view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    word, bit = np.nonzero(each)
    step, column = np.divmod(some[word], words)
    return step.astype(np.int64), (column * 32 + bit).astype(np.int32)


@cache
def _library() -> ct.CDLL | None:
    try:
        find_compiler()
    except CompileError:
        return None
    text = (Path(__file__).parent / "bits.h").read_text(encoding="utf-8")
    (library,) = build([(text, ())])
    library.nd_events.restype = ct.c_longlong
    numbers = [ct.c_longlong] * 3
    library.nd_events.argtypes = [ct.c_void_p, *numbers, ct.c_void_p, ct.c_void_p]
    return library
