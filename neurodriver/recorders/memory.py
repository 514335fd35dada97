"""Blocks -> arrays in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecordingError, near
from .base import Block, Recorder, RecordingPlan
from .event_memory import EventMemory

Array = npt.NDArray[Any]


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
        self._whole: dict[str, Array] = {}
        self._parts: dict[str, list[Any]] = {}
        self._events: dict[str, EventMemory] = {}

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
        return self._recorded().time(0, self._progress.rows)

    def _recorded(self) -> RecordingPlan:
        if self._closed_plan is None:
            raise RecordingError("MemoryRecorder: nothing recorded yet; run and close first")
        return self._closed_plan

    def _entry(self, variable: str) -> dict[str, Any]:
        self._recorded()
        if variable not in self.output:
            raise RecordingError(
                f"MemoryRecorder: {variable!r} was not recorded{near(variable, self.output)}; "
                f"recorded are: {', '.join(self.output)}"
            )
        return self.output[variable]

    def _open(self, plan: RecordingPlan) -> None:
        self.output, self._closed_plan = {}, None
        self._parts = {c.variable: [] for c in plan.dense}
        self._events = {
            c.variable: EventMemory(None if plan.steps is None else plan.steps * len(c.uids))
            for c in plan.events
        }
        self._whole = {}
        if plan.rows is not None:  # pages of np.empty take memory only when they are written
            shapes = {c.variable: (plan.rows, len(c.uids)) for c in plan.dense}
            self._whole = {v: np.empty(shape, plan.dtype) for v, shape in shapes.items()}

    def place(self, variable: str, first_row: int, rows: int) -> Array | None:
        whole = self._whole.get(variable)
        return None if whole is None else whole[first_row : first_row + rows]

    def _append(self, block: Block, rows: int) -> None:
        for variable, values in block.rows.items():
            place = self.place(variable, self._progress.rows, rows)
            if place is None:
                self._parts[variable].append(values)
            elif values.ctypes.data != place.ctypes.data or not rows:  # else they are there already
                place[...] = values
        for variable, events in block.events.items():
            self._events[variable].append(*events)

    def _close(self) -> None:
        plan = self.plan
        for columns in plan.columns:
            name, parts = columns.variable, self._parts.pop(columns.variable, [])
            data: Any
            if columns.events:
                data = dict(zip(("time", "index"), self._events.pop(name).whole(), strict=True))
            elif name in self._whole:
                data = _trimmed(self._whole.pop(name), self._progress.rows)
            else:
                data = np.concatenate([np.empty((0, len(columns.uids)), plan.dtype), *parts])
            self.output[name] = {"data": data, "uids": columns.uids.tolist()}
        self._closed_plan = plan


def _trimmed(data: Array, rows: int) -> Array:
    """Return the first rows of an array, which gives back the memory of the rest."""
    try:
        data.resize((rows, *data.shape[1:]))
    except ValueError:  # somebody holds rows of it
        return data[:rows].copy()
    return data
