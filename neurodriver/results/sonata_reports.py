"""What a SONATA simulation wants recorded: the sections ``output`` and ``reports``.

Each file is a part of one recording: a variable of some nodes, from a time on until another one,
every so many steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..circuit.circuit import Circuit
from ..errors import Faults, RecordingError, near, quoted
from ..io.hdf5_files import written_hdf5
from ..io.sonata_config import ConfigPaths, is_number, switched_on
from ..io.sonata_node_sets import VIRTUAL, NodeSets
from ..io.write import complete_or_none, folder_for_files
from ..model.kinds import SPIKES
from .recording import Recording
from .sonata import Rows, mark_as_sonata, put_events, put_rows

FOLDER = "output"
"""Folder of the files if the configuration names none."""

POTENTIALS = ("v", "V_m", "Vm")
"""Names of the potential ``V`` in other programs."""

SPIKE_MODULES = ("spikes_report",)
ROW_MODULES = ("membrane_report", "multimeter_report", "multimeter")

USED = frozenset(
    ("module", "cells", "variable_name", "file_name", "spikes_file", "enabled", "sections", "unit",
     "start_time", "end_time", "dt", "tstart", "tstop", "interval", "format", "type", "buffer")
)  # fmt: skip
"""What a report may say. Some of these names are BMTK's, and some have no effect here."""

SORTED = {"none": "none", "id": "by_id", "by_id": "by_id", "time": "by_time", "by_time": "by_time"}
"""Values of ``spikes_sort_order``."""


@dataclass(frozen=True, eq=False)
class SonataReport:
    """One file that a simulation writes.

    Attributes
    ----------
    names : list of str
        Populations.
    population, node : (n,) int64
        Number of the population and node id of each uid.
    start, stop : float
        First and last time, s. The last one is left out.
    interval : float or None
        From one row to the next one, s; None for every row of the recording.
    sorting : str
        Of spikes: ``by_time``, ``by_id`` or ``none``.
    """

    path: Path
    variable: str
    uids: list[str]
    names: list[str]
    population: Rows
    node: Rows
    start: float = 0.0
    stop: float = math.inf
    interval: float | None = None
    sorting: str = "by_time"

    def every(self, dt: float) -> int:
        """Return how many rows of a recording, which are ``dt`` seconds apart, make one row.

        Raises
        ------
        RecordingError
            If the interval is no multiple of ``dt``.
        """
        wanted = dt if self.interval is None else self.interval
        rows = round(wanted / dt)
        if rows < 1 or abs(rows * dt - wanted) > 1e-6 * wanted:
            say = f"a row every {wanted * 1e3:g} ms is asked for, the recording has one every"
            raise RecordingError(f"{self.path}: {say} {dt * 1e3:g} ms; ask for a multiple of that")
        return rows

    def write(self, recording: Recording) -> None:
        """Write the file from a recording that holds what it needs."""
        nodes = self.names, self.population, self.node
        folder_for_files(self.path.parent)
        with complete_or_none(self.path) as temporary, written_hdf5(temporary) as file:
            mark_as_sonata(file)
            if self.variable == SPIKES:
                part = recording.as_events(SPIKES)[self.uids]
                put_events(file, part.between(self.start, self.stop), nodes, self.sorting)
            else:
                rows = recording.data(self.variable, self.uids).between(self.start, self.stop)
                put_rows(file, rows, nodes, self.every(rows.dt))


def needed_record(reports: Iterable[SonataReport]) -> list[tuple[str, list[str]]]:
    """Return what a recorder needs to record for some reports: variables and uids."""
    wanted: dict[str, dict[str, None]] = {}
    for report in reports:
        wanted.setdefault(report.variable, {}).update(dict.fromkeys(report.uids))
    return [(variable, [*uids]) for variable, uids in wanted.items()]


def refuse_files(reports: Iterable[SonataReport]) -> None:
    """Raise RecordingError if a file of a report exists."""
    for report in reports:
        if report.path.exists():
            say = 'say overwrite=True, "overwrite_output_dir": true, or on the command line -f'
            raise RecordingError(f"{report.path}: the file exists; {say}")


