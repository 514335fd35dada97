"""What enters and leaves the device during a chunk of steps: inputs, rows, events."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...component import EVENT_VARIABLES
from ..tables import Events, InputTable, Probe

if TYPE_CHECKING:
    from .backend import CUDABackend

NOTHING = -2
"""Action of a step at which a row holds already what it shall hold."""

_UNKNOWN = -2


def at(address: int, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return host memory at an address as an array, without a copy."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    raw: Any = (ct.c_char * size).from_address(address)
    return np.frombuffer(raw, dtype=kind).reshape(shape)


class Growing:
    """Device memory that is replaced by a larger piece where it does not suffice."""

    def __init__(self, owner: CUDABackend) -> None:
        self._owner = owner
        self._memory: Any = None
        self._bytes = 0

    def room(self, n: int) -> int:
        """Return the address of at least ``n`` bytes; what was there before may be lost."""
        if n > self._bytes:
            if self._memory is not None:
                self._owner.device.stream.synchronize()
                self._memory.free()
            self._bytes = 1 << (max(n, 4096) - 1).bit_length()
            self._memory = self._owner.device.cuda.mem_alloc(self._bytes)
        return int(self._memory) if self._memory is not None else 0

    def free(self) -> None:
        """Give the memory back."""
        if self._memory is not None:
            self._memory.free()
            self._memory = None


class InputStage:
    """Values of one input on the device.

    Parameters
    ----------
    owner : CUDABackend
    table : InputTable
        As the host fills it for each chunk.
    """

    def __init__(self, owner: CUDABackend, table: InputTable) -> None:
        self._owner, self._table = owner, table
        name = list(owner.program.memory.rings)[table.ring]
        self._ring = owner.program.memory.rings[name]
        self._events = name in EVENT_VARIABLES
        self._content = np.full(self._ring.depth, _UNKNOWN + 1, np.int64)
        self._held = -1
        self._values, self._actions = Growing(owner), Growing(owner)

    def stage(self, first: int, steps: int) -> list[int]:
        """Bring the values of a chunk to the device; return the fields of the kernel's table."""
        table, owner = self._table, self._owner
        rows = at(table.row_of_step, (steps,), np.int32)
        actions = self._actions_of(rows, first)
        used = int(rows.max(initial=-1)) + 1
        size = max(used * table.count * owner.dtype.itemsize, 1)
        place = self._values.room(size)
        if used and (table.version == 0 or table.version != self._held):
            owner.device.upload(place, at(table.table, (used, table.count), owner.dtype))
            self._held = table.version or -1
            self._rows = used
        elif used > self._rows:
            owner.device.upload(place, at(table.table, (used, table.count), owner.dtype))
            self._rows = used
        orders = self._actions.room(actions.nbytes)
        owner.device.upload(orders, actions)
        ring = owner.ring_address(self._ring.variable)
        active = owner.active_address(self._ring.variable)
        shape = [self._ring.width, self._ring.depth]
        return [ring, place, orders, active, *shape, table.first, table.count, table.back]

    _rows = 0

    def _actions_of(self, rows: NDArray[np.int32], first: int) -> NDArray[np.int32]:
        """Leave out steps whose row holds the same values already."""
        table, depth = self._table, self._ring.depth
        version = np.int64(table.version) << 32
        known = version + rows.astype(np.int64) + 1 if table.version else np.int64(_UNKNOWN)
        content = np.where(rows < 0, 0, known)
        steps = len(rows)
        row = np.arange(first, first + steps) - table.back
        content[row < 0] = _UNKNOWN
        before = np.empty(steps, np.int64)
        early = min(depth, steps)
        before[:early] = self._content[row[:early] % depth]
        before[early:] = content[: steps - early]
        told = (content == before) & (content != _UNKNOWN)
        if self._events:
            told &= rows < 0  # a row of events has to be noted as such at its step
        late = slice(max(0, steps - depth), steps)
        keep = row[late] >= 0
        self._content[row[late][keep] % depth] = content[late][keep]
        return np.where(told, NOTHING, rows).astype(np.int32)

    def free(self) -> None:
        """Give the memory back."""
        self._values.free()
        self._actions.free()


