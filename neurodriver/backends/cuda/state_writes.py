"""``DeviceWrites``: states that are set again and again on a GPU.

The values go to page-locked memory. A kernel brings them from there to the device, behind what it
computes. The host waits only until the device has got its previous values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .moves import Moves, Piece

if TYPE_CHECKING:
    from .backend import CUDABackend

WritePlace = tuple[int, int, np.dtype[Any]]
"""Address of the first element, bytes, and type."""


class DeviceWrites:
    """Sets elements of some arrays of all copies of a program.

    Parameters
    ----------
    places : sequence of sequence of WritePlace
        Of each array, that of each copy.
    """

    def __init__(self, owner: CUDABackend, places: Sequence[Sequence[WritePlace]]) -> None:
        self._owner, self._device = owner, owner.device
        pieces: list[Piece] = []
        shown: list[tuple[int, tuple[int, int], np.dtype[Any]]] = []
        at = 0
        for of_copies in places:
            size, kind = of_copies[0][1:]
            shown.append((at, (len(of_copies), size // kind.itemsize), kind))
            pieces += [(to, at + i * size, size) for i, (to, _, _) in enumerate(of_copies)]
            at = -(-(at + size * len(of_copies)) // 16) * 16
        with self._device.current():
            self._buffer = self._device.pinned(max(at, 16), np.uint8)
            self._moves = Moves(self._device, owner.code, pieces)
            self._sent = self._device.event()
            self._sent.record(self._device.stream)
        self._arrays = [np.ndarray(shape, kind, self._buffer, at) for at, shape, kind in shown]

    def write(self, values: Sequence[NDArray[Any]]) -> None:
        """Set the elements of each array: (copies, elements), or (elements,) for all copies."""
        self._owner.check_open()
        with self._device.current():
            self._sent.synchronize()
            for array, given in zip(self._arrays, values, strict=True):
                array[:] = given
            self._moves.begin(of=self._buffer.ctypes.data)
            self._sent.record(self._device.stream)
