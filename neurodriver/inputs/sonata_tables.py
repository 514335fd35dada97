"""Text tables of a SONATA simulation: spikes, currents, and which unit a node fires."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, quoted
from .sonata import Spikes

Times = NDArray[np.float64]


def read_csv_spikes(path: Path, populations: str | list[str]) -> list[Spikes]:
    """Return the spikes of populations in a table with times in ms, as `read_spikes` does."""
    wanted = [populations] if isinstance(populations, str) else populations
    rows = read_table(path, ("timestamps", "node_ids"))
    try:
        time = np.array([float(row["timestamps"]) for row in rows]) / 1e3
        node = np.array([int(row["node_ids"]) for row in rows], np.int64)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{path}: times and node ids must be numbers ({error})") from None
    names = np.array([row.get("population") or wanted[0] for row in rows])
    return [(name, time[names == name], node[names == name]) for name in wanted]


def read_csv_currents(path: Path, entry: dict[str, Any]) -> tuple[Times, Times]:
    """Return times in s and currents of a table."""
    columns = [
        str(entry.get("timestamps_column", "timestamps")),
        str(entry.get("amplitudes_column", "amps")),
    ]
    rows = read_table(path, columns, entry.get("separator"))
    try:
        time, value = np.array([[float(row[name]) for name in columns] for row in rows]).T
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: times and currents must be numbers ({error})") from None
    if (np.diff(time) <= 0).any() or not np.isfinite([time, value]).all():
        raise InputError(f"{path}: times must ascend, and all values must be finite")
    return time / 1e3, value


def read_table(path: Path, columns: Iterable[str], separator: Any = None) -> list[dict[str, str]]:
    """Return the rows of a table whose columns are separated by spaces or commas."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    mark = separator or ("," if lines and "," in lines[0] else " ")
    if not isinstance(mark, str) or len(mark) != 1:
        raise InputError(f"{path}: 'separator' must be one character (got {mark!r:.60})")
    rows = [*csv.DictReader(lines, delimiter=mark, skipinitialspace=True)]
    for name in columns:
        if not rows or name not in rows[0]:
            raise InputError(f"{path}: has no rows with a column {quoted(name)}")
    for line, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise InputError(f"{path}: line {line} has not as many fields as the header")
    return rows
