"""A recording -> a file of Neurodata Without Borders (NWB 2), by pynwb.

Spikes are the table of units. A variable of rows is a time series of the processing module
``misc``; column j is row j of a table of components there.
"""

from __future__ import annotations

import json
import os
import uuid
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..errors import NeurodriverError, RecordingError
from ..io.write import complete_or_none, folder_for_files
from ..model.kinds import usually_event
from ..version import __version__
from .events import Events
from .export import needed, populations_of
from .recording import Recording
from .variable import Variable

SI = {
    "mV": ("volts", 1e-3),
    "V": ("volts", 1.0),
    "nA": ("amperes", 1e-9),
    "pA": ("amperes", 1e-12),
    "nS": ("siemens", 1e-9),
    "Hz": ("hertz", 1.0),
    "1/s": ("hertz", 1.0),
    "": ("unknown", 1.0),
}
"""Unit of a variable -> unit of the series, and the factor that converts into it."""

MODULE = "misc"

NO_ANIMAL = {
    "subject_id": "simulation",
    "description": "A simulated circuit; no animal was studied.",
    "sex": "U",
    "age": "P0D",
}
"""Subject of a file for which none is given; nwbinspector asks for one, with an age."""


def write_nwb(
    recording: Recording,
    path: str | os.PathLike[str],
    variables: str | Sequence[str] | None,
    circuit: Circuit | None,
    overwrite: bool,
    session: Mapping[str, Any],
) -> Path:
    """Write the file, which is there when it is complete.

    Parameters
    ----------
    path : path
        ``.nwb``.
    variables : str or sequence of str, optional
        All by default.
    circuit : Circuit, optional
        Its node columns become columns of the tables.
    overwrite : bool
        Whether a file of this name is replaced.
    session : mapping
        Fields of ``pynwb.NWBFile``, such as ``session_description``, ``session_start_time``,
        ``experimenter``, ``subject``.

    Raises
    ------
    NeurodriverError
        Without pynwb, where the file exists, or where pynwb refuses a field.
    """
    pynwb = needed("pynwb", "nwb")
    where = Path(path)
    if where.suffix != ".nwb":
        raise RecordingError(f"{where}: the ending of the name must be '.nwb'")
    if where.exists() and not overwrite:
        raise RecordingError(f"{where}: the file exists; say overwrite=True, or take another name")
    names = recording.variables if variables is None else variables
    try:
        file = pynwb.NWBFile(**_session(pynwb, recording, session))
    except (TypeError, ValueError) as error:
        raise NeurodriverError(f"{where}: {' '.join(str(error).split())[:300]}") from None
    writer = _Writer(pynwb, file, recording, circuit)
    for name in [names] if isinstance(names, str) else names:
        part = recording[name]
        if usually_event(name) and isinstance(part, Variable):
            part = recording.as_events(name)
        if isinstance(part, Events):
            writer.add_events(name, part)
        else:
            writer.add_rows(name, part)
    folder_for_files(where.parent)
    with complete_or_none(where) as temporary, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*nwb.*extension.*")
        with pynwb.NWBHDF5IO(str(temporary), "w") as io:
            io.write(file)
    return where


