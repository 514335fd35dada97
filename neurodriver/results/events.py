"""Times and column numbers in a file -> events by uid and time window."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecordingError
from .variable import TOLERANCE, ColumnChoice, Times, VariableLabels, slabs

COLUMNS = ("time", "index")

Pair = tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]


class Events(ColumnChoice):
    """A variable recorded as events; read when it is asked for.

    ``events["n0"]`` are the times of one component, ``events[["n0", "n1"]]`` the events of some,
    ``events["exc"]`` those of a population. ``events["time"]`` and ``events["index"]`` are the
    columns, unless a component or a population is called so; ``**events`` passes both on.
    """

    unit = "s"  # of the times

    def __init__(self, time: Any, index: Any, labels: VariableLabels, count: int) -> None:
        self._data = time, index
        self._labels = labels
        self._bounds = 0, count

    @property
    def time(self) -> npt.NDArray[np.float64]:
        """Times, (m,) float64, s, ascending."""
        return self.read()[0]

    @property
    def index(self) -> npt.NDArray[np.int32]:
        """Number of the component of each event in ``uids``, (m,) int32."""
        return self.read()[1]

    def __len__(self) -> int:
        low, high = self._bounds
        return high - low if self._columns is None else len(self.read()[0])

    def __repr__(self) -> str:
        events = f"{len(self):,} event{'' if len(self) == 1 else 's'}"
        return f"Events {self.name}: {events} of {self._some_uids()}"

    def keys(self) -> tuple[str, ...]:
        """Return the names of the columns, as those of a mapping."""
        return COLUMNS

    def __getitem__(self, key: str | Sequence[str]) -> Any:
        if isinstance(key, str) and key in COLUMNS and not self._labels.has(key):
            return getattr(self, key)
        part = self._changed(_columns=self._labels.columns(key, self._columns))
        return part.time if isinstance(key, str) and self._labels.is_uid(key) else part

    def times(self, first: int, last: int) -> npt.NDArray[np.float64]:
        """Return the times of the events from a first to before a last one, s."""
        if self._columns is not None:
            return self.time[first:last]
        low, high = self._bounds
        return np.asarray(self._data[0][low + first : min(low + last, high)], np.float64)

    def read(self) -> Pair:
        """Return times (m,) float64 s, ascending, and numbers of components (m,) int32."""
        low, high = self._bounds
        time = np.asarray(self._data[0][low:high], np.float64)
        index = np.asarray(self._data[1][low:high], np.int32)
        count = len(self._labels.uids)
        if index.min(initial=0) < 0 or index.max(initial=-1) >= count:
            where = f"{self._labels.source}: '{self._labels.name}/data/index'"
            raise RecordingError(f"{where} is damaged: numbers must be 0 to {count - 1}")
        if self._columns is None:
            return time, index
        numbers = np.full(len(self._labels.uids), -1, np.int32)
        numbers[self._columns] = np.arange(len(self._columns), dtype=np.int32)
        chosen = numbers[index]
        return time[chosen >= 0], chosen[chosen >= 0]

    def between(self, start: float = 0.0, stop: float = np.inf) -> Events:
        """Return the events with ``start <= time < stop``, s."""
        slack = TOLERANCE * self._labels.dt
        low, high = (
            bisect.bisect_left(self._data[0], bound - slack, *self._bounds)
            for bound in (start, stop)
        )
        return self._changed(_bounds=(low, max(low, high)))

    def trains(self) -> dict[str, npt.NDArray[np.float64]]:
        """Return the times of each uid, s, ascending; empty arrays included."""
        (time, index), uids = self.read(), self.uids
        order = np.argsort(index, kind="stable")
        bounds = np.searchsorted(index[order], np.arange(1, len(uids)))
        return dict(zip(uids, np.split(time[order], bounds), strict=False))


def nonzero(values: Any, times: Times) -> Pair:
    """Return times and columns of what is not zero in rows, (rows, n), read slab by slab."""
    when, columns = [np.empty(0)], [np.empty(0, np.int32)]
    for rows in slabs(0, len(values), values.shape[1] * values.dtype.itemsize):
        row, column = np.nonzero(values[rows])
        when.append(times(rows.start, rows.stop)[row])
        columns.append(column.astype(np.int32))
    return np.concatenate(when), np.concatenate(columns)
