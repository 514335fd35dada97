"""Trains of rare events: what is drawn is how many a block of steps holds, and which steps."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..system import cores
from .base import EventChunk
from .draws import Draws

BLOCK = 256
"""Steps of a block, as ``ND_BLOCK`` of ``native/trains.h``."""

SELDOM = 0.5
"""Mean number of events of a uid and step up to which they are drawn by blocks.

Near it drawing by blocks and by steps take equally long, what is injected included."""


@dataclass(frozen=True, eq=False)
class _Window:
    """Events of some blocks, as `EventChunk` has them."""

    first: int
    begin: NDArray[np.int64]
    column: NDArray[np.int32]
    value: NDArray[np.floating]

    @property
    def end(self) -> int:
        return self.first + (len(self.begin) - 1) // BLOCK

    def part(self, first: int) -> _Window:
        """Return the blocks from ``first`` on."""
        begin = self.begin[(first - self.first) * BLOCK :]
        return _Window(first, begin, self.column, self.value)


@dataclass(frozen=True, eq=False)
class TrainSpan:
    """The events of trains in a chunk of steps, which whoever takes them draws.

    Attributes
    ----------
    active : (int, int)
        Steps of the chunk in which there are events: the first one, and the one after the last.
    """

    trains: Trains
    first: int
    steps: int
    active: tuple[int, int]

    @property
    def blocks(self) -> tuple[int, int]:
        """The first block of the steps, and the one after the last."""
        return self.first // BLOCK, -(-(self.first + self.steps) // BLOCK)


@runtime_checkable
class TrainInput(Protocol):
    """An input whose events may be drawn by whoever takes them.

    Attributes
    ----------
    mean_events : float
        Number of events in a step; infinite where they come as rows.
    """

    @property
    def mean_events(self) -> float: ...

    def trains(self, number: int, first: int, steps: int) -> TrainSpan | None:
        """Return what `Input.entering` returns, before it is drawn; None where that is no train."""


class Trains:
    """Poisson trains of events, drawn by blocks of ``BLOCK`` steps.

    The number of events of a uid in a block has a Poisson distribution, and each of them lies at
    any step of the block with equal probability. So the numbers of events of all steps are
    independent and have Poisson distributions. All are functions of uid, namespace, seed and number
    of the block. The work is proportional to the events and to the uids in each block.

    Parameters
    ----------
    columns : (m,) int64
        Whose trains these are, ascending; each must be a column of ``draws``.
    mean : (m,) float64
        Events of a step, ``SELDOM`` at most.
    single : bool
        One event wherever there are several at once.
    dtype : dtype
        Working type.

    Attributes
    ----------
    draws : Draws
        Of these columns alone.
    mean, none, most : (m,) array
        Mean number of events of a block, the probability of none, and a bound.
    """

    def __init__(
        self,
        draws: Draws,
        columns: NDArray[np.int64],
        mean: NDArray[np.float64],
        single: bool,
        dtype: np.dtype,
    ) -> None:
        self.draws, self.single, self._dtype = draws.of(columns), single, dtype
        self._columns = columns.astype(np.int32)
        self.mean = mean * BLOCK
        self.none = np.exp(-self.mean)
        # beyond: less than 2^-60
        self.most = (self.mean + 12 * np.sqrt(self.mean) + 30).astype(np.int64)
        self._ahead: _Ahead | None = None
        self._known = self._draw(0, 0)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """Keys of the random numbers of the columns, (m,)."""
        return self.draws.uid_keys

    @property
    def seed(self) -> int:
        """Seed of all of them."""
        return self.draws.seed

    def draw_ahead(self) -> None:
        """Draw the next blocks in threads from now on, before somebody asks for them."""
        self._ahead = _Ahead(self)

    def events(self, first: int, steps: int, count: int) -> EventChunk:
        """Return the events of some steps from ``first`` on, among ``count`` columns."""
        low, high = first // BLOCK, -(-(first + steps) // BLOCK)
        known = self._known
        if not known.first <= low < known.end:
            self._known = self._blocks(None, low, high)
        elif high > known.end:
            self._known = self._blocks(known.part(low), known.end, high)
        known = self._known
        at = first - known.first * BLOCK
        begin = known.begin[at : at + steps + 1]
        return EventChunk(count, begin, known.column, known.value, sound=True)

    def _blocks(self, before: _Window | None, low: int, high: int) -> _Window:
        """Return the events of the blocks from ``low`` to ``high - 1``, after those ``before``."""
        if self._ahead is None:
            return self._draw(low, high, before)
        some = self._ahead.blocks(low, high)
        return _joined(some if before is None else [before, *some])

    def _draw(self, low: int, high: int, before: _Window | None = None) -> _Window:
        """Return the same, drawn here."""
        blocks = high - low
        wanted = float(self.mean.sum()) * blocks
        room = int(wanted + 8 * np.sqrt(wanted)) + 32
        head = 0 if before is None else int(before.begin[-1] - before.begin[0])
        while True:
            begin = np.zeros(blocks * BLOCK + 1, dtype=np.int64)
            column = np.empty(head + room, dtype=np.int32)
            value = np.empty(head + room, dtype=self._dtype)
            given = self._columns, self.mean, self.none, self.most, int(self.single)
            to = room, begin, column[head:]
            self.draws.call("nd_trains", low, value[head:], *given, *to, steps=blocks)
            if begin[-1] >= 0:
                break
            room *= 2
        end = head + int(begin[-1])
        column, value = column[:end], value[:end]
        if before is None:
            return _Window(low, begin, column, value)
        span = slice(int(before.begin[0]), int(before.begin[-1]))
        column[:head], value[:head] = before.column[span], before.value[span]
        begins = np.concatenate([before.begin[:-1] - span.start, begin + head])
        return _Window(before.first, begins, column, value)


class _Ahead:
    """Draws the blocks of trains in threads, and the next ones before they are asked for.

    A block may take longer to draw than its steps take on a device. So at least as many blocks are
    in the making as there are threads.
    """

    def __init__(self, trains: Trains) -> None:
        self._trains = trains
        self._threads = max(1, min(_MOST_THREADS, cores() - 1))
        self._pool = ThreadPoolExecutor(self._threads, "neurodriver-draws")
        self._drawn: dict[int, Future[_Window]] = {}

    def blocks(self, low: int, high: int) -> list[_Window]:
        """Return the blocks from ``low`` to ``high - 1``, each by itself."""
        for block in [one for one in self._drawn if one < low]:
            self._drawn.pop(block).cancel()
        for block in range(low, high + max(high - low, self._threads) + 1):
            if block not in self._drawn:
                self._drawn[block] = self._pool.submit(self._trains._draw, block, block + 1)
        return [self._drawn[block].result() for block in range(low, high)]


_MOST_THREADS = 8


def _joined(windows: list[_Window]) -> _Window:
    """Return the events of blocks that follow each other."""
    spans = [slice(int(one.begin[0]), int(one.begin[-1])) for one in windows]
    at, begins = 0, []
    for one, span in zip(windows, spans, strict=True):
        begins.append(one.begin[:-1] + (at - span.start))
        at += span.stop - span.start
    return _Window(
        windows[0].first,
        np.concatenate([*begins, [at]]),
        np.concatenate([one.column[span] for one, span in zip(windows, spans, strict=True)]),
        np.concatenate([one.value[span] for one, span in zip(windows, spans, strict=True)]),
    )