def _session(pynwb: Any, recording: Recording, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the file: those given, and the usual ones."""
    known = {k: v for k, v in recording.attributes.items() if isinstance(v, str | int | float)}
    name = known.get("circuit", recording.name)
    return {
        "session_description": f"Simulation of the circuit '{name}'",
        "experiment_description": "Simulated by neurodriver; 'notes' say of what, and how",
        "identifier": str(uuid.uuid4()),
        "session_start_time": datetime.now(UTC),
        "source_script": str(known.get("command", "neurodriver")),
        "source_script_file_name": "neurodriver",
        "notes": json.dumps({"software": "neurodriver", "version": __version__, **known}),
        "keywords": ["simulation", "neurodriver"],
        **({} if "subject" in given else {"subject": pynwb.file.Subject(**NO_ANIMAL)}),
        **given,
    }


class _Writer:
    """Adds variables to a file of pynwb, column by column."""

    def __init__(
        self, pynwb: Any, file: Any, recording: Recording, circuit: Circuit | None
    ) -> None:
        self.pynwb, self.file, self.recording, self.circuit = pynwb, file, recording, circuit
        self.common = needed("hdmf.common", "nwb")
        self.tables: dict[tuple[str, ...], str] = {}

    @property
    def module(self) -> Any:
        """The processing module of what is no table of spikes."""
        if MODULE not in self.file.processing:
            self.file.create_processing_module(MODULE, "Variables of simulated components")
        return self.file.processing[MODULE]

    def add_events(self, name: str, part: Events) -> None:
        """Add the times of events by component: as units, or as a table of the module.

        Without any event there is a table of components alone: readers fail on empty times.
        """
        time, index = part.read()
        if not len(time):
            self._table(part)
            return
        order = np.argsort(index, kind="stable")
        ends = np.cumsum(np.bincount(index, minlength=len(part.uids)))
        columns = self._labels(part)
        text = f"Times of {name} of each component"
        times = self.common.VectorData(
            name="spike_times", description=f"{text}, in seconds", data=time[order]
        )
        pointer = self.common.VectorIndex(
            name="spike_times_index", data=ends.astype(np.uint64), target=times
        )
        taken = usually_event(name) and self.file.units is None
        units = self.pynwb.misc.Units(
            name="units" if taken else name,
            description=text,
            resolution=self.recording.dt,
            id=np.arange(len(part.uids)),
            columns=[*columns, times, pointer],
            colnames=[column.name for column in (*columns, times)],
        )
        if taken:
            self.file.units = units
        else:
            self.module.add(units)

    def add_rows(self, name: str, part: Variable) -> None:
        """Add a time series, and the table of its components where it is not there."""
        table = self._table(part)
        unit, factor = SI.get(part.unit, (part.unit, 1.0))
        times = part.times(0, min(len(part), 1))
        series = self.pynwb.TimeSeries(
            name=name,
            data=part[:],
            unit=unit,
            conversion=factor,
            rate=1.0 / part.dt,
            starting_time=float(times[0]) if len(times) else 0.0,
            description=f"{name} of simulated components; column j is row j of '{table}'",
        )
        self.module.add(series)

    def _table(self, part: Variable | Events) -> str:
        """Return the name of the table with the components of a variable."""
        key = tuple(part.uids)
        if key not in self.tables:
            self.tables[key] = f"components_{len(self.tables) + 1}" if self.tables else "components"
            columns = self._labels(part)
            table = self.common.DynamicTable(
                name=self.tables[key],
                description="Simulated components",
                id=np.arange(len(key)),
                columns=columns,
                colnames=[column.name for column in columns],
            )
            self.module.add(table)
        return self.tables[key]

    def _labels(self, part: Variable | Events) -> list[Any]:
        """Return uid, population and node columns of components as columns of a table."""
        made = {"uid": np.array(part.uids, dtype=str)}
        if part.populations:
            made["population"] = populations_of(part)
        made |= self._node_columns(part.uids)
        return [
            self.common.VectorData(
                name=name, description=_MEANING.get(name, f"{name} of the component"), data=data
            )
            for name, data in made.items()
        ]

    def _node_columns(self, uids: Sequence[str]) -> dict[str, NDArray[Any]]:
        if self.circuit is None:
            return {}
        numbers = self.circuit.find(list(uids))
        lost = np.flatnonzero(numbers < 0)
        if len(lost):
            raise NeurodriverError(f"to_nwb: circuit: there is no component {uids[lost[0]]!r}")
        every = self.circuit.select()
        place = np.full(self.circuit.count, -1, dtype=np.int64)
        place[every.numbers] = np.arange(len(every))
        rows = place[numbers]
        names = [name for group in self.circuit.groups for name in group.columns]
        out = {}
        for name in dict.fromkeys(names):
            if name not in ("uid", "population", "id", "spike_times"):
                column = every.column(name)[np.maximum(rows, 0)]
                none: Any = {"U": "", "f": np.nan, "b": False}.get(column.dtype.kind, 0)
                out[name.replace("/", "_").replace(":", "_")] = np.where(rows < 0, none, column)
        return out


_MEANING = {
    "uid": "Name of the component",
    "population": "Name of the population of the component",
}
