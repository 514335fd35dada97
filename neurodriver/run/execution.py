"""Buffers between the step loop and its inputs and recorders, for one chunk of steps at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend, DrawsTrains
from ..backends.tables import EventTable, InputTable, Probe
from ..errors import InputError
from ..inputs.base import Chunk, EventChunk, Input
from ..inputs.trains import TrainInput
from ..plan.program import Program
from ..recorders.base import Block, Columns, Recorder, RecordingPlan
from .requests import recorded_columns
from .spike_counts import SpikeCounts, Target

EventPair = tuple[NDArray[np.integer], NDArray[np.int32]]
"""Steps and columns of events."""


@dataclass(frozen=True)
class _Place:
    """One target of an input, and which of the backend's tables have its values."""

    target: Target
    tables: tuple[int, ...]


class InputFeed:
    """Stages the values of all inputs, each with the id of its LPU, for a chunk of steps.

    Parameters
    ----------
    inputs : sequence of (scope, Input)
        Those that all copies get.
    own : sequence of such sequences
        What each copy of a batch gets beside them.

    Attributes
    ----------
    asking : str or None
        Id of the LPU whose input is asked for values.
    tables : list of InputTable
        For the backend: those of all copies, or those of one copy after the other.
    """

    def __init__(
        self,
        program: Program,
        inputs: Sequence[tuple[str | None, Input]],
        own: Sequence[Sequence[tuple[str | None, Input]]] = (),
    ) -> None:
        every = [*inputs, *(one for part in own for one in part)]
        self.inputs = list(dict.fromkeys(one for _, one in every))
        self.asking: str | None = None
        for one in self.inputs:
            one.open(program.dt, program.dtype)
        shared, count = _targets(inputs), len(program.slots.places)
        ends = range(0, max(len(own), 1) * count, max(count, 1))
        self._places = [_Place(t, tuple(e + i for e in ends)) for i, t in enumerate(shared)]
        for begin, part in zip(ends, own, strict=False):
            first = begin + len(shared)
            self._places += [_Place(t, (first + i,)) for i, t in enumerate(_targets(part))]
        rings = program.layout.rings
        self.tables: list[InputTable] = []
        for variable, first, number in program.slots.places * max(len(own), 1):
            start = rings[variable].segments["inputs"].start + first
            self.tables.append(
                InputTable(list(rings).index(variable), start, number, None, None, 0, 0)
            )
        for place in self._places:
            if isinstance(one := place.target[1], TrainInput):
                for table in place.tables:
                    self.tables[table].events = one.mean_events
        self._drawing: dict[_Place, TrainInput] = {}
        self._slots = count
        self._counts = [SpikeCounts(program, [*shared, *_targets(part)]) for part in own or [()]]
        self._staged: list[Chunk | EventChunk] = []  # holds what the tables point to
        self._levels: dict[_Place, tuple[int, NDArray[np.bool_]]] = {}

    @property
    def longest(self) -> int:
        """Most steps that can be staged at once."""
        if any(one.per_step for one in self.inputs):
            return 1
        row = sum(one.row_bytes() for one in self.inputs)
        return max(1, (32 << 20) // row) if row else 1 << 30

    def draw_in_threads(self, backend: Backend, ahead: bool) -> None:
        """Let inputs draw in threads: ``ahead`` of a device, or while those of a CPU wait.

        Find those whose trains a device draws itself.
        """
        draws = backend.staging.draws if isinstance(backend, DrawsTrains) else frozenset[int]()
        self._drawing = {
            place: one
            for place in self._places
            if isinstance(one := place.target[1], TrainInput) and draws.issuperset(place.tables)
        }
        for one in self.inputs:
            if ahead:
                one.draw_ahead()
            elif not backend.program.target.threads:
                one.draw_in_threads(backend.threads)

    def stage(self, backend: Backend, first: int, steps: int) -> None:
        """Point the backend's tables at the values of the coming steps."""
        if not self._places:
            return
        self._staged = []
        chunks: list[Any] = [None] * len(self.tables)
        for place in self._places:
            scope, one, number = place.target
            self.asking, level = scope, None
            if place in self._drawing and self._draws(backend, place, first, steps):
                continue
            chunk = one.entering(number, first, steps)
            count = self.tables[place.tables[0]].count
            copy, slot = divmod(place.tables[0], self._slots)
            if not isinstance(chunk, EventChunk):
                _check_chunk(chunk, count, steps, one)
                self._counts[copy].check(slot, chunk, first)
                level = self._level(place, chunk)
            elif not chunk.sound:
                _check_events(chunk, count, steps, one)
                self._counts[copy].check(slot, chunk, first)
            self._staged.append(chunk)
            for table in place.tables:
                _point(backend.inputs[table], chunk)
                backend.inputs[table].level = level
                chunks[table] = chunk
        self.asking = None
        for copy, counts in enumerate(self._counts):
            counts.check_sums(chunks[copy * self._slots : (copy + 1) * self._slots], first)

    def _draws(self, backend: Any, place: _Place, first: int, steps: int) -> bool:
        """Whether the backend itself draws what an input injects; it is told what to draw then."""
        span = self._drawing[place].trains(place.target[2], first, steps)
        if span is None:
            return False
        for table in place.tables:
            backend.staging.draw(table, span)
        return True

    def _level(self, place: _Place, chunk: Chunk) -> int | None:
        """Return where it is said which rows of a table that stays hold one value alone."""
        if not chunk.version:
            return None
        version, level = self._levels.get(place, (0, _NONE))
        if version != chunk.version or len(level) != len(chunk.table):
            bits = chunk.table.view(f"u{chunk.table.itemsize}")  # zeros of both signs differ
            level = (bits == bits[:, :1]).all(axis=1)
            self._levels[place] = chunk.version, level
        return level.ctypes.data


_NONE = np.zeros(0, np.bool_)


def _targets(inputs: Sequence[tuple[str | None, Input]]) -> list[Target]:
    """Return the targets of inputs, each with the id of its LPU and its number."""
    return [(scope, one, number) for scope, one in inputs for number in range(len(one.targets))]


def _point(table: InputTable, chunk: Chunk | EventChunk) -> None:
    """Point the backend's table at the values of a chunk."""
    table.version = chunk.version
    if isinstance(chunk, EventChunk):
        table.begin = chunk.begin.ctypes.data
        table.column, table.value = chunk.column.ctypes.data, chunk.value.ctypes.data
    else:
        table.begin = None
        table.table = chunk.table.ctypes.data
        table.row_of_step = chunk.row_of_step.ctypes.data


def _check_events(chunk: EventChunk, count: int, steps: int, one: Input) -> None:
    """Raise where events are not what compiled code can read."""
    begin, column, value = chunk.begin, chunk.column, chunk.value
    name = type(one).__name__
    if begin.dtype != np.int64 or column.dtype != np.int32 or value.dtype != one.dtype:
        want = f"begin as int64, column as int32 and value as {one.dtype}"
        got = f"{begin.dtype}, {column.dtype} and {value.dtype}"
        raise InputError(f"{name}.chunk: {want} are needed, got {got}")
    if begin.shape != (steps + 1,) or column.shape != value.shape or column.ndim != 1:
        want = f"{steps + 1} places in begin, and as many columns as values"
        got = f"{begin.shape}, {column.shape} and {value.shape}"
        raise InputError(f"{name}.chunk: {want} are needed, got {got}")
    if not all(array.flags.c_contiguous for array in (begin, column, value)):
        raise InputError(f"{name}.chunk: begin, column and value must be contiguous")
    if begin[0] < 0 or begin[-1] > len(column) or (np.diff(begin) < 0).any():
        raise InputError(f"{name}.chunk: begin must ascend within 0 to {len(column)}")
    mine = column[chunk.span]
    if not len(mine):
        return
    if mine.min() < 0 or mine.max() >= count or chunk.count != count:
        raise InputError(f"{name}.chunk: columns must be 0 to {count - 1} of {count}")
    falls = np.flatnonzero(mine[1:] <= mine[:-1]) + 1 + begin[0]
    if not np.isin(falls, begin).all():
        raise InputError(f"{name}.chunk: the columns of a step must ascend, each once")


def _check_chunk(chunk: Chunk, count: int, steps: int, one: Input) -> None:
    """Raise where a chunk is not what compiled code can read."""
    table, rows = chunk.table, chunk.row_of_step
    name = type(one).__name__
    if table.dtype != one.dtype or table.ndim != 2 or not table.flags.c_contiguous:
        want = f"a contiguous (rows, {count}) array of {one.dtype}"
        raise InputError(f"{name}.chunk: {want} is needed, got {table.dtype} {table.shape}")
    if table.shape[1] != count or rows.dtype != np.int32 or rows.shape != (steps,):
        want = f"({count} columns, {steps} steps as int32)"
        raise InputError(f"{name}.chunk: got {table.shape} and {rows.dtype} {rows.shape}; {want}")
    if not rows.flags.c_contiguous or (rows < -1).any() or (rows >= len(table)).any():
        raise InputError(f"{name}.chunk: row_of_step must be -1 to {len(table) - 1}")


class RecorderFeed:
    """Buffers of one recorder: ``columns``, and a probe or a table of events for each of them.

    Those of a batch of ``copies`` have the columns of each copy, one copy after the other.
    ``waits``: its rows are read when a call has completed, before the next one begins.
    """

    waits = False

    def __init__(
        self, program: Program, recorder: Recorder, scope: str | None = None, copies: int = 0
    ) -> None:
        self.recorder = recorder
        self.plan: RecordingPlan | None = None  # of the recording, once it has begun
        self.columns: list[Columns] = []
        self.probes: list[Probe] = []
        self.events: list[EventTable] = []
        self._dtype, self._dt = program.dtype, program.dt
        self._places: list[NDArray[np.int32]] = []  # holds what the tables point to
        self._buffers: dict[str, NDArray[np.generic]] = {}
        for variable, uids in recorder.record:
            columns, elements = recorded_columns(program, variable, uids, scope, recorder.lenient)
            if not len(columns.uids):
                continue
            place = np.ascontiguousarray(elements, dtype=np.int32)
            steps, ring = np.diff(place), list(program.layout.rings).index(variable)
            head = ring, len(place), place.ctypes.data, bool((steps == 1).all())
            columns = replace(columns, copies=copies)
            self.columns.append(columns)
            self._places.append(place)
            if columns.events:
                self.events.append(EventTable(*head, 0, None, None, None, bool((steps > 0).all())))
            else:
                interval = recorder.sample_interval
                self.probes.append(Probe(*head, interval, None, 0, columns.width))

    def bind(self, backend: Backend) -> None:
        """Get to know the backend, which has been made for the same program."""

    def go_on(self) -> None:
        """Take up a recording that another process began at step 0."""
        run = self._dt, None, self.recorder.sample_interval, self._dtype
        self.plan = RecordingPlan(*run, tuple(self.columns), {})

    def open(self, step: int, steps: int | None, attributes: dict[str, str | int | float]) -> None:
        """Begin the recording for so many steps from a step, or go on with that of the last run."""
        recorder = self.recorder
        if self.plan is None:
            run = self._dt, steps, recorder.sample_interval, self._dtype
            plan = RecordingPlan(*run, tuple(self.columns), attributes, first_step=step)
            recorder.open(plan)
            self.plan = plan
            return
        every = None if steps is None else step + steps - self.plan.first_step
        self.plan = replace(self.plan, steps=every, attributes=attributes)
        recorder.reopen(self.plan, step)

    @property
    def copied(self) -> float:
        """Bytes a step, on average, that are copied in the writer's thread."""
        recorder = self.recorder
        elsewhere = recorder.copies and not recorder.per_step
        return self.row_bytes / recorder.sample_interval if elsewhere else 0.0

    @property
    def row_bytes(self) -> int:
        """Bytes of one recorded row."""
        return sum(c.width for c in self.columns if not c.events) * self._dtype.itemsize

    def prepare(self, probes: Sequence[Probe], first: int, steps: int) -> None:
        """Make room for the rows of the coming steps; ``probes`` are the backend's own."""
        interval = self.recorder.sample_interval
        rows = (first + steps) // interval - first // interval
        dense = [c for c in self.columns if not c.events]
        for columns, probe in zip(dense, probes, strict=True):
            buffer = self.recorder.place(columns.variable, first // interval, rows)
            if buffer is None:
                buffer = np.empty((rows, columns.width), dtype=self._dtype)
            self._buffers[columns.variable] = buffer
            probe.rows = buffer.ctypes.data
            probe.capacity = rows

    def dense(self, first: int, done: int) -> dict[str, NDArray[np.generic]]:
        """Return where the rows of ``done`` steps from ``first`` lie, as ``prepare`` made room."""
        interval = self.recorder.sample_interval
        rows = (first + done) // interval - first // interval
        return {variable: buffer[:rows] for variable, buffer in self._buffers.items()}

    def block(
        self,
        first: int,
        done: int,
        dense: dict[str, NDArray[np.generic]],
        events: Iterable[EventPair],
    ) -> Block:
        """Return what was recorded in ``done`` steps from ``first``: rows, events of each table."""
        row = first // self.recorder.sample_interval
        out = {}
        sparse = [c.variable for c in self.columns if c.events]
        for variable, (steps, places) in zip(sparse, events, strict=True):
            time: NDArray[np.float64] = np.add(steps, first, dtype=np.float64)  # exact
            time *= self._dt
            out[variable] = (time, places)
        return Block(row, dense, out, first + done)
