"""The stages of a chunk of steps on a device: one object for each input, recorder and export.

* ``InputStage`` brings the values or the events of an input to the device, and says for each step
  which row of them is injected.
* ``ProbeStage`` returns recorded rows to the host.
* ``EventStage`` holds where the kernel records events, as bits.
"""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...inputs.base import EventChunk
from ...inputs.trains import TrainSpan
from ..tables import EventTable, InputTable, PeerRows, Probe
from .crossing import Taker
from .event_lists import EnteredEvents
from .import_delivery import enters_slots_alone, sender_of
from .input_items import input_items
from .items import Items
from .trains import DrawnTrains
from .transfers import ChunkRecords, Growing, at

if TYPE_CHECKING:
    from ...plan.layout import Ring
    from ...plan.program import Program
    from .backend import CUDABackend

NOTHING = -2
"""Action of a step whose row already holds the values."""

_UNKNOWN = -2

_ROWS = 256 << 20
"""Bytes on the device for the rows of one input that come as events."""

Fields = tuple[int, ...]
"""One row of a table of the kernel."""


class InputStage:
    """Values of one input on the device.

    Parameters
    ----------
    table : InputTable
        As the host fills it for each chunk.

    Attributes
    ----------
    actions : (steps,) int32
        Of each step: row of the values, -1 for zeros, or ``NOTHING``.
    words : int
        Where the kernel of another GPU writes the values (``peers.cuh``), or 0.
    sends : bool
        Whether its spikes are added to slots alone, so that no row of a ring holds them.
    span : TrainSpan or None
        Trains that are drawn on the device in the next chunk, instead of what the table says.
    """

    def __init__(self, owner: CUDABackend, table: InputTable) -> None:
        self._owner, self._table = owner, table
        name = list(owner.program.layout.rings)[table.ring]
        self._ring = owner.program.layout.rings[name]
        self._events = self._ring.is_event
        self._content = np.full(self._ring.depth, _UNKNOWN + 1, np.int64)
        self._values = Growing(owner.device)
        self._row_bytes = table.count * owner.dtype.itemsize
        self._held, self._rows, self._used, self._steps = -1, 0, 0, 0
        self._key: tuple[bytes, int] = b"", -1
        self._steady = False
        self._chunk: EventChunk | None = None
        self._entered: EnteredEvents | None = None
        self._taken: Taker | None = None
        self._drawn: DrawnTrains | None = None
        self.span: TrainSpan | None = None
        self.actions, self.words = np.empty(0, np.int32), 0
        ring, active = owner.ring_address(name), owner.active_address(name)
        shape = self._ring.width, self._ring.depth, table.first, table.count, table.back
        self._sender = sender_of(owner.program, name, table.first)
        if table.ring < 0:  # a barrier word: it has no value
            ring, active, self._sender = 0, 0, (-1, 0)
        inputs = self._ring.segments.get("inputs")
        inside = inputs is not None and 0 <= table.first - inputs.start < inputs.count
        self.sends = inside and self._sender[0] >= 0
        self.sends = self.sends and enters_slots_alone(owner.program, name, table.first)
        self._head, self._tail = ring, (active, *shape)

    def most(self, steps: int) -> int:
        """Return how many of the steps whose values are there can be taken at once."""
        rows = self._table.begin and not self.sends
        return min(steps, max(1, _ROWS // self._row_bytes)) if rows else steps

    def items(self, number: int, warps: int) -> Items:
        """Return the items of warps that let its values enter, of table ``number``."""
        return input_items(number, self._table, warps, self.sends)

    def _events_of(self, steps: int) -> EventChunk:
        """Return the events of a chunk."""
        table = self._table
        begin = at(table.begin, (steps + 1,), np.int64)
        found = int(begin[-1])
        column = at(table.column, (found,), np.int32) if found else np.empty(0, np.int32)
        value = at(table.value, (found,), self._owner.dtype) if found else np.empty(0)
        return EventChunk(table.count, begin, column, value)

    def order(self, first: int, steps: int) -> bool:
        """Find the actions of a chunk; return whether they differ from those of the last one."""
        self._steps = steps
        table = self._table
        self._chunk = self._events_of(steps) if table.begin and self.span is None else None
        if self.span is not None or (self._chunk is not None and self.sends):
            self._steady, self._key, self._used = False, (b"", -1), 0
            return False
        if self._chunk is not None:
            key = self._chunk.row_of_step.tobytes(), 0
        else:
            key = ct.string_at(table.row_of_step, 4 * steps), table.version
        if self._steady and key == self._key:
            return False
        rows = np.frombuffer(key[0], np.int32)
        if self._stays(rows, key[1]):
            if steps <= len(self.actions):
                return False
            self.actions = np.full(steps, NOTHING, np.int32)
            return True
        self._key = key
        self._used = int(rows.max(initial=-1)) + 1
        if not table.version and int(rows.min(initial=0)) >= 0:
            self._content[:] = _UNKNOWN  # new values at every step, whatever was there
            self._steady = True
            self.actions = rows
            return True
        self.actions = self._actions_of(rows, first)
        same = bool((rows == rows[0]).all() and (self._content == self._content[0]).all())
        self._steady = same and bool((self.actions == NOTHING).all())
        return True

    def _stays(self, rows: NDArray[np.int32], version: int) -> bool:
        """Whether all rows of the ring hold what each of the steps injects."""
        known = np.frombuffer(self._key[0][:4], np.int32)
        same = self._steady and 0 < version == self._key[1]
        return bool(same and (rows == known).all())

    def bring(self, actions: int) -> Fields:
        """Queue the copy of the values to the device; return the fields of the kernel's table.

        Parameters
        ----------
        actions : int
            Where the device finds them.
        """
        lists: Fields = (0, 0, 0)
        if self.span is not None:
            address, lists = 0, self._draw(replace(self.span, steps=self._steps))
        elif self._chunk is not None:
            address, lists = self._bring_events(self._chunk)
        else:
            address = self._bring_rows()
        ends = lists[:3] if self.sends else (0, 0, 0)
        return (self._head, address, actions, *self._tail, self.words, *self._sender, *ends)

    def _draw(self, span: TrainSpan) -> Fields:
        """Return where the device finds the events that it draws."""
        if self._drawn is None:
            self._drawn = DrawnTrains(self._owner.device, self._owner.code)
        self.span = None
        return self._drawn.draw(span)

    def _bring_events(self, chunk: EventChunk) -> tuple[int, Fields]:
        """Return where the device finds the rows of events, and where their lists."""
        if self._entered is None:
            self._entered = EnteredEvents(self._owner.device, self._owner.code)
        lists = self._entered.send(chunk, not self.sends)
        address = 0
        if not self.sends:
            address = self._values.room(max(self._used * self._row_bytes, 1))
            self._entered.enter(chunk, lists, address)
        self._held = -1
        return address, lists

    def _bring_rows(self) -> int:
        """Return where the device finds the rows of values."""
        table, twins = self._table, self._owner.twins
        size = self._used * self._row_bytes
        address = twins.of(table.table)
        if address:
            twins.send(table.table, size)
            return address
        address = self._values.room(max(size, 1))
        version = table.version
        if size and (not version or version != self._held or self._used > self._rows):
            # memory that is not page-locked has been read when this returns
            self._owner.device.send(address, table.table, size)
            self._held = version or -1
            self._rows = self._used
        return address

    def _actions_of(self, rows: NDArray[np.int32], first: int) -> NDArray[np.int32]:
        """Return the actions of steps; ``NOTHING`` where the row already holds the values."""
        table, depth = self._table, self._ring.depth
        version = np.int64(table.version) << 32
        identity = version + rows.astype(np.int64) + 1 if table.version else np.int64(_UNKNOWN)
        content = np.where(rows < 0, 0, identity)
        steps = len(rows)
        row = np.arange(first, first + steps) - table.back
        content[row < 0] = _UNKNOWN
        before = np.empty(steps, np.int64)
        early = min(depth, steps)
        before[:early] = self._content[row[:early] % depth]
        before[early:] = content[: steps - early]
        unchanged = (content == before) & (content != _UNKNOWN)
        if self._events:
            unchanged &= rows < 0  # a row of events is marked at its own step
        late = slice(max(0, steps - depth), steps)
        keep = row[late] >= 0
        self._content[row[late][keep] % depth] = content[late][keep]
        return np.where(unchanged, NOTHING, rows).astype(np.int32)

    def taker(self, rows: PeerRows, kept: int, number: int) -> list[int]:
        """Return the ``nd_taker`` of what warps of another GPU send; the input has a number."""
        self._taken = self._taken or Taker(self._owner.device, rows, self._ring.depth)
        active, width, depth, first, _, back = self._tail
        place = self._head, active, width, depth, first, back, *self._sender, number
        return [*place, *self._taken.fields(rows, kept)]

    @property
    def brought(self) -> int:
        """How many words of spikes, or values, warps of another GPU send."""
        return self._taken.number if self._taken else 0

    def free(self) -> None:
        """Give the memory back."""
        self._values.free()
        for one in (self._taken, self._entered, self._drawn):
            if one is not None:
                one.free()


class _Elements:
    """The recorded elements of a row: from ``start`` on, or a list on the device."""

    def __init__(self, owner: CUDABackend, table: Probe | EventTable) -> None:
        self._memory = Growing(owner.device)
        self.start, self.list = 0, 0
        elements = at(table.elements, (table.count,), np.int32)
        if table.contiguous:
            self.start = int(elements[0]) if table.count else 0
        else:
            self.list = self._memory.room(elements.nbytes)
            owner.device.upload(self.list, elements)

    def free(self) -> None:
        self._memory.free()


class ProbeStage:
    """Rows of one variable that leave the device after each chunk.

    Parameters
    ----------
    probe : Probe
        As the host fills it for each chunk.
    exported : bool
        Whether the rows are those that the steps write, one each step.

    Attributes
    ----------
    words : int
        Where the rows go in the memory of another GPU (``peers.cuh``), or 0.
    """

    def __init__(self, owner: CUDABackend, probe: Probe, exported: bool = False) -> None:
        self._owner, self._probe, self._exported = owner, probe, exported
        ring = list(owner.program.layout.rings.values())[probe.ring]
        self._elements = _Elements(owner, probe)
        width = probe.count if exported else probe.stride  # of the rows of all copies
        self.row_bytes = width * owner.dtype.itemsize
        self._head = owner.ring_address(ring.variable), self._elements.list
        self._tail = ring.width, ring.depth, self._elements.start, width
        self._twin, self._taken, self.words = 0, 0, 0

    def expect(self, first: int, steps: int) -> int:
        """Return the bytes of a chunk's rows that need memory on the device."""
        if self.words:  # rows do not come to the host
            self._taken = self._twin = 0
            return 0
        interval = self._probe.interval
        taken = steps if self._exported else (first + steps) // interval - first // interval
        self._taken = taken * self.row_bytes
        self._twin = self._owner.twins.of(self._probe.rows) if self._taken else 0
        if self._twin:
            self._owner.twins.receive(self._probe.rows, self._taken)
            return 0
        return self._taken

    def fields(self, first: int, address: int) -> Fields:
        """Return the fields of the kernel's table, for rows at ``address``."""
        self._address = self._twin or address
        interval = self._probe.interval
        shape = *self._tail, -(first + 1) % interval, interval
        return (*self._head, self._address, *shape, self.words)

    def again(self) -> None:
        """Queue the copy of the rows of the last chunk once more."""
        if self._taken:
            self._owner.device.receive(self._probe.rows, self._address, self._taken)

    def collector(self, records: ChunkRecords) -> Callable[[], None]:
        """Return the function that copies the rows of this chunk to the recorder's buffer."""
        target = self._probe.rows
        size = 0 if self._twin else self._taken
        source = records.here(self._address) if size else 0

        def collect() -> None:
            if size:
                ct.memmove(target, source, size)

        return collect

    def free(self) -> None:
        """Give the memory back."""
        self._elements.free()


class EventStage:
    """Events of one variable, which the kernel records as bits.

    Parameters
    ----------
    scanned : bool
        Whether each row is scanned in any case.

    Attributes
    ----------
    words : int
        32-bit words of a row of bits.
    scanned : bool
        Whether each row is scanned; if not, the warp that computes an event records it.
    """

    def __init__(self, owner: CUDABackend, events: EventTable, scanned: bool = False) -> None:
        ring = list(owner.program.layout.rings.values())[events.ring]
        self._elements = _Elements(owner, events)
        taken = at(events.elements, (events.count,), np.int32)
        self._columns = Growing(owner.device)
        columns = 0
        if not events.contiguous:
            column = np.full(ring.width, -1, np.int32)
            column[taken] = np.arange(events.count, dtype=np.int32)
            columns = self._columns.room(column.nbytes)
            owner.device.upload(columns, column)
        self.words: int = -(-events.count // 32)
        self._head = owner.ring_address(ring.variable), self._elements.list
        shape = ring.width, ring.depth, self._elements.start, events.count, self.words
        self.scanned = scanned or not _recorded_by_warps(owner.program, ring)[taken].all()
        self._tail = (owner.active_address(ring.variable), *shape, columns)

    def fields(self, address: int) -> Fields:
        """Return the fields of the kernel's table, for bits at ``address``."""
        return (*self._head, address, *self._tail)

    def free(self) -> None:
        """Give the memory back."""
        self._elements.free()
        self._columns.free()


def _recorded_by_warps(program: Program, ring: Ring) -> NDArray[np.bool_]:
    """Return for which elements of a row the computing warp records events, (width,) bool."""
    recorded = np.zeros(ring.width, dtype=bool)
    custom = {one.number for one in program.custom}
    for unit in program.units:
        (number, *_) = unit.groups
        segment = ring.segments.get(str(number))
        if segment is not None and number not in custom:
            recorded[segment.start : segment.start + segment.count] = True
    return recorded
