"""Blocks -> arrays in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecordingError, near
from ..results.batch import recording_of
from ..results.recording import Recording
from .base import Block, Columns, Record, Recorder, RecordingPlan, RecordingProgress
from .event_memory import EventMemory
from .memory_source import MemorySource, MemoryVariable
from .room import check_room

Array = npt.NDArray[Any]


class MemoryRecorder(Recorder):
    """Keeps a recording in memory.

    Parameters
    ----------
    record, sample_interval
        See `Recorder`.

    Examples
    --------
    >>> recorder = MemoryRecorder([("V", None), ("spike_state", None)])  # doctest: +SKIP
    >>> LPU(circuit, 1e-4, recorders=[recorder]).run(duration=1.0)  # doctest: +SKIP
    >>> recorder.recording.V["n0"], recorder.recording.spikes()  # doctest: +SKIP
    """

    copies = False

    def __init__(self, record: Record, sample_interval: int = 1) -> None:
        super().__init__(record, sample_interval)
        self._data: dict[str, Any] = {}  # of each variable of a closed recording
        self._output: dict[str, dict[str, Any]] = {}
        self._closed_plan: RecordingPlan | None = None
        self._whole: dict[str, Array] = {}
        self._parts: dict[str, list[Any]] = {}
        self._events: dict[str, EventMemory] = {}
        self._stored = 0, 0  # rows and steps of all blocks taken so far

    @property
    def output(self) -> dict[str, dict[str, Any]]:
        """Variable -> ``{"data": ..., "uids": [...]}`` of a closed recording.

        ``data`` is an array (rows, n), or ``{"time": (m,) float64 s, "index": (m,) int32}`` for
        events. Where the circuit has populations with names, ``population``, (n,) str, is that of
        each column. Of a batch, the columns of copy b begin at b * n.
        """
        columns = () if self._closed_plan is None else self._closed_plan.columns
        for one in columns if not self._output else ():  # a list of many uids takes its time
            entry = {"data": self._closed(one.variable), "uids": one.uids.tolist()}
            named = {} if one.population is None else {"population": one.population}
            self._output[one.variable] = entry | named
        return self._output

    @property
    def recording(self) -> Recording:
        """What has been recorded so far, as a `Recording`; during the run, too. Of a batch, it is a
        `BatchRecording`.

        Its arrays are read-only views of the recorder's where these are whole. They stay as they
        are when the run goes on. In a run of unknown length rows are joined at each use.
        """
        self.settle()
        plan = self._closed_plan or self._plan
        if plan is None:
            raise RecordingError("MemoryRecorder: nothing recorded yet; run first")
        (rows, step), variables = self._stored, {}
        for columns in plan.columns:
            data = self._data_so_far(columns, rows, step * plan.dt)
            variables[columns.variable] = MemoryVariable(columns, data, plan.time, step)
        attributes = plan.attributes | plan.sampling
        source = MemorySource(variables, attributes, self._closed_plan is not None)
        made: Recording = recording_of(source)
        return made

    def _data_so_far(self, columns: Columns, rows: int, end: float) -> Any:
        """Return the rows, or the times and the indices of events before ``end``, s."""
        name = columns.variable
        if self._closed_plan is not None:
            return self._closed(name)
        if columns.events:
            time, index = self._events[name].so_far()
            count = np.searchsorted(time, end - 0.5 * self.plan.dt)
            return {"time": time[:count], "index": index[:count]}
        if name in self._whole:
            return self._whole[name][:rows]
        return _joined_rows(list(self._parts[name]), columns, self.plan)[:rows]

    def get(self, variable: str) -> Any:
        """Return the data of one variable: an array (rows, n), or the dict of events.

        Raises
        ------
        RecordingError
            The run has not ended, or the variable was not recorded.
        """
        self._columns(variable)
        return self._closed(variable)

    def uids(self, variable: str) -> list[str]:
        """Return the uids of the columns of one variable."""
        uids: list[str] = self._columns(variable).uids.tolist()
        return uids

    def unit(self, variable: str) -> str:
        """Return the unit of one variable, empty where it has none."""
        return self._columns(variable).unit

    def time(self) -> npt.NDArray[np.float64]:
        """Return the times of the rows, (rows,) float64, s."""
        return self._recorded().time(0, self._progress.rows)

    def _recorded(self) -> RecordingPlan:
        if self._closed_plan is None:
            raise RecordingError("MemoryRecorder: nothing recorded yet; run and close first")
        return self._closed_plan

    def _columns(self, variable: str) -> Columns:
        """Return what is known of the columns of a recorded variable."""
        known = {one.variable: one for one in self._recorded().columns}
        if variable not in known:
            raise RecordingError(
                f"MemoryRecorder: {variable!r} was not recorded{near(variable, known)}; "
                f"recorded are: {', '.join(known)}"
            )
        return known[variable]

    def _open(self, plan: RecordingPlan) -> None:
        self._data, self._output, self._closed_plan, self._stored = {}, {}, None, (0, 0)
        self._parts = {c.variable: [] for c in plan.dense}
        self._events = {c.variable: _event_memory(plan, c) for c in plan.events}
        self._whole = {}
        if plan.rows is not None:  # pages of np.empty take memory only when they are written
            _check_room(plan, plan.rows)
            shapes = {c.variable: (plan.rows, c.width) for c in plan.dense}
            self._whole = {v: np.empty(shape, plan.dtype) for v, shape in shapes.items()}

    def _reopen(self, plan: RecordingPlan, step: int) -> RecordingProgress:
        if self._closed_plan is None or self._progress.step != step:
            raise RecordingError(f"MemoryRecorder: holds no recording up to step {step:,}")
        self._closed_plan, self._output = None, {}
        for columns in plan.columns:
            data = self._data.pop(columns.variable, None)
            if not columns.events:  # those stay where they are
                self._keep(columns.variable, data, plan.rows)
        return self._progress

    def _closed(self, name: str) -> Any:
        """Return the data of a variable of a closed recording."""
        if name not in self._data:  # events may lie in several pieces of memory
            whole = self._events[name].whole()
            self._data[name] = dict(zip(("time", "index"), whole, strict=True))
        return self._data[name]

    def _keep(self, name: str, data: Any, rows: int | None) -> None:
        """Let rows follow those that are there."""
        self._parts[name] = [data]
        if rows is None:
            return
        self._parts[name] = []
        whole = data if data.base is None else data.base
        if len(whole) < rows:
            whole = np.empty((max(rows, 2 * len(data)), *data.shape[1:]), data.dtype)
            whole[: len(data)] = data
        self._whole[name] = whole

    def place(self, variable: str, first_row: int, rows: int) -> Array | None:
        whole = self._whole.get(variable)
        if whole is None:
            return None
        first = first_row - self.plan.first_row
        return whole[first : first + rows]

    def _append(self, block: Block, rows: int) -> None:
        for variable, values in block.rows.items():
            place = self.place(variable, block.first_row, rows)
            if place is None:
                self._parts[variable].append(values)
            elif values.ctypes.data != place.ctypes.data or not rows:  # else they are there already
                place[...] = values
        for variable, events in block.events.items():
            self._events[variable].append(*events)
        self._stored = self._progress.rows + rows, block.step

    def _close(self) -> None:
        plan = self.plan
        for columns in plan.columns:
            name, parts = columns.variable, self._parts.pop(columns.variable, [])
            if columns.events:
                self._events[name].trim()
            elif name in self._whole:
                self._data[name] = self._whole.pop(name)[: self._progress.rows]
            else:
                self._data[name] = _joined_rows(parts, columns, plan)
        self._closed_plan = plan


def _check_room(plan: RecordingPlan, rows: int) -> None:
    """Raise RecordingError where there is no memory for all rows of a run."""
    need = rows * sum(columns.width for columns in plan.dense) * plan.dtype.itemsize
    widths = ", ".join(f"{c.width:,} of '{c.variable}'" for c in plan.dense)
    advice = "record fewer components, or fewer steps (sample_interval), or into a file"
    check_room(need, f"MemoryRecorder: {rows:,} rows of {widths}", f"{advice} (HDF5Recorder)")


def _joined_rows(parts: list[Array], columns: Columns, plan: RecordingPlan) -> Array:
    """Return the rows of all blocks."""
    return np.concatenate([np.empty((0, columns.width), plan.dtype), *parts])


def _event_memory(plan: RecordingPlan, columns: Columns) -> EventMemory:
    """Return memory for the events of one variable."""
    return EventMemory(None if plan.steps is None else plan.steps * columns.width)
