"""Where a `Recording` reads from: the groups of an HDF5 file, or the arrays of a recorder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np

from ..errors import RecordingError, near, quoted
from ..io.hdf5_files import StoredData, open_hdf5, reading
from .variable import Times

ENDS = ("pre", "post")
"""Names of what holds the ends of synapses."""


class StoredVariable(Protocol):
    """A variable as a source holds it; only what is asked for is read."""

    @property
    def data(self) -> Any:
        """Rows (rows, n) that can be sliced; of events a mapping of ``time`` and ``index``."""

    @property
    def events(self) -> bool:
        """Whether it is stored as events."""

    @property
    def unit(self) -> str:
        """Unit of the values; empty if the source does not say."""

    @property
    def count(self) -> int | None:
        """Number of valid rows or events; None if all are valid."""

    @property
    def steps(self) -> int | None:
        """Steps that were searched for events; None if the source does not say."""

    @property
    def times(self) -> Times | None:
        """Function that gives the times of rows; None if the source holds none."""

    def uids(self) -> list[str]:
        """Return the component of each column."""

    def population(self) -> list[str] | None:
        """Return the population of each column, '' where it is in none; None without any."""

    def ends(self) -> tuple[list[str], list[str]] | None:
        """Return the source and the target of each column; None where columns are no synapses."""


class RecordingSource(Protocol):
    """What a `Recording` shows.

    Attributes
    ----------
    name : str
        What messages call it.
    path : Path or None
        The file, if it is one.
    attributes : mapping
        ``dt``, ``sample_interval``, ``start_time``, and where the recording comes from.
    """

    name: str
    path: Path | None
    attributes: Mapping[str, Any]
    variables: Sequence[str]

    @property
    def is_open(self) -> bool:
        """Whether values can be read."""

    @property
    def complete(self) -> bool:
        """False if the run was killed or still goes on."""

    def variable(self, name: str) -> StoredVariable:
        """Return one of ``variables``."""

    def close(self) -> None:
        """Release what the source holds."""


class FileVariable:
    """A group of an HDF5 file."""

    def __init__(self, group: Any, where: str) -> None:
        self._group, self._where = group, where

    def _reading(self, name: str) -> AbstractContextManager[None]:
        return reading(f"{self._where}/{name}'", RecordingError)

    @property
    def data(self) -> Any:
        """Data set of rows, or a mapping of those of events."""
        with self._reading("data"):
            held = self._group["data"]
            if isinstance(held, h5py.Dataset):
                return StoredData(held, f"{self._where}/data'", RecordingError).demand("fiub", 2)
            sets = {name: one for name, one in held.items() if isinstance(one, h5py.Dataset)}
            self._check_seconds(sets.get("time"), "data/time")
            return {
                name: StoredData(one, f"{self._where}/data/{name}'", RecordingError).demand(
                    "iu" if name == "index" else "fiu", 1
                )
                for name, one in sets.items()
                if name in ("time", "index")
            }

    @property
    def events(self) -> bool:
        with self._reading("data"):
            return isinstance(self._group["data"], h5py.Group)

    @property
    def unit(self) -> str:
        with self._reading("data"):
            return str(plain(self._group["data"].attrs.get("units", "")))

    @property
    def count(self) -> int | None:
        return self._number("valid_events" if self.events else "valid_rows")

    @property
    def steps(self) -> int | None:
        return self._number("valid_steps")

    def _number(self, name: str) -> int | None:
        with self._reading(name):
            return int(self._group[name][()]) if name in self._group else None

    @property
    def times(self) -> Times | None:
        with self._reading("time"):
            if "time" not in self._group:
                return None
            held = StoredData(self._group["time"], f"{self._where}/time'", RecordingError)
            held.demand("fiu", 1)
            self._check_seconds(self._group["time"], "time")
            rows, times = len(self._group["data"]), len(held)
            if times < rows:
                say = f"{times:,} times for {rows:,} rows"
                raise RecordingError(f"{self._where}/time' is damaged: {say}")
        return lambda low, high: np.asarray(held[low:high], np.float64)

    def _check_seconds(self, times: h5py.Dataset | None, name: str) -> None:
        """Raise RecordingError where times say that they are not in seconds."""
        unit = "s" if times is None else str(plain(times.attrs.get("units", "s")))
        if unit != "s":
            say = f"its attribute 'units' must be 's', got {quoted(unit)}"
            raise RecordingError(f"{self._where}/{name}' is damaged: {say}")

    def uids(self) -> list[str]:
        if "uids" not in self._group:
            raise RecordingError(f"{self._where}/uids' is missing")
        return self._texts("uids")

    def population(self) -> list[str] | None:
        return self._texts("population") if "population" in self._group else None

    def ends(self) -> tuple[list[str], list[str]] | None:
        pre, post = ENDS
        if pre not in self._group or post not in self._group:
            return None
        return self._texts(pre), self._texts(post)

    def _texts(self, name: str) -> list[str]:
        with self._reading(name):
            values = np.asarray(self._group[name][()])
            if values.ndim != 1:
                raise ValueError(f"a column is needed, got the shape {values.shape}")
            return [v.decode() if isinstance(v, bytes) else str(v) for v in values.tolist()]


class FileSource:
    """An HDF5 file, opened for reading.

    Parameters
    ----------
    group : str
        Where in the file the recording is; links to other files are followed.
    """

    def __init__(self, path: str | os.PathLike[str], group: str = "/") -> None:
        self.path: Path | None = Path(path)
        self.name = str(self.path)
        self.file: Any = open_hdf5(Path(path), RecordingError, linked=True)
        try:
            with reading(self.name, RecordingError):
                self.root = _at(self.file, group, Path(path))
                groups = {k: g for k, g in _members(self.root) if isinstance(g, h5py.Group)}
                self.variables: Sequence[str] = tuple(k for k, g in groups.items() if "data" in g)
                self.several = [k for k, g in groups.items() if "metadata" in g]
                metadata = self.root.get("metadata")
                attributes = {} if metadata is None else dict(metadata.attrs)
                self.attributes: Mapping[str, Any] = {k: plain(v) for k, v in attributes.items()}
        except BaseException:
            self.file.close()
            raise

    @property
    def is_open(self) -> bool:
        return bool(self.file)

    @property
    def complete(self) -> bool:
        with reading(self.name, RecordingError):
            group = self.root[self.variables[0]]
            counted = "valid_rows" in group or "valid_events" in group
            return not counted or bool(self.root["metadata"][()])

    def variable(self, name: str) -> FileVariable:
        where = f"{self.name}: '{name}"
        with reading(f"{where}'", RecordingError):
            return FileVariable(self.root[name], where)

    def close(self) -> None:
        """Close the file, and the one behind a link."""
        if self.file and self.root:
            self.root.file.close()
        self.file.close()


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
    if root.file.filename != file.filename:  # what a link leads to is looked through, too
        open_hdf5(Path(root.file.filename), RecordingError).close()
    return root


def _members(group: Any) -> Iterator[tuple[str, Any]]:
    """Go through a group; links that lead nowhere are passed over."""
    for name in group:
        try:
            yield name, group[name]
        except (KeyError, OSError):
            continue


def plain(value: Any) -> Any:
    """Return an attribute as a Python value."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.item() if isinstance(value, np.generic) else value
