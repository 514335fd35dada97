"""``ShownCounts``: what synapses have counted, where the GPUs of other ranks read it.

A GPU does not show all of its counts: in rows without any it shows nothing, and of the other rows
those that are not 0, in 4 bytes each where they fit. So less has to come from another GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..synapse_sets import Stored
from .device import INT, LONG, POINTER, Device, Loaded, launch
from .driver import DeviceError
from .peers import PeerMemory, opened

_THREADS = 128
"""Of a block."""


class ShownCounts:
    """Memory of a GPU that others read, and what this one adds of theirs.

    Parameters
    ----------
    code : Loaded
        Has the kernels ``nd_show_counts`` and ``nd_add_counts``.
    store : callable
        Brings an array to the GPU.
    counts : Stored of (synapses,) int64
    marks : Stored of (rows,) int32
        Which rows may have counts other than 0.
    first : (rows + 1,) int64
        Where the synapses of each row begin.
    """

    def __init__(
        self,
        device: Device,
        code: Loaded,
        store: Callable[[NDArray[Any]], Stored],
        counts: Stored,
        marks: Stored,
        first: NDArray[np.int64],
    ) -> None:
        self._device, self._store, self._counts, self._marks = device, store, counts, marks
        self._rows, synapses = len(first) - 1, int(first[-1])
        words = 4 * self._rows, 4 * (synapses // 32 + self._rows + 1), 8 * synapses
        self._starts = np.cumsum([0, *(-(-size // 16) * 16 for size in words)])
        self._memory = PeerMemory(device, int(self._starts[-1]))
        self._first, self._others = store(first), 0
        self._show, self._add = map(code.function, ("nd_show_counts", "nd_add_counts"))
        self._own, self._theirs = self._places([self._memory.address]), self._places([])

    @property
    def offer(self) -> bytes:
        """How others reach the memory."""
        return self._memory.offer.tobytes()

    def reach(self, offers: Sequence[bytes], own: int) -> bool:
        """Open the memory of all ranks, of which this is number ``own``; return whether it can."""
        addresses = []
        try:
            for offer in (*offers[:own], *offers[own + 1 :]):
                address, close = opened(self._device, np.frombuffer(offer, np.uint8))
                self._device.at_end(close)
                addresses.append(address)
        except DeviceError:
            return False
        self._theirs, self._others = self._places(addresses), len(addresses)
        return True

    def _places(self, addresses: Sequence[int]) -> Stored:
        """Return what kernels get of the memory of some GPUs, as ``nd_shown``."""
        words = np.array([self._starts[:3] + one for one in addresses], np.uint64)
        return self._store(words)

    def show(self) -> None:
        """Let others see the present counts."""
        self._launch(self._show, (self._own.address,), (POINTER,))

    def add(self) -> None:
        """Add what the others show."""
        self._launch(self._add, (self._theirs.address, self._others), (POINTER, INT))

    def _launch(self, kernel: Any, shown: tuple[int, ...], types: tuple[Any, ...]) -> None:
        """Run a kernel with a warp for each row, and wait for it."""
        blocks = -(-self._rows // (_THREADS // 32))
        values = *shown, self._first.address, self._rows, self._counts.address, self._marks.address
        types = *types, POINTER, LONG, POINTER, POINTER
        launch(self._device, kernel, blocks, _THREADS, values, types)
        self._device.wait()
