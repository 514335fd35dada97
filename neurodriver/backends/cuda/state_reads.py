"""``DeviceReads``: states that are read again and again from a GPU.

A kernel writes them into page-locked memory of the host, in the order that is asked for. So the
host copies nothing, unless it keeps many readings. It waits for the states alone, not for what the
device has begun after them.
"""

from __future__ import annotations

import ctypes as ct
import weakref
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...plan.arrays import Key
from .device import Device
from .driver import DeviceEvent
from .moves import Moves

if TYPE_CHECKING:
    from .backend import CUDABackend

Buffer = tuple[NDArray[np.uint8], DeviceEvent]
"""Page-locked memory, and the event after which values are in it."""

MOST_LENT = 4
"""Pieces of page-locked memory that arrays may show; further arrays are copies."""


class DeviceReads:
    """Reads elements of some arrays of all copies of a program.

    Parameters
    ----------
    owners : sequence of CUDABackend
        The copies, which are on one GPU.
    wanted : sequence of sequence of (Key, slice)
        Groups of arrays that stay where they are, and which elements of them are read.
    """

    def __init__(
        self, owners: Sequence[CUDABackend], wanted: Sequence[Sequence[tuple[Key, slice]]]
    ) -> None:
        self._owner, self._device = owners[0], owners[0].device
        self._free: list[tuple[int, Buffer]] = []
        self._number = 0
        self._groups: list[tuple[int, tuple[int, int], np.dtype[Any]]] = []
        pieces, at = [], 0
        for group in wanted:
            spans = [[span(owner, key, part) for key, part in group] for owner in owners]
            count = sum(size for _, size, _ in spans[0])
            kind = spans[0][0][2]
            self._groups.append((at, (len(owners), count // kind.itemsize), kind))
            flat = [one for row in spans for one in row]
            ends = [*accumulate((size for _, size, _ in flat), initial=at)]
            pieces += [(to, begin, size) for to, (begin, size, _) in zip(ends, flat, strict=False)]
            at = -(-ends[-1] // 16) * 16
        self._lent: Any = ct.c_byte * max(at, 16)
        with self._device.current():
            self._moves = Moves(self._device, self._owner.code, pieces)

    def begin(self) -> Callable[[], list[NDArray[Any]]]:
        """Begin to bring all values, after all that the device does before."""
        self._owner.check_open()
        with self._device.current():
            number, buffer = self._free.pop() if self._free else self._made()
            memory, here = buffer
            self._moves.begin(to=memory.ctypes.data)
            here.record(self._device.stream)
        lent = self._lent.from_address(memory.ctypes.data)
        again = weakref.finalize(lent, _returned, self._free, (number, buffer), self._device)
        again.atexit = False  # the process ends
        return lambda: self._arrived(lent, here, number >= MOST_LENT)

    def _arrived(self, lent: Any, here: DeviceEvent, copies: bool) -> list[NDArray[Any]]:
        """Return the values when they are there, or copies of them."""
        with self._device.current():
            here.synchronize()  # and not for what has begun since then
        arrays = [np.ndarray(shape, kind, lent, at) for at, shape, kind in self._groups]
        return [one.copy() for one in arrays] if copies else arrays

    def _made(self) -> tuple[int, Buffer]:
        """Return new memory, and its number."""
        self._number += 1
        memory = self._device.pinned(ct.sizeof(self._lent), np.uint8)
        return self._number - 1, (memory, self._device.event())


def _returned(free: list[tuple[int, Buffer]], one: tuple[int, Buffer], device: Device) -> None:
    """Use memory again that no array shows any more. The argument has kept its device alive."""
    free.append(one)


def span(owner: CUDABackend, key: Key, at: slice) -> tuple[int, int, np.dtype[Any]]:
    """Return where some elements of an array begin, their bytes, and their type."""
    row = owner.program.arrays[key]
    start, stop, _ = at.indices(row.size)
    size = row.dtype.itemsize
    return owner.binding.address(key) + start * size, (stop - start) * size, row.dtype