class ProbeStage:
    """Rows of one variable that leave the device after each chunk.

    Parameters
    ----------
    owner : CUDABackend
    probe : Probe
        As the host fills it for each chunk.
    """

    def __init__(self, owner: CUDABackend, probe: Probe, exported: bool = False) -> None:
        self._owner, self._probe, self._exported = owner, probe, exported
        self._ring = list(owner.program.memory.rings.values())[probe.ring]
        self._rows, self._elements = Growing(owner), Growing(owner)
        self._start, self._list = 0, 0
        elements = at(probe.elements, (probe.count,), np.int32)
        if probe.contiguous:
            self._start = int(elements[0])
        else:
            self._list = self._elements.room(elements.nbytes)
            owner.device.upload(self._list, elements)
        self.row_bytes = probe.count * owner.dtype.itemsize
        self._taken = 0

    def stage(self, first: int, steps: int) -> list[int]:
        """Make room for the rows of a chunk; return the fields of the kernel's table."""
        probe = self._probe
        interval = probe.interval
        offset = -(first + 1) % interval
        self._taken = steps if self._exported else (first + steps) // interval - first // interval
        place = self._rows.room(max(self._taken, 1) * self.row_bytes)
        ring = self._owner.ring_address(self._ring.variable)
        shape = [self._ring.width, self._ring.depth, self._start, probe.count]
        return [ring, self._list, place, *shape, offset, interval]

    def collect(self) -> None:
        """Copy the rows to where the host wants them."""
        if self._taken and self._probe.count:
            out = at(self._probe.rows, (self._taken, self._probe.count), self._owner.dtype)
            self._owner.fetch(self._rows.room(1), out)

    def free(self) -> None:
        """Give the memory back."""
        self._rows.free()
        self._elements.free()


class EventStage:
    """Events of one variable, which leave the device as bits.

    Parameters
    ----------
    owner : CUDABackend
    events : Events
    """

    def __init__(self, owner: CUDABackend, events: Events) -> None:
        self._owner, self._events = owner, events
        self._ring = list(owner.program.memory.rings.values())[events.ring]
        self._bits, self._elements = Growing(owner), Growing(owner)
        self._start, self._list = 0, 0
        elements = at(events.elements, (events.count,), np.int32)
        if events.contiguous:
            self._start = int(elements[0])
        else:
            self._list = self._elements.room(elements.nbytes)
            owner.device.upload(self._list, elements)
        self.words = -(-events.count // 32)
        self.row_bytes = 4 * self.words
        self._steps = 0

    def stage(self, steps: int) -> list[int]:
        """Make room for the bits of a chunk; return the fields of the kernel's table."""
        self._steps = steps
        place = self._bits.room(steps * self.row_bytes)
        variable = self._ring.variable
        addresses = [self._owner.ring_address(variable), self._list, place]
        addresses.append(self._owner.active_address(variable))
        shape = [self._ring.width, self._ring.depth, self._start, self._events.count, self.words]
        return [*addresses, *shape]

    def collect(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return steps, counted from the first of the chunk, and columns of the events."""
        bits = np.empty((self._steps, self.words), np.uint32)
        self._owner.fetch(self._bits.room(1), bits)
        flat = bits.reshape(-1)
        some = np.flatnonzero(flat)
        each = np.unpackbits(flat[some].view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
        word, bit = np.nonzero(each)
        step, column = np.divmod(some[word], self.words)
        return step.astype(np.int64), (column * 32 + bit).astype(np.int32)

    def free(self) -> None:
        """Give the memory back."""
        self._bits.free()
        self._elements.free()


def packed(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return tables of a kernel as the bytes of 8-byte fields."""
    return np.array([n for row in rows for n in row] or [0], dtype=np.uint64).view(np.int64)
