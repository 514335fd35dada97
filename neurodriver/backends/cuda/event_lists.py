"""Events as lists, to and from a device.

A device records events as bits, lists them itself, and the host gets the lists. The events of an
input go to the device as lists, and it enters them into rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ...inputs.base import EventChunk
from .device import LONG, POINTER, UNSIGNED, Device, Loaded, launch
from .transfers import Growing, at

Lists = tuple[int, ...]
"""Where a device finds in which place the events of each step begin, as int32, the columns and the
values of all events, and maybe the row of each step."""

EventList = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Steps and columns of events."""

THREADS = 256
"""Of a block that lists, as ``ND_LISTING`` of ``event_lists.cuh``."""

BLOCKS = 8
"""Of a multiprocessor."""

_FIRST = 1 << 16
"""Events for which there is room from the beginning."""

_ALIGNMENT = 256


class _List:
    """The memory of one list, on the device and on the host.

    Attributes
    ----------
    room : int
        Events at most.
    """

    def __init__(self, device: Device) -> None:
        self._device, self.room = device, 0
        self._there, self._here = Growing(device), Growing(device, pinned=True)
        self.make_room(_FIRST)

    def make_room(self, events: int) -> None:
        """Make room for so many events and some more; what was there is lost."""
        self.room = room = max(events + events // 4, _FIRST)
        self._there.room(8 * room)
        self._lists = at(self._here.room(8 * room), (2, room), np.int32)

    @property
    def addresses(self) -> tuple[int, int]:
        """Where the device lists steps and columns."""
        there = self._there.room(0)
        return there, there + 4 * self.room

    def receive(self, events: int) -> None:
        """Begin to copy so many events to the host."""
        here = self._here.room(0)
        for to, there in zip((here, here + 4 * self.room), self.addresses, strict=True):
            self._device.receive_list(to, there, 4 * events)

    def found(self, events: int) -> EventList:
        """Return what has been copied; the steps hold until the next call."""
        return self._lists[0, :events], self._lists[1, :events].copy()

    def free(self) -> None:
        """Give the memory back."""
        self._there.free()
        self._here.free()


class EventLists:
    """The events of the calls of one lane.

    Parameters
    ----------
    code : Loaded
        Of a circuit.
    """

    def __init__(self, device: Device, code: Loaded) -> None:
        self._device = device
        self._count, self._list = map(code.function, ("nd_count_events", "nd_list_events"))
        self._blocks = BLOCKS * device.processors
        self._bits, self._counts = Growing(device), Growing(device)
        self._numbers = Growing(device, pinned=True)
        self._lists: list[_List] = []
        self._rows: list[int] = []
        self._starts: list[int] = []
        self._steps = self._size = 0

    def room(self, rows: Sequence[int], steps: int) -> list[int]:
        """Make room for the bits of some tables; return their addresses.

        Parameters
        ----------
        rows : sequence of int
            32-bit words of a step, of each table.
        """
        self._rows, self._steps = list(rows), steps
        self._lists += [_List(self._device) for _ in rows[len(self._lists) :]]
        sizes = (-(-4 * row * steps // _ALIGNMENT) * _ALIGNMENT for row in rows)
        *self._starts, self._size = accumulate(sizes, initial=0)
        base = self._bits.room(self._size)
        return [base + start for start in self._starts]

    def reserve(self, rows: Sequence[int], steps: int) -> None:
        """Take the memory that calls of so many steps need, so that none of them has to."""
        if rows:
            self.room(rows, steps)
            self._numbers.room(8 * len(rows))
            self._counts_of(-1)

    def clear(self) -> None:
        """Begin to set all bits to zero."""
        if self._size:
            self._device.clear(self._bits.room(0), self._size)

    def begin_listing(self) -> None:
        """Queue the kernels that list the events of all tables."""
        for number, row in enumerate(self._rows):
            words = row * self._steps
            bits = self._bits.room(0) + self._starts[number]
            values = bits, words, self._counts_of(number)
            launch(self._device, self._count, self._blocks, THREADS, values, _COUNT_TYPES)
            self._begin_list(number)

    def begin_receiving(self, beside: bool) -> None:
        """Begin to copy the numbers of events to the host."""
        if self._rows:
            size = 8 * len(self._rows)
            self._device.receive(self._numbers.room(size), self._counts_of(-1), size, beside)

    def fetch(self) -> None:
        """Copy the lists to the host, whose numbers are there."""
        numbers = self._found_numbers()
        late = [i for i, n in enumerate(numbers) if n > self._lists[i].room]
        for i in late:
            self._lists[i].make_room(numbers[i])
            self._begin_list(i)
        if late:
            self._device.wait()
        for one, events in zip(self._lists, numbers, strict=False):
            if events:
                one.receive(events)
        if any(numbers):
            self._device.lists.synchronize()

    def found(self, steps: int) -> list[EventList]:
        """Return the events of each table in the first ``steps`` steps, by step, then by column."""
        numbers = self._found_numbers()
        found = [one.found(n) for one, n in zip(self._lists, numbers, strict=False)]
        return found if steps >= self._steps else [before(one, steps) for one in found]

    def _found_numbers(self) -> list[int]:
        count = len(self._rows)
        if not count:
            return []
        numbers: list[int] = at(self._numbers.room(0), (count,), np.int64).tolist()
        return numbers

    def _counts_of(self, number: int) -> int:
        """Return where the counts of the blocks of a table are; -1: the numbers of all tables."""
        tables = len(self._rows)
        head = -(-8 * tables // _ALIGNMENT) * _ALIGNMENT
        base = self._counts.room(head + 4 * self._blocks * tables)
        return base if number < 0 else base + head + 4 * self._blocks * number

    def _begin_list(self, number: int) -> None:
        row = self._rows[number]
        mine = self._lists[number]
        bits = self._bits.room(0) + self._starts[number]
        counts, total = self._counts_of(number), self._counts_of(-1) + 8 * number
        values = bits, row * self._steps, row, counts, mine.room, *mine.addresses, total
        launch(self._device, self._list, self._blocks, THREADS, values, _LIST_TYPES)

    def free(self) -> None:
        """Give the memory back."""
        for memory in (self._bits, self._counts, self._numbers):
            memory.free()
        for one in self._lists:
            one.free()


class EnteredEvents:
    """The events of one input on the device, as lists, and rows that are made there from them.

    Parameters
    ----------
    code : Loaded
        Of a circuit.
    """

    def __init__(self, device: Device, code: Loaded) -> None:
        self._device, self._function = device, code.function("nd_enter_events")
        self._blocks = BLOCKS * device.processors
        self._host, self._there = Growing(device, pinned=True), Growing(device)

    def send(self, chunk: EventChunk, rows: bool) -> Lists:
        """Begin to copy the events of a chunk to the device.

        The host's memory of the last call must have been read.

        Parameters
        ----------
        rows : bool
            Whether `enter` follows.
        """
        first, span = int(chunk.begin[0]), chunk.span
        begin = np.subtract(chunk.begin, first, dtype=np.int32, casting="unsafe")
        parts = [begin, chunk.column[span], chunk.value[span]]
        parts += [chunk.row_of_step] if rows else []
        sizes = (-(-one.nbytes // _ALIGNMENT) * _ALIGNMENT for one in parts)
        *starts, size = accumulate(sizes, initial=0)
        here, there = self._host.room(size), self._there.room(size)
        for one, start in zip(parts, starts, strict=True):
            at(here + start, one.shape, one.dtype)[...] = one
        self._device.send(there, here, size)
        return tuple(there + start for start in starts)

    def enter(self, chunk: EventChunk, lists: Lists, table: int) -> None:
        """Begin to make the rows of a chunk, a row for each step that has events.

        Parameters
        ----------
        lists : Lists
            Of `send`.
        table : int
            Where the rows are on the device.
        """
        used, steps = int(chunk.row_of_step.max(initial=-1)) + 1, len(chunk.row_of_step)
        if not used:
            return
        self._device.clear(table, used * chunk.count * chunk.value.itemsize)
        values = *lists, table, chunk.count, steps
        launch(self._device, self._function, self._blocks, THREADS, values, _ENTER_TYPES)

    def free(self) -> None:
        """Give the memory back."""
        self._host.free()
        self._there.free()


def before(found: EventList, steps: int) -> EventList:
    """Return the events of the first steps alone; they are in the order of their steps."""
    count = int(np.searchsorted(found[0], steps))
    return found[0][:count], found[1][:count]


_ENTER_TYPES = (*[POINTER] * 5, LONG, LONG)
_COUNT_TYPES = POINTER, UNSIGNED, POINTER
_LIST_TYPES = (POINTER, UNSIGNED, UNSIGNED, POINTER, UNSIGNED, POINTER, POINTER, POINTER)
