"""The inputs that a SONATA configuration names: spikes of virtual nodes, and currents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..errors import CircuitError, Faults, InputError, UnitError, near, quoted
from ..io.sonata_config import ConfigPaths, switched_on
from ..io.sonata_node_sets import VIRTUAL, Mask, NodeSets, NodeTable
from ..model.kinds import SPIKES
from .array import ArrayInput
from .base import Chunk, Input
from .sonata import Spikes, read_spikes
from .sonata_nwb import KEYS as PROBE_KEYS
from .sonata_nwb import PROBE, probe_spikes, read_nwb_spikes
from .sonata_tables import read_csv_currents, read_csv_spikes, read_table
from .units import unit_into

Times = NDArray[np.float64]

CURRENT = "I"
"""Variable of an injected current."""

TOLERANCE = 1e-6
"""Part of a step by which a time may lie after the step that it belongs to: it was rounded."""

UNIT = "pA"
"""Unit of a current of a point neuron in the files, which is that of NEST."""


class CurrentClamp(Input):
    """Injects a current that is constant between given times.

    Parameters
    ----------
    time : (m,) float
        s, ascending; the current is 0 before the first one.
    value : (m,) float
        From each time on.
    """

    def __init__(self, name: str, uids: list[str], time: Times, value: Times) -> None:
        super().__init__([(CURRENT, uids)])
        self.name, self.time, self.value = name, time, value

    def chunk(self, number: int, first: int, steps: int) -> Chunk:
        moments = (np.arange(first, first + steps) + TOLERANCE) * self.dt
        piece = np.searchsorted(self.time, moments, side="right") - 1
        low, high = int(piece.min()), int(piece.max())
        known = self.value[max(low, 0) : high + 1].astype(self.dtype)
        table = np.repeat(known[:, None], len(self.targets[number][1]), axis=1)
        rows = np.where(piece < 0, -1, piece - max(low, 0))
        return Chunk(table, rows.astype(np.int32))


MEANT = frozenset({"input_type", "module", "node_set", "enabled", "name"})
"""What every input may say."""

VIRTUAL_NODES = {"model_type": VIRTUAL}
"""Node set of spikes that name none."""

SPIKE_FILES = ("sonata", "h5", "hdf5", "csv", "nwb", PROBE)
"""Modules of spikes that are read."""


class InputReader:
    """Makes the inputs of a configuration."""

    def __init__(
        self, circuit: Circuit, paths: ConfigPaths, sets: NodeSets, faults: Faults
    ) -> None:
        self.circuit, self.paths, self.sets, self.faults = circuit, paths, sets, faults
        self.tables = {table.name: table for table in sets.tables}

    def inputs(self, name: str, entry: Any) -> list[Input]:
        """Return the inputs of an entry: one, or none where it is switched off or at fault."""
        where = f"inputs.{name}"
        if not isinstance(entry, dict):
            self.faults.add(f"{where}: must be an object (got {entry!r:.60})")
            return []
        if not switched_on(entry, where, self.faults):
            return []
        kind, module = str(entry.get("input_type")), str(entry.get("module"))
        say = f"input_type {quoted(kind)}, module {quoted(module)}"
        try:
            spiking = kind == "spikes" or module.lower() == PROBE
            if spiking and module.lower() in SPIKE_FILES:
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
        more = PROBE_KEYS if module == PROBE else ("trial",) if module == "nwb" else ()
        self._known(where, entry, ("input_file", "random_seed", *more))
        nodes = [*self._nodes(where, entry.get("node_set", VIRTUAL_NODES), True)]
        given = entry.get("input_file")
        file = (
            self.paths.path if module == PROBE else self.paths.place(given, f"{where}.input_file")
        )
        if self.faults.count:
            return []
        if module == PROBE:
            place, warn = self._file(where), lambda say: self.faults.warn(f"{where}: {say}")
            spikes = probe_spikes(entry, place, read_table, nodes, warn)
            return self._fired(where, name, nodes, spikes)
        wanted = [table.name for table, _ in nodes]
        if module == "nwb":
            spikes = read_nwb_spikes(file, wanted, entry.get("trial"))
        else:
            read = read_csv_spikes if module == "csv" else read_spikes
            spikes = read(file, wanted[0] if len(wanted) == 1 else wanted)
        return self._fired(f"{where}: {file}", name, nodes, spikes)

    def _file(self, where: str) -> Callable[[Any], Path]:
        """Return a function that turns a path of an entry into one of this machine."""

        def place(given: Any) -> Path:
            if not isinstance(given, str):
                raise InputError(f"a path of a file is needed (got {given!r:.60})")
            return self.paths.place(given, where)

        return place

    def _fired(
        self, where: str, name: str, nodes: Sequence[tuple[NodeTable, Mask]], spikes: list[Spikes]
    ) -> list[Input]:
        """Return spikes as an input of the nodes that are in the set."""
        times, uids = [], []
        for (table, mask), (_, time, node) in zip(nodes, spikes, strict=True):
            order = np.argsort(table.columns["node_id"], kind="stable")
            ids = table.columns["node_id"][order]
            at = np.minimum(np.searchsorted(ids, node), len(ids) - 1)
            there = ids[at] == node
            if not there.all():
                lost = node[~there][0]
                say = f"the population {quoted(table.name)} has no node {lost}"
                self.faults.add(f"{where}: {say}")
            rows = order[at]
            taken = there & mask[rows]
            times.append(time[taken])
            uids.append(table.columns["uid"][rows[taken]])
        time = np.concatenate(times)
        if not len(time):
            raise InputError("no spikes of these nodes")
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
            time, value = read_csv_currents(file, entry)
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
