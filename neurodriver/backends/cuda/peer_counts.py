"""``PeerCounts``: what synapses have counted, packed in the memory of the GPUs of other ranks.

A GPU packs only the counts that are not 0. A row without any takes one word. The others take 4
bytes a count if all counts of the row fit, and 8 otherwise. Other GPUs add them to theirs. GPUs
signal one another what they have done, so no host waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import NeurodriverError
from ..synapse_place import ADDS, ALONE, PACKS, Stored
from .device import LONG, POINTER, Device, Loaded, launch
from .driver import DeviceError
from .peers import PeerMemory, opened

_PATIENCE = 30
"""Seconds that a GPU waits for others, which have begun the same."""

_PACKED, _ADDED = range(2)
"""What GPUs signal: they have packed their counts, and they have added those of others."""

_SPARE: dict[tuple[int, int], list[tuple[Device, PeerMemory]]] = {}
"""Number of a GPU, bytes -> memory that is not used now. Others may still have it open, so it is
never given back."""

Sharing = tuple[int, int, int]
"""What a run gets: address of an ``nd_packed`` for each other GPU, how many there are, and how the
run takes part."""


class PeerCounts:
    """Memory of a GPU in which others pack what they have counted.

    Parameters
    ----------
    code : Loaded
        Has the kernels of ``codegen/simt/count_kernels.cuh``.
    store : callable
        Brings an array to the GPU.
    rows, synapses : int
        Of all sets.
    ranks : int
        How many have such memory.
    """

    def __init__(
        self,
        device: Device,
        code: Loaded,
        store: Callable[[NDArray[Any]], Stored],
        rows: int,
        synapses: int,
        ranks: int,
    ) -> None:
        self._device, self._store, self._ranks = device, store, ranks
        sizes = [4 * rows, 4 * (synapses // 32 + rows + 1), 8 * synapses]
        self._starts = np.cumsum([0, *(-(-size // 16) * 16 for size in sizes)])
        # a slot is where one other rank packs; behind all slots are the signals
        self._slot = int(self._starts[-1])
        self._size = self._slot * (ranks - 1) + 2 * 8 * ranks
        self._kept = self._take(device, self._size)
        self._memory = self._kept[1]
        self._others, self._number = 0, 0
        self._whole, self._opened = True, list[Callable[[], Any]]()
        self._missing = device.pinned(ranks, np.int64)
        self._missing[:] = 0
        self._here = self._places([self._memory.address + self._slot * n for n in range(ranks - 1)])
        self._there = self._places([])
        self._signals: list[Stored] = []
        self._signal, self._wait = map(code.function, ("nd_signal", "nd_wait_for"))

    @staticmethod
    def _take(device: Device, size: int) -> tuple[Device, PeerMemory]:
        """Return a device, and memory on it that is 0."""
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
        # each memory has a place for every rank but its owner, in the order of ranks
        places = [own - (other < own) for other in range(len(offers)) if other != own]
        try:
            for offer in (*offers[:own], *offers[own + 1 :]):
                address, close = opened(self._device, np.frombuffer(offer, np.uint8))
                self._opened.append(close)
                addresses.append(address)
            slots = [a + self._slot * p for a, p in zip(addresses, places, strict=True)]
            self._there, self._others = self._places(slots), len(addresses)
            for what in (_PACKED, _ADDED):
                words = [self._word(a, what, p) for a, p in zip(addresses, places, strict=True)]
                self._signals.append(self._store(np.array(words, np.uint64)))
        except DeviceError:
            self._others = 0
            return False
        return True

    def _places(self, slots: Sequence[int]) -> Stored:
        """Return what kernels get of some slots, as ``nd_packed``."""
        words = np.array([self._starts[:3] + one for one in slots], np.uint64)
        return self._store(words)

    def _word(self, memory: int, what: int, place: int = 0) -> int:
        """Return the address of a word in some memory, by the place of the rank that writes it."""
        return memory + self._slot * (self._ranks - 1) + 8 * (self._ranks * what + place)

    @contextmanager
    def packing(self) -> Iterator[Sharing]:
        """Give what a run needs that counts, and packs what it has counted for others."""
        if self._others:
            self._await(_ADDED)  # they may still add what was packed in the last trial
        yield (self._there.address, self._others, PACKS) if self._others else (0, 0, ALONE)

    @contextmanager
    def adding(self) -> Iterator[Sharing]:
        """Give what a run needs that adds what others have packed, before it goes on.

        All ranks call it, and their GPUs wait for each other.

        Raises
        ------
        NeurodriverError
            As `check`.
        """
        self.check()
        if not self._others:
            yield 0, 0, ALONE
            return
        self._whole = False
        self._number += 1
        self._send(_PACKED)
        self._await(_PACKED)
        yield self._here.address, self._others, ADDS
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
        """Wait until the others have added what is packed in their memory, and let go of it.

        All ranks end together. A rank that trained on would write into memory that others reuse.
        """
        if self._others:
            self._await(_ADDED)
            self._device.wait()
        while self._opened:
            self._opened.pop()()
        _SPARE.setdefault((self._device.number, self._size), []).append(self._kept)

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