class ReportReader:
    """Reads the sections ``output`` and ``reports``.

    Parameters
    ----------
    dt : float
        s.
    """

    def __init__(
        self, circuit: Circuit, paths: ConfigPaths, sets: NodeSets, dt: float, faults: Faults
    ) -> None:
        self.circuit, self.paths, self.sets = circuit, paths, sets
        self.dt, self.faults = dt, faults
        self.folder = paths.path.parent / FOLDER

    def read(self, output: Any, reports: Any) -> list[SonataReport]:
        """Return the reports; that of the spikes of all neurons is the first one."""
        for name, section in (("output", output), ("reports", reports)):
            if not isinstance(section or {}, dict):
                self.faults.add(f"'{name}' must be an object (got {section!r:.60})")
                return []
        output, reports = output or {}, reports or {}
        if "output_dir" in output:
            self.folder = self.paths.place(output["output_dir"], "output.output_dir")
        out: list[SonataReport] = []
        spoken = [one.get("module") for one in reports.values() if isinstance(one, dict)]
        if output and not any(module in SPIKE_MODULES for module in spoken):
            entry = {"file_name": output.get("spikes_file", "spikes.h5")}
            order = output.get("spikes_sort_order", "time")
            out += self._spikes("output", "spikes", entry, order)
        for name, entry in reports.items():
            out += self._report(f"reports.{name}", str(name), entry, output)
        self._twice(out)
        return out

    def _report(
        self, where: str, name: str, entry: Any, output: Mapping[str, Any]
    ) -> list[SonataReport]:
        if not isinstance(entry, dict):
            self.faults.add(f"{where}: must be an object (got {entry!r:.60})")
            return []
        if not switched_on(entry, where, self.faults):
            return []
        module = str(entry.get("module", entry.get("type", ROW_MODULES[0])))
        if module in SPIKE_MODULES:
            return self._spikes(where, name, entry, output.get("spikes_sort_order", "time"))
        if module not in ROW_MODULES:
            known = ", ".join((*ROW_MODULES, *SPIKE_MODULES))
            self.faults.warn(f"{where}: module {quoted(module)} is not written; known are {known}")
            return []
        for key in entry:
            if key not in USED:
                self.faults.warn(f"{where}: {quoted(key)} is not used{near(key, USED)}")
        given = entry.get("variable_name")
        names = given if isinstance(given, list) else [given]
        if len(names) != 1 or not isinstance(names[0], str):
            self.faults.add(f"{where}.variable_name: must name one variable (got {given!r:.60})")
            return []
        variable = self._variable(names[0])
        start = self._time(where, entry, ("start_time", "tstart"), 0.0)
        stop = self._time(where, entry, ("end_time", "tstop"), math.inf)
        if start >= stop:
            say = f"must be after the start, {1e3 * start:g} ms (got {1e3 * stop:g} ms)"
            self.faults.add(f"{where}.end_time: {say}")
        interval = self._time(where, entry, ("dt", "interval"), 0.0) or None
        return self._of(
            where, name, entry, variable, {"start": start, "stop": stop, "interval": interval}
        )

    def _spikes(
        self, where: str, name: str, entry: Mapping[str, Any], order: Any
    ) -> list[SonataReport]:
        if not isinstance(order, str) or order not in SORTED:
            known = ", ".join(SORTED)
            say = f"must be one of {known} (got {order!r:.40})"
            self.faults.add(f"output.spikes_sort_order: {say}")
            return []
        return self._of(where, name, entry, SPIKES, {"sorting": SORTED[order]})

    def _variable(self, name: str) -> str:
        known = {variable for group in self.circuit.groups for variable in group.model.updates}
        return "V" if name in POTENTIALS and name not in known else name

    def _of(
        self, where: str, name: str, entry: Mapping[str, Any], variable: str, more: dict[str, Any]
    ) -> list[SonataReport]:
        """Return the report of a variable, for those of its cells that have it."""
        names: list[str] = []
        uids: list[str] = []
        known: set[str] = set()
        population, node, lost = [], [], 0
        for title, mask in self.sets.find(entry.get("cells", "all"), f"{where}.cells").items():
            columns = next(t.columns for t in self.sets.tables if t.name == title)
            found = columns["uid"][mask & (columns["model_type"] != VIRTUAL)]
            groups = self.circuit.group_of(self.circuit.find(found))
            models = [group.model for group in self.circuit.groups]
            have = np.array([variable in model.updates for model in models], bool)[groups]
            known.update(v for number in np.unique(groups) for v in models[number].updates)
            lost += int((~have).sum())
            if have.any():
                ids = columns["node_id"][mask & (columns["model_type"] != VIRTUAL)][have]
                population.append(np.full(len(ids), len(names)))
                names.append(title)
                uids += found[have].tolist()
                node.append(ids.astype(np.int64))
        if not uids:
            if not self.faults.count and entry.get("cells") is not None:
                say = f"no cell has the variable {quoted(variable)}{near(variable, known)}"
                there = f"; they have {', '.join(sorted(known))}" if known else ""
                self.faults.add(f"{where}: {say}{there}")
            return []
        if lost and entry.get("cells", "all") != "all":
            self.faults.warn(f"{where}: cells without the variable {quoted(variable)}", lost)
        path = self._path(where, name, entry)
        each = names, np.concatenate(population), np.concatenate(node)
        report = SonataReport(path, variable, uids, *each, **more)
        if math.isfinite(self.dt):
            try:
                report.every(self.dt)
            except RecordingError as error:
                self.faults.add(f"{where}.dt: {error}")
        return [report]

    def _path(self, where: str, name: str, entry: Mapping[str, Any]) -> Path:
        file = entry.get("file_name", entry.get("spikes_file", name))
        if not isinstance(file, str) or not file:
            self.faults.add(f"{where}.file_name: must be the name of a file (got {file!r:.60})")
            return self.folder
        if not file.endswith((".h5", ".hdf5", ".hdf")):
            file += ".h5"
        return self.paths.place(file, where) if "$" in file else self.folder / file

    def _time(
        self, where: str, entry: Mapping[str, Any], keys: Sequence[str], usual: float
    ) -> float:
        """Return a time in s; ``usual`` is in s, too."""
        key = next((key for key in keys if entry.get(key) is not None), "")
        if not key:
            return usual
        value = entry[key]
        if not is_number(value) or value < 0:
            self.faults.add(f"{where}.{key}: must be a time in ms, 0 or more (got {value!r:.60})")
            return usual
        return float(value) / 1e3

    def _twice(self, reports: Iterable[SonataReport]) -> None:
        seen = set()
        for report in reports:
            if report.path in seen:
                say = "two reports write this file; give each a 'file_name'"
                self.faults.add(f"reports: {report.path}: {say}")
            seen.add(report.path)
