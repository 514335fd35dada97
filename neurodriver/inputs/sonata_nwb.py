"""Spikes of NWB files for the virtual nodes of a SONATA simulation.

A file of a simulation says itself which node fires a unit. Recordings of an experiment do not;
their units are given to nodes by a table or by chance, as in the module ``ecephys_probe`` of BMTK.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, near, quoted
from ..io.nwb import NWBUnits, joined_units, read_trial, read_units
from ..io.sonata_config import is_number
from ..io.sonata_node_sets import Mask, NodeTable
from .sonata import Spikes

PROBE = "ecephys_probe"
"""Module of BMTK whose units are given to nodes."""

KEYS = ("input_file", "units", "mapping", "interval", "interval_offset", "missing_ids")
"""What an entry of this module may say besides its node set."""

MAPPINGS = ("units_map", "sample", "sample_without_replacement", "sample_with_replacement")
"""How units are given to nodes."""

MISSING = ("fail", "warn", "ignore")
"""What may be said of nodes without a unit."""

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

Table = Callable[[Path, Sequence[str]], list[dict[str, str]]]
"""Reads the rows of a text table that must have some columns."""


def read_nwb_spikes(
    path: Path, populations: str | list[str], trial: str | None = None
) -> list[Spikes]:
    """Return the spikes of populations, as `read_spikes` does.

    Parameters
    ----------
    path : Path
        NWB 2: units with a column ``uid``, ``<population>/<node id>``, as ``to_nwb`` writes it, or
        with columns ``node_id`` and ``population``. NWB 1, or units without these: one population;
        the id of a unit is its node id.
    trial : str, optional
        Trial of a file of NWB 1.

    Raises
    ------
    InputError
        If the file cannot be read, or does not say of which nodes its spikes are.
    """
    wanted = [populations] if isinstance(populations, str) else populations
    trains = read_trial(path, trial)
    if trains is not None:
        node = np.repeat([*trains], [len(one) for one in trains.values()]).astype(np.int64)
        return _of_one(path, wanted, np.concatenate([*trains.values(), []]), node)
    units = read_units(path)
    counts = np.diff(units.begin)
    if "uid" in units.columns and "node_id" not in units.columns:
        name, _, number = np.strings.rpartition(units.columns["uid"].astype(np.str_), "/")
        good = np.strings.isdecimal(number) & (name != "")
        if not good.all():
            got = quoted(str(units.columns["uid"][~good][0]))
            raise InputError(f"{path}: the uid {got} is not '<population>/<node id>'")
        number = _node_ids(path, number)
    else:
        number = _node_ids(path, units.columns.get("node_id", units.id))
        if "population" not in units.columns:
            return _of_one(path, wanted, units.time, np.repeat(number, counts))
        name = units.columns["population"]
    number, name = np.repeat(number, counts), np.repeat(name, counts)
    return [(one, units.time[name == one], number[name == one]) for one in wanted]


def _node_ids(path: Path, column: NDArray[Any]) -> NDArray[np.int64]:
    """Return a column as whole numbers."""
    try:
        if column.dtype.kind == "f" and not (np.isfinite(column) & (column % 1 == 0)).all():
            raise ValueError("not all are whole")
        return column.astype(np.int64)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path}: node ids must be whole numbers ({error})") from None


def _of_one(
    path: Path, wanted: list[str], time: NDArray[np.float64], node: NDArray[np.int64]
) -> list[Spikes]:
    if len(wanted) > 1:
        say = "the file does not say of which population its units are"
        raise InputError(f"{path}: {say}; choose one by 'node_set' ({', '.join(wanted)})")
    return [(wanted[0], time, node)]


def probe_spikes(
    entry: Mapping[str, Any],
    place: Callable[[Any], Path],
    table: Table,
    nodes: Sequence[tuple[NodeTable, Mask]],
    warn: Callable[[str], None],
) -> list[Spikes]:
    """Return the spikes of units for nodes, one triple for each population.

    Parameters
    ----------
    entry : mapping
        The entry of the configuration.
    place : callable
        Turns a path of the configuration into one of this machine.
    table : callable
        Reads the rows of a text table.
    nodes : sequence of (NodeTable, (n,) bool)
        The nodes that get spikes.
    warn : callable
        Takes a warning.

    Raises
    ------
    InputError
        With the first thing that is wrong.
    """
    mapping = str(entry.get("mapping"))
    if mapping not in MAPPINGS:
        hint = f"{near(mapping, MAPPINGS)}; there are {', '.join(MAPPINGS)}"
        raise InputError(f"'mapping' {quoted(mapping)} is not known{hint}")
    files = entry.get("input_file")
    paths = [place(one) for one in (files if isinstance(files, list) else [files])]
    units = joined_units([read_units(path) for path in paths])
    ids = [t.columns["node_id"][mask] for t, mask in nodes]
    count = sum(map(len, ids))
    windows = _windows(entry.get("interval"), units)
    if mapping == "units_map":
        if len(ids) > 1:
            raise InputError("units_map needs a node set of one population")
        row, own = _mapped(table, place(entry.get("units")), units, ids[0])
        windows = windows if own is None else own
    else:
        row = _sampled(entry, units, count, mapping.endswith("with_replacement"))
    missing = entry.get("missing_ids", MISSING[0])
    if missing not in MISSING:
        want = f"one of {', '.join(MISSING)}"
        raise InputError(f"'missing_ids' must be {want} (got {missing!r:.40})")
    if lost := int((row < 0).sum()):
        _tell(missing, f"{lost:,} of {count:,} nodes have no unit", warn)
    offset = _offset(entry.get("interval_offset", 0.0))
    out, first = [], 0
    for (one, _), numbers in zip(nodes, ids, strict=True):
        mine = row[first : first + len(numbers)]
        trains = [_within(units, r, windows, offset) for r in mine]
        node = np.repeat(numbers, [len(train) for train in trains])
        out.append((one.name, np.concatenate([*trains, []]), node))
        first += len(numbers)
    return out


def _offset(given: Any) -> float:
    """Return when a train begins, s."""
    if not is_number(given):
        raise InputError(f"'interval_offset' must be a time in ms (got {given!r:.60})")
    return float(given) / 1e3


def _within(
    units: NWBUnits, row: int, windows: NDArray[np.float64] | None, offset: float
) -> NDArray[np.float64]:
    """Return the train of a unit in its window, from the beginning of the run on."""
    if row < 0:
        return np.empty(0)
    train = units.train(row)
    if windows is None:
        return train
    begin, end = windows[row].tolist()
    inside = train[(begin <= train) & (train <= end)]
    return np.asarray(inside - begin + offset)


def _windows(given: Any, units: NWBUnits) -> NDArray[np.float64] | None:
    """Return begin and end for each unit, s; None for all spikes."""
    if given is None or given == []:
        return None
    several = isinstance(given, list) and isinstance(given[0], list | dict)
    each = given if several else [given] * len(units.intervals)
    if len(each) != len(units.intervals):
        say = f"{len(each)} intervals for {len(units.intervals)} files"
        raise InputError(f"'interval': one is needed for each file (got {say})")
    bounds = [_window(one, tables) for one, tables in zip(each, units.intervals, strict=True)]
    return np.array(bounds)[units.file]


def _window(one: Any, tables: Mapping[str, Mapping[str, Any]]) -> tuple[float, float]:
    """Return an interval in s: two times in ms, or rows of a table of intervals."""
    if not isinstance(one, dict):
        good = isinstance(one, list) and len(one) == 2
        if not good or not all(map(is_number, one)) or not one[0] <= one[1]:
            want = "two times in ms that ascend, or an object with 'interval_name'"
            raise InputError(f"'interval' must be {want} (got {one!r:.60})")
        return one[0] / 1e3, one[1] / 1e3
    rules = dict(one)
    name, number = rules.pop("interval_name", None), rules.pop("interval_index", "all")
    found = tables.get(str(name), tables.get(f"{name}_presentations"))
    if found is None:
        hint = f"{near(str(name), tables)}; there are {', '.join(tables) or 'none'}"
        raise InputError(f"'interval': no table of intervals {quoted(str(name))}{hint}")
    times = [found.get(key) for key in ("start_time", "stop_time")]
    if any(one is None or one.dtype.kind not in "fiu" for one in times):
        say = "has no columns 'start_time' and 'stop_time' of numbers"
        raise InputError(f"'interval': the table {quoted(str(name))} {say}")
    rows = np.flatnonzero(_matching(found, rules, len(found["start_time"])))
    if not len(rows):
        raise InputError(f"'interval': no row of {quoted(name)} is like {rules!r:.80}")
    if number != "all":
        whole = isinstance(number, int) and not isinstance(number, bool)
        if not whole or not -len(rows) <= number < len(rows):
            say = f"must be 'all' or the number of one of {len(rows)} rows (got {number!r:.40})"
            raise InputError(f"'interval_index' {say}")
        rows = rows[[number]]
    return float(found["start_time"][rows].min()), float(found["stop_time"][rows].max())


def _matching(columns: Mapping[str, Any], rules: Mapping[str, Any], count: int) -> Mask:
    """Return which rows of a table have some values."""
    mask = np.ones(count, dtype=bool)
    for key, wanted in rules.items():
        say = wanted if isinstance(wanted, dict) else {}
        name = str(say.get("column", key))
        compare = COMPARISONS.get(str(say.get("operation", "==")))
        if name not in columns:
            raise InputError(f"no column {quoted(name)}{near(name, columns)}")
        if compare is None or (say and "value" not in say):
            want = f"'value' and 'operation', one of {', '.join(COMPARISONS)}"
            raise InputError(f"{quoted(key)}: an object needs {want} (got {wanted!r:.60})")
        values, column = say["value"] if say else wanted, columns[name]
        kind = str if column.dtype.kind == "U" else (int, float)
        each = values if isinstance(values, list) else [values]
        if len(column) != count or not each or not all(isinstance(one, kind) for one in each):
            want = "a text" if kind is str else "a number"
            say_so = f"is compared with {want} for each row, or a list of them"
            raise InputError(f"the column {quoted(name)} {say_so} (got {values!r:.60})")
        mask &= np.isin(column, values) if each is values else compare(column, values)
    return mask


def _mapped(
    table: Table, path: Path, units: NWBUnits, ids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return the row of the unit of each node, -1 for none, and the windows that a table has."""
    rows = table(path, ("node_ids", "unit_ids"))
    try:
        pairs = {int(line["node_ids"]): int(line["unit_ids"]) for line in rows}
        timed = "start_times" in rows[0] and "stop_times" in rows[0]
        spans = {
            int(line["unit_ids"]): (float(line["start_times"]), float(line["stop_times"]))
            for line in (rows if timed else [])
        }
    except ValueError as error:
        raise InputError(f"{path}: ids and times must be numbers ({error})") from None
    if len(np.unique(units.id)) < len(units):
        raise InputError("units_map: the files have units of the same id")
    place = {unit: row for row, unit in enumerate(units.id.tolist())}
    lost = [unit for unit in pairs.values() if unit not in place]
    if lost:
        raise InputError(f"{path}: there is no unit {lost[0]}")
    row = np.array([place.get(pairs.get(node, -1), -1) for node in ids.tolist()], np.int64)
    if not timed:
        return row, None
    every = [spans.get(unit, (-np.inf, np.inf)) for unit in units.id.tolist()]
    return row, np.array(every) / 1e3


def _sampled(
    entry: Mapping[str, Any], units: NWBUnits, count: int, again: bool
) -> NDArray[np.int64]:
    """Return the row of a unit for each node, drawn among those that fit; -1 if there is none."""
    rules = entry.get("units") or {}
    if not isinstance(rules, dict):
        raise InputError(f"'units' must be an object of columns and values (got {rules!r:.60})")
    fits = np.flatnonzero(_matching(units.columns, rules, len(units)))
    if not len(fits):
        raise InputError(f"no unit is like {rules!r:.80}")
    seed = entry.get("random_seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"'random_seed' must be a whole number from 0 on (got {seed!r:.40})")
    draws = np.random.Generator(np.random.Philox(seed))
    row = np.full(count, -1, np.int64)
    taken = count if again else min(count, len(fits))
    row[:taken] = draws.choice(fits, taken, replace=again)
    return row


def _tell(missing: str, say: str, warn: Callable[[str], None]) -> None:
    """Refuse nodes without a unit, or warn of them, as the entry says."""
    if missing == "fail":
        raise InputError(f'{say}; give them one, or say "missing_ids": "ignore"')
    if missing == "warn":
        warn(say)
