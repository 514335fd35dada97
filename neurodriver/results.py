"""A recording in an HDF5 file -> variables by name and uid, times in seconds, spikes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from .errors import RecordingError, near
from .recorders.base import sample_times

SLAB_BYTES = 2**24
"""Rows are read in slabs of this size when only some columns are wanted."""


def open_recording(path: str | os.PathLike[str]) -> Recording:
    """Open a recording for reading, also one whose run was killed or is still going on.

    Parameters
    ----------
    path : path
        A file of `HDF5Recorder`, or one of an older neurodriver.
    """
    return Recording(path)


class Traces:
    """The rows of a variable, read when they are sliced.

    ``traces[a:b]`` reads some rows, ``np.asarray(traces)`` all of them; a row range may be
    followed by a choice of columns, ``traces[a:b, 0]``.

    Attributes
    ----------
    shape : (rows, columns)
    dtype : dtype
    """

    def __init__(self, dataset: Any, rows: int, columns: npt.NDArray[np.intp] | None) -> None:
        self._dataset = dataset
        self._columns = columns
        self.shape = (rows, dataset.shape[1] if columns is None else len(columns))
        self.dtype: np.dtype[Any] = dataset.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self[:], dtype)

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        row, *columns = key if isinstance(key, tuple) else (key,)
        if row is Ellipsis:
            row = slice(None)
        if isinstance(row, (int, np.integer)):
            at = range(len(self))[row]
            one: npt.NDArray[Any] = self._read(at, at + 1)[(0, *columns)]
            return one
        if not isinstance(row, slice):
            everything: npt.NDArray[Any] = self[:][key]
            return everything
        picked = range(len(self))[row]
        low, high = (
            (min(picked[0], picked[-1]), max(picked[0], picked[-1]) + 1) if picked else (0, 0)
        )
        values: npt.NDArray[Any] = self._read(low, high)
        return values[(slice(None, None, picked.step), *columns)]

    def _read(self, low: int, high: int) -> npt.NDArray[Any]:
        """Read consecutive rows of the chosen columns."""
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


class Recording:
    """A recording opened for reading; a context manager.

    Of a run that was killed, only the valid rows and events are shown.

    Parameters
    ----------
    path : path
        The file.

    Attributes
    ----------
    variables : tuple of str
        What was recorded.
    attributes : dict
        ``dt``, ``start_time``, ``sample_interval``, and where the recording comes from.
    dt : float
        Time step, s.
    sample_interval : int
        Steps per row.

    Examples
    --------
    >>> with open_recording("run.h5") as recording:  # doctest: +SKIP
    ...     potential = recording.data("V", ["n0"])[:]  # (rows, 1), mV
    ...     spikes = recording.spikes()["n0"]  # s
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise RecordingError(f"{self.path}: no such file")
        try:
            # No lock: it fails on some network file systems, and valid data never change.
            self._file: Any = h5py.File(self.path, "r", locking=False)
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be read as HDF5: {error}") from error
        try:
            self._read_header()
        except BaseException:
            self._file.close()
            raise

    def _read_header(self) -> None:
        groups = {k: g for k, g in self._file.items() if isinstance(g, h5py.Group)}
        self.variables: tuple[str, ...] = tuple(k for k, g in groups.items() if "data" in g)
        if not self.variables:
            raise RecordingError(f"{self.path}: holds no variable (a group with 'data' and 'uids')")
        self.attributes: dict[str, Any] = {}
        if "metadata" in self._file:
            self.attributes = {k: _plain(v) for k, v in self._file["metadata"].attrs.items()}
        if "dt" not in self.attributes:
            raise RecordingError(f"{self.path}: attribute 'dt' of 'metadata' is missing")
        self.dt = float(self.attributes["dt"])
        self.sample_interval = int(self.attributes.get("sample_interval", 1))

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Recording('{self.path}': {', '.join(self.variables)})"

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def complete(self) -> bool:
        """False if the run was killed or is still going on."""
        group = self._file[self.variables[0]]
        counted = "valid_rows" in group or "valid_events" in group
        return not counted or bool(self._file["metadata"][()])

    @property
    def duration(self) -> float:
        """Time simulated, s; the last thing recorded ends it."""
        ends = [0.0]
        for variable in self.variables:
            group = self._file[variable]
            if "valid_steps" in group:
                ends.append(int(group["valid_steps"][()]) * self.dt)
            else:
                time = self.events(variable)[0] if self.is_events(variable) else self.time(variable)
                ends.append(float(time[-1]) + self.dt if len(time) else 0.0)
        return max(ends)

    def is_events(self, variable: str) -> bool:
        """Tell whether a variable is stored as events instead of rows."""
        return isinstance(self._data(variable), h5py.Group)

    def uids(self, variable: str) -> list[str]:
        """Return the uids of the columns of a variable."""
        group = self._group(variable)
        if "uids" not in group:
            raise RecordingError(f"{self.path}: '{variable}/uids' is missing")
        return [u.decode() if isinstance(u, bytes) else str(u) for u in group["uids"][()].tolist()]

    def unit(self, variable: str) -> str:
        """Return the unit of a variable, empty if the file does not tell."""
        return str(_plain(self._data(variable).attrs.get("units", "")))

    def time(self, variable: str) -> npt.NDArray[np.float64]:
        """Return the times of the rows of a variable, (rows,) float64, s.

        Files of older programs hold no times. There, row j of an output is step
        ``(j + 1) * s - 1`` and row j of a recorded input (no ``start_time``) step ``j * s``, with
        sample interval s; that is when the values were taken, whatever ``start_time`` says.
        """
        rows, group = self.data(variable).shape[0], self._group(variable)
        if "time" in group:
            return np.asarray(group["time"][:rows], dtype=np.float64)
        if "start_time" in self.attributes:
            return sample_times(0, rows, self.sample_interval, self.dt)
        return np.arange(rows, dtype=np.float64) * (self.sample_interval * self.dt)

    def data(self, variable: str, uids: str | Sequence[str] | None = None) -> Traces:
        """Return the rows of a variable; they are read when they are sliced.

        Parameters
        ----------
        variable : str
            A variable stored as rows.
        uids : str or sequence of str, optional
            The columns, in the order wanted; all by default.
        """
        dataset = self._data(variable)
        if isinstance(dataset, h5py.Group):
            raise RecordingError(f"{self.path}: '{variable}' is stored as events; use spikes()")
        group = self._group(variable)
        rows = int(group["valid_rows"][()]) if "valid_rows" in group else dataset.shape[0]
        columns = None if uids is None else self._columns(variable, uids)
        if columns is not None and np.array_equal(columns, np.arange(dataset.shape[1])):
            columns = None  # all of them: no need to pick
        return Traces(dataset, rows, columns)

    def events(
        self, variable: str = "spike_state"
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
        """Return the events of a variable: times (m,) float64 s, and columns (m,) int32."""
        data, group = self._data(variable), self._group(variable)
        if not isinstance(data, h5py.Group):
            # Older files, and recorded inputs, hold spikes as rows.
            row, column = np.nonzero(self.data(variable)[:])
            return self.time(variable)[row], column.astype(np.int32)
        missing = [part for part in ("time", "index") if part not in data]
        if missing:
            raise RecordingError(f"{self.path}: '{variable}/data/{missing[0]}' is missing")
        count = int(group["valid_events"][()]) if "valid_events" in group else len(data["time"])
        return data["time"][:count], data["index"][:count]

    def spikes(
        self, uids: str | Sequence[str] | None = None, variable: str = "spike_state"
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the times of the events of each uid, s, ascending; empty arrays included."""
        names = self.uids(variable)
        wanted = range(len(names)) if uids is None else self._columns(variable, uids)
        time, index = self.events(variable)
        order = np.argsort(index, kind="stable")
        bounds = np.searchsorted(index[order], np.arange(len(names) + 1))
        time = time[order]
        return {names[i]: time[bounds[i] : bounds[i + 1]] for i in wanted}

    def _group(self, variable: str) -> Any:
        if variable not in self.variables:
            raise RecordingError(
                f"{self.path}: no variable '{variable}'{near(variable, self.variables)}; "
                f"recorded: {', '.join(self.variables)}"
            )
        return self._file[variable]

    def _data(self, variable: str) -> Any:
        return self._group(variable)["data"]

    def _columns(self, variable: str, uids: str | Sequence[str]) -> npt.NDArray[np.intp]:
        """Return the column of each uid."""
        names: Mapping[str, int] = {uid: i for i, uid in enumerate(self.uids(variable))}
        wanted = [uids] if isinstance(uids, str) else list(uids)
        unknown = [uid for uid in wanted if uid not in names]
        if unknown:
            raise RecordingError(
                f"{self.path}: no column '{unknown[0]}' in '{variable}'{near(unknown[0], names)}; "
                f"it holds {len(names)} uids, {len(unknown)} of {len(wanted)} asked for are missing"
            )
        return np.array([names[uid] for uid in wanted], dtype=np.intp)


def _plain(value: Any) -> Any:
    """Return an attribute as a Python value."""
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value
