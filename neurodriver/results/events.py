"""Times and column numbers in a file -> events by uid and time window."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .variable import SLAB_BYTES, TOLERANCE, Variable, VariableLabels

Pair = tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]


class Events:
    """A variable recorded as events; read when it is asked for.

    ``events["n0"]`` are the times of one component, ``events[["n0", "n1"]]`` the events of some.

    Attributes
    ----------
    name, unit : str
        ``unit`` is that of the times.
    uids : list of str
        The components, in the order of the numbers in ``index``.
    time : ndarray (m,) of float64
        Times, s, ascending.
    index : ndarray (m,) of int32
        Number of the component in ``uids``.
    """

    unit = "s"

    def __init__(
        self,
        time: Any,
        index: Any,
        labels: VariableLabels,
        bounds: tuple[int, int],
        columns: npt.NDArray[np.intp] | None = None,
    ) -> None:
        self._data = time, index
        self._labels = labels
        self._bounds = bounds
        self._columns = columns

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self._labels.name

    @property
    def uids(self) -> list[str]:
        """The components."""
        names = self._labels.uids
        return list(names) if self._columns is None else [names[i] for i in self._columns]

    @property
    def time(self) -> npt.NDArray[np.float64]:
        """Times, (m,) float64, s."""
        return self.read()[0]

    @property
    def index(self) -> npt.NDArray[np.int32]:
        """Numbers of the components, (m,) int32."""
        return self.read()[1]

    def __len__(self) -> int:
        low, high = self._bounds
        return high - low if self._columns is None else len(self.read()[0])

    def __repr__(self) -> str:
        shown = ", ".join(self.uids[:3]) + (", ..." if len(self.uids) > 3 else "")
        events = f"{len(self):,} event{'' if len(self) == 1 else 's'}"
        return f"Events {self.name}: {events} of {len(self.uids)} uids ({shown})"

    def __getitem__(self, key: str | Sequence[str]) -> Any:
        columns = self._labels.columns(key, self._columns)
        part = Events(*self._data, self._labels, self._bounds, columns)
        return part.time if isinstance(key, str) else part

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
        return Events(*self._data, self._labels, (low, max(low, high)), self._columns)

    def trains(self) -> dict[str, npt.NDArray[np.float64]]:
        """Return the times of each uid, s, ascending; empty arrays included."""
        time, index = self.read()
        return dict(by_component(time, index, self.uids))


def by_component(
    time: npt.NDArray[np.float64], index: npt.NDArray[np.int32], uids: Sequence[str]
) -> Iterable[tuple[str, npt.NDArray[np.float64]]]:
    """Sort events by component: pairs of uid and times."""
    order = np.argsort(index, kind="stable")
    bounds = np.searchsorted(index[order], np.arange(len(uids) + 1))
    time = time[order]
    return [(uid, time[bounds[i] : bounds[i + 1]]) for i, uid in enumerate(uids)]


def nonzero(variable: Variable, labels: VariableLabels) -> Events:
    """Return the elements of rows that are not zero as events, read slab by slab."""
    slab = max(1, SLAB_BYTES // max(1, variable.shape[1] * variable.dtype.itemsize))
    times, columns = [np.empty(0)], [np.empty(0, np.int32)]
    for first in range(0, len(variable), slab):
        row, column = np.nonzero(variable[first : first + slab])
        times.append(variable.times(first, first + slab)[row])
        columns.append(column.astype(np.int32))
    time, index = np.concatenate(times), np.concatenate(columns)
    return Events(time, index, labels, (0, len(time)))
