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
        sets at the top level are ignored. A recording can be replayed, also that of a killed run.
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
        self._file = opened(self.filename)
        try:
            groups = {v: g for v, g in self._file.items() if isinstance(g, h5py.Group)}
            inputs = {v: self._read(v, g, preload) for v, g in groups.items()}
            if not inputs:
                raise InputError(f"{filename}: no group '<variable>' with 'uids' and 'data'")
            self._rows = [v for v, (_, data) in inputs.items() if not isinstance(data, tuple)]
            self._dt, self._interval = _sampling(self._file)
            super().__init__(inputs, mode, name=str(filename))
        except BaseException:
            self._file.close()
            raise
        if preload:
            self._file.close()

    def _read(self, variable: str, group: Any, preload: bool) -> tuple[list[str], Any]:
        where = f"{self.filename}: '{variable}"
        missing = [name for name in ("uids", "data") if name not in group]
        if missing:
            raise InputError(f"{where}/{missing[0]}' is missing")
        try:
            uids = uid_list(np.asarray(group["uids"][()]).reshape(-1).tolist())
        except UnicodeDecodeError:
            raise InputError(f"{where}/uids' is not UTF-8") from None
        except (TypeError, OSError) as error:
            raise InputError(f"{where}/uids' cannot be read ({error})") from None
        data = group["data"]
        try:
            if not hasattr(data, "keys"):
                valid = _valid(group, "valid_rows", len(data) if data.shape else 0)
                return uids, data[:valid] if preload or valid is not None else data
            missing = [name for name in ("time", "index") if name not in data]
            if missing:
                raise InputError(f"{where}/data/{missing[0]}' is missing")
            valid = _valid(group, "valid_events", len(data["time"]))
            return uids, (data["time"][:valid], data["index"][:valid])
        except (TypeError, ValueError, OSError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{where}/data' cannot be read ({error})") from None

    def open(self, dt: float, dtype: np.dtype) -> None:
        if not self._preload and not self._file:  # another LPU has closed it
            FileInput.__init__(self, self.filename, self.mode)
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


def opened(filename: Path) -> h5py.File:
    """Return an HDF5 file opened for reading."""
    try:
        return h5py.File(filename, "r")
    except FileNotFoundError:
        raise InputError(f"{filename}: no such file") from None
    except OSError as error:
        raise InputError(f"{filename}: cannot be read as HDF5 ({error})") from None


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
    import h5py

    layout: InputFile | None = None
    try:
        with h5py.File(path, "r") as file:
            if not any(isinstance(item, h5py.Group) for item in file.values()):
                layout = next((one for one in adapters("input file") if one.reads(file)), None)
    except OSError:
        pass  # FileInput says what is wrong
    return FileInput(path, mode) if layout is None else layout.make(path, circuit, mode)
