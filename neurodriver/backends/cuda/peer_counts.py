"""``PeerCounts``: what synapses have counted, packed for the GPUs of other ranks.

Many counts are 0. So a GPU packs them: nothing of rows without any, and of the other rows those
that are not 0, in 4 bytes each where they fit. Other GPUs read and add them. GPUs signal one
another how far they are, so no host waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import NeurodriverError
from ..synapse_sets import Stored
from .device import LONG, POINTER, Device, Loaded, launch
from .driver import DeviceError
from .peers import PeerMemory, opened

_THREADS = 128
"""Of a block."""

_PATIENCE = 30
"""Seconds that a GPU waits for others, which have begun the same."""

_PACKED, _ADDED = range(2)
"""What GPUs signal: they have packed their counts, and they have added those of others."""


class PeerCounts:
    """Memory of a GPU that others read, and what this one adds of theirs.

    Parameters
    ----------
    code : Loaded
        Has the kernels of ``codegen/simt/count_kernels.cuh``.
    store : callable
        Brings an array to the GPU.
    counts : Stored of (synapses,) int64
    marks : Stored of (rows,) int32
        Which rows may have counts other than 0.
    first : (rows + 1,) int64
        Where the synapses of each row begin.
    ranks : int
        How many have such memory.
    """

    def __init__(
        self,
        device: Device,
        code: Loaded,
        store: Callable[[NDArray[Any]], Stored],
        counts: Stored,
        marks: Stored,
        first: NDArray[np.int64],
        ranks: int,
    ) -> None:
        self._device, self._store, self._counts, self._marks = device, store, counts, marks
        self._rows, synapses = len(first) - 1, int(first[-1])
        sizes = [4 * self._rows, 4 * (synapses // 32 + self._rows + 1), 8 * synapses]
        sizes += [8 * ranks] * 2  # signals of others
        self._starts = np.cumsum([0, *(-(-size // 16) * 16 for size in sizes)])
        self._memory = PeerMemory(device, int(self._starts[-1]))
        self._first, self._others, self._number = store(first), 0, 0
        self._missing = device.pinned(ranks, np.int64)
        self._missing[:] = 0
        self._own, self._theirs = self._places([self._memory.address]), self._places([])
        self._signals: list[Stored] = []
        names = "nd_pack_counts", "nd_add_counts", "nd_signal", "nd_wait_for"
        self._pack, self._add, self._signal, self._wait = map(code.function, names)

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
        # the others are numbered without this rank, in its memory as in the memory of each of them
        places = [own - (other < own) for other in range(len(offers)) if other != own]
        for what in (_PACKED, _ADDED):
            words = [self._word(a, what, p) for a, p in zip(addresses, places, strict=True)]
            self._signals.append(self._store(np.array(words, np.uint64)))
        return True

    def _places(self, addresses: Sequence[int]) -> Stored:
        """Return what kernels get of the memory of some GPUs, as ``nd_packed``."""
        words = np.array([self._starts[:3] + one for one in addresses], np.uint64)
        return self._store(words)

    def _word(self, memory: int, what: int, place: int = 0) -> int:
        """Return where the owner of a memory gets a signal of another rank."""
        return memory + int(self._starts[3 + what]) + 8 * place

    def add(self) -> None:
        """Begin to add what the others pack; they have begun the same, or are about to.

        Raises
        ------
        NeurodriverError
            As `check`.
        """
        self.check()
        if not self._others:
            return
        self._await(_ADDED)  # of the time before, as they may still read what is packed
        self._number += 1
        self._of_rows(self._pack, (self._own.address,), (POINTER,))
        self._send(_PACKED)
        self._await(_PACKED)
        self._of_rows(self._add, (self._theirs.address, self._others), (POINTER, LONG))
        self._send(_ADDED)

    def check(self) -> None:
        """Raise NeurodriverError where a GPU has waited for others in vain: counts are wrong."""
        if self._missing.any():
            raise NeurodriverError(
                f"weights are not those of all ranks: the GPU of another rank has not sent its "
                f"changes within {_PATIENCE} s; begin again with weights that were saved before"
            )

    def end(self) -> None:
        """Wait until the others have read what is packed."""
        if self._others:
            self._await(_ADDED)
            self._device.wait()

    def _of_rows(self, kernel: Any, packed: tuple[int, ...], types: tuple[Any, ...]) -> None:
        """Start a kernel with a warp for each row."""
        blocks = -(-self._rows // (_THREADS // 32))
        values = *packed, self._first.address, self._rows, self._counts.address, self._marks.address
        types = *types, POINTER, LONG, POINTER, POINTER
        launch(self._device, kernel, blocks, _THREADS, values, types)

    def _send(self, what: int) -> None:
        """Signal the others when all that was begun before is done."""
        values = self._signals[what].address, self._number
        launch(self._device, self._signal, 1, self._others, values, (POINTER, LONG))

    def _await(self, what: int) -> None:
        """Begin nothing more before the signals of all others."""
        here, missing = self._word(self._memory.address, what), self._missing.ctypes.data
        values = here, self._number, 10**9 * _PATIENCE, missing
        types = POINTER, LONG, LONG, POINTER
        launch(self._device, self._wait, 1, self._others, values, types)
