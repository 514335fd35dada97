"""Write a ``Circuit`` as SONATA: a configuration, and a folder with nodes, edges and their types.

Reading the files gives the same circuit, bit by bit. Models that NEST has are written with NEST's
names, so that other programs can run them. The template of other models is ``neurodriver:<model>``.
The folder is named after the configuration.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column, Connections, Group
from ..circuit.node_columns import POPULATION
from ..errors import Faults, NeurodriverError, quoted
from .hdf5_files import written_hdf5
from .sonata_files import MEANT
from .sonata_models import written_as
from .sonata_places import (
    NUMBER,
    OWN_EDGE,
    ROW,
    SET,
    UID,
    Places,
    in_reading_order,
    named_by_row,
    places_of,
    ranges_by_node,
)
from .sonata_weights import in_ms, routed
from .write import complete_or_none

TEXT = h5py.string_dtype()
NETWORK = "$NETWORK_DIR"


def write_sonata(circuit: Circuit, path: Path, compress: bool = False) -> None:
    """Write a circuit as SONATA.

    Parameters
    ----------
    path : Path
        The configuration, ``<name>.json``. The other files are in the folder ``<name>`` beside it.
        An earlier circuit of that name is replaced when the new one is complete.
    compress : bool
        Compress the columns.

    Raises
    ------
    CircuitError
        With all parts of the circuit that the format cannot express.
    NeurodriverError
        If a file cannot be written.
    """
    places = places_of(circuit)
    faults = Faults(f"{path}")
    _refuse(circuit, places, faults)
    faults.finish()
    config: dict[str, Any] = {
        "manifest": {"$BASE_DIR": ".", NETWORK: f"$BASE_DIR/{path.stem}"},
        "components": dict.fromkeys(("point_neuron_models_dir", "synaptic_models_dir"), NETWORK),
    }
    with _folder(path) as folder:
        writer = _SonataWriter(circuit, places, folder, compress, faults)
        config["networks"] = {"nodes": writer.nodes(), "edges": writer.edges()}
        faults.finish()
        with complete_or_none(path) as part:
            part.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _refuse(circuit: Circuit, places: Places, faults: Faults) -> None:
    """Report what the format cannot express."""
    fix = "save it as .h5"
    for group in circuit.groups:
        has = {
            "ports": group.is_port,
            "axes, fields or sources of a population": group.layer is not None,
            "hidden components, such as sources of a stimulus": group.hidden,
            "components that are not computed in every step": (group.every, group.first) != (1, 0),
            "random numbers by another name than the uid": group.keys is not None
            and group.model.draws_random(),
        }
        for what in (text for text, there in has.items() if there):
            faults.add(f"SONATA has no place for {what} ({group.name}); {fix}")
    if circuit.replaced or circuit.held or any(g.scopes for g in circuit.groups):
        faults.add(f"SONATA has no place for a circuit that is joined from several; {fix}")
    if circuit.phase_of_group is not None:
        faults.add(f"SONATA has no place for an order of populations within a step; {fix}")
    for links in circuit.connections:
        if links.plasticity is not None:
            faults.add(f"SONATA has no place for synapses that learn ({quoted(links.name)}); {fix}")
    for name in places.names:
        if "/" in name or name in (".", "..") or not name.isprintable():
            say = "a population of SONATA is a group in a file, so its name has no '/'"
            faults.add(f"the population {quoted(name)}: {say}; rename it")
    for name in circuit.spaces:
        faults.warn(f"the positions of the population {quoted(name)} are not kept; {fix}")
    if circuit.random_namespace is not None:
        faults.warn(f"the namespace {quoted(circuit.random_namespace)} is not kept; {fix}")


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """Yield a new folder, which replaces the circuit's folder when all files are written."""
    goal = path.with_suffix("")
    new, old = (goal.with_name(f".{goal.name}.{os.getpid()}.{end}") for end in ("part", "old"))
    if goal.exists() and not (goal.is_dir() and _is_ours(path)):
        say = "exists, and belongs to no circuit of this name; choose another name"
        raise NeurodriverError(f"{path}: the folder {quoted(goal.name)} {say}")
    try:
        new.mkdir(parents=True)
        yield new
        if goal.exists():
            goal.rename(old)
        new.rename(goal)
    except OSError as error:
        raise NeurodriverError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        for gone in (new, old):
            shutil.rmtree(gone, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    """Whether a configuration was written by neurodriver: it names the folder beside it."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))["manifest"][NETWORK]
    except (OSError, ValueError, LookupError, TypeError):
        return False
    return bool(said == f"$BASE_DIR/{path.stem}")


class _SonataWriter:
    """Writes nodes, then edges; each population into a file of its own."""

    def __init__(
        self, circuit: Circuit, places: Places, folder: Path, compress: bool, faults: Faults
    ) -> None:
        self.circuit, self.places, self.folder, self.faults = circuit, places, folder, faults
        self.more: dict[str, Any] = {"compression": "gzip", "shuffle": True} if compress else {}
        self.templates: list[str] = []
        """Template of each group."""
        self.taken: set[str] = set()

    def file_name(self, name: str) -> str:
        """Return a file name for a population that no other population has."""
        plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)
        found, number = plain, 1
        while found.lower() in self.taken:
            found, number = f"{plain}_{number}", number + 1
        self.taken.add(found.lower())
        return found

    @contextmanager
    def file(self, name: str) -> Iterator[h5py.File]:
        """Open a new HDF5 file with the attributes ``magic`` and ``version`` of the format."""
        with written_hdf5(self.folder / name) as file:
            file.attrs["magic"] = np.uint32(0x0A7A)
            file.attrs["version"] = np.array([0, 1], np.uint32)
            yield file

    def put(self, at: h5py.Group, name: str, column: Column, dtype: Any = None) -> h5py.Dataset:
        """Write a column; booleans are written as 1 and 0."""
        if column.dtype.kind == "U":
            return at.create_dataset(name, data=column.astype(object), dtype=TEXT, **self.more)
        kind = np.int8 if column.dtype.kind == "b" else dtype
        values = np.ascontiguousarray(column, dtype=kind)
        return at.create_dataset(name, data=values, **(self.more if values.size else {}))

    def table(self, name: str, rows: list[dict[str, str]]) -> None:
        """Write a table of types, separated by spaces."""
        head = list(dict.fromkeys(key for row in rows for key in row))
        lines = [head, *([row.get(key, "NULL") for key in head] for row in rows)]
        text = "".join(" ".join(map(_field, line)) + "\n" for line in lines)
        (self.folder / name).write_text(text, encoding="utf-8", newline="\n")

    def nodes(self) -> list[dict[str, Any]]:
        """Write all nodes; return their entries in the configuration."""
        circuit, out = self.circuit, []
        found = [written_as(group) for group in circuit.groups]
        self.templates = [template for template, _ in found]
        numbered = not in_reading_order(circuit, self.places)
        first_type = 100
        for name, members in zip(self.places.names, self.places.members, strict=True):
            files = self.file_name(name)
            of_group = np.searchsorted(circuit.starts, members, side="right") - 1
            present = np.unique(of_group).tolist()
            types = {g: first_type + i for i, g in enumerate(present)}
            first_type += len(present)
            rows = []
            with self.file(f"{files}_nodes.h5") as file:
                at = file.create_group(f"nodes/{name}")
                count = len(members)
                number_of = np.zeros(len(circuit.groups), np.int64)
                number_of[present] = list(types.values())
                self.put(at, "node_id", np.arange(count), np.uint64)
                self.put(at, "node_type_id", number_of[of_group], np.int64)
                group_of = np.zeros(len(circuit.groups), np.int64)
                group_of[present] = np.arange(len(present))
                self.put(at, "node_group_id", group_of[of_group], np.uint32)
                index = np.empty(count, np.int64)
                for place, g in enumerate(present):
                    mine = np.flatnonzero(of_group == g)
                    index[mine] = np.arange(len(mine))
                    own = members[mine] - circuit.starts[g]
                    more = {NUMBER: members[mine]} if numbered else {}
                    if not named_by_row(name, circuit.uids[members]):
                        more[UID] = circuit.uids[members[mine]]
                    params = self._group(at.create_group(str(place)), g, own, found[g][1], more)
                    rows.append(self._type(name, types[g], self.templates[g], params))
                self.put(at, "node_group_index", index, np.uint64)
            self.table(f"{files}_node_types.csv", rows)
            virtual = all(self.templates[g] == "virtual" for g in present)
            out.append(_entry("node", files, name, "virtual" if virtual else "point_neuron"))
        return out

    def _group(
        self, at: h5py.Group, g: int, rows: Rows, params: Mapping[str, Column], more: Any
    ) -> dict[str, float]:
        """Write the attributes of some components; return parameters with one value for all."""
        group = self.circuit.groups[g]
        inner = at.create_group("dynamics_params")
        shared = {}
        for name, column in params.items():
            if column.ndim == 0 and np.isfinite(column):
                shared[name] = float(column)
            else:
                self.put(inner, name, np.broadcast_to(column, (group.count,))[rows], np.float64)
        for name, column in {**_kept(group, self.faults), **more}.items():
            self.put(at, name, column if name in more else column[rows])
        return shared

    def _type(
        self, population: str, number: int, template: str, params: dict[str, float]
    ) -> dict[str, str]:
        """Return a row of a table of types; write the file of its parameters."""
        virtual = template == "virtual"
        row = {
            "node_type_id": str(number),
            "population": population,
            "model_type": "virtual" if virtual else "point_neuron",
            "model_template": "NULL" if virtual else template,
        }
        if params:
            row["dynamics_params"] = f"{number}_params.json"
            text = json.dumps(params, indent=2, allow_nan=False) + "\n"
            (self.folder / row["dynamics_params"]).write_text(text, encoding="utf-8")
        return row

    def edges(self) -> list[dict[str, Any]]:
        """Write all edges; return their entries in the configuration."""
        out: list[dict[str, Any]] = []
        for number, links in enumerate(self.circuit.connections):
            if len(links):
                out += self._set(links.expanded(), {SET: str(number)})
        return out

    def _set(self, links: Connections, said: dict[str, str]) -> Iterator[dict[str, Any]]:
        """Write connections, those between two populations into one file."""
        given = {name: column for name, column in links.data.items() if not np.isnan(column).all()}
        columns = {"delay": links.delay, **given}
        at = [self.places.population[end] for end in (links.source, links.target)]
        pair = at[0] * len(self.places.names) + at[1]
        pairs, begin = np.unique(pair, return_index=True)
        in_order = int((np.diff(pair) != 0).sum()) == len(pairs) - 1
        for code in pairs[np.argsort(begin)].tolist():
            rows = np.flatnonzero(pair == code)
            part = {n: column[rows] if column.ndim else column for n, column in columns.items()}
            if not in_order:
                part[ROW] = rows
            ends = divmod(code, len(self.places.names))
            yield self._population(links, rows, part, ends, said)

    def _population(
        self,
        links: Connections,
        rows: Rows,
        columns: dict[str, Column],
        ends: tuple[int, int],
        said: dict[str, str],
    ) -> dict[str, Any]:
        """Write connections between two populations; ``said`` is for the table of types."""
        names = [self.places.names[end] for end in ends]
        files = self.file_name("_to_".join(names))
        row = {"edge_type_id": "100", "population": files}
        weight = columns.pop("weight", None)
        stored = routed(self.circuit, links, rows, weight, self.templates)
        if stored is None:
            row |= {"model_template": OWN_EDGE, "variable": links.variable, "access": links.access}
        else:
            weight = stored
            row["model_template"] = "static_synapse"
        row |= said
        if weight is not None:
            columns = {"syn_weight": weight, **columns}
        delay, exact = in_ms(columns.pop("delay"))
        columns["delay"] = delay
        if exact is not None:
            columns["delay_in_seconds"] = exact
        with self.file(f"{files}_edges.h5") as file:
            at = file.create_group(f"edges/{files}")
            count = len(rows)
            self.put(at, "edge_type_id", np.broadcast_to(100, (count,)), np.int64)
            self.put(at, "edge_group_id", np.zeros(count), np.uint32)
            self.put(at, "edge_group_index", np.arange(count), np.uint64)
            inner = at.create_group("0")
            for name, column in columns.items():
                plain = name in ("syn_weight", "delay", "delay_in_seconds", ROW)
                where = inner if plain else inner.require_group("dynamics_params")
                self.put(where, name, np.broadcast_to(column, (count,)))
            for end, name, number in zip(("source", "target"), names, ends, strict=True):
                node = self.places.row[getattr(links, end)[rows]]
                made = self.put(at, f"{end}_node_id", node, np.uint64)
                made.attrs["node_population"] = name
                self._index(at, end, node, len(self.places.members[number]))
            at["indicies"] = at["indices"]  # bmtk reads this spelling
        self.table(f"{files}_edge_types.csv", [row])
        return _entry("edge", files, files, "chemical")

    def _index(self, at: h5py.Group, end: str, node: Rows, count: int) -> None:
        """Write the index of edges by one of their ends."""
        other = "target" if end == "source" else "source"
        inner = at.require_group("indices").create_group(f"{end}_to_{other}")
        for name, column in zip(
            ("node_id_to_ranges", "range_to_edge_id"), ranges_by_node(node, count), strict=True
        ):
            self.put(inner, name, column, np.int64)
        inner["node_id_to_range"] = inner["node_id_to_ranges"]  # bmtk reads this name


Rows = NDArray[np.int64]


def _entry(kind: str, files: str, population: str, said: str) -> dict[str, Any]:
    """Return the entry of a population in the configuration; ``said`` is its type."""
    return {
        "populations": {population: {"type": said}},
        f"{kind}s_file": f"{NETWORK}/{files}_{kind}s.h5",
        f"{kind}_types_file": f"{NETWORK}/{files}_{kind}_types.csv",
    }


def _field(text: str) -> str:
    """Return a field of a table, in quotes if it is empty or has a space or a quote."""
    return '"' + text.replace('"', '""') + '"' if re.search(r'[\s"]', text) or not text else text


def _kept(group: Group, faults: Faults) -> dict[str, Column]:
    """Return the node columns of a group; a name that the format uses is a fault."""
    columns = {**group.columns, **group.labels}
    columns.pop(POPULATION, None)
    taken = {*MEANT, "node_id", "node_group_id", "node_group_index", UID, NUMBER}
    for name in sorted(taken.intersection(columns)):
        say = "has a meaning of its own in SONATA; rename it"
        faults.add(f"the node column {quoted(name)} of {group.name} {say}")
    out = {}
    for name, column in columns.items():
        if "/" in name or name in (".", ".."):
            faults.add(f"the node column {quoted(name)} cannot be a name in a file; rename it")
        elif name not in taken:
            out[name] = np.broadcast_to(column, (group.count,))
    return out
