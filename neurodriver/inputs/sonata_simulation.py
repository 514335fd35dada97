"""A simulation that a SONATA configuration describes: circuit, inputs, time step and duration."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import checked_arguments, file_path, texts, truth
from ..circuit.circuit import Circuit
from ..errors import CircuitError, Faults, InputError, UnitError, near, quoted
from ..io.sonata import read_sonata
from ..io.sonata_config import ConfigPaths, read_config, read_json
from ..io.sonata_node_sets import VIRTUAL, Mask, NodeSets, NodeTable, node_tables
from ..model.kinds import SPIKES
from .array import ArrayInput
from .base import Chunk, Input
from .sonata import read_spikes
from .units import unit_into

Times = NDArray[np.float64]

CURRENT = "I"
"""Variable of an injected current."""

HAIR = 1e-6
"""Part of a step by which a time may lie after the step that it belongs to."""

UNIT = "pA"
"""Unit of a current of a point neuron in the files, which is that of NEST."""


@dataclass(frozen=True)
class SonataSimulation:
    """What a configuration describes.

    Attributes
    ----------
    circuit : Circuit
    inputs : list of Input
        In the order of the file.
    dt, duration : float
        s.
    """

    circuit: Circuit
    inputs: list[Input]
    dt: float
    duration: float


class CurrentClamp(Input):
    """Injects a current that is constant between given times.

    Parameters
    ----------
    name : str
    uids : sequence of str
    time : (m,) float
        s, ascending; the current is 0 before the first one.
    value : (m,) float
        From each time on.
    """

    def __init__(self, name: str, uids: list[str], time: Times, value: Times) -> None:
        super().__init__([(CURRENT, uids)])
        self.name, self.time, self.value = name, time, value

    def chunk(self, number: int, first: int, steps: int) -> Chunk:
        moments = (np.arange(first, first + steps) + HAIR) * self.dt
        piece = np.searchsorted(self.time, moments, side="right") - 1
        low, high = int(piece.min()), int(piece.max())
        known = self.value[max(low, 0) : high + 1].astype(self.dtype)
        table = np.repeat(known[:, None], len(self.targets[number][1]), axis=1)
        rows = np.where(piece < 0, -1, piece - max(low, 0))
        return Chunk(table, rows.astype(np.int32))


@checked_arguments(config=file_path, ignore=texts, strict=truth)
def read_sonata_simulation(
    config: str | Path,
    models: Mapping[str, Any] | None = None,
    *,
    ignore: Iterable[str] = (),
    own: Any = (),
    strict: bool = False,
) -> SonataSimulation:
    """Read the simulation that a ``simulation_config.json`` describes.

    Parameters
    ----------
    config : str or Path
        Of its sections ``network``, ``run``, ``inputs`` and the node sets are read.
    models, ignore, own, strict
        As of ``Circuit.from_sonata``.

    Returns
    -------
    SonataSimulation

    Raises
    ------
    CircuitError
        With all faults of the files: inputs of other kinds than spikes and current clamps, node
        sets that are not there, missing values.

    Examples
    --------
    >>> it = nd.read_sonata_simulation("simulation_config.json")  # doctest: +SKIP
    >>> with nd.LPU(it.circuit, it.dt, it.inputs) as lpu:  # doctest: +SKIP
    ...     lpu.run(duration=it.duration)
    """
    path = Path(config)
    said = read_json(path)
    circuit = read_sonata(path, models, ignore=ignore, own=own, strict=strict)
    faults = Faults(str(path))
    dt, duration = _times(said.get("run"), faults)
    reader = _InputReader(path, said, circuit, faults)
    inputs = said.get("inputs") or {}
    if not isinstance(inputs, dict):
        faults.add(f"'inputs' must be an object (got {inputs!r:.60})")
        inputs = {}
    made = [one for name, entry in inputs.items() for one in reader.inputs(name, entry)]
    faults.finish(strict)
    return SonataSimulation(circuit, made, dt, duration)


def _times(run: Any, faults: Faults) -> tuple[float, float]:
    """Return time step and duration in s, from the section ``run``."""
    said = run if isinstance(run, dict) else {}
    end = "tstop" if "tstop" in said else "duration" if "duration" in said else "tstop"
    out = []
    for name in ("dt", end):
        value: Any = said.get(name)
        good = isinstance(value, int | float) and 0 < value < math.inf
        if not good:
            faults.add(f"run.{name}: must be a time in ms above 0 (got {value!r:.60})")
        out.append(value / 1e3 if good else math.nan)
    if said.get("tstart", 0) != 0:
        faults.add(f"run.tstart: must be 0 (got {said['tstart']!r:.60})")
    return out[0], out[1]


MEANT = frozenset({"input_type", "module", "node_set", "enabled", "name"})
"""What every input may say."""

VIRTUAL_NODES = {"model_type": VIRTUAL}
"""Node set of spikes that name none."""

SPIKE_FILES = ("sonata", "h5", "hdf5", "csv")
"""Modules of spikes that are read."""


class _InputReader:
    """Makes the inputs of a configuration."""

    def __init__(self, path: Path, said: dict[str, Any], circuit: Circuit, faults: Faults) -> None:
        self.circuit, self.faults = circuit, faults
        self.paths = ConfigPaths(path, said, faults)
        network = read_config(path)
        self.tables = {table.name: table for table in node_tables(network, faults)}
        sets: dict[str, Any] = {}
        file = said.get("node_sets_file")
        own = None if file is None else self.paths.place(file, "'node_sets_file'")
        for one in dict.fromkeys((network.node_sets, own)):
            sets |= {} if one is None else read_json(one)
        sets |= said.get("node_sets") or {}
        self.sets = NodeSets([*self.tables.values()], sets, faults)

    def inputs(self, name: str, entry: Any) -> list[Input]:
        """Return the inputs of an entry: one, or none where it is switched off or at fault."""
        where = f"inputs.{name}"
        if not isinstance(entry, dict):
            self.faults.add(f"{where}: must be an object (got {entry!r:.60})")
            return []
        if not entry.get("enabled", True):
            return []
        kind, module = str(entry.get("input_type")), str(entry.get("module"))
        say = f"input_type {quoted(kind)}, module {quoted(module)}"
        try:
            if kind == "spikes" and module.lower() in SPIKE_FILES:
                return self._spikes(where, name, entry, module.lower())
            if module.lower() == "iclamp" and kind in ("current_clamp", "csv", "file"):
                return self._clamp(where, name, entry, kind)
        except (InputError, CircuitError, UnitError) as error:
            self.faults.add(f"{where}: {error}")
            return []
        known = f"spikes of {', '.join(SPIKE_FILES)}; IClamp of current_clamp, csv, file"
        self.faults.add(f"{where}: {say}: not known here; known are {known}")
        return []

    def _known(self, where: str, entry: dict[str, Any], names: Iterable[str]) -> None:
        """Warn of keys that mean nothing."""
        meant = {*MEANT, *names}
        for key in entry:
            if key not in meant:
                self.faults.warn(f"{where}: {quoted(key)} is not used{near(key, meant)}")

    def _nodes(self, where: str, given: Any, virtual: bool) -> Iterator[tuple[NodeTable, Mask]]:
        """Yield the virtual nodes of a set, or the others."""
        found = self.sets.find(given, where)
        any_node = False
        for name, mask in found.items():
            table = self.tables[name]
            mine = mask & ((table.columns["model_type"] == VIRTUAL) == virtual)
            if mine.any():
                any_node = True
                yield table, mine
        if not any_node and not self.faults.count:
            want = (
                "virtual nodes, which fire the spikes" if virtual else "nodes that are not virtual"
            )
            self.faults.add(f"{where}: the node set {given!r:.60} must have {want}")

    def _spikes(self, where: str, name: str, entry: dict[str, Any], module: str) -> list[Input]:
        """Return spikes of a file, for virtual nodes."""
        self._known(where, entry, ("input_file",))
        file = self.paths.place(entry.get("input_file"), f"{where}.input_file")
        nodes = [*self._nodes(where, entry.get("node_set", VIRTUAL_NODES), True)]
        if self.faults.count:
            return []
        wanted = [table.name for table, _ in nodes]
        read = read_csv_spikes if module == "csv" else read_spikes
        spikes = read(file, wanted[0] if len(wanted) == 1 else wanted)
        times, uids = [], []
        for (table, mask), (_, time, node) in zip(nodes, spikes, strict=True):
            order = np.argsort(table.columns["node_id"], kind="stable")
            ids = table.columns["node_id"][order]
            at = np.minimum(np.searchsorted(ids, node), len(ids) - 1)
            there = ids[at] == node
            if not there.all():
                lost = node[~there][0]
                say = f"the population {quoted(table.name)} has no node {lost}"
                self.faults.add(f"{where}: {file}: {say}")
            rows = order[at]
            taken = there & mask[rows]
            times.append(time[taken])
            uids.append(table.columns["uid"][rows[taken]])
        time = np.concatenate(times)
        if not len(time):
            raise InputError(f"{file}: no spikes of these nodes")
        every, index = np.unique(np.concatenate(uids), return_inverse=True)
        order = np.argsort(time, kind="stable")
        events = time[order], index.ravel()[order]
        return [ArrayInput({SPIKES: (every.tolist(), events)}, name=name)]

    def _clamp(self, where: str, name: str, entry: dict[str, Any], kind: str) -> list[Input]:
        """Return a current for nodes that are not virtual."""
        nodes = [*self._nodes(where, entry.get("node_set", "all"), False)]
        if kind == "current_clamp":
            self._known(where, entry, ("amp", "delay", "duration"))
            time, value = self._pulses(where, entry)
        else:
            names = ("file", "separator", "timestamps_column", "amplitudes_column")
            self._known(where, entry, names)
            file = self.paths.place(entry.get("file"), f"{where}.file")
            time, value = _csv_currents(file, entry)
        if self.faults.count:
            return []
        uids = np.concatenate([table.columns["uid"][mask] for table, mask in nodes]).tolist()
        templates = {
            text
            for table, mask in nodes
            for text in np.unique(table.columns["model_template"][mask]).tolist()
        }
        unit = unit_into(self.circuit, CURRENT, uids, where)
        artificial = sorted(text for text in templates if text.startswith("nrn:"))
        if artificial or unit != UNIT:
            said = ", ".join(artificial) if artificial else f"in {unit}" if unit else "none"
            say = f"the nodes must take a current {CURRENT} in {UNIT} (got {said})"
            self.faults.add(f"{where}: {say}; choose other nodes by 'node_set'")
            return []
        return [CurrentClamp(name, uids, time, value)]

    def _pulses(self, where: str, entry: dict[str, Any]) -> tuple[Times, Times]:
        """Return when the current changes, s, and its values from then on."""
        columns = []
        for key in ("amp", "delay", "duration"):
            given = entry.get(key)
            values = given if isinstance(given, list) else [given]
            good = all(isinstance(v, int | float) and math.isfinite(v) for v in values)
            if not good or not values:
                want = "a number, or a list of numbers"
                self.faults.add(f"{where}.{key}: must be {want} (got {given!r:.60})")
                values = [0.0]
            columns.append(np.array(values, np.float64))
        amp, delay, duration = columns
        if not len(amp) == len(delay) == len(duration):
            say = f"{len(amp)}, {len(delay)} and {len(duration)} values"
            self.faults.add(f"{where}: amp, delay and duration differ in length ({say})")
        elif (np.diff(delay) <= 0).any() or (duration < 0).any() or (delay < 0).any():
            say = "delays must be at least 0 and ascend, and durations may not be below 0"
            self.faults.add(f"{where}: {say}")
        else:
            following = np.append(delay[1:], np.inf)
            pieces = [
                pair
                for start, value, stop, after in zip(
                    delay, amp, delay + duration, following, strict=True
                )
                for pair in ((start, value), *([(stop, 0.0)] if stop <= after else ()))
            ]
            time, value = np.array(pieces).T
            return time / 1e3, value
        return np.zeros(1), np.zeros(1)


def read_csv_spikes(path: Path, populations: str | list[str]) -> list[Any]:
    """Return the spikes of populations in a table with times in ms, as `read_spikes` does."""
    wanted = [populations] if isinstance(populations, str) else populations
    rows = _csv(path, ("timestamps", "node_ids"), None)
    try:
        time = np.array([float(row["timestamps"]) for row in rows]) / 1e3
        node = np.array([int(row["node_ids"]) for row in rows], np.int64)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{path}: times and node ids must be numbers ({error})") from None
    names = np.array([row.get("population") or wanted[0] for row in rows])
    return [(name, time[names == name], node[names == name]) for name in wanted]


def _csv_currents(path: Path, entry: dict[str, Any]) -> tuple[Times, Times]:
    """Return times in s and currents of a table."""
    columns = [
        str(entry.get("timestamps_column", "timestamps")),
        str(entry.get("amplitudes_column", "amps")),
    ]
    rows = _csv(path, columns, entry.get("separator"))
    try:
        time, value = np.array([[float(row[name]) for name in columns] for row in rows]).T
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: times and currents must be numbers ({error})") from None
    if (np.diff(time) <= 0).any() or not np.isfinite([time, value]).all():
        raise InputError(f"{path}: times must ascend, and all values must be finite")
    return time / 1e3, value


def _csv(path: Path, columns: Iterable[str], separator: Any) -> list[dict[str, str]]:
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
