"""Write a recording as SONATA: spikes, reports of variables, configuration of the simulation.

The format is that of Dai et al. 2020, PLoS Comput Biol 16:e1007696,
doi:10.1371/journal.pcbi.1007696. Times are in ms.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..errors import RecordingError, quoted
from ..io.hdf5_files import written_hdf5
from ..io.sonata_places import places_of
from ..io.write import complete_or_none, folder_for_files
from ..model.kinds import SPIKES, usually_event
from .events import Events
from .recording import Recording
from .variable import Variable, slabs

CONFIG = "simulation_config.json"
Rows = NDArray[np.int64]

BY_TIME = {"none": 0, "by_id": 1, "by_time": 2}
"""Values of the attribute ``sorting`` of spikes."""


def write_sonata(
    recording: Recording,
    folder: str | os.PathLike[str],
    variables: str | Sequence[str] | None = None,
    circuit: Circuit | None = None,
    network: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write spikes and reports.

    Parameters
    ----------
    folder : path
        It gets ``spikes.h5`` with the events of ``spike_state``, ``<variable>_report.h5`` with the
        rows of a variable, and ``<variable>_spikes.h5`` with other events.
    variables : str or sequence of str, optional
        Variables to write; all by default.
    circuit : Circuit, optional
        The circuit that ``save("circuit_config.json")`` writes. Node ids are those of its files.
        Without it the uids must be ``<population>/<node id>``, as in a circuit that was read.
    network : path, optional
        Configuration of the circuit. With it ``simulation_config.json`` is written, which names it.
    overwrite : bool
        Whether files with these names are replaced.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    RecordingError
        If a file exists or cannot be written, or if a component has no node id.
    """
    where = Path(folder)
    names = recording.variables if variables is None else variables
    parts = {
        name: _part(recording, name) for name in ([names] if isinstance(names, str) else names)
    }
    files = {name: where / _file_name(name, part) for name, part in parts.items()}
    for path in [*files.values(), *([] if network is None else [where / CONFIG])]:
        if path.exists() and not overwrite:
            raise RecordingError(f"{path}: the file exists; say overwrite=True, or another folder")
    nodes = {name: _nodes(part, circuit) for name, part in parts.items()}
    folder_for_files(where)
    for name, part in parts.items():
        with complete_or_none(files[name]) as temporary, written_hdf5(temporary) as file:
            mark_as_sonata(file)
            if isinstance(part, Events):
                put_events(file, part, nodes[name])
            else:
                put_rows(file, part, nodes[name])
    if network is not None:
        config = _config(recording, parts, files, os.path.relpath(network, where))
        with complete_or_none(where / CONFIG) as temporary:
            temporary.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return where


def _part(recording: Recording, name: str) -> Events | Variable:
    part = recording[name]
    return recording.as_events(name) if usually_event(name) else part


def _file_name(name: str, part: Events | Variable) -> str:
    if isinstance(part, Events):
        return "spikes.h5" if name == SPIKES else f"{name}_spikes.h5"
    return f"{name}_report.h5"


def _nodes(part: Events | Variable, circuit: Circuit | None) -> tuple[list[str], Rows, Rows]:
    """Return the names of populations, and the population and node id of each column."""
    uids = np.array(part.uids, dtype=np.str_)
    if circuit is not None:
        numbers = circuit.find(uids)
        lost = np.flatnonzero(numbers < 0)
        if len(lost):
            raise RecordingError(f"to_sonata: circuit: there is no component {uids[lost[0]]!r}")
        places = places_of(circuit)
        return places.names, places.population[numbers], places.row[numbers]
    ends = np.strings.rpartition(uids, "/")
    bad = np.flatnonzero((ends[0] == "") | ~np.strings.isdecimal(ends[2]))
    if len(bad):
        say = f"{quoted(uids[bad[0]])} is not '<population>/<node id>'; give circuit="
        raise RecordingError(f"to_sonata: {part.name}: the uid {say}")
    names, which = np.unique(ends[0], return_inverse=True)
    return names.tolist(), which.ravel(), ends[2].astype(np.int64)


def mark_as_sonata(file: h5py.File) -> None:
    """Write the attributes by which readers know the format."""
    file.attrs["magic"] = np.uint32(0x0A7A)
    file.attrs["version"] = np.array([0, 1], np.uint32)


def put_events(
    file: h5py.File,
    part: Events,
    nodes: tuple[list[str], Rows, Rows],
    sorting: str = "by_time",
) -> None:
    """Write the times in ms and the node ids of each population."""
    time, index = part.read()
    names, population, node = nodes
    if sorting == "by_id":
        order = np.argsort(node[index], kind="stable")
        time, index = time[order], index[order]
    kind = h5py.enum_dtype(BY_TIME, basetype=np.uint8)
    for number, name in enumerate(names):
        if not (population == number).any():
            continue
        rows = population[index] == number
        at = file.create_group(f"spikes/{name}")
        at.attrs.create("sorting", BY_TIME[sorting], dtype=kind)
        at["timestamps"] = time[rows] * 1e3
        at["timestamps"].attrs["units"] = "ms"
        at["node_ids"] = node[index[rows]].astype(np.uint64)


def put_rows(
    file: h5py.File, part: Variable, nodes: tuple[list[str], Rows, Rows], every: int = 1
) -> None:
    """Write each ``every``th row as float32. Each node has one element, its soma."""
    names, population, node = nodes
    length = len(part) // every
    times = part.times(every - 1, min(len(part), every))
    start, dt = (float(times[0]) if len(times) else 0.0) * 1e3, part.dt * every * 1e3
    for number, name in enumerate(names):
        columns = np.flatnonzero(population == number)
        if not len(columns):
            continue
        columns = columns[np.argsort(node[columns], kind="stable")]
        at = file.create_group(f"report/{name}")
        data = at.create_dataset("data", (length, len(columns)), dtype=np.float32)
        for rows in slabs(0, length * every, part.shape[1] * part.dtype.itemsize, every):
            taken = slice(rows.start // every, rows.stop // every)
            data[taken] = part[rows][every - 1 :: every, columns]
        data.attrs["units"] = part.unit
        mapping = at.create_group("mapping")
        count = len(columns)
        mapping["node_ids"] = node[columns].astype(np.uint64)
        mapping["node_ids"].attrs["sorted"] = np.uint8(1)
        mapping["index_pointers"] = np.arange(count + 1, dtype=np.uint64)
        mapping["index_pointer"] = mapping["index_pointers"]  # bmtk reads this name
        mapping["element_ids"] = np.zeros(count, np.uint32)
        mapping["element_pos"] = np.zeros(count)
        mapping["time"] = np.array([start, start + length * dt, dt])
        mapping["time"].attrs["units"] = "ms"


def _config(
    recording: Recording, parts: dict[str, Any], files: dict[str, Path], network: str
) -> dict[str, Any]:
    reports = {
        name: {
            "cells": "all",
            "variable_name": name,
            "module": "membrane_report",
            "sections": "soma",
            "file_name": files[name].name,
        }
        for name, part in parts.items()
        if not isinstance(part, Events)
    }
    return {
        "manifest": {"$OUTPUT_DIR": "."},
        "network": Path(network).as_posix(),
        "run": {"tstart": 0.0, "tstop": recording.duration * 1e3, "dt": recording.dt * 1e3},
        "output": {"output_dir": "$OUTPUT_DIR", "spikes_file": "spikes.h5"},
        "reports": reports,
    }
