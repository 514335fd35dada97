"""``DeviceReads``: states that are read again and again from a GPU.

Each copy from a GPU takes some microseconds, whatever its size. So neighbouring arrays come in one
copy, with what lies between them, and the host waits for all copies together. It does not wait for
what the device has begun after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...plan.arrays import Key

if TYPE_CHECKING:
    from .backend import CUDABackend

NEAR = 1 << 15
"""Bytes between two arrays up to which one copy brings both; a copy of its own takes longer."""


class DeviceReads:
    """Reads elements of some arrays of a program.

    Parameters
    ----------
    wanted : sequence of (Key, slice)
        Arrays that stay where they are, and which elements of them are read.
    """

    def __init__(self, owner: CUDABackend, wanted: Sequence[tuple[Key, slice]]) -> None:
        self._owner, self._device = owner, owner.device
        spans = [self._span(key, at) for key, at in wanted]
        self._runs: list[tuple[int, int, int]] = []  # where a copy begins, its bytes, and its place
        place: dict[int, int] = {}
        size = 0
        for begin, end in sorted({span[:2] for span in spans}):
            last = self._runs[-1] if self._runs else None
            if last is not None and begin - (last[0] + last[1]) <= NEAR:
                self._runs[-1] = (last[0], max(end - last[0], last[1]), last[2])
            else:
                self._runs.append((begin, end - begin, size))
            start, length, at = self._runs[-1]
            place[begin] = at + begin - start
            size = -(-(at + length) // 16) * 16
        with self._device.current():
            self._buffer = self._device.pinned(max(size, 16), np.uint8)
            self._here = self._device.event()
        self._views = [
            self._buffer[place[begin] : place[begin] + end - begin].view(dtype)
            for begin, end, dtype in spans
        ]

    def _span(self, key: Key, at: slice) -> tuple[int, int, np.dtype[Any]]:
        """Return where some elements of an array begin and end, and their type."""
        row = self._owner.program.arrays[key]
        start, stop, _ = at.indices(row.size)
        address, size = self._owner.binding.address(key), row.dtype.itemsize
        return address + start * size, address + stop * size, row.dtype

    def begin(self) -> None:
        """Begin to copy all values, after all that the device does before."""
        self._owner.check_open()
        with self._device.current():
            for address, size, place in self._runs:
                self._device.receive(self._buffer.ctypes.data + place, address, size)
            self._here.record(self._device.stream)

    def finish(self) -> list[NDArray[Any]]:
        """Return the values, in the order of ``wanted``; they are valid until the next begin."""
        with self._device.current():
            self._here.synchronize()  # and not for what has begun since then
        return self._views
