"""``Moves``: many pieces of memory that move together, in one launch.

A copy by the driver takes the host some microseconds, whatever its size. States of all layers and
of all copies of a network lie in hundreds of pieces. So a kernel moves them, to page-locked memory
of the host, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .device import POINTER, Device, Loaded, launch

_THREADS, _BYTES = 256, 4096
"""Threads of a block, and bytes that it moves at most."""

Piece = tuple[int, int, int]
"""Where it goes, where it is, and its bytes."""


class Moves:
    """Pieces that move again and again.

    Parameters
    ----------
    code : Loaded
        Of a circuit.
    pieces : sequence of Piece
        Their addresses, to which `begin` adds others. Bytes are multiples of 4.
    """

    def __init__(self, device: Device, code: Loaded, pieces: Sequence[Piece]) -> None:
        self._device, self._kernel = device, code.function("nd_move")
        assert all(size % 4 == 0 for _, _, size in pieces)
        cut = [
            (to + at, of + at, min(_BYTES, size - at))
            for to, of, size in pieces
            for at in range(0, size, _BYTES)
        ]
        self._count, table = len(cut), np.array(cut, np.uint64)
        self._table = device.allocate(max(table.nbytes, 16))
        device.upload(int(self._table), table)

    def begin(self, to: int = 0, of: int = 0) -> None:
        """Move all pieces, behind what the device does before.

        Parameters
        ----------
        to, of : int
            What is added to the addresses where pieces go, and to those where they are.
        """
        if self._count:
            values = int(self._table), to, of
            launch(self._device, self._kernel, self._count, _THREADS, values, (POINTER,) * 3)
