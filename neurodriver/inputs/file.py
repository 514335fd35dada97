"""Values or events from an HDF5 file, and the protocol of files in other layouts."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import h5py
import numpy as np

from ..adapters import adapters
from ..errors import CircuitWarning, InputError
from ..io.hdf5_files import StoredData, open_hdf5, reading, unwritten
from .array import ArrayInput
from .base import Input, uid_list

if TYPE_CHECKING:
    from ..circuit.circuit import Circuit


class FileInput(ArrayInput):
    """Injects what an HDF5 file holds.

    Parameters
    ----------
    filename : str or Path
        For each variable a group with ``uids`` (bytes, UTF-8) and either ``data`` (steps, n), whose
        row r enters at step r, or events as ``data/time`` (s) and ``data/index`` (columns). Data
        sets at the top level are ignored; ``metadata``, a data set or a group, may have the
        attributes ``dt`` and ``sample_interval``. A recording can be replayed, also that of a
        killed run.
    mode : {0, 1}
        After the last row: 0 injects zero, 1 repeats the last row.
    preload : bool
        Read everything at once and close the file, instead of reading rows as the run goes.

    Notes
    -----
    Rows enter one a step, whatever dt was when they were recorded: a file of rows that were taken
    at another distance than dt gives a `CircuitWarning`. Events enter at their times at any dt.
    """

    def __init__(self, filename: str | Path, mode: int = 0, preload: bool = False) -> None:
        self.filename, self._preload = Path(filename), preload
        self._file = open_hdf5(self.filename, InputError, locking=None)
        try:
            with reading(self.filename, InputError):
                self._take(mode, preload)
        except BaseException:
            self._file.close()
            raise
        if preload:
            self._file.close()

    def _take(self, mode: int, preload: bool) -> None:
        groups = {v: g for v, g in self._file.items() if _holds_values(v, g)}
        inputs = {v: self._read(v, g, preload) for v, g in groups.items()}
        if not inputs:
            raise InputError(f"{self.filename}: no group '<variable>' with 'uids' and 'data'")
        self._rows = [v for v, (_, data) in inputs.items() if not isinstance(data, tuple)]
        self._dt, self._interval = _sampling(self._file)
        super().__init__(inputs, mode, name=str(self.filename))

    def _read(self, variable: str, group: Any, preload: bool) -> tuple[list[str], Any]:
        where = f"{self.filename}: '{variable}"
        missing = [name for name in ("uids", "data") if name not in group]
        if missing:
            raise InputError(f"{where}/{missing[0]}' is missing")
        with reading(f"{where}/uids'", InputError):
            try:
                uids = uid_list(np.asarray(group["uids"][()]).reshape(-1).tolist())
            except UnicodeDecodeError:
                raise InputError(f"{where}/uids' is not UTF-8") from None
        with reading(f"{where}/data'", InputError):
            data = group["data"]
            if not hasattr(data, "keys"):
                rows = StoredData(data, f"{where}/data'", InputError)
                if rows.shape is None:
                    raise InputError(f"{where}/data' holds no values")
                valid = _valid(group, "valid_rows", len(rows) if rows.shape else 0)
                if valid is None:
                    _warn_unwritten(data, f"{where}/data'")
                return uids, rows[:valid] if preload or valid is not None else rows
            missing = [name for name in ("time", "index") if name not in data]
            if missing:
                raise InputError(f"{where}/data/{missing[0]}' is missing")
            events = {}
            for part, kinds in (("time", "fiu"), ("index", "iu")):
                at = f"{where}/data/{part}'"
                events[part] = StoredData(data[part], at, InputError).demand(kinds, 1)
            valid = _valid(group, "valid_events", len(events["time"]))
            if valid is None:
                for part in events:
                    _warn_unwritten(data[part], f"{where}/data/{part}'")
            return uids, (events["time"][:valid], events["index"][:valid])

    def open(self, dt: float, dtype: np.dtype) -> None:
        if not self._preload and not self._file:  # another LPU has closed it
            self._used = False
            FileInput.__init__(self, self.filename, self.mode)
            self._used = True
        super().open(dt, dtype)
        if not self._rows or self._dt is None:
            return
        names, distance = ", ".join(f"'{v}'" for v in self._rows), self._dt * self._interval
        if not math.isclose(distance, dt, rel_tol=1e-6):
            warnings.warn(
                f"{self.filename}: the rows of {names} were taken every {distance:g} s "
                f"(dt {self._dt:g} s, sample_interval {self._interval}); here one enters at each "
                f"step of {dt:g} s. Record with sample_interval 1 and run with the same dt to "
                f"replay them",
                CircuitWarning,
                stacklevel=2,
            )

    def close(self) -> None:
        self._file.close()


def _holds_values(name: str, item: Any) -> bool:
    """Whether an item at the top level is a variable, and no metadata."""
    return isinstance(item, h5py.Group) and (name != "metadata" or "uids" in item)


def _warn_unwritten(data: Any, where: str) -> None:
    """Warn of values that were never written, and that HDF5 fills in."""
    if lost := unwritten(data):
        said = f"{lost}; the fill value, {data.fillvalue}, is taken for them"
        warnings.warn(f"{where}: {said}", CircuitWarning, stacklevel=4)


def _sampling(file: Any) -> tuple[float | None, int]:
    """Return dt and sample interval of a recording; a dt of None where the file has none."""
    attributes = file["metadata"].attrs if "metadata" in file else {}
    try:
        return float(attributes["dt"]), int(attributes.get("sample_interval", 1))
    except (KeyError, TypeError, ValueError):
        return None, 1


def _valid(group: Any, name: str, most: int) -> int | None:
    """Return how much of a recording is valid; None: all of it."""
    valid = int(group[name][()]) if name in group else most
    return valid if 0 <= valid < most else None


class InputFile(Protocol):
    """Another layout of HDF5 files; the table in ``neurodriver.adapters`` lists those known."""

    def reads(self, file: Any) -> bool:
        """Whether an open ``h5py.File`` has this layout."""

    def make(self, path: Path, circuit: Circuit, mode: int) -> Input:
        """Return what injects the file into a circuit; ``mode`` as for `FileInput`."""


def file_input(path: Path, circuit: Circuit, mode: int = 0) -> Input:
    """Return the input that an HDF5 file holds, in the layout of `FileInput` or another one."""
    layout: InputFile | None = None
    with open_hdf5(path, InputError, locking=None) as file, reading(path, InputError):
        if not any(isinstance(item, h5py.Group) for item in file.values()):
            layout = next((one for one in adapters("input file") if one.reads(file)), None)
    return FileInput(path, mode) if layout is None else layout.make(path, circuit, mode)
