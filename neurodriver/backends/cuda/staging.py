"""``Staging``: copies of the inputs of a chunk of steps to a device, and of its results to the
host.

A chunk is the steps of one call. Before it, ``send`` queues the copies of all input tables and
reserves memory for recorded rows and events. ``expect`` gives a lane the functions that collect
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..tables import EventTable, InputTable, Probe
from . import schedule
from .feeds import EventStage, InputStage, ProbeStage
from .lane import Lane
from .transfers import ChunkRecords, Tables

if TYPE_CHECKING:
    from .backend import CUDABackend

_CHUNK = 32 << 20
"""Bytes on the device, and page-locked on the host, for what one call records."""


class Staging:
    """Holds the stage of each table and the tables of the kernel.

    Parameters
    ----------
    owner : CUDABackend
    inputs, probes, events, exports : sequence of tables
        As the host fills them for each chunk.

    Attributes
    ----------
    exports : list of ProbeStage
    pieces : list of list of array
        Items that inject, sample, scan for events and export, of each table.
    longest : int
        Steps of a chunk at most, by the memory for what they record.
    """

    def __init__(
        self,
        owner: CUDABackend,
        inputs: Sequence[InputTable],
        probes: Sequence[Probe],
        events: Sequence[EventTable],
        exports: Sequence[Probe],
    ) -> None:
        self._twins, self._fuzz, self._gates = owner.twins, owner.fuzz, owner.gates
        self._inputs = [InputStage(owner, t) for t in inputs]
        self._probes = [ProbeStage(owner, p) for p in probes]
        self._events = [EventStage(owner, e, i >= Tables.RECORDED) for i, e in enumerate(events)]
        self.exports = [ProbeStage(owner, p, exported=True) for p in exports]
        self._kept: list[Sequence[ProbeStage | EventStage]]
        self._kept = [self._probes, self._events, self.exports]
        scans = [schedule.EVENTS if one.scanned else schedule.RECORDED for one in self._events]
        kinds: list[tuple[Sequence[int], Sequence[InputTable | Probe | EventTable]]] = [
            ([schedule.INJECT] * len(inputs), inputs),
            ([schedule.SAMPLE] * len(probes), probes),
            (scans, events),
            ([schedule.EXPORT] * len(exports), exports),
        ]
        self.pieces = [
            [
                schedule.pieces(what, i, table.count, owner.plan.warps)
                for i, (what, table) in enumerate(zip(whats, tables, strict=True))
            ]
            for whats, tables in kinds
        ]
        address = owner.code.address("nd_chunk")
        self._tables = Tables(owner.device, address, [len(tables) for _, tables in kinds])
        rows = sum(stage.row_bytes for kind in self._kept[:2] for stage in kind)
        self.longest = max(1, _CHUNK // rows) if rows else 1 << 24

    def send(self, first: int, steps: int, records: ChunkRecords) -> None:
        """Queue the copies of the inputs of a chunk, and reserve memory for its results."""
        tables = self._tables
        self._twins.forget()
        moved = tables.room(steps)
        for i, stage in enumerate(self._inputs):
            if stage.order(first, steps) or moved:
                tables.put_actions(i, stage.actions)
            tables.put(0, i, stage.bring(tables.actions_at(i)))
        sizes = [stage.expect(first, steps) for kind in self._kept for stage in kind]
        address = iter(records.room(sizes))
        for number, kind in enumerate(self._kept, 1):
            for i, one in enumerate(kind):
                fields = one.fields(first, next(address))
                tables.put(number, i, fields)
                if isinstance(one, EventStage) and not one.scanned:
                    tables.put_recorded(i, fields)
        self._twins.begin_sending()
        if self._events:
            records.clear()
        tables.begin_sending(first, first + steps, self._fuzz, self._gates.fields)

    def expect(self, lane: Lane) -> None:
        """Give a lane the functions that collect the rows and events of the last chunk."""
        lane.rows = [s.collector(lane.records) for s in (*self._probes, *self.exports)]
        lane.events = [s.collector(lane.records) for s in self._events]

    def free(self) -> None:
        """Give the memory back."""
        for stage in self._inputs:
            stage.free()
        for kind in self._kept:
            for one in kind:
                one.free()
        self._tables.free()
