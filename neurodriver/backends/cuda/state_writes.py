"""``DeviceWrites``: states that are set again and again on a GPU.

The values go to page-locked memory, and from there to the device, behind what it computes. The host
waits for nothing but its own copies of the time before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .backend import CUDABackend


class DeviceWrites:
    """Sets elements of some arrays of a program.

    Parameters
    ----------
    places : sequence of (int, int, dtype, slice)
        Address, size and type of each array, and which elements of it are set.
    """

    def __init__(
        self, owner: CUDABackend, places: Sequence[tuple[int, int, np.dtype[Any], slice]]
    ) -> None:
        self._owner, self._device = owner, owner.device
        self._sends: list[tuple[int, int, int]] = []  # where a copy goes, its bytes and its place
        shown: list[tuple[int, int, np.dtype[Any]]] = []
        size = 0
        for address, count, dtype, at in places:
            start, stop, _ = at.indices(count)
            length = (stop - start) * dtype.itemsize
            self._sends.append((address + start * dtype.itemsize, length, size))
            shown.append((size, length, dtype))
            size = -(-(size + length) // 16) * 16
        with self._device.current():
            self._buffer = self._device.pinned(max(size, 16), np.uint8)
            self._sent = self._device.event()
            self._sent.record(self._device.stream)
        self._views = [self._buffer[at : at + n].view(dtype) for at, n, dtype in shown]

    def begin(self) -> list[NDArray[Any]]:
        """Return the page-locked memory, when nothing is copied from it any more."""
        self._owner.check_open()
        with self._device.current():
            self._sent.synchronize()
        return self._views

    def finish(self) -> None:
        """Begin to copy the values to the device."""
        with self._device.current():
            for address, size, place in self._sends:
                if size:
                    self._device.send(address, self._buffer.ctypes.data + place, size)
            self._sent.record(self._device.stream)
