"""Blocks -> arrays in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecordingError, near
from .base import Block, Recorder, RecordingPlan, room_for_events

Array = npt.NDArray[Any]


class _GrowingRows:
    """An array that grows at its end.

    Parameters
    ----------
    shape : tuple of int
        Expected rows, then the shape of a row; exceeding the expectation costs a copy.
    dtype : dtype
        Type of the elements.
    """

    def __init__(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> None:
        # Pages of np.empty take memory only when they are written.
        self._data: Array = np.empty(shape, dtype)
        self._rows = 0

    def append(self, rows: Array, step: int = 0, steps: int | None = None) -> None:
        """Copy rows to the end, of step ``step`` of ``steps`` (see `room_for_events`)."""
        end = self._rows + len(rows)
        if end > len(self._data):
            shape = (room_for_events(end, step, steps), *self._data.shape[1:])
            larger: Array = np.empty(shape, self._data.dtype)
            larger[: self._rows] = self._data[: self._rows]
            self._data = larger
        place = self._data[self._rows : end]
        if rows.ctypes.data != place.ctypes.data or not rows.size:  # else they are there already
            place[...] = rows
        self._rows = end

    def place(self, first: int, rows: int) -> Array | None:
        """Return the memory of rows to come, None where it may have to move."""
        return self._data[first : first + rows] if first + rows <= len(self._data) else None

    def finish(self) -> Array:
        """Return what was appended."""
        try:
            self._data.resize((self._rows, *self._data.shape[1:]))  # gives back what is left
        except ValueError:  # somebody holds rows of it
            return self._data[: self._rows].copy()
        return self._data


class MemoryRecorder(Recorder):
    """Keeps a recording in memory.

    Parameters
    ----------
    record, sample_interval
        See `Recorder`.

    Attributes
    ----------
    output : dict
        Variable -> ``{"data": ..., "uids": [...]}``, filled by ``close``. ``data`` is an array
        (rows, n), or ``{"time": (m,) float64 s, "index": (m,) int32}`` for events.
    """

    copies = False

    def __init__(
        self, record: Iterable[tuple[str, Sequence[str] | None]], sample_interval: int = 1
    ) -> None:
        super().__init__(record, sample_interval)
        self.output: dict[str, dict[str, Any]] = {}
        self._closed_plan: RecordingPlan | None = None
        self._dense: dict[str, _GrowingRows] = {}
        self._events: dict[str, tuple[_GrowingRows, _GrowingRows]] = {}

    def get(self, variable: str) -> Any:
        """Return the data of one variable: an array (rows, n), or the dict of events.

        Raises
        ------
        RecordingError
            The run has not ended, or the variable was not recorded.
        """
        return self._entry(variable)["data"]

    def uids(self, variable: str) -> list[str]:
        """Return the uids of the columns of one variable."""
        uids: list[str] = self._entry(variable)["uids"]
        return uids

    def time(self) -> npt.NDArray[np.float64]:
        """Return the times of the rows, (rows,) float64, s."""
        if self._closed_plan is None:
            raise RecordingError("MemoryRecorder: nothing recorded yet; run and close first")
        return self._closed_plan.time(0, self._progress.rows)

    def _entry(self, variable: str) -> dict[str, Any]:
        if self._closed_plan is None:
            raise RecordingError("MemoryRecorder: nothing recorded yet; run and close first")
        if variable not in self.output:
            raise RecordingError(
                f"MemoryRecorder: {variable!r} was not recorded{near(variable, self.output)}; "
                f"recorded are: {', '.join(self.output)}"
            )
        return self.output[variable]

    def _open(self, plan: RecordingPlan) -> None:
        self.output, self._closed_plan = {}, None
        rows = plan.rows or 0
        self._dense = {
            c.variable: _GrowingRows((rows, len(c.uids)), plan.dtype) for c in plan.dense
        }
        self._events = {
            c.variable: (_GrowingRows((1024,), np.float64), _GrowingRows((1024,), np.int32))
            for c in plan.events
        }

    def place(self, variable: str, first_row: int, rows: int) -> Array | None:
        # without a known length the array grows, in the writer's thread
        known = self._plan is not None and self._plan.rows is not None
        return self._dense[variable].place(first_row, rows) if known else None

    def _append(self, block: Block, rows: int) -> None:
        for variable, values in block.rows.items():
            self._dense[variable].append(values)
        for variable, (time, index) in block.events.items():
            times, columns = self._events[variable]
            times.append(time, block.step, self.plan.steps)
            columns.append(index, block.step, self.plan.steps)

    def _close(self) -> None:
        for columns in self.plan.columns:
            name = columns.variable
            data: Any
            if columns.events:
                time, index = self._events[name]
                data = {"time": time.finish(), "index": index.finish()}
            else:
                data = self._dense[name].finish()
            self.output[name] = {"data": data, "uids": columns.uids.tolist()}
        self._closed_plan = self.plan
        self._dense, self._events = {}, {}
