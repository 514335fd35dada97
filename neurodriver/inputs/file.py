"""Values or events from an HDF5 file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .array import ArrayInput


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
    """

    def __init__(self, filename: str | Path, mode: int = 0) -> None:
        import h5py

        self.filename = Path(filename)
        try:
            self._file = h5py.File(self.filename, "r")
        except FileNotFoundError:
            raise InputError(f"{filename}: no such file") from None
        except OSError as error:
            raise InputError(f"{filename}: cannot be read as HDF5 ({error})") from None
        try:
            inputs = {v: self._read(v, g) for v, g in self._file.items() if hasattr(g, "keys")}
            if not inputs:
                raise InputError(f"{filename}: no group '<variable>' with 'uids' and 'data'")
            super().__init__(inputs, mode, name=str(filename))
        except BaseException:
            self._file.close()
            raise

    def _read(self, variable: str, group: Any) -> tuple[list[str], Any]:
        missing = [name for name in ("uids", "data") if name not in group]
        if missing:
            raise InputError(f"{self.filename}: '{variable}/{missing[0]}' is missing")
        raw = np.asarray(group["uids"][()]).reshape(-1).tolist()
        try:
            uids = [u.decode() if isinstance(u, bytes) else str(u) for u in raw]
        except UnicodeDecodeError:
            raise InputError(f"{self.filename}: '{variable}/uids' is not UTF-8") from None
        data = group["data"]
        if not hasattr(data, "keys"):
            valid = _valid(group, "valid_rows", len(data) if data.shape else 0)
            return uids, data if valid is None else data[:valid]
        missing = [name for name in ("time", "index") if name not in data]
        if missing:
            raise InputError(f"{self.filename}: '{variable}/data/{missing[0]}' is missing")
        valid = _valid(group, "valid_events", len(data["time"]))
        return uids, (data["time"][:valid], data["index"][:valid])

    def close(self) -> None:
        self._file.close()


def _valid(group: Any, name: str, most: int) -> int | None:
    """Return how much of a recording is valid; None: all of it."""
    valid = int(group[name][()]) if name in group else most
    return valid if 0 <= valid < most else None
