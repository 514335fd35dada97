"""Spikes of files of Neurodata Without Borders: units of NWB 2, and trains of NWB 1.

The layouts are those of the NWB schema, https://nwb-schema.readthedocs.io. They are read by h5py:
pynwb needs the package of each extension that a file uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, near, quoted
from .hdf5_files import open_hdf5, reading

Column = NDArray[Any]

ELECTRODES = "general/extracellular_ephys/electrodes"
"""Table of electrodes."""


@dataclass(frozen=True, eq=False)
class NWBUnits:
    """The units of one file or of several ones.

    Attributes
    ----------
    id : (n,) int64
    begin : (n + 1,) int64
        The spikes of unit i are ``time[begin[i]:begin[i + 1]]``.
    time : (m,) float64
        s.
    columns : dict of str to (n,) array
        Columns of the table, and those of the electrode that a unit was seen best on.
    intervals : list of dict
        The tables of intervals of each file: name -> column -> (k,) array.
    file : (n,) int64
        Number of the file of each unit.
    """

    id: NDArray[np.int64]
    begin: NDArray[np.int64]
    time: NDArray[np.float64]
    columns: dict[str, Column]
    intervals: list[dict[str, dict[str, Column]]]
    file: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.id)

    def train(self, row: int) -> NDArray[np.float64]:
        """Return the spike times of a row, s."""
        return self.time[self.begin[row] : self.begin[row + 1]]


def read_units(path: Path) -> NWBUnits:
    """Return the units of a file of NWB 2.

    Raises
    ------
    InputError
        If the file cannot be read, or has no units with spike times.
    """
    with open_hdf5(path, InputError, linked=True) as file, reading(path, InputError):
        table = file.get("units")
        if not isinstance(table, h5py.Group) or "spike_times" not in table:
            raise InputError(f"{path}: no NWB file with units: it has no 'units/spike_times'")
        time = _numbers(path, table, "spike_times", "f")
        ends = _numbers(path, table, "spike_times_index", "iu").astype(np.int64)
        begin = np.concatenate([[0], ends])
        if (np.diff(begin) < 0).any() or begin[-1] != len(time):
            say = f"must ascend to {len(time):,}, the number of spike times"
            raise InputError(f"{path}: 'units/spike_times_index' {say}")
        if not np.isfinite(time).all():
            raise InputError(f"{path}: 'units/spike_times' must be finite")
        columns = _columns(table, len(ends))
        number = columns.pop("id", np.arange(len(ends))).astype(np.int64)
        columns = _of_electrodes(file, table, columns, len(ends)) | columns
        found = file.get("intervals")
        groups = {} if found is None else dict(found.items())
        intervals = {name: _columns(one) for name, one in groups.items()}
        return NWBUnits(number, begin, time, columns, [intervals], np.zeros(len(ends), np.int64))


def joined_units(parts: list[NWBUnits]) -> NWBUnits:
    """Return the units of several files, one file after the other."""
    if len(parts) == 1:
        return parts[0]
    names = set.intersection(*({*part.columns} for part in parts))
    starts = np.cumsum([0, *(len(part.time) for part in parts)])
    begin = [part.begin[:-1] + start for part, start in zip(parts, starts, strict=False)]
    return NWBUnits(
        np.concatenate([part.id for part in parts]),
        np.concatenate([*begin, starts[-1:]]),
        np.concatenate([part.time for part in parts]),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in sorted(names)},
        [part.intervals[0] for part in parts],
        np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
    )


def read_trial(path: Path, trial: Any) -> dict[int, NDArray[np.float64]] | None:
    """Return the trains of a trial of a file of NWB 1, by node id, in s; None for other files.

    Their times are in ms.
    """
    with open_hdf5(path, InputError) as file, reading(path, InputError):
        root = file.get("processing")
        trials = {} if root is None else {k: v for k, v in root.items() if "spike_train" in v}
        if not trials:
            return None
        if trial is None and len(trials) == 1:
            trial = next(iter(trials))
        if not isinstance(trial, str) or trial not in trials:
            say = "name one by 'trial'" if trial is None else f"no trial {quoted(str(trial))}"
            raise InputError(
                f"{path}: {say}{near(str(trial), trials)}; there are {', '.join(trials)}"
            )
        out = {}
        for name, train in trials[trial]["spike_train"].items():
            if not name.isdecimal():
                raise InputError(f"{path}: {quoted(train.name)} is not named by a node id")
            out[int(name)] = _numbers(path, train, "data", "fiu") / 1e3
        return out


def _numbers(path: Path, table: h5py.Group, name: str, kinds: str) -> NDArray[np.float64]:
    found = table.get(name)
    where = f"{path}: '{table.name}/{name}'"
    if not isinstance(found, h5py.Dataset) or found.ndim != 1:
        raise InputError(f"{where} is missing, or is not a column")
    if found.dtype.kind not in kinds:
        raise InputError(f"{where} must hold numbers (got {found.dtype})")
    return np.asarray(found[()], np.float64)


def _columns(table: Mapping[str, Any], count: int | None = None) -> dict[str, Column]:
    """Return the columns of a table that have a number or a text for each row."""
    out = {}
    for name, data in table.items():
        ragged = f"{name}_index" in table or name.endswith("_index")
        if ragged or not isinstance(data, h5py.Dataset) or data.ndim != 1:
            continue
        if count is not None and len(data) != count:
            continue
        if h5py.check_string_dtype(data.dtype):
            out[name] = np.array(data.asstr(errors="replace")[()], dtype=np.str_)
        elif data.dtype.kind in "fiub":
            out[name] = data[()]
        elif h5py.check_enum_dtype(data.dtype):
            out[name] = data[()].astype(bool)
    return out


def _of_electrodes(
    file: h5py.File, table: h5py.Group, columns: dict[str, Column], count: int
) -> dict[str, Column]:
    """Return the columns of the electrode of each unit: its peak channel, or its first one."""
    found = file.get(ELECTRODES)
    if not isinstance(found, h5py.Group):
        return {}
    electrodes = _columns(found)
    ids = electrodes.pop("id", np.empty(0))
    if "peak_channel_id" in columns and len(ids):
        order = np.argsort(ids)
        at = np.searchsorted(ids[order], columns["peak_channel_id"])
        rows = order[np.minimum(at, len(ids) - 1)]
        there = ids[rows] == columns["peak_channel_id"]
    elif "electrodes" in table and "electrodes_index" in table:
        ends = table["electrodes_index"][()].astype(np.int64)
        first, chosen = np.concatenate([[0], ends])[:count], table["electrodes"][()]
        there = np.diff(np.concatenate([[0], ends])) > 0
        rows = np.append(chosen, 0)[np.minimum(first, len(chosen))].astype(np.int64)
        there &= (rows >= 0) & (rows < len(ids))
    else:
        return {}
    rows = np.where(there, rows, 0)
    return {
        name: np.where(there, column[rows], "" if column.dtype.kind == "U" else np.nan)
        for name, column in electrodes.items()
        if len(column) == len(ids)
    }
