"""A recording in an HDF5 file -> variables by name and uid, times in seconds, spikes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import h5py
import numpy as np
import numpy.typing as npt

from ..errors import RecordingError, near
from ..model.kinds import SPIKES
from ..recorders.base import sample_times
from . import export
from .events import Events, nonzero
from .variable import Times, Variable, VariableLabels

if TYPE_CHECKING:
    import neo
    import pandas
    import xarray


class Recording:
    """A recording opened for reading; a context manager.

    ``recording["V"]`` is a `Variable`, ``recording["spike_state"]`` mostly `Events`; nothing is
    read before it is asked for. Of a run that was killed, only the valid rows and events are
    shown.

    Parameters
    ----------
    path : path
        The file.
    group : str
        Where in the file the recording is; links to other files are followed.
    dt : float, optional
        Time step, s, of a file without it; where both have one, this one counts.
    sample_interval : int, optional
        Steps per row, likewise.
    start_time : float, optional
        Time of the first row, s; by default that at which it was taken.

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
    >>> with neurodriver.open("run.h5") as recording:  # doctest: +SKIP
    ...     potential = recording["V"]["n0"].between(0.1, 0.2)[:]  # (rows,), mV
    ...     spikes = recording.spikes()["n0"]  # s
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        group: str = "/",
        dt: float | None = None,
        sample_interval: int | None = None,
        start_time: float | None = None,
    ) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise RecordingError(f"{self.path}: no such file")
        try:
            # No lock: it fails on some network file systems, and valid data never change.
            self._file: Any = h5py.File(self.path, "r", locking=False)
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be read as HDF5: {error}") from error
        self._overrides = {"dt": dt, "sample_interval": sample_interval}
        self._start = start_time
        try:
            self._root = _at(self._file, group, self.path)
            self._read_header()
        except BaseException:
            self._file.close()
            raise

    def _read_header(self) -> None:
        groups = {k: g for k, g in _members(self._root) if isinstance(g, h5py.Group)}
        self.variables: tuple[str, ...] = tuple(k for k, g in groups.items() if "data" in g)
        if not self.variables:
            several = [k for k, g in groups.items() if "metadata" in g]
            if several:
                raise RecordingError(
                    f"{self.path}: holds several recordings; choose one with group=: "
                    f"{', '.join(several)}"
                )
            raise RecordingError(f"{self.path}: holds no variable (a group with 'data' and 'uids')")
        self.attributes = self._metadata()
        self.attributes |= {k: v for k, v in self._overrides.items() if v is not None}
        if "dt" not in self.attributes:
            raise RecordingError(
                f"{self.path}: attribute 'dt' of 'metadata' is missing; "
                "tell the time step: neurodriver.open(path, dt=...)"
            )
        self.dt = float(self.attributes["dt"])
        self.sample_interval = int(self.attributes.get("sample_interval", 1))
        if not (self.dt > 0 and self.sample_interval > 0):
            raise RecordingError(
                f"{self.path}: dt and sample_interval have to be positive, "
                f"got {self.dt:g} s and {self.sample_interval}"
            )

    def _metadata(self) -> dict[str, Any]:
        if "metadata" not in self._root:
            return {}
        return {k: _plain(v) for k, v in self._root["metadata"].attrs.items()}

    def __getitem__(self, variable: str) -> Variable | Events:
        events = self.is_events(variable)
        return self.as_events(variable) if events else self.data(variable)

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __contains__(self, variable: object) -> bool:
        return variable in self.variables

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._file:
            return f"Recording '{self.path}' (closed)"
        parts = [f"{self.duration:g} s, dt {self.dt:g} s"]
        parts += [] if self.complete else ["incomplete"]
        lines = [f"Recording '{self.path}': {', '.join(parts)}"]
        return "\n".join([*lines, *(f"  {self[v]!r}" for v in self.variables)])

    def close(self) -> None:
        """Close the file, and the one behind a link."""
        if self._file and self._root:
            self._root.file.close()
        self._file.close()

    @property
    def complete(self) -> bool:
        """False if the run was killed or is still going on."""
        group = self._root[self.variables[0]]
        counted = "valid_rows" in group or "valid_events" in group
        return not counted or bool(self._root["metadata"][()])

    @property
    def duration(self) -> float:
        """Time simulated, s; the last thing recorded ends it."""
        ends = [0.0]
        for variable in self.variables:
            group = self._group(variable)
            if "valid_steps" in group:
                ends.append(int(group["valid_steps"][()]) * self.dt)
                continue
            part = self[variable]
            last = part.times(len(part) - 1, len(part)) if len(part) else ()
            ends += [float(time) + self.dt for time in last]
        return max(ends)

    def is_events(self, variable: str) -> bool:
        """Tell whether a variable is stored as events instead of rows."""
        return isinstance(self.dataset(variable), h5py.Group)

    def uids(self, variable: str) -> list[str]:
        """Return the uids of the columns of a variable."""
        group = self._group(variable)
        if "uids" not in group:
            raise RecordingError(f"{self.path}: '{variable}/uids' is missing")
        return [u.decode() if isinstance(u, bytes) else str(u) for u in group["uids"][()].tolist()]

    def unit(self, variable: str) -> str:
        """Return the unit of a variable, empty if the file does not tell."""
        return str(_plain(self.dataset(variable).attrs.get("units", "")))

    def time(self, variable: str) -> npt.NDArray[np.float64]:
        """Return the times of the rows of a variable, (rows,) float64, s.

        Files of older programs hold no times. There, row j of an output is step
        ``(j + 1) * s - 1`` and row j of a recorded input (no ``start_time``) step ``j * s``, with
        sample interval s; that is when the values were taken, whatever ``start_time`` says.
        """
        return self.data(variable).time

    def data(self, variable: str, uids: str | Sequence[str] | None = None) -> Variable:
        """Return the rows of a variable; they are read when they are sliced.

        Parameters
        ----------
        variable : str
            A variable stored as rows.
        uids : str or sequence of str, optional
            The columns, in the order wanted; all by default.
        """
        dataset = self.dataset(variable)
        if isinstance(dataset, h5py.Group):
            raise RecordingError(f"{self.path}: '{variable}' is stored as events; use spikes()")
        if dataset.ndim != 2:
            raise RecordingError(
                f"{self.path}: '{variable}/data' has {dataset.ndim} axes, 2 are needed: rows, uids"
            )
        group, labels = self._group(variable), self._labels(variable)
        width, named = dataset.shape[1], len(labels.uids)
        if width != named:
            raise RecordingError(f"{self.path}: '{variable}' has {width} columns and {named} uids")
        rows = int(group["valid_rows"][()]) if "valid_rows" in group else dataset.shape[0]
        columns = None if uids is None else labels.columns(uids)
        if columns is not None and np.array_equal(columns, np.arange(width)):
            columns = None  # all of them: no need to pick
        return Variable(dataset, labels, self._times(group), rows, columns)

    def as_events(self, variable: str = SPIKES) -> Events:
        """Return a variable as events; what is stored as rows is searched for values not zero."""
        data, group = self.dataset(variable), self._group(variable)
        labels = self._labels(variable)
        if not isinstance(data, h5py.Group):  # older files, and recorded inputs
            rows = self.data(variable)
            time, index = nonzero(rows, rows.times)
            return Events(time, index, labels, len(time))
        missing = [part for part in ("time", "index") if part not in data]
        if missing:
            raise RecordingError(f"{self.path}: '{variable}/data/{missing[0]}' is missing")
        count = int(group["valid_events"][()]) if "valid_events" in group else len(data["time"])
        return Events(data["time"], data["index"], labels, count)

    def events(
        self, variable: str = SPIKES
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
        """Return the events of a variable: times (m,) float64 s, and columns (m,) int32."""
        return self.as_events(variable).read()

    def spikes(
        self, uids: str | Sequence[str] | None = None, variable: str = SPIKES
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the times of the events of each uid, s, ascending; empty arrays included."""
        events = self.as_events(variable)
        if uids is not None:
            events = events[[uids] if isinstance(uids, str) else list(uids)]
        return events.trains()

    def to_xarray(self, variables: str | Sequence[str] | None = None) -> xarray.Dataset:
        """Return variables as an `xarray.Dataset`; see `neurodriver.results.export`."""
        return export.to_xarray(self, variables)

    def to_pandas(self, variable: str, uids: str | Sequence[str] | None = None) -> pandas.DataFrame:
        """Return a variable as a `pandas.DataFrame`; see `neurodriver.results.export`."""
        return export.to_pandas(self, variable, uids)

    def to_neo(self, variables: str | Sequence[str] | None = None) -> neo.Block:
        """Return variables as a `neo.Block`; see `neurodriver.results.export`."""
        return export.to_neo(self, variables)

    def _group(self, variable: str) -> Any:
        if variable not in self.variables:
            raise RecordingError(
                f"{self.path}: no variable '{variable}'{near(variable, self.variables)}; "
                f"recorded: {', '.join(self.variables)}"
            )
        return self._root[variable]

    def dataset(self, variable: str) -> Any:
        """Return the object of h5py that holds a variable: a data set, or a group of events."""
        return self._group(variable)["data"]

    def _labels(self, variable: str) -> VariableLabels:
        step = self.dt * (1 if self.is_events(variable) else self.sample_interval)
        uids = tuple(self.uids(variable))
        return VariableLabels(str(self.path), variable, self.unit(variable), uids, step)

    def _times(self, group: Any) -> Times:
        """Return the function that gives the times of rows."""
        step, start = self.sample_interval * self.dt, self._start
        if start is None and "time" in group:
            return lambda low, high: np.asarray(group["time"][low:high], np.float64)
        if start is None and "start_time" in self.attributes:
            s, dt = self.sample_interval, self.dt
            return lambda low, high: sample_times(low, high - low, s, dt)
        begin = start or 0.0
        return lambda low, high: begin + np.arange(low, high, dtype=np.float64) * step


def _at(file: Any, group: str, path: Path) -> Any:
    """Return the group of a file that holds the recording."""
    try:
        root = file[group]
    except (KeyError, OSError) as error:
        raise RecordingError(
            f"{path}: nothing at '{group}'{near(group, file)}; "
            f"there is: {', '.join(file) or 'nothing'}"
        ) from error
    if not isinstance(root, h5py.Group):
        raise RecordingError(f"{path}: '{group}' is no group")
    return root


def _members(group: Any) -> Iterator[tuple[str, Any]]:
    """Go through a group; links that lead nowhere are passed over."""
    for name in group:
        try:
            yield name, group[name]
        except (KeyError, OSError):
            continue


def _plain(value: Any) -> Any:
    """Return an attribute as a Python value."""
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value
