"""Inject the spikes of a SONATA file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, near, quoted
from ..io.hdf5_files import open_hdf5, reading
from ..io.sonata_places import places_of
from ..model.kinds import SPIKES
from .array import ArrayInput

if TYPE_CHECKING:
    from ..circuit.circuit import Circuit

PER_SECOND = {"ms": 1e3, "s": 1.0}
"""Unit of times -> number of units in a second. Times without a unit are in ms."""


class SonataInput(ArrayInput):
    """Injects the spikes of a SONATA file into ``spike_state`` of its nodes.

    Parameters
    ----------
    filename : str or Path
        HDF5 file with ``/spikes/<population>/timestamps`` and ``node_ids``. Times are in ms, or in
        s if the attribute ``units`` says so. Older files have ``/spikes/timestamps`` and ``gids``.
    populations : str or sequence of str, optional
        Populations whose spikes are injected; all of the file by default. For an older file, it is
        the population of all its spikes.
    circuit : Circuit, optional
        The circuit that was written with ``save("circuit_config.json")``. It is needed if its uids
        are not ``<population>/<node id>``.

    Raises
    ------
    InputError
        If the file cannot be read, has no spikes, or has spikes of other populations or nodes.

    Notes
    -----
    Virtual nodes of a circuit that was read are SpikeSources with uids ``<population>/<node id>``.

    Examples
    --------
    >>> nd.SonataInput("lgn_spikes.h5", "lgn")  # doctest: +SKIP
    """

    def __init__(
        self,
        filename: str | Path,
        populations: str | Sequence[str] | None = None,
        circuit: Circuit | None = None,
    ) -> None:
        self.filename = Path(filename)
        parts = read_spikes(self.filename, populations)
        names = [name for name, _, _ in parts]
        uids = [_uids(name, node, circuit) for name, _, node in parts]
        every, index = np.unique(np.concatenate(uids), return_inverse=True)
        time = np.concatenate([time for _, time, _ in parts])
        if not len(time):
            raise InputError(f"{self.filename}: no spikes in {', '.join(map(quoted, names))}")
        order = np.argsort(time, kind="stable")
        events = time[order], index.ravel()[order]
        super().__init__({SPIKES: (every.tolist(), events)}, name=str(self.filename))


Spikes = tuple[str, NDArray[np.float64], NDArray[np.int64]]
"""Name of a population, times in s, and node ids."""


def read_spikes(path: Path, populations: str | Sequence[str] | None = None) -> list[Spikes]:
    """Return the spikes of populations of a file, in the order of the file.

    Parameters
    ----------
    populations : str or sequence of str, optional
        As of `SonataInput`.

    Raises
    ------
    InputError
        If the file cannot be read, or has no spikes of a population.
    """
    with open_hdf5(path, InputError) as file, reading(path, InputError):
        found = _populations(path, file, populations)
        return [_read(path, name, at) for name, at in found.items()]


def _populations(path: Path, file: h5py.File, wanted: Any) -> dict[str, Any]:
    """Return the HDF5 groups of the populations that are wanted."""
    root = file.get("spikes")
    if isinstance(root, h5py.Group) and "timestamps" in root and "gids" in root:
        if not isinstance(wanted, str):
            say = "the file does not say of which population its spikes are; give its name"
            raise InputError(f"{path}: {say}: populations='<name>'")
        return {wanted: root}
    known = {} if root is None else {k: v for k, v in root.items() if isinstance(v, h5py.Group)}
    if not known:
        say = "no SONATA file of spikes: it has no group '/spikes/<population>'"
        raise InputError(f"{path}: {say}")
    names = list(known) if wanted is None else [wanted] if isinstance(wanted, str) else wanted
    for name in names:
        if name not in known:
            say = f"no spikes of a population {quoted(name)}{near(name, known)}"
            raise InputError(f"{path}: {say}; there are {', '.join(known)}")
    return {name: known[name] for name in names}


def _read(path: Path, name: str, at: Any) -> Spikes:
    """Return name, times in s, and node ids of a population."""
    columns = []
    ids = "gids" if "gids" in at else "node_ids"
    for part, kinds in (("timestamps", "fiu"), (ids, "iu")):
        found = at.get(part)
        where = f"{path}: '{at.name}/{part}'"
        if not isinstance(found, h5py.Dataset) or found.ndim != 1:
            raise InputError(f"{where} is missing")
        if found.dtype.kind not in kinds:
            raise InputError(f"{where} must hold numbers (got {found.dtype})")
        columns.append(found[()])
    time, node = columns
    unit = at["timestamps"].attrs.get("units", "ms")
    unit = unit.decode(errors="replace") if isinstance(unit, bytes) else str(unit)
    if unit not in PER_SECOND or len(time) != len(node):
        say = f"unit {quoted(unit)}" if unit not in PER_SECOND else f"{len(node)} node_ids"
        want = "ms or s" if unit not in PER_SECOND else f"{len(time)}, one for each time"
        raise InputError(f"{path}: population {quoted(name)}: {say}, expected {want}")
    return name, time / PER_SECOND[unit], node.astype(np.int64)


def _uids(population: str, node: Any, circuit: Circuit | None) -> Any:
    """Return the uid of each spike."""
    if circuit is None:
        return np.strings.add(f"{population}/", node.astype("U"))
    places = places_of(circuit)
    none = np.empty(0, np.int64)
    members = places.members[places.names.index(population)] if population in places.names else none
    if node.min(initial=0) < 0 or node.max(initial=-1) >= len(members):
        say = f"the population {quoted(population)} has {len(members):,} nodes"
        raise InputError(f"SonataInput: {say}, and a spike is of node {node.max(initial=0)}")
    return circuit.uids[members][node]
