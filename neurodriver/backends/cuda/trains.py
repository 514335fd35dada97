"""Event trains of an input, drawn on a device: the events that `inputs.trains` draws on a host."""

from __future__ import annotations

import math

import numpy as np

from ...inputs.trains import BLOCK, Trains, TrainSpan
from .device import LONG, POINTER, UNSIGNED, Device, Loaded, launch
from .event_lists import BLOCKS, THREADS, Lists
from .transfers import Growing

_MARGIN = 12.0
"""Standard deviations of the number of events for which there is room: more have a probability
below 2^-100."""


class DrawnTrains:
    """The trains of one input on a device, as lists of events.

    Parameters
    ----------
    code : Loaded
        Of a circuit.
    """

    def __init__(self, device: Device, code: Loaded) -> None:
        self._device = device
        names = "nd_draw_trains", "nd_place_trains", "nd_limit_trains"
        self._draw, self._place, self._limit = map(code.function, names)
        self._blocks = BLOCKS * device.processors
        self._given, self._counts, self._list, self._begin = (Growing(device) for _ in range(4))
        self._trains: Trains | None = None
        self._mean, self._first = 0.0, 0
        self._low = self._high = 0  # blocks whose events are there

    def draw(self, span: TrainSpan) -> Lists:
        """Begin to draw the events of a chunk of steps; return where they are, as `Lists` says.

        There are no values: each event counts once.
        """
        if self._trains is not span.trains:
            self._bring(span.trains)
        low, high = span.blocks
        if low < self._low or high > self._high:
            self._draw_blocks(low, high)
        begin = self._list.room(0) + 4 * (span.first - self._low * BLOCK)
        first, end = (min(step, span.steps) for step in span.active)  # a chunk may be cut short
        if first > 0 or end < span.steps:
            here = self._begin.room(4 * (span.steps + 1))
            given = begin, span.steps, first, end, here
            launch(self._device, self._limit, self._blocks, THREADS, given, _LIMIT_TYPES)
            begin = here
        return begin, self._list.room(0) + self._first, 0

    def _draw_blocks(self, low: int, high: int) -> None:
        """Begin to draw the events of blocks ``low`` to ``high - 1``, and to list them."""
        blocks = high - low
        wanted, size = self._mean * blocks, blocks * BLOCK
        room = math.ceil(wanted + _MARGIN * math.sqrt(wanted)) + 64
        self._first = -(-4 * (size + 1) // 256) * 256
        places = self._list.room(self._first + 4 * room)
        counts, given = self._counts.room(4 * size), self._given.room(0)
        self._device.clear(counts, 4 * size)
        shape = self._blocks, THREADS
        launch(self._device, self._draw, *shape, (given, low, blocks, counts, 0, 0), _DRAW_TYPES)
        sizes = counts, size, room, places
        launch(self._device, self._place, 1, THREADS, sizes, _PLACE_TYPES)
        listed = given, low, blocks, counts, places + self._first, room
        launch(self._device, self._draw, *shape, listed, _DRAW_TYPES)
        self._low, self._high = low, high

    def _bring(self, trains: Trains) -> None:
        """Copy what trains are drawn from to the device, once."""
        columns = trains.keys, trains.mean, trains.none, trains.most
        count, head = len(trains.keys), 64
        base = self._given.room(head + 4 * 8 * count)
        places = [base + head + 8 * count * i for i in range(4)]
        words = np.array([*places, count, int(trains.single), trains.seed], np.uint64)
        self._device.upload(base, words)
        for place, column in zip(places, columns, strict=True):
            self._device.upload(place, column)
        self._trains, self._mean = trains, float(trains.mean.sum())
        self._low = self._high = 0

    def free(self) -> None:
        """Give the memory back."""
        for memory in (self._given, self._counts, self._list, self._begin):
            memory.free()


_DRAW_TYPES = POINTER, LONG, LONG, POINTER, POINTER, UNSIGNED
_PLACE_TYPES = POINTER, UNSIGNED, UNSIGNED, POINTER
_LIMIT_TYPES = POINTER, UNSIGNED, UNSIGNED, UNSIGNED, POINTER
