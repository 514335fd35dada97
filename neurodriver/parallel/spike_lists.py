"""Spikes between ranks as lists: which sources had an event in each row of a window.

A message holds for each block of sources in turn

* where the events of each row begin, (window + 1,) int64;
* the columns of the events, ascending within a row, int32;
* their values, in the working type.

Each of these begins at a multiple of 8 bytes. Lists are written from the rings and their dirty
bitmaps at the end of a window. The step loop injects the events directly from the message.
"""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.tables import InputTable, RingTable
from ..native.buffers import LANES
from .buffers import Sends, Takes

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
_i64 = ct.c_longlong

Events = tuple[Numbers, NDArray[np.int32], NDArray[Any]]
"""Begin of each row, columns, values."""


def _whole(count: int) -> int:
    """Return a number of bytes, filled up to a multiple of 8."""
    return -(-count // 8) * 8


class SpikeLists:
    """Writes and reads the lists of one rank.

    Attributes
    ----------
    tables : list of InputTable
        An entry for each block that comes as lists and variable that is read of it.
    written : dict of int to list of ListedSources
        Rank -> sources whose events it gets.
    into : dict of int to list of int
        Rank -> numbers of the blocks that come from it.
    came : list of dict of int to array
        For each slot: rank -> the message with its lists.
    received : int
        Bytes of the last lists that came.
    """

    def __init__(self, sends: Sends, takes: Takes) -> None:
        self.timing, self.backend, self.dtype = sends.timing, sends.backend, sends.dtype
        self.written: dict[int, list[ListedSources]] = {}
        for i in sends.listed:
            block = sends.blocks[i]
            one = ListedSources(sends, block.variable, sends.elements[i])
            self.written.setdefault(block.rank, []).append(one)
        self.into: dict[int, list[int]] = {}
        for i in takes.listed:
            self.into.setdefault(takes.blocks[i].rank, []).append(i)
        self._room = {
            peer: sum(self.most(len(takes.blocks[i])) for i in some)
            for peer, some in self.into.items()
        }
        slots = range(self.timing.slots)
        self.came = [{p: np.zeros(n, np.uint8) for p, n in self._room.items()} for _ in slots]
        self._lists: list[dict[int, Events]] = [{} for _ in slots]
        self._message: dict[int, Bytes] = {}
        self.tables: list[InputTable] = []
        self._block: list[int] = []
        rings = list(sends.layout.rings)
        for i in takes.listed:
            for variable, first in takes.reads[i]:
                count, back = len(takes.blocks[i]), self.timing.back
                table = InputTable(rings.index(variable), first, count, None, None, 0, back)
                self.tables.append(table)
                self._block.append(i)
        self._others = len(takes.tables)
        self._early: dict[int, Events] = {}
        self._first = 0
        self.received = 0

    def most(self, count: int) -> int:
        """Return the bytes of a block in which all sources have an event in each row."""
        events = count * self.timing.window
        begin = 8 * (self.timing.window + 1)
        return begin + _whole(4 * events) + _whole(self.dtype.itemsize * events)

    def ends(self, slot: int) -> dict[int, tuple[Callable[[], Bytes] | None, Bytes | None]]:
        """Return for each peer what writes a message, and where one comes."""
        peers = sorted({*self.written, *self.into})
        return {p: (self._writer(p), self.came[slot].get(p)) for p in peers}

    def _writer(self, peer: int) -> Callable[[], Bytes] | None:
        none = np.zeros(8 * (self.timing.window + 1), np.uint8)  # where a rank leaves early
        return (lambda: self._message.get(peer, none)) if peer in self.written else None

    def write(self, step: int) -> None:
        """Write the lists of the window that ends when ``step`` steps are done."""
        window = self.timing.window
        for peer, some in self.written.items():
            parts = [part for one in some for part in one.parts(step - window + 1, window)]
            self._message[peer] = np.concatenate(parts)

    def read(self, slot: int) -> None:
        """Take up the lists that have come into a slot."""
        self.received = 0
        for peer, some in self.into.items():
            at, message = 0, self.came[slot][peer]
            for i in some:
                self._lists[slot][i], at = self._events(message, at)
            self.received += at

    def _events(self, message: Bytes, at: int) -> tuple[Events, int]:
        """Return the events of one block of a message, and where the next one begins."""
        end = at + 8 * (self.timing.window + 1)
        begin = message[at:end].view(np.int64)
        count = int(begin[-1])
        values = end + _whole(4 * count)
        last = values + self.dtype.itemsize * count
        column = message[end : end + 4 * count].view(np.int32)
        return (begin, column, message[values:last].view(self.dtype)), _whole(last)

    def begin(self, takes: Takes) -> None:
        """Keep the rows that the imports get first, as lists."""
        self._early = {}
        for i in takes.listed:
            rows = takes.first_rows(i)
            row, column = np.nonzero(rows)
            begin = np.searchsorted(row, np.arange(len(rows) + 1)).astype(np.int64)
            self._early[i] = begin, column.astype(np.int32), rows[row, column]

    def stage(self, window: int, row: int, first: int) -> None:
        """Point the tables at the lists of a window, for a call from its row ``row`` on."""
        self._first = first
        if window < self.timing.slots:
            self._point(self._early, window * self.timing.window + row)
        else:
            self._point(self._lists[window % self.timing.slots], row)

    def pass_on(self, step: int) -> None:
        """Point the tables at the lists that have come in the middle of a call."""
        if self.tables:
            self._point(self._lists[0], self._first - step)

    def inputs_of(self, block: int) -> list[int]:
        """Return the numbers of the backend's inputs that read a block."""
        return [self._first_input + n for n, i in enumerate(self._block) if i == block]

    @property
    def _first_input(self) -> int:
        return len(self.backend.inputs) - self._others - len(self.tables)

    def _point(self, lists: dict[int, Events], row: int) -> None:
        """Point each table at a list; the call's first step takes row ``row`` of it."""
        at = self._first_input
        for n, i in enumerate(self._block):
            begin, column, value = lists[i]
            table = self.backend.inputs[at + n]
            table.begin = begin.ctypes.data + 8 * row
            table.column, table.value = column.ctypes.data, value.ctypes.data


class ListedSources:
    """Writes the events of some elements of a ring.

    Attributes
    ----------
    count : int
        Elements.
    column : (width,) int32
        Number of each element in the lists, or -1.
    low, high : int
        The elements lie between ``LANES`` times these numbers.
    ascending : bool
        Whether the elements ascend.
    """

    def __init__(self, sends: Sends, variable: str, elements: NDArray[np.int32]) -> None:
        memory, window = sends.memory, sends.timing.window
        rows, self.count = memory.get_buffer(variable), len(elements)
        depth, width = rows.shape
        self._dirty = memory.dirty.get(variable)
        if self._dirty is None:  # any element may hold something
            self._dirty = np.full(depth * width // LANES, 0xFFFF, np.uint16)
        dirty = self._dirty.ctypes.data
        self.ring = RingTable(rows.ctypes.data, depth, width, None, dirty, None, None)
        self.column = np.full(width, -1, np.int32)
        self.column[elements] = np.arange(len(elements), dtype=np.int32)
        self.low, self.high = int(elements.min()) // LANES, int(elements.max()) // LANES + 1
        self.ascending = bool((np.diff(elements) > 0).all())
        self._begin = np.zeros(window + 1, np.int64)
        self._columns = np.empty(window * len(elements), np.int32)  # takes memory as it is used
        self._values = np.empty(window * len(elements), sends.dtype)
        self._list = sends.backend.runtime.nd_list_events  # type: ignore[attr-defined]
        self._list.restype = _i64
        arrays = self._begin, self._columns, self._values
        self._arrays = [ct.c_void_p(array.ctypes.data) for array in arrays]

    def parts(self, first: int, rows: int) -> list[Bytes]:
        """Return the parts of a message for rows ``first`` to ``first + rows - 1``."""
        column = ct.c_void_p(self.column.ctypes.data)
        numbers = map(_i64, (self.low, self.high, first, rows))
        count = self._list(ct.byref(self.ring), column, *numbers, *self._arrays)
        columns, values = self._columns[:count], self._values[:count]
        if not self.ascending:
            row = np.repeat(np.arange(rows), np.diff(self._begin))
            order = np.lexsort((columns, row))
            columns, values = columns[order], values[order]
        return [self._begin.view(np.uint8), _filled_up(columns), _filled_up(values)]


def _filled_up(array: NDArray[Any]) -> Bytes:
    """Return the bytes of an array, filled up to a multiple of 8."""
    out = np.zeros(_whole(array.nbytes), np.uint8)
    out[: array.nbytes] = array.view(np.uint8)
    return out
