"""Values or events from arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..circuit.uids import Who
from ..errors import InputError
from ..quantities import seconds
from .base import Chunk, EventChunk, Input


class ArrayInput(Input):
    """Injects row r of an array at step r, or events at their times.

    Parameters
    ----------
    inputs : mapping of variable to (uids, data)
        ``data`` is an array (steps, n), of a population on axes also (steps, y, x) for instance;
        or a tuple ``(time, index)``: times in seconds and columns of ``uids``. A list is always
        rows. An event at time t enters at step ``floor(t / dt)``, a hair's breadth below a step
        counting as the step; events of one column in one step add up.
    mode : {0, 1}
        After the last row: 0 injects zero, 1 repeats the last row. Events never repeat.

    Attributes
    ----------
    modes : list of int
        The mode of each target.
    """

    def __init__(
        self, inputs: Mapping[str, tuple[Who, Any]], mode: int = 0, name: str = ""
    ) -> None:
        _check_inputs(inputs, type(self).__name__)
        super().__init__([(variable, uids) for variable, (uids, _) in inputs.items()])
        self.name = name or type(self).__name__
        if mode not in (0, 1):
            raise InputError(f"{self.name}: mode must be 0 (zero) or 1 (repeat), got {mode!r}")
        self.mode = mode
        self.modes = [mode] * len(self.targets)
        self._sources: list[_ArrayRows | _Events] = []
        self._shapes = [_shape_of(who) for who, _ in inputs.values()]
        for (variable, uids), (_, data) in zip(self.targets, inputs.values(), strict=True):
            where = f"{self.name}, '{variable}'"
            if isinstance(data, tuple) and len(data) == 2:
                data = seconds(data[0], f"{where}: event time"), data[1]
                self._sources.append(_Events(data, len(uids), where))
            else:
                number = len(self._sources)
                self._sources.append(_ArrayRows(np.zeros((0, len(uids))), len(uids), where, ()))
                self.take(number, data, where, "_set_rows", number, where)

    def _set_rows(self, rows: Any, number: int, where: str) -> None:
        count = len(self.targets[number][1])
        if isinstance(rows, tuple):
            self._sources[number] = _Events(rows, count, where)
        else:
            self._sources[number] = _ArrayRows(rows, count, where, self._shapes[number])

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        for source in self._sources:
            source.open(dt, self.dtype)

    def contents(self) -> list[Any]:
        """Return the rows (steps, n), or the events as ``time`` and ``index``, of each target."""
        return [source.content() for source in self._sources]

    def lengths(self) -> list[int]:
        """Return after how many steps each target has nothing more to give."""
        return [source.length() for source in self._sources]

    def chunk(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        return self._sources[number].chunk(first, steps, self.modes[number])


def _shape_of(who: Any) -> tuple[int, ...]:
    """Return the shape of a population on several axes, or of a part of one; else ()."""
    shape = tuple(getattr(who, "shape", ())) if hasattr(who, "uids") else ()
    return shape if len(shape) > 1 else ()


def _check_inputs(inputs: Any, name: str) -> None:
    """Raise InputError for what is no mapping of pairs."""
    want = f"{name}: a mapping is needed, such as {{'I': (uids, data)}}"
    if not isinstance(inputs, Mapping):
        raise InputError(f"{want}, got {inputs!r:.60}")
    for variable, given in inputs.items():
        if not isinstance(given, tuple | list) or len(given) != 2:
            kind = type(given).__name__
            raise InputError(f"{want}; '{variable}' has no pair of uids and data, but {kind}")


class _ArrayRows:
    """Rows of an array or of an HDF5 data set, sliced as the run goes.

    A row may have the ``shape`` of the cells, where there is one.
    """

    def __init__(self, data: Any, count: int, where: str, shape: tuple[int, ...]) -> None:
        try:
            self.data = data if hasattr(data, "shape") else np.asarray(data)
        except ValueError:
            raise InputError(f"{where}: data must be rows of one length") from None
        self.where, self.count = where, count
        given = tuple(self.data.shape)
        if len(given) < 2 or given[1:] not in ((count,), shape):
            whole = f"({', '.join(map(str, ('steps', *shape)))}) or " if shape else ""
            want = f"{whole}(steps, {count}): one column per uid"
            got = f"got {self.data.shape}{_meant(self.data.shape, count)}"
            raise InputError(f"{where}: data of shape {want} are needed, {got}")
        if self.data.dtype.kind not in "fiub":
            raise InputError(f"{where}: data must be numbers, got {self.data.dtype}")

    def open(self, dt: float, dtype: np.dtype) -> None:
        self.dtype = dtype

    def content(self) -> Any:
        """Return all rows."""
        return np.reshape(self.data, (len(self.data), self.count))

    def length(self) -> int:
        """Return the number of rows."""
        return len(self.data)

    def chunk(self, first: int, steps: int, mode: int) -> Chunk:
        total = len(self.data)
        begin, end = min(first, total), min(first + steps, total)
        if mode == 1 and total:
            begin = min(begin, total - 1)
            end = max(end, begin + 1)
        try:
            with np.errstate(over="ignore"):  # an error below
                table = np.ascontiguousarray(self.data[begin:end], dtype=self.dtype)
                table = table.reshape(end - begin, self.count)
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


def _meant(shape: tuple[int, ...], count: int) -> str:
    """Return what data of a wrong shape may have been meant as."""
    if len(shape) != 2:
        return ""
    if shape[0] == count:
        return "; the axes are exchanged: steps come first, uids second"
    return "; events are a tuple (time, index), not a list" if shape[0] == 2 else ""


class _Events:
    """Events as times and columns."""

    def __init__(self, data: tuple[Any, Any], count: int, where: str) -> None:
        time, index = np.asarray(data[0]), np.asarray(data[1])
        for name, values, kinds in (("time", time, "fiu"), ("index", index, "iu")):
            if values.size and values.dtype.kind not in kinds:
                want = "numbers" if name == "time" else "whole numbers"
                say = "a tuple holds events; give rows as a list or an array"
                raise InputError(f"{where}: event {name} must be {want}, got {values.dtype}; {say}")
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

    def open(self, dt: float, dtype: np.dtype) -> None:
        self.dtype = dtype
        steps = np.floor(self.time / dt * (1 + 4e-16) + 1e-9)
        self.steps = np.minimum(steps, 2.0**62).astype(np.int64)

    def content(self) -> Any:
        """Return all events in the order of time."""
        return {"time": self.time, "index": self.index.astype(np.int32)}

    def length(self) -> int:
        """Return the step after the last event."""
        return int(self.steps[-1]) + 1 if len(self.steps) else 0

    def chunk(self, first: int, steps: int, mode: int) -> EventChunk:
        a, b = np.searchsorted(self.steps, [first, first + steps])
        place = (self.steps[a:b] - first) * self.count + self.index[a:b]
        place, number = np.unique(place, return_counts=True)
        begin = np.searchsorted(place, np.arange(steps + 1) * self.count)
        column = (place % max(self.count, 1)).astype(np.int32)
        return EventChunk(self.count, begin, column, number.astype(self.dtype))
