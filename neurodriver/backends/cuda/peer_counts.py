"""``PeerCounts``: what synapses have counted, packed for the GPUs of other ranks.

A GPU packs only the counts that are not 0. A row without any takes one word. The others take 4
bytes a count if all counts of the row fit, and 8 otherwise. Other GPUs read and add them. GPUs
signal one another what they have done, so no host waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import NeurodriverError
from ..synapse_place import Stored
from .device import LONG, POINTER, Device, Loaded, launch
from .driver import DeviceError
from .peers import PeerMemory, opened

_THREADS = 128
"""Of a block."""

_PATIENCE = 30
"""Seconds that a GPU waits for others, which have begun the same."""

_PACKED, _ADDED = range(2)
"""What GPUs signal: they have packed their counts, and they have added those of others."""

_SPARE: dict[tuple[int, int], list[tuple[Device, PeerMemory]]] = {}
"""Number of a GPU, bytes -> memory that is not used now. Others may still have it open, so it is
never given back."""


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
        self._kept = self._take(device, int(self._starts[-1]))
        self._memory = self._kept[1]
        self._first, self._others, self._number = store(first), 0, 0
        self._whole, self._opened = True, list[Callable[[], Any]]()
        self._missing = device.pinned(ranks, np.int64)
        self._missing[:] = 0
        self._own, self._theirs = self._places([self._memory.address]), self._places([])
        self._signals: list[Stored] = []
        names = "nd_pack_counts", "nd_add_counts", "nd_signal", "nd_wait_for"
        self._pack, self._add, self._signal, self._wait = map(code.function, names)

    @staticmethod
    def _take(device: Device, size: int) -> tuple[Device, PeerMemory]:
        """Return memory without signals, and the device that has made it."""
        spare = _SPARE.get((device.number, size))
        if not spare:
            return device, PeerMemory(device, size)
        kept = spare.pop()
        device.clear(kept[1].address, size)
        device.wait()
        return kept

    @property
    def offer(self) -> bytes:
        """How others reach the memory."""
        return self._memory.offer.tobytes()

    def reach(self, offers: Sequence[bytes], own: int) -> bool:
        """Open the memory of all ranks, of which this is number ``own``; return whether it can."""
        addresses = []
        # each memory has a word for every rank but its owner, in the order of ranks
        places = [own - (other < own) for other in range(len(offers)) if other != own]
        try:
            for offer in (*offers[:own], *offers[own + 1 :]):
                address, close = opened(self._device, np.frombuffer(offer, np.uint8))
                self._opened.append(close)
                addresses.append(address)
            self._theirs, self._others = self._places(addresses), len(addresses)
            for what in (_PACKED, _ADDED):
                words = [self._word(a, what, p) for a, p in zip(addresses, places, strict=True)]
                self._signals.append(self._store(np.array(words, np.uint64)))
        except DeviceError:
            self._others = 0
            return False
        return True

    def _places(self, addresses: Sequence[int]) -> Stored:
        """Return what kernels get of the memory of some GPUs, as ``nd_packed``."""
        words = np.array([self._starts[:3] + one for one in addresses], np.uint64)
        return self._store(words)

    def _word(self, memory: int, what: int, place: int = 0) -> int:
        """Return the address of a word in some memory, by the number of the rank that writes it."""
        return memory + int(self._starts[3 + what]) + 8 * place

    def add(self) -> None:
        """Begin to add what the others pack; all ranks call it, and their GPUs wait for each other.

        Raises
        ------
        NeurodriverError
            As `check`.
        """
        self.check()
        if not self._others:
            return
        self._whole = False
        self._await(_ADDED)  # until then they may read what was packed the last time
        self._number += 1
        self._of_rows(self._pack, (self._own.address,), (POINTER,))
        self._send(_PACKED)
        self._await(_PACKED)
        self._of_rows(self._add, (self._theirs.address, self._others), (POINTER, LONG))
        self._send(_ADDED)
        self._whole = True

    def check(self) -> None:
        """Raise NeurodriverError where some counts of the others have not been added."""
        why = ""
        if self._missing.any():
            why = f"the GPU of another rank has not sent its changes within {_PATIENCE} s"
        elif not self._whole:
            why = "they were interrupted while they were added up"
        if why:
            do = "begin again with weights that were saved before"
            raise NeurodriverError(f"weights are not those of all ranks: {why}; {do}")

    def end(self) -> None:
        """Wait until the others have read what is packed, and let go of their memory."""
        if self._others:
            self._await(_ADDED)
            self._device.wait()
        while self._opened:
            self._opened.pop()()
        _SPARE.setdefault((self._device.number, int(self._starts[-1])), []).append(self._kept)

    def _of_rows(self, kernel: Any, packed: tuple[int, ...], types: tuple[Any, ...]) -> None:
        """Start a kernel with a warp for each row."""
        blocks = max(-(-self._rows // (_THREADS // 32)), 1)
        values = *packed, self._first.address, self._rows, self._counts.address, self._marks.address
        types = *types, POINTER, LONG, POINTER, POINTER
        launch(self._device, kernel, blocks, _THREADS, values, types)

    def _send(self, what: int) -> None:
        """Let the stream signal the others, behind all that was begun before."""
        values = self._signals[what].address, self._number
        launch(self._device, self._signal, 1, self._others, values, (POINTER, LONG))

    def _await(self, what: int) -> None:
        """Let the stream wait for the signals of all others."""
        here, missing = self._word(self._memory.address, what), self._missing.ctypes.data
        values = here, self._number, 10**9 * _PATIENCE, missing
        types = POINTER, LONG, LONG, POINTER
        launch(self._device, self._wait, 1, self._others, values, types)
