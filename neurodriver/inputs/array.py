"""Values or events from arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .base import Chunk, Input


class ArrayInput(Input):
    """Injects row r of an array at step r, or events at their times.

    Parameters
    ----------
    inputs : mapping of variable to (uids, data)
        ``data`` is an array (steps, n), or a pair ``(time, index)``: times in seconds and columns
        of ``uids``. An event at time t enters at step ``floor(t / dt)``, a hair's breadth below a
        step counting as the step; events of one column in one step add up.
    mode : {0, 1}
        After the last row: 0 injects zero, 1 repeats the last row. Events never repeat.

    Attributes
    ----------
    modes : list of int
        The mode of each target.
    """

    def __init__(
        self, inputs: Mapping[str, tuple[Sequence[str], Any]], mode: int = 0, name: str = ""
    ) -> None:
        super().__init__([(variable, uids) for variable, (uids, _) in inputs.items()])
        self.name = name or type(self).__name__
        if mode not in (0, 1):
            raise InputError(f"{self.name}: mode must be 0 (zero) or 1 (repeat), got {mode!r}")
        self.mode = mode
        self.modes = [mode] * len(self.targets)
        self._sources: list[_ArrayRows | _Events] = []
        for (variable, uids), (_, data) in zip(self.targets, inputs.values(), strict=True):
            where = f"{self.name}, '{variable}'"
            make = _Events if isinstance(data, tuple) else _ArrayRows
            self._sources.append(make(data, len(uids), where))

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        for source in self._sources:
            if isinstance(source, _Events):
                source.forget()

    def contents(self) -> list[Any]:
        """Return the rows (steps, n), or the events as ``time`` and ``index``, of each target."""
        return [source.content() for source in self._sources]

    def lengths(self) -> list[int]:
        """Return after how many steps each target has nothing more to give."""
        return [source.length(self.dt) for source in self._sources]

    def chunk(self, number: int, first: int, steps: int) -> Chunk:
        return self._sources[number].chunk(first, steps, self.dt, self.dtype, self.modes[number])


class _ArrayRows:
    """Rows of an array or of an HDF5 data set, sliced as the run goes."""

    def __init__(self, data: Any, count: int, where: str) -> None:
        try:
            self.data = data if hasattr(data, "shape") else np.asarray(data)
        except ValueError:
            raise InputError(f"{where}: data must be rows of one length") from None
        self.where = where
        if len(self.data.shape) != 2 or self.data.shape[1] != count:
            want = f"(steps, {count}): one column per uid"
            raise InputError(f"{where}: data of shape {want} are needed, got {self.data.shape}")
        if self.data.dtype.kind not in "fiub":
            raise InputError(f"{where}: data must be numbers, got {self.data.dtype}")

    def content(self) -> Any:
        """Return all rows."""
        return np.asarray(self.data)

    def length(self, dt: float) -> int:
        """Return the number of rows."""
        return len(self.data)

    def chunk(self, first: int, steps: int, dt: float, dtype: np.dtype, mode: int) -> Chunk:
        total = len(self.data)
        begin, end = min(first, total), min(first + steps, total)
        if mode == 1 and total:
            begin = min(begin, total - 1)
            end = max(end, begin + 1)
        try:
            with np.errstate(over="ignore"):  # told below
                table = np.ascontiguousarray(self.data[begin:end], dtype=dtype)
        except OSError as error:
            raise InputError(f"{self.where}: row {begin} cannot be read ({error})") from None
        if not np.isfinite(table).all():
            row, column = np.argwhere(~np.isfinite(table))[0]
            raise InputError(
                f"{self.where}: values must be finite, got {table[row, column]} "
                f"in row {begin + row}, column {column}"
            )
        rows = np.arange(first, first + steps) - begin
        past = rows >= len(table)
        rows[past] = len(table) - 1 if mode == 1 else -1
        return Chunk(table, rows.astype(np.int32))


class _Events:
    """Events as times and columns."""

    def __init__(self, data: tuple[Any, Any], count: int, where: str) -> None:
        time, index = np.asarray(data[0]), np.asarray(data[1])
        for name, values, kinds in (("time", time, "fiu"), ("index", index, "iu")):
            if values.size and values.dtype.kind not in kinds:
                want = "numbers" if name == "time" else "whole numbers"
                raise InputError(f"{where}: event {name} must be {want}, got {values.dtype}")
        self.time, self.index = time.astype(np.float64), index.astype(np.int64)
        self.count = count
        if self.time.shape != self.index.shape or self.time.ndim != 1:
            shapes = f"{self.time.shape} and {self.index.shape}"
            raise InputError(f"{where}: time and index must be of one length, got {shapes}")
        if not np.isfinite(self.time).all() or (self.time < 0).any():
            raise InputError(f"{where}: event times must be finite and not negative")
        if ((self.index < 0) | (self.index >= count)).any():
            bad = self.index[(self.index < 0) | (self.index >= count)][0]
            raise InputError(f"{where}: event index {bad}, allowed are 0 to {count - 1}")
        order = np.argsort(self.time, kind="stable")
        self.time, self.index = self.time[order], self.index[order]
        self._steps: NDArray[np.int64] | None = None

    def forget(self) -> None:
        """Let the steps of the events be computed anew, for another dt."""
        self._steps = None

    def content(self) -> Any:
        """Return all events in the order of time."""
        return {"time": self.time, "index": self.index.astype(np.int32)}

    def length(self, dt: float) -> int:
        """Return the step after the last event."""
        steps = self._entries(dt)
        return int(steps[-1]) + 1 if len(steps) else 0

    def _entries(self, dt: float) -> NDArray[np.int64]:
        """Return the step of each event."""
        if self._steps is None:
            steps_of = np.floor(self.time / dt * (1 + 4e-16) + 1e-9)
            self._steps = np.minimum(steps_of, 2.0**62).astype(np.int64)
        return self._steps

    def chunk(self, first: int, steps: int, dt: float, dtype: np.dtype, mode: int) -> Chunk:
        entries = self._entries(dt)
        a, b = np.searchsorted(entries, [first, first + steps])
        hit, row = np.unique(entries[a:b], return_inverse=True)
        table = np.zeros((len(hit), self.count), dtype=dtype)
        np.add.at(table, (row, self.index[a:b]), 1)
        rows = np.full(steps, -1, dtype=np.int32)
        rows[hit - first] = np.arange(len(hit))
        return Chunk(table, rows)
