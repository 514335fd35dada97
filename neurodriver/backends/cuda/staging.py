"""``Staging``: copies of the inputs of a chunk of steps to a device, and of its results to the
host.

A chunk is the steps of one call. Before it, ``send`` queues the copies of all input tables and
reserves memory for recorded rows and events. ``expect`` gives a lane the functions that collect
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.trains import TrainSpan
from ..tables import EventTable, InputTable, PeerRows, Probe
from . import warp_items
from .crossing import bring_items
from .feeds import EventStage, Fields, InputStage, ProbeStage
from .lane import Lane
from .transfers import Tables

if TYPE_CHECKING:
    from .backend import CUDABackend

CHUNK = 32 << 20
"""Bytes on the device, and page-locked on the host, for the rows that one call records."""

BITS = 64 << 20
"""Bytes on the device for the events of one call, as bits."""

RESERVED = 1 << 10
"""Steps of a call for whose events there is memory from the beginning."""


class Staging:
    """Holds the stage of each table and the tables of the kernel.

    Parameters
    ----------
    inputs, probes, events, exports : sequence of tables
        As the host fills them for each chunk.
    copies : int
        Of a batch: how many share the memory for events.

    Attributes
    ----------
    pieces : list of list of array
        Items that inject, sample, scan for events and export, of each table.
    counts : list of int
        Number of tables of each of these kinds.
    longest : int
        Steps of a chunk at most, by the memory for what they record.
    """

    def __init__(
        self,
        owner: CUDABackend,
        inputs: Sequence[InputTable],
        probes: Sequence[Probe],
        events: Sequence[EventTable],
        exports: Sequence[Probe] = (),
        copies: int = 1,
    ) -> None:
        self._owner = owner
        self._twins, self._fuzz, self._gates = owner.twins, owner.fuzz, owner.gates
        self._copies, self._idle = copies, warp_items.idle_warps(owner.plan, owner.generated.tasks)
        self._inputs = [InputStage(owner, t) for t in inputs]
        self._probes = [ProbeStage(owner, p) for p in probes]
        self._events = [EventStage(owner, e, i >= Tables.RECORDED) for i, e in enumerate(events)]
        self.exports = [ProbeStage(owner, p, exported=True) for p in exports]
        scans = [warp_items.EVENTS if one.scanned else warp_items.RECORDED for one in self._events]
        each = len(inputs) if copies == 1 else len(owner.program.slots.places)
        slots = inputs[:each]  # what follows are the tables of other copies
        kinds: list[tuple[Sequence[int], Sequence[Probe | EventTable]]] = [
            ([warp_items.SAMPLE] * len(probes), probes),
            (scans, events),
            ([warp_items.EXPORT] * len(exports), exports),
        ]
        warps = owner.plan.warps
        self.pieces = [[self._inputs[i].items(i, warps) for i in range(len(slots))]] + [
            [
                warp_items.pieces(what, i, table.count, warps)
                for i, (what, table) in enumerate(zip(whats, tables, strict=True))
            ]
            for whats, tables in kinds
        ]
        self.counts = list(map(len, self.pieces))
        self._tables: Any = self._made_tables(owner, self.counts)
        rows = sum(stage.row_bytes for stage in self._probes)
        bits = sum(4 * stage.words for stage in self._events) * copies
        most = [CHUNK // rows] if rows else []
        self.longest: int = max(1, min([*most, BITS // bits if bits else 1 << 24]))

    def _made_tables(self, owner: CUDABackend, counts: Sequence[int]) -> Any:
        return Tables(owner.device, owner.code.address("nd_chunk"), counts)

    @property
    def draws(self) -> frozenset[int]:
        """Tables of inputs whose events stand in lists alone, so that the device may draw them."""
        return frozenset(i for i, one in enumerate(self._inputs) if one.sends)

    def draw(self, table: int, span: TrainSpan) -> None:
        """Let the events of an input be drawn on the device in the next chunk."""
        self._inputs[table].span = span

    def most(self, steps: int) -> int:
        """Return how many of the steps whose inputs are there fit into one call."""
        most = min([self.longest, *(stage.most(steps) for stage in self._inputs)])
        if most < steps:
            self.longest = most
        return min(steps, most)

    def send(self, first: int, steps: int, lane: Lane) -> None:
        """Queue the copies of the inputs of a chunk, and reserve memory for its results."""
        tables = self._tables
        self._gates.open()
        self._twins.forget()
        self._send_inputs(first, steps)
        copied = [(1, i, one) for i, one in enumerate(self._probes)]
        copied += [(3, i, one) for i, one in enumerate(self.exports)]
        sizes = [stage.expect(first, steps) for _, _, stage in copied]
        for (number, i, stage), address in zip(copied, lane.records.room(sizes), strict=True):
            tables.put(number, i, self._rows_of(i, stage.fields(first, address)))
        places = lane.events.room([self._copies * one.words for one in self._events], steps)
        recorded = 0
        for i, (one, address) in enumerate(zip(self._events, places, strict=True)):
            fields = self._events_of(i, one.fields(address))
            tables.put(2, i, fields)
            if not one.scanned:
                tables.put_recorded(recorded, fields)
                recorded += 1
        self._twins.begin_sending()
        lane.events.clear()
        tables.begin_sending(first, first + steps, self._fuzz, self._gates.fields)

    def _send_inputs(self, first: int, steps: int) -> None:
        tables = self._tables
        moved = tables.room(steps)
        for i, given in enumerate(self._inputs):
            if given.order(first, steps) or moved:
                tables.put_actions(i, given.actions)
            tables.put(0, i, given.bring(tables.actions_at(i)))

    def _rows_of(self, number: int, fields: Fields) -> Any:
        """Return the row of the kernel's table of one that is sampled."""
        return fields

    def _events_of(self, number: int, fields: Fields) -> Any:
        """Return the row of the kernel's table of one whose events are recorded."""
        return fields

    def connect(
        self, imports: Sequence[PeerRows], exports: Sequence[PeerRows], kept: int
    ) -> list[list[int]]:
        """Let the kernel take the last inputs from words, and write exports to words.

        What warps send as they compute it is no item of the sender. Return the ``nd_taker`` of
        each table that warps of others send.
        """
        before = len(self._inputs) - len(imports)
        takers: list[list[int]] = []
        for place, rows in enumerate(imports, before):
            given = self._inputs[place]
            if rows.width:
                number = len(takers)
                takers.append(given.taker(rows, kept, place))
                self.pieces[0][place] = bring_items(
                    number, given.brought, rows, self._idle, self._owner.plan
                )
            else:
                given.words = rows.address
        for place, rows in enumerate(exports):
            self.exports[place].words = rows.address
            if rows.width:
                self.pieces[3][place] = self.pieces[3][place][:0]
        return takers

    def distribute(self) -> None:
        """Distribute the items over warps."""
        own, (given, *rest) = self._owner, self.pieces
        alone = (
            warp_items.BRING,
            warp_items.SEND,
        )  # these warps do nothing else, if there are enough
        sending = sum(int(np.isin(one[:, 0], alone).sum()) for one in given)
        taken = sending if 2 * sending <= self._idle else 0
        delivery = [own.delivery.delivery_items(own.plan, own.generated.tasks, taken)]
        own.launches.distribute(own.generated.tasks, [given, delivery, *rest])

    def reserved(self, lanes: Sequence[Lane]) -> Sequence[Lane]:
        """Return lanes after they have taken their memory for events, so that no call has to."""
        words = [self._copies * one.words for one in self._events]
        for lane in lanes:
            lane.events.reserve(words, min(self.longest, RESERVED))
        return lanes

    def expect(self, lane: Lane) -> None:
        """Give a lane the functions that collect the rows of the last chunk."""
        lane.rows = [s.collector(lane.records) for s in (*self._probes, *self.exports)]

    def free(self) -> None:
        """Give the memory back."""
        for parts in (self._inputs, self._probes, self.exports, self._events, [self._tables]):
            for one in parts:
                one.free()
