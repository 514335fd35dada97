"""Moves values between the host and the device without a wait for each of them."""

from __future__ import annotations

import ctypes as ct
import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .device import Device

ALIGNMENT = 256


class Growing:
    """Memory that is replaced by a larger piece where it does not suffice.

    Parameters
    ----------
    device : Device
    pinned : bool
        Page-locked memory of the host instead of memory of the device.
    """

    def __init__(self, device: Device, pinned: bool = False) -> None:
        self._device, self._pinned = device, pinned
        self._memory: Any = None
        self._bytes = 0
        self._address = 0

    def room(self, n: int) -> int:
        """Return the address of at least ``n`` bytes; what was there before may be lost."""
        if n > self._bytes:
            self.free()
            size = 1 << (max(n, 4096) - 1).bit_length()
            if self._pinned:
                self._memory = self._device.pinned(size, np.uint8)
                self._address = self._memory.ctypes.data
            else:
                self._memory = self._device.allocate(size)
                self._address = int(self._memory)
            self._bytes = size
        return self._address

    def free(self) -> None:
        """Give the memory back."""
        if self._memory is not None:
            self._device.wait()
            if not self._pinned:
                self._memory.free()
            self._memory, self._bytes, self._address = None, 0, 0


class Twins:
    """Page-locked arrays of the host, each with as much memory on the device.

    What lies in such an array has a place on the device from the beginning, so pieces that lie
    side by side move in one copy, and no copy needs a detour.

    Parameters
    ----------
    shared : bool
        Whether the device works in the memory of the host itself, instead of in copies.
    """

    def __init__(self, device: Device, shared: bool = False) -> None:
        self._device, self._shared = device, shared
        self._starts: list[int] = []
        self._made: list[tuple[int, int, Any]] = []  # end, twin, memory; as `_starts`
        self._kept: list[NDArray[Any]] = []
        self._in: list[list[int]] = []
        self._out: list[list[int]] = []

    def make(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return zeros."""
        array = self._device.pinned(max(count, 1), dtype)
        array[:] = 0
        start = array.ctypes.data
        memory = None
        if not self._shared:
            memory = self._device.allocate(array.nbytes)
            self._device.upload(int(memory), array)
        twin = start if memory is None else int(memory)
        place = bisect_right(self._starts, start)
        self._starts.insert(place, start)
        self._made.insert(place, (start + array.nbytes, twin, memory))
        self._kept.append(array)  # as long as the device may copy from it
        return array[:count]

    def of(self, address: int | None) -> int:
        """Return the place on the device of a place in one of the arrays, 0 for any other."""
        if not address:
            return 0
        place = bisect_right(self._starts, address) - 1
        if place < 0 or address >= self._made[place][0]:
            return 0
        return self._made[place][1] + address - self._starts[place]

    def send(self, address: int, size: int) -> None:
        """Add a piece to the next copies to the device."""
        if not self._shared:
            _add_piece(self._in, address, size)

    def receive(self, address: int, size: int) -> None:
        """Add a piece to the next copies to the host."""
        if not self._shared:
            _add_piece(self._out, address, size)

    def begin_sending(self) -> None:
        """Queue the pending copies to the device."""
        for address, size in self._in:
            self._device.send(self.of(address), address, size)
        self._in.clear()

    def begin_receiving(self) -> None:
        """Queue the pending copies to the host."""
        for address, size in self._out:
            self._device.receive(address, self.of(address), size)
        self._out.clear()

    def forget(self) -> None:
        """Drop the pending copies of a chunk that was not run."""
        self._in.clear()
        self._out.clear()

    def free(self) -> None:
        """Give the device's memory back."""
        for _, _, memory in self._made:
            if memory is not None:
                memory.free()
        self._starts, self._made = [], []


def _add_piece(pieces: list[list[int]], address: int, size: int) -> None:
    if pieces and pieces[-1][0] + pieces[-1][1] == address:
        pieces[-1][1] += size
    elif size:
        pieces.append([address, size])


class Tables:
    """The tables of the kernel and the actions of the inputs: one piece of memory, one copy.

    What is as in the chunk before is not sent again.

    Parameters
    ----------
    device : Device
    given : int
        Address of the constant memory that holds the addresses of the tables.
    counts : sequence of int
        Rows of each table.
    """

    FIELDS = 15, 10, 10, 10
    RECORDED = 4
    """Largest number of event tables that the computing warps record."""

    FIRST = 18
    """Words before those tables."""

    HEAD = FIRST + RECORDED * FIELDS[2]
    """Words of what ``given`` gets."""

    def __init__(self, device: Device, given: int, counts: Sequence[int]) -> None:
        self._device, self._given = device, given
        sizes = (f * n for f, n in zip(self.FIELDS, counts, strict=True))
        ends = np.cumsum([self.HEAD, *sizes]).tolist()
        self._starts: list[int] = ends[:-1]
        self._end: int = ends[-1]
        self._inputs = counts[0]
        self._recorded: dict[int, tuple[int, ...]] = {}
        self._sent_rows: dict[tuple[int, int], tuple[int, ...]] = {}
        self._host, self._there = Growing(device, pinned=True), Growing(device)
        self._steps = 0
        self._address = self._size = 0
        self._changed = True
        self._alone = not any(counts)
        self._said: tuple[int, ...] = ()
        self.room(1)

    def room(self, steps: int) -> bool:
        """Make room for the actions of so many steps; return whether all have to be put again."""
        if steps <= self._steps:
            return False
        self._steps = max(64, 1 << (steps - 1).bit_length())
        size = 8 * self._end + 4 * self._steps * self._inputs
        host = self._host.room(size)
        self._words = at(host, (self._end,), np.int64)
        self._orders = at(host + 8 * self._end, (self._inputs, self._steps), np.int32)
        base = self._there.room(size)
        self._words[:4] = [base + 8 * start for start in self._starts]
        self._address, self._size = base, size
        self._sent_rows.clear()
        self._changed = True
        return True

    def actions_at(self, number: int) -> int:
        """Return where the device finds the actions of an input."""
        return self._address + 8 * self._end + 4 * self._steps * number

    def put_actions(self, number: int, actions: NDArray[np.int32]) -> None:
        """Set the actions of an input."""
        self._orders[number, : len(actions)] = actions
        self._changed = True

    def put(self, table: int, row: int, fields: tuple[int, ...]) -> None:
        """Set a row of a table."""
        if self._sent_rows.get((table, row)) != fields:
            size = self.FIELDS[table]
            start = self._starts[table] + size * row
            self._words[start : start + size] = fields
            self._sent_rows[table, row] = fields
            self._changed = True

    def put_recorded(self, row: int, fields: tuple[int, ...]) -> None:
        """Set a table of events that the computing warps record."""
        self._recorded[row] = fields

    def begin_sending(self, first: int, end: int, fuzz: int, gates: tuple[int, ...]) -> None:
        """Queue the copy of the tables, for a chunk of steps ``first`` to ``end - 1``.

        Without tables and gates the kernel asks for no step of the chunk.
        """
        said = fuzz, *gates
        if self._alone and not gates[0] and said == self._said:
            return
        self._said = said
        self._words[4 : self.FIRST] = first, fuzz, len(self._recorded), end, *gates
        for place, fields in enumerate(self._recorded.values()):
            start = self.FIRST + place * len(fields)
            self._words[start : start + len(fields)] = fields
        host = self._host.room(0)
        if self._changed:
            self._device.send(self._address, host, self._size)
            self._changed = False
        self._device.send(self._given, host, 8 * self.HEAD)

    def free(self) -> None:
        """Give the memory back."""
        self._there.free()
        self._host.free()


class ChunkRecords:
    """What a chunk leaves on the device: it comes to the host in one copy."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._there, self._host = Growing(device), Growing(device, pinned=True)
        self._size = 0

    def room(self, sizes: Sequence[int]) -> list[int]:
        """Return the addresses on the device of pieces of so many bytes."""
        starts = []
        self._size = 0
        for size in sizes:
            starts.append(self._size)
            self._size += -(-size // ALIGNMENT) * ALIGNMENT
        base = self._there.room(self._size)
        self._host.room(self._size)
        return [base + start for start in starts]

    def begin_receiving(self, beside: bool = False) -> None:
        """Begin the copy to the host; ``beside``: while the next chunk runs."""
        if self._size:
            self._device.receive(self._host.room(0), self._there.room(0), self._size, beside)

    def here(self, address: int) -> int:
        """Return where the host finds what the device has at an address."""
        return self._host.room(0) + address - self._there.room(0)

    def free(self) -> None:
        """Give the memory back."""
        self._there.free()
        self._host.free()


def at(address: int, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return host memory at an address as an array, without a copy."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if not size:
        return np.empty(shape, kind)
    return np.ndarray(shape, kind, _MEMORY_AT(address, size, _WRITABLE))


_MEMORY_AT = ct.pythonapi.PyMemoryView_FromMemory
_MEMORY_AT.argtypes, _MEMORY_AT.restype = (ct.c_void_p, ct.c_ssize_t, ct.c_int), ct.py_object
_WRITABLE = 0x200
"""``PyBUF_WRITE``."""
