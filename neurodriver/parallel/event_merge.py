"""The events of several parts of a circuit in the order of the whole."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.ctypeslib import ndpointer
from numpy.typing import NDArray

from ..errors import CompileError
from ..native.compiler import build
from ..native.headers import header

Events = tuple[NDArray[np.float64], NDArray[np.int32]]
"""Times in s, and columns."""

Keys = NDArray[np.uint64]
"""The step of each event above 32 bits, and its column of the whole below."""

MANY = 1 << 14
"""For at least so many events loops are compiled: they are several times faster than NumPy."""


def merged(parts: Sequence[tuple[Sequence[Events], NDArray[np.int64]]], dt: float) -> Events:
    """Return the events of all parts by time, and by column where times are equal.

    Parameters
    ----------
    parts : sequence of (events, place)
        ``events`` are pieces of those of a part, in this order, one after the other; ``place`` is
        the column of the whole for each column of the part, ascending. Times are multiples of
        ``dt``, below 2**32 of them.
    dt : float
        Length of a step, s.
    """
    counts = [sum(len(time) for time, _ in events) for events, _ in parts]
    loops = _compiled() if sum(counts) >= MANY else None
    if loops is None:
        return _sorted([(*one, place) for events, place in parts for one in events], dt)
    lists = []
    for count, (events, place) in zip(counts, parts, strict=True):
        keys, begin = np.empty(count, np.uint64), 0
        for time, index in events:
            loops.nd_event_keys(time, index, place, dt, len(time), keys[begin:])
            begin += len(time)
        lists.append(keys)
    while len(lists) > 1:  # two and two
        pairs = zip(lists[::2], lists[1::2], strict=False)
        lists = [_together(loops, *pair) for pair in pairs] + lists[len(lists) // 2 * 2 :]
    (keys,) = lists
    out = np.empty(len(keys)), np.empty(len(keys), np.int32)
    loops.nd_events_of_keys(keys, dt, len(keys), *out)
    return out


def _sorted(
    pieces: Sequence[tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]], dt: float
) -> Events:
    """Do it by NumPy alone."""
    keys = [
        np.rint(time / dt).astype(np.uint64) << np.uint64(32) | place[index].astype(np.uint64)
        for time, index, place in pieces
    ]
    every = np.sort(np.concatenate([np.empty(0, np.uint64), *keys]), kind="stable")
    step = (every >> np.uint64(32)).astype(np.float64)
    return step * dt, every.astype(np.uint32).astype(np.int32)


def _together(loops: ct.CDLL, one: Keys, other: Keys) -> Keys:
    out = np.empty(len(one) + len(other), np.uint64)
    loops.nd_merge_keys(one, len(one), other, len(other), out)
    return out


@cache
def _compiled() -> ct.CDLL | None:
    """Return the compiled loops, or None if there is no compiler."""
    try:
        loops = build([(header("native/event_merge.h"), ())])[0]
    except CompileError:
        return None
    key, size, real = ndpointer(np.uint64, flags="C"), ct.c_longlong, ct.c_double
    time, index, place = (ndpointer(t, flags="C") for t in (np.float64, np.int32, np.int64))
    loops.nd_event_keys.argtypes = [time, index, place, real, size, key]
    loops.nd_merge_keys.argtypes = [key, size, key, size, key]
    loops.nd_events_of_keys.argtypes = [key, real, size, time, index]
    for one in (loops.nd_event_keys, loops.nd_merge_keys, loops.nd_events_of_keys):
        one.restype = None
    return loops
