"""A data set of rows -> the values asked for, and no others, with uids, times and unit."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecordingError, near

SLAB_BYTES = 2**24
"""Rows are read in slabs of this size when only some columns are wanted."""

TOLERANCE = 1e-3
"""Bounds of a time window may be off by this part of a step: 0.3 and 3 * 0.1 mean the same."""

Times = Callable[[int, int], npt.NDArray[np.float64]]
"""Times of the rows from a first to before a last one, s."""


class Traces:
    """Rows of a data set, read when they are sliced.

    ``traces[a:b]`` reads some rows, ``np.asarray(traces)`` all of them; a row range may be
    followed by a choice of columns, ``traces[a:b, 0]``.

    Parameters
    ----------
    dataset : array-like (rows, columns)
        A data set of h5py, or anything with ``shape``, ``dtype`` and slices of rows.
    first, rows : int
        The rows shown.
    columns : ndarray of int, optional
        The columns shown; all by default.

    Attributes
    ----------
    shape : (rows, columns)
    dtype : dtype
    """

    def __init__(
        self,
        dataset: Any,
        rows: int,
        columns: npt.NDArray[np.intp] | None = None,
        first: int = 0,
    ) -> None:
        self._dataset = dataset
        self._columns = columns
        self._first = first
        self._rows = rows

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        width = self._dataset.shape[1] if self._columns is None else len(self._columns)
        return (self._rows, int(width))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        kind: np.dtype[Any] = np.dtype(self._dataset.dtype)
        return kind

    def __len__(self) -> int:
        return self._rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self[:], dtype)

    def __getitem__(self, key: Any) -> Any:
        return self._values(key)

    def _values(self, key: Any) -> Any:
        row, *columns = key if isinstance(key, tuple) else (key,)
        if row is Ellipsis:
            row = slice(None)
        if isinstance(row, (int, np.integer)):
            at = range(self._rows)[row]
            return self._read(at, at + 1)[(0, *columns)]
        if not isinstance(row, slice):
            return self._read(0, self._rows)[key]
        picked = range(self._rows)[row]
        low, high = (
            (min(picked[0], picked[-1]), max(picked[0], picked[-1]) + 1) if picked else (0, 0)
        )
        return self._read(low, high)[(slice(None, None, picked.step), *columns)]

    def _read(self, low: int, high: int) -> npt.NDArray[Any]:
        """Read consecutive rows of the chosen columns."""
        if hasattr(self._dataset, "id") and not self._dataset:
            raise RecordingError("the recording is closed; read what you need before")
        low, high = low + self._first, high + self._first
        if self._columns is None:
            values: npt.NDArray[Any] = self._dataset[low:high]
            return values
        # The whole row passes through memory in any case: a chunk holds whole rows.
        out = np.empty((high - low, len(self._columns)), self.dtype)
        width = max(1, self._dataset.shape[1] * self.dtype.itemsize)
        slab = max(1, SLAB_BYTES // width)
        for first in range(low, high, slab):
            last = min(first + slab, high)
            out[first - low : last - low] = self._dataset[first:last][:, self._columns]
        return out


@dataclass(frozen=True, slots=True)
class VariableLabels:
    """What is known of a variable besides its values.

    Parameters
    ----------
    source : str
        The file, for messages.
    name, unit : str
    uids : tuple of str
        The component of each column of the data set.
    dt : float
        Time between two rows (of events: resolution of their times), s.
    """

    source: str
    name: str
    unit: str
    uids: tuple[str, ...]
    dt: float

    def columns(
        self, uids: str | Sequence[str], among: npt.NDArray[np.intp] | None = None
    ) -> npt.NDArray[np.intp]:
        """Return the column of each uid; ``among`` are the columns that may be asked for."""
        names = {uid: i for i, uid in enumerate(self.uids)}
        wanted = [uids] if isinstance(uids, str) else [str(uid) for uid in uids]
        unknown = [uid for uid in wanted if uid not in names]
        if unknown:
            raise RecordingError(
                f"{self.source}: no column '{unknown[0]}' in '{self.name}'"
                f"{near(unknown[0], names)}; it holds {len(names)} uids, {len(unknown)} of "
                f"{len(wanted)} asked for are missing"
            )
        columns = np.array([names[uid] for uid in wanted], dtype=np.intp)
        if among is not None and not (held := np.isin(columns, among)).all():
            raise RecordingError(
                f"{self.source}: '{wanted[int(np.argmin(held))]}' is not among the {len(among)} "
                f"uids chosen of '{self.name}'"
            )
        return columns


class Variable(Traces):
    """A recorded variable: values that are read when they are sliced, uids, times and unit.

    ``variable[a:b]`` are rows, ``variable["n0"]`` is the variable of one component, with one
    axis, and ``variable[["n0", "n1"]]`` that of some. NumPy and matplotlib take it for an array.

    Attributes
    ----------
    name, unit : str
    uids : list of str
        The component of each column.
    dt : float
        Time between two rows, s.
    time : ndarray (rows,) of float64
        Times of the rows, s.

    Examples
    --------
    >>> V = recording["V"]  # doctest: +SKIP
    >>> V["n0"].between(0.1, 0.2)[:]  # doctest: +SKIP
    """

    def __init__(
        self,
        dataset: Any,
        labels: VariableLabels,
        times: Times,
        rows: int,
        columns: npt.NDArray[np.intp] | None = None,
        first: int = 0,
        single: bool = False,
    ) -> None:
        super().__init__(dataset, rows, columns, first)
        self._labels = labels
        self._times = times
        self._single = single

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self._labels.name

    @property
    def unit(self) -> str:
        """Unit of the values, empty if the file does not tell."""
        return self._labels.unit

    @property
    def dt(self) -> float:
        """Time between two rows, s."""
        return self._labels.dt

    @property
    def uids(self) -> list[str]:
        """The component of each column."""
        names = self._labels.uids
        return list(names) if self._columns is None else [names[i] for i in self._columns]

    @property
    def time(self) -> npt.NDArray[np.float64]:
        """Times of the rows, (rows,) float64, s."""
        return self.times(0, self._rows)

    def times(self, first: int, last: int) -> npt.NDArray[np.float64]:
        """Return the times of the rows from a first to before a last one, s."""
        last = min(last, self._rows)
        return self._times(self._first + first, self._first + max(first, last))

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns), or (rows,) for the variable of one component."""
        rows_and_columns = super().shape
        return rows_and_columns[:1] if self._single else rows_and_columns

    def __repr__(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        rows = f"{self._rows:,} rows" if self._rows != 1 else "1 row"
        span = ""
        if self._rows:
            begin, end = self.times(0, 1)[0], self.times(self._rows - 1, self._rows)[0]
            span = f", {begin:g} to {end:g} s"
        shown = ", ".join(self.uids[:3]) + (", ..." if len(self.uids) > 3 else "")
        return f"Variable {self.name}{unit}: {rows}{span} x {len(self.uids)} uids ({shown})"

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._part(columns=self._labels.columns(key, self._columns), single=True)
        if isinstance(key, (list, tuple, np.ndarray)) and _are_names(key):
            return self._part(columns=self._labels.columns(list(key), self._columns), single=False)
        if self._single:
            key = (*key, 0) if isinstance(key, tuple) else (key, 0)
        return self._values(key)

    def between(self, start: float = 0.0, stop: float = np.inf) -> Variable:
        """Return the rows with ``start <= time < stop``, s; neighbouring windows share none."""
        low, high = (self._row_at(bound) for bound in (start, stop))
        return self._part(first=self._first + low, rows=max(high - low, 0))

    def rows(self, first: int, last: int) -> Variable:
        """Return the rows from a first to before a last one; they are not read yet."""
        first, last, _ = slice(first, last).indices(self._rows)
        return self._part(first=self._first + first, rows=max(last - first, 0))

    def _row_at(self, bound: float) -> int:
        """Return the first row not before a time."""
        bound -= TOLERANCE * self.dt
        return bisect.bisect_left(
            range(self._rows), bound, key=lambda row: self.times(row, row + 1)[0]
        )

    def _part(self, **changed: Any) -> Variable:
        given: dict[str, Any] = {
            "rows": self._rows,
            "columns": self._columns,
            "first": self._first,
            "single": self._single,
        }
        return Variable(self._dataset, self._labels, self._times, **{**given, **changed})


def _are_names(key: Any) -> bool:
    """Tell whether a key of an index is a list of uids."""
    return len(key) > 0 and all(isinstance(item, str) for item in key)
