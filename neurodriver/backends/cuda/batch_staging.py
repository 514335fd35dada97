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
from .device import Device
from .feeds import Fields
from .staging import Staging
from .transfers import Growing, Tables, at

if TYPE_CHECKING:
    from .backend import CUDABackend
    from .batch import CUDABatch

Words = NDArray[np.int64] | int

_ALL = slice(None)


class CopyTables:
    """The tables of the kernel for each copy, and the actions of the inputs.

    Parameters
    ----------
    chunks : int
        Address of the heads of the tables, one for each copy.
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

    def put(self, table: int, row: int, fields: Sequence[Words], copies: slice = _ALL) -> None:
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


class BatchStaging(Staging):
    """Holds the stage of each table, and the tables of the kernel of each copy.

    Parameters
    ----------
    inputs, probes, events : sequence of tables
        As the host fills them for each chunk; inputs are those of all copies, or those of one copy
        after the other.
    """

    def __init__(
        self,
        owner: CUDABatch,
        inputs: Sequence[InputTable],
        probes: Sequence[Probe],
        events: Sequence[EventTable],
    ) -> None:
        rings = list(owner.program.layout.rings)
        self._rings = [[rings[t.ring] for t in tables] for tables in (inputs, probes, events)]
        self._places = {
            name: (
                np.array([one.ring_address(name) for one in owner.bindings]),
                np.array([one.active_address(name) for one in owner.bindings]),
            )
            for name in rings
        }
        self._row_bytes = [p.count * owner.dtype.itemsize for p in probes]
        self._slots = len(owner.program.slots.places)
        self._numbers = np.arange(len(owner.bindings))
        super().__init__(owner, inputs, probes, events, copies=len(owner.bindings))

    def _made_tables(self, owner: CUDABackend, counts: Sequence[int]) -> CopyTables:
        place = owner.chunk_address(0)  # type: ignore[attr-defined]
        return CopyTables(owner.device, place, self._copies, counts, len(self._inputs))

    def _rows_of(self, number: int, fields: Fields) -> list[Words]:
        _, listed, rows, *shape = fields
        ring, _ = self._places[self._rings[1][number]]
        return [ring, listed, rows + self._row_bytes[number] * self._numbers, *shape]

    def _events_of(self, number: int, fields: Fields) -> list[Words]:
        _, listed, bits, _, *shape, words, columns = fields
        ring, active = self._places[self._rings[2][number]]
        begin = bits + 4 * words * self._numbers
        return [ring, listed, begin, active, *shape, self._copies * words, columns]

    def _send_inputs(self, first: int, steps: int) -> None:
        moved, own = self._tables.room(steps), len(self._inputs) > self._slots
        for i, stage in enumerate(self._inputs):
            changed = stage.order(first, steps) or moved
            copies = slice(i // self._slots, i // self._slots + 1) if own else _ALL
            none = stage.actions[:0]
            actions = self._tables.put_actions(i, stage.actions if changed else none)
            _, table, _, _, *shape = stage.bring(actions)
            ring, active = self._places[self._rings[0][i]]
            fields: list[Words] = [ring[copies], table, actions, active[copies], *shape]
            self._tables.put(0, i % self._slots, fields, copies)
