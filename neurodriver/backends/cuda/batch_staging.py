"""``BatchStaging``: the inputs of a chunk of steps for all copies of a batch, and their results.

Rows and bits of events of all copies lie in one buffer: those of copy b begin at b times the
columns, or the words, of one copy. So they come to the host in one piece. The tables of all copies
go to the device in one piece, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..tables import EventTable, InputTable, Probe
from . import schedule
from .device import Device
from .feeds import EventStage, InputStage, ProbeStage
from .lane import Lane
from .staging import BITS, CHUNK
from .transfers import Growing, Tables, at

if TYPE_CHECKING:
    from .batch import CUDABatch

Words = NDArray[np.int64] | int


class CopyTables:
    """The tables of the kernel for each copy, and the actions of the inputs.

    Parameters
    ----------
    device : Device
    chunks : int
        Address of the heads of the tables, one for each copy.
    copies : int
    counts : sequence of int
        Rows of each table.
    inputs : int
        How many inputs have actions.
    """

    def __init__(
        self, device: Device, chunks: int, copies: int, counts: Sequence[int], inputs: int
    ) -> None:
        self._device, self._chunks, self._inputs = device, chunks, inputs
        sizes = [f * n for f, n in zip(Tables.FIELDS, counts, strict=True)]
        *self._starts, end = np.cumsum([0, *sizes]).tolist()
        self._heads = device.pinned(copies * Tables.HEAD, np.int64).reshape(copies, -1)
        self._rows = device.pinned(max(copies * end, 1), np.int64)[: copies * end]
        self._heads[:], self._rows[:] = 0, 0
        self._words = self._rows.reshape(copies, end)
        self._memory = device.allocate(max(self._rows.nbytes, 16))
        base = int(self._memory) + 8 * end * np.arange(copies)
        for table, start in enumerate(self._starts):
            self._heads[:, table] = base + 8 * start
        self._host, self._there, self._steps = Growing(device, pinned=True), Growing(device), 0
        self._recorded = 0

    def room(self, steps: int) -> bool:
        """Make room for the actions of so many steps; return whether all have to be put again."""
        if steps <= self._steps:
            return False
        self._steps = max(64, 1 << (steps - 1).bit_length())
        size = max(4 * self._steps * self._inputs, 4)
        shape = self._inputs, self._steps
        self._actions = at(self._host.room(size), shape, np.int32)
        self._there.room(size)
        return True

    def put_actions(self, number: int, actions: NDArray[np.int32]) -> int:
        """Send the actions of an input, where there are new ones; return where they are."""
        place = self._there.room(0) + 4 * self._steps * number
        if len(actions):
            self._actions[number, : len(actions)] = actions
            self._device.send(place, self._actions[number].ctypes.data, actions.nbytes)
        return place

    def put(self, table: int, row: int, fields: Sequence[Words], copies: slice) -> None:
        """Set a row of a table in some copies: numbers for all, or one for each."""
        start = self._starts[table] + Tables.FIELDS[table] * row
        for place, words in enumerate(fields, start):
            self._words[copies, place] = words

    def put_recorded(self, place: int, fields: Sequence[Words]) -> None:
        """Set a table of events that the computing warps record."""
        start = Tables.FIRST + place * len(fields)
        for word, words in enumerate(fields, start):
            self._heads[:, word] = words
        self._recorded = place + 1

    def begin_sending(self, first: int, end: int, fuzz: int, gates: tuple[int, ...]) -> None:
        """Queue the copy of the tables, for a chunk of steps ``first`` to ``end - 1``."""
        self._heads[:, 4 : Tables.FIRST] = first, fuzz, self._recorded, end, *gates
        for address, array in ((int(self._memory), self._rows), (self._chunks, self._heads)):
            if array.nbytes:
                self._device.send(address, array.ctypes.data, array.nbytes)

    def free(self) -> None:
        """Give the memory back."""
        self._memory.free()
        self._there.free()
        self._host.free()


class BatchStaging:
    """Holds the stage of each table, and the tables of the kernel of each copy.

    Parameters
    ----------
    owner : CUDABatch
    inputs, probes, events : sequence of tables
        As the host fills them for each chunk; inputs are those of all copies, or those of one copy
        after the other.

    Attributes
    ----------
    pieces : list of list of array
        Items of a copy that inject, sample, scan for events and export, of each table.
    longest : int
        Steps of a chunk at most, by the memory for what they record.
    """

    exports: tuple[()] = ()

    def __init__(
        self,
        owner: CUDABatch,
        inputs: Sequence[InputTable],
        probes: Sequence[Probe],
        events: Sequence[EventTable],
    ) -> None:
        self._twins, self._fuzz, self._gates = owner.twins, owner.fuzz, owner.gates
        self._copies, self._word = len(owner.bindings), owner.dtype.itemsize
        rings = list(owner.program.layout.rings)
        self._rings = [[rings[t.ring] for t in tables] for tables in (inputs, probes, events)]
        self._places = {
            name: (
                np.array([one.ring_address(name) for one in owner.bindings]),
                np.array([one.active_address(name) for one in owner.bindings]),
            )
            for name in rings
        }
        self._counts = [p.count for p in probes]
        self._slots = len(owner.program.slots.places)
        self._inputs = [InputStage(owner, t) for t in inputs]
        self._probes = [ProbeStage(owner, p, width=p.stride) for p in probes]
        self._events = [EventStage(owner, e, i >= Tables.RECORDED) for i, e in enumerate(events)]
        scans = [schedule.EVENTS if one.scanned else schedule.RECORDED for one in self._events]
        kinds: list[tuple[Sequence[int], Sequence[InputTable | Probe | EventTable]]] = [
            ([schedule.INJECT] * self._slots, inputs[: self._slots]),
            ([schedule.SAMPLE] * len(probes), probes),
            (scans, events),
            ([], []),
        ]
        self.pieces = [
            [
                schedule.pieces(what, i, table.count, owner.plan.warps)
                for i, (what, table) in enumerate(zip(whats, tables, strict=True))
            ]
            for whats, tables in kinds
        ]
        counts = [len(tables) for _, tables in kinds]
        self._tables = CopyTables(
            owner.device, owner.chunk_address(0), self._copies, counts, len(inputs)
        )
        rows = sum(stage.row_bytes for stage in self._probes)
        bits = sum(4 * stage.words for stage in self._events) * self._copies
        most = [CHUNK // rows] if rows else []
        self.longest: int = max(1, min([*most, BITS // bits if bits else 1 << 24]))

    def most(self, steps: int) -> int:
        """Return how many of the steps whose inputs are there fit into one call."""
        most = min([self.longest, *(stage.most(steps) for stage in self._inputs)])
        if most < steps:
            self.longest = most
        return min(steps, most)

    def send(self, first: int, steps: int, lane: Lane) -> None:
        """Queue the copies of the inputs of a chunk, and reserve memory for its results."""
        self._twins.forget()
        self._send_inputs(first, steps)
        sizes = [stage.expect(first, steps) for stage in self._probes]
        numbers, places = np.arange(self._copies), lane.records.room(sizes)
        for i, (probe, address) in enumerate(zip(self._probes, places, strict=True)):
            _, listed, rows, *shape = probe.fields(first, address)
            ring, _ = self._places[self._rings[1][i]]
            begin = rows + numbers * (self._counts[i] * self._word)
            self._tables.put(1, i, (ring, listed, begin, *shape), slice(None))
        places = lane.events.room([self._copies * one.words for one in self._events], steps)
        recorded = 0
        for i, (one, address) in enumerate(zip(self._events, places, strict=True)):
            _, listed, bits, _, *shape, words, columns = one.fields(address)
            ring, active = self._places[self._rings[2][i]]
            begin, row = bits + 4 * words * numbers, self._copies * words
            fields: list[Words] = [ring, listed, begin, active, *shape, row, columns]
            self._tables.put(2, i, fields, slice(None))
            if not one.scanned:
                self._tables.put_recorded(recorded, fields)
                recorded += 1
        self._twins.begin_sending()
        lane.events.clear()
        self._tables.begin_sending(first, first + steps, self._fuzz, self._gates.fields)

    def _send_inputs(self, first: int, steps: int) -> None:
        moved, own = self._tables.room(steps), len(self._inputs) > self._slots
        for i, stage in enumerate(self._inputs):
            changed = stage.order(first, steps) or moved
            copies = slice(i // self._slots, i // self._slots + 1) if own else slice(None)
            none = stage.actions[:0]
            actions = self._tables.put_actions(i, stage.actions if changed else none)
            _, table, *_, width, depth, start, count, back, words = stage.bring(actions)
            ring, active = self._places[self._rings[0][i]]
            shape = width, depth, start, count, back, words
            fields = (ring[copies], table, actions, active[copies], *shape)
            self._tables.put(0, i % self._slots, fields, copies)

    def expect(self, lane: Lane) -> None:
        """Give a lane the functions that collect the rows of the last chunk."""
        lane.rows = [stage.collector(lane.records) for stage in self._probes]

    def free(self) -> None:
        """Give the memory back."""
        for parts in (self._inputs, self._probes, self._events, [self._tables]):
            for one in parts:
                one.free()
