"""A recorded variable: uids, unit and times, and values that are read when they are asked for."""

from __future__ import annotations

import bisect
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..errors import RecordingError, near
from .sheets import Sizes, chosen, in_shape

SLAB_BYTES = 2**24
"""Rows are read in slabs of this size where they need not be in memory together."""

TOLERANCE = 1e-3
"""Bounds of a time window may be off by this part of a step: 0.3 and 3 * 0.1 mean the same."""

Times = Callable[[int, int], npt.NDArray[np.float64]]
"""Times of the rows from a first to before a last one, s."""


def slabs(first: int, last: int, row_bytes: int, width: int = 1) -> Iterator[slice]:
    """Cut rows into slices of about `SLAB_BYTES`, each a multiple of ``width`` rows long."""
    step = width * max(1, SLAB_BYTES // max(1, width * row_bytes))
    return (slice(begin, min(begin + step, last)) for begin in range(first, last, step))


@dataclass(frozen=True, slots=True)
class VariableLabels:
    """What describes a variable besides its values."""

    source: str  # the file or the recorder, for messages
    name: str
    unit: str
    uids: tuple[str, ...]  # of each column of the data set
    dt: float  # time between two rows (of events: resolution of their times), s
    members: Mapping[str, npt.NDArray[np.intp]] = field(default_factory=dict)
    """Population -> its columns, ascending."""
    axes: Mapping[str, Sizes] = field(default_factory=dict)
    """Population on axes -> number of cells along each of them."""

    def columns(
        self, uids: str | Sequence[str], among: npt.NDArray[np.intp] | None = None
    ) -> npt.NDArray[np.intp]:
        """Return the column of each uid, and those of each population.

        A name that is a uid and a population means the uid. ``among`` are the columns that may be
        asked for; of a population only these are returned.
        """
        names = {uid: i for i, uid in enumerate(self.uids)}
        if not hasattr(uids, "__iter__"):
            got = f"expected names of components or populations, got {uids!r:.60}"
            raise RecordingError(f"{self.source}: '{self.name}': {got}")
        wanted = [uids] if isinstance(uids, str) else [str(uid) for uid in uids]
        unknown = [uid for uid in wanted if uid not in names and uid not in self.members]
        if unknown:
            raise RecordingError(
                f"{self.source}: no column '{unknown[0]}' in '{self.name}'"
                f"{near(unknown[0], [*names, *self.members])}; it holds {len(names)} uids"
                f"{self._of_populations()}, {len(unknown)} of {len(wanted)} asked for are missing"
            )
        if any(uid not in names for uid in wanted):
            parts = [self._members_among(uid, names, among) for uid in wanted]
            return np.concatenate(parts)
        columns = np.array([names[uid] for uid in wanted], dtype=np.intp)
        if among is not None and not (held := np.isin(columns, among)).all():
            raise RecordingError(
                f"{self.source}: '{wanted[int(np.argmin(held))]}' is not among the {len(among)} "
                f"uids chosen of '{self.name}'"
            )
        return columns

    def has(self, name: str) -> bool:
        """Return whether a component or a population has a name."""
        return name in self.members or name in self.uids

    def is_uid(self, name: str) -> bool:
        """Return whether a name does not stand for a population."""
        return name not in self.members or name in self.uids

    def _members_among(
        self, name: str, names: Mapping[str, int], among: npt.NDArray[np.intp] | None
    ) -> npt.NDArray[np.intp]:
        """Return the column of a uid, or those of a population that may be asked for."""
        if name in names:
            return self.columns(name, among)
        columns = self.members[name]
        return columns if among is None else among[np.isin(among, columns)]

    def _of_populations(self) -> str:
        """Return the first populations, as messages name them."""
        names = list(self.members)
        some = f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
        return f" of the populations {some}" if names else ""


class ColumnChoice:
    """A choice of the columns of a recorded variable."""

    _labels: VariableLabels
    _columns: npt.NDArray[np.intp] | None = None  # None: all

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self._labels.name

    @property
    def uids(self) -> list[str]:
        """The component of each column."""
        names = self._labels.uids
        return list(names) if self._columns is None else [names[i] for i in self._columns]

    @property
    def populations(self) -> dict[str, npt.NDArray[np.intp]]:
        """Population -> numbers of its columns, in the order of ``uids``."""
        members = self._labels.members
        if self._columns is None:
            return dict(members)
        found = {k: np.flatnonzero(np.isin(self._columns, v)) for k, v in members.items()}
        return {name: columns for name, columns in found.items() if columns.size}

    def _some_uids(self) -> str:
        """Return the number of uids and the first of them, as `repr` shows them."""
        uids = self.uids
        return f"{len(uids)} uids ({', '.join(uids[:3])}{', ...' if len(uids) > 3 else ''})"

    def _changed(self, **attributes: Any) -> Self:
        """Return a copy with other values of some private attributes."""
        part = copy.copy(self)
        vars(part).update(attributes)
        return part


class Variable(ColumnChoice):
    """A recorded variable: values that are read when they are sliced, uids, times and unit.

    ``variable[a:b]`` are rows, ``variable[a:b, 0]`` some of a column, ``variable["n0"]`` is the
    variable of one component, with one axis, and ``variable[["n0", "n1"]]`` that of some.
    ``variable["exc"]`` are the columns of a population. NumPy and matplotlib take it for an array.

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
    ) -> None:
        self._dataset = dataset
        self._labels = labels
        self._times = times
        self._rows = rows
        self._columns = columns
        self._first = 0
        self._single = False

    @property
    def unit(self) -> str:
        """Unit of the values, empty if the file does not tell."""
        return self._labels.unit

    @property
    def dt(self) -> float:
        """Time between two rows, s."""
        return self._labels.dt

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
        width = self._dataset.shape[1] if self._columns is None else len(self._columns)
        return (self._rows,) if self._single else (self._rows, int(width))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        dtype: np.dtype[Any] = np.dtype(self._dataset.dtype)
        return dtype

    def __len__(self) -> int:
        return self._rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self[:], dtype)

    def __repr__(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        rows = f"{self._rows:,} rows" if self._rows != 1 else "1 row"
        span = ""
        if self._rows:
            begin, end = self.times(0, 1)[0], self.times(self._rows - 1, self._rows)[0]
            span = f", {begin:g} to {end:g} s"
        return f"Variable {self.name}{unit}: {rows}{span} x {self._some_uids()}"

    def __getitem__(self, key: Any) -> Any:
        names = isinstance(key, (list, tuple, np.ndarray)) and len(key) > 0
        if isinstance(key, str) or (names and all(isinstance(item, str) for item in key)):
            single = isinstance(key, str) and self._labels.is_uid(key)
            columns = self._labels.columns(
                key if isinstance(key, str) else list(key), self._columns
            )
            return self._changed(_columns=columns, _single=single)
        if self._single:
            key = (*key, 0) if isinstance(key, tuple) else (key, 0)
        row, *column = key if isinstance(key, tuple) else (key,)
        if row is Ellipsis:
            row = slice(None)
        if isinstance(row, (int, np.integer)):
            at = range(self._rows)[row]
            return self._read(at, at + 1)[(0, *column)]
        if not isinstance(row, slice):
            return self._read(0, self._rows)[key]
        picked = range(self._rows)[row]
        ends = sorted((picked[0], picked[-1])) if picked else (0, -1)
        return self._read(ends[0], ends[1] + 1)[(slice(None, None, picked.step), *column)]

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
        for rows in slabs(low, high, self._dataset.shape[1] * self.dtype.itemsize):
            out[rows.start - low : rows.stop - low] = self._dataset[rows][:, self._columns]
        return out

    def shaped(self, population: Any = "") -> npt.NDArray[Any]:
        """Return the rows of a population on axes in its shape: (rows, theta, y, x) for instance.

        Parameters
        ----------
        population : str or Population
            Its name, or itself; not needed where just one population on axes was recorded. Of a
            slice of a population, the result has the cells that were recorded along each axis.

        Raises
        ------
        RecordingError
            Where there is no such population, or the recorded cells are no block along its axes.
        """
        where = f"{self._labels.source}, '{self.name}'"
        whole = getattr(population, "parent", population)  # of a part
        name = chosen(getattr(whole, "name", whole), [*self.populations], self._labels.axes, where)
        mine = self.populations[name]
        columns = mine if self._columns is None else self._columns[mine]
        part = self._changed(_columns=columns, _single=False)
        return in_shape(part[:], part.uids, self._labels.axes[name], where)

    def between(self, start: float = 0.0, stop: float = np.inf) -> Variable:
        """Return the rows with ``start <= time < stop``, s; neighbouring windows share none."""
        return self.rows(*(self._row_at(bound) for bound in (start, stop)))

    def rows(self, first: int, last: int) -> Variable:
        """Return the rows from a first to before a last one; they are not read yet."""
        first, last, _ = slice(first, last).indices(self._rows)
        return self._changed(_first=self._first + first, _rows=max(last - first, 0))

    def _row_at(self, bound: float) -> int:
        """Return the first row not before a time."""
        return bisect.bisect_left(
            range(self._rows),
            bound - TOLERANCE * self.dt,
            key=lambda row: self.times(row, row + 1)[0],
        )
