"""``Circuit`` <-> an HDF5 file: column by column, exactly, and quickly.

Layout, version 1: the root has the attributes ``format``, ``version``, ``origin`` (name of the
circuit that was saved). A circuit with a namespace of random numbers has ``random_namespace`` (),
text. Components and connections are numbered groups in the circuit's order:

* ``groups/<i>``: attributes ``model``, ``count``, ``hidden``; ``phase``, ``every``, ``first``; of
  a part of a circuit ``learning``, names of accesses with blanks between them;
  ``uids`` (n,), ``keys`` (n,), where they are given; ``counted/names`` and ``counted/counts``
  where uids are ``<name>/<number>``; ``params/<name>`` () or (n,),
  ``labels/<name>`` (n,); ``columns/<name>`` (n,) where there are node columns, ``population`` among
  them; of joined circuits ``scopes/names`` and ``scopes/counts``.
* ``groups/<i>/layer``, where the model has axes, fields or sources (`stored_layers`).
* ``connections/<i>``: attributes ``variable``, ``access``; ``source``, ``target`` (m,) int32,
  ``delay`` () or (m,) in s, ``data/<name>`` (m,). ``replaced/<i>`` alike. A projection has
  its rule as attributes instead (`stored_rules`).
* ``plasticity/<i>``, where connections learn: the rules of plasticity (`stored_plasticity`).
* ``spaces/<i>``, where populations are on axes or have positions (`stored_spaces`).
* ``held/<i>``: attribute ``variable``; ``ports``, ``components``.

Checksums of HDF5 cover structure and columns, so damage is told and never simulated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..circuit.arrays import check_wiring
from ..circuit.assemble import PORT_LABELS
from ..circuit.circuit import Circuit, Column, Connections, Group, Port
from ..circuit.drawn import Drawn
from ..circuit.node_columns import POPULATION
from ..circuit.numbered import Numbered
from ..circuit.projections import Projection, bind
from ..circuit.space import Space
from ..circuit.validate import checked
from ..errors import CircuitError, Faults, NeurodriverError, near, quoted
from ..model.component import NDComponent
from ..model.library import models as known_models
from ..model.library import rules as known_rules
from .columns import ColumnReader, put, stored_name
from .hdf5_files import open_hdf5, reading, written_hdf5
from .stored_layers import check_layers, put_layer, take_layer
from .stored_plasticity import RulesReader, put_learning, put_rules
from .stored_rules import put_rule, take_rule
from .stored_spaces import put_spaces, take_spaces
from .write import complete_or_none

FORMAT = "neurodriver circuit"
VERSION = 1

PLACES = {"phase": 0, "every": 1, "first": 0}
"""Attributes that say when components are computed, with the least value, which is not stored."""


def write_hdf5(circuit: Circuit, path: Path, compress: bool = False) -> None:
    """Write a circuit; the file appears under its name when it is complete.

    With ``compress`` numbers are compressed, too: about a third of the size, 10 times the time.
    """
    # 1.10 is the first format whose structure is under checksums
    with complete_or_none(path) as part:
        try:
            with written_hdf5(part, libver=("v110", "v110")) as file:
                _put_circuit(circuit, file, compress)
        except NeurodriverError as error:
            raise NeurodriverError(f"{circuit.name}: {error}") from None


def _put_circuit(circuit: Circuit, file: h5py.File, compress: bool) -> None:
    origin = circuit.name.encode(errors="backslashreplace").decode()[:1000].replace("\0", "")
    file.attrs.update({"format": FORMAT, "version": VERSION, "origin": origin})
    if circuit.random_namespace is not None:
        put(file, "random_namespace", np.array(circuit.random_namespace))
    groups = file.create_group("groups")
    for number, group in enumerate(circuit.groups):
        at = groups.create_group(str(number))
        at.attrs.update({"model": group.name, "count": group.count, "hidden": group.hidden})
        counted = group.names if isinstance(group.names, Numbered) else None
        given = {"uids": None if counted else group.given_uids, "keys": group.keys}
        if counted is not None:
            names = at.create_group("counted")
            put(names, "names", np.array([name for name, _ in counted.parts]))
            put(names, "counts", np.array([count for _, count in counted.parts], np.int64))
        for name, column in given.items():
            if column is not None:
                put(at, name, column, compress)
        for name, least in PLACES.items():
            if getattr(group, name) != least:
                at.attrs[name] = getattr(group, name)
        if group.learning:
            at.attrs["learning"] = " ".join(sorted(group.learning))
        if group.layer is not None:
            put_layer(at, group.layer, compress)
        if group.scopes:
            scopes = at.create_group("scopes")
            put(scopes, "names", np.array([name for name, _ in group.scopes]))
            put(scopes, "counts", np.array([n for _, n in group.scopes], np.int64))
        _put_all(at, "params", group.params, compress)
        _put_all(at, "labels", group.labels, compress)
        if group.columns:
            _put_all(at, "columns", group.columns, compress)
    rules = put_rules(circuit, file)
    for kind in ("connections", "replaced"):
        sets = file.create_group(kind)
        for number, links in enumerate(getattr(circuit, kind)):
            at = sets.create_group(str(number))
            at.attrs.update({"variable": links.variable, "access": links.access})
            put_learning(at, links, rules)
            if isinstance(links, Drawn):
                put_rule(at, links, compress)
                continue
            for name in ("source", "target", "delay"):
                put(at, name, getattr(links, name), compress)
            _put_all(at, "data", links.data, compress)
    put_spaces(circuit, file, compress)
    held = file.create_group("held")
    for number, (variable, ports, components) in enumerate(circuit.held):
        at = held.create_group(str(number))
        at.attrs["variable"] = variable
        put(at, "ports", ports, compress)
        put(at, "components", components, compress)


def _put_all(parent: h5py.Group, name: str, columns: Any, compress: bool) -> None:
    at = parent.create_group(name, track_order=True)
    for key, column in columns.items():
        put(at, key, column, compress)


def holds_circuit(path: Path) -> bool:
    """Whether a file is an HDF5 file that says that it holds a circuit."""
    try:
        with open_hdf5(path) as file, reading(path):
            return _said_format(file) == FORMAT
    except CircuitError:
        return False


def read_hdf5(path: Path, models: Any = (), strict: bool = False) -> Circuit:
    """Return the circuit that `write_hdf5` wrote, named after the file.

    The file holds the names of models; ``models`` are those beside the shipped ones. All faults of
    the file are raised together, as CircuitError.
    """
    faults = Faults(str(path))
    with open_circuit(path) as file, reading(path):
        reader = _HDF5Reader({**known_models(models), "Port": Port}, faults)
        groups = tuple(reader.groups(file))
        spaces = reader.spaces(file, groups)
        circuit = Circuit.from_columns(str(path), groups, (), spaces=spaces)
        if any(group.layer is not None for group in groups):
            check_layers(reader, groups, spaces, circuit.populations)
        rules = RulesReader(reader, file, known_rules(models))
        connections, replaced = (
            reader.bound(reader.connections(file, kind, rules), circuit)
            for kind in ("connections", "replaced")
        )
        held = tuple(reader.held(file))
        namespace = reader.namespace(file)
    faults.finish()
    more = {"source": str(path), "replaced": replaced, "held": held, "spaces": spaces}
    circuit = Circuit.from_columns(str(path), groups, connections, **more)
    circuit = circuit.in_random_namespace(namespace)
    check_wiring(circuit, faults)
    _check_joined(circuit, faults)
    faults.finish()
    return checked(circuit, strict)


def _check_joined(circuit: Circuit, faults: Faults) -> None:
    """Note component numbers that a joined circuit does not have."""
    parts: list[tuple[str, list[Column]]]
    parts = [(f"/replaced/{i}", [c.source, c.target]) for i, c in enumerate(circuit.replaced)]
    parts += [(f"/held/{i}", [*columns]) for i, (_, *columns) in enumerate(circuit.held)]
    for where, columns in parts:
        bad = sum(int(((c < 0) | (c >= circuit.count)).sum()) for c in columns)
        if bad:
            faults.add(f"{where}: numbers must be 0 to {circuit.count - 1}", bad)


def open_circuit(path: Path) -> h5py.File:
    """Open a file; raise CircuitError unless it holds a circuit of this version."""
    file = open_hdf5(path)
    try:
        with reading(path):
            if _said_format(file) != FORMAT:
                raise CircuitError(f"{path}: this HDF5 file holds no circuit{_instead(file)}")
            version = file.attrs.get("version")
            if version != VERSION:
                say = f"has the version {version!s:.20} of the format; this program reads {VERSION}"
                fix = "save the circuit again with a program that fits"
                raise CircuitError(f"{path}: {say}; {fix}")
    except CircuitError:
        file.close()
        raise
    return file


def _said_format(file: h5py.File) -> str:
    said = file.attrs.get("format", "")
    return said if isinstance(said, str) else ""


def _instead(file: h5py.File) -> str:
    """Return what a foreign file seems to be, for a message."""
    if "nodes" in file or "edges" in file:
        return "; it looks like a part of a SONATA circuit: give its circuit_config.json instead"
    if "metadata" in file:
        return "; it looks like a recording"
    some = ", ".join(quoted(name, 20) for name in list(file)[:4])
    return f" (it holds {some or 'nothing'}); save one with Circuit.save"


def summary(path: Path) -> list[str]:
    """Return lines that tell what a file holds, without reading its columns."""
    faults = Faults(str(path))
    reader = _HDF5Reader({}, faults)
    nodes, edges, rules = [], [], []
    with open_circuit(path) as file, reading(path):
        for at in reader.numbered(file, "groups"):
            model, count = reader.attribute(at, "model", str), reader.attribute(at, "count", int)
            said = f"{model}: {', '.join(reader.members(at, 'params'))}"
            if "columns" in at:
                said += f"; columns {', '.join(reader.members(at, 'columns'))}"
            nodes.append((count or 0, said))
        for at in reader.numbered(file, "connections"):
            names = [reader.attribute(at, name, str) or "a port" for name in ("variable", "access")]
            what = f"{names[0]} -> {names[1]}"
            if "plasticity" in at.attrs:
                what += f", {_learning(reader, file, at)}"
            if "rule" in at.attrs:
                rules.append(f"{what}: by the rule {reader.attribute(at, 'rule', str)}")
            else:
                columns = ", ".join(["delay", *reader.members(at, "data")])
                edges.append((_length(at, "source"), f"{what}: {columns}"))
        origin = file.attrs.get("origin", "")
    faults.finish()
    total = f"{sum(n for n, _ in nodes):,} components, {sum(n for n, _ in edges):,} connections"
    if rules:
        total += " and what rules draw"
    size = f"{path.stat().st_size / 1e6:,.1f} MB"
    head = f"{path}: circuit, version {VERSION}, of {quoted(origin)}; {total}; {size}"
    known = (f"  {count:>13,}  {text}" for count, text in [*nodes, *edges])
    return [head, *known, *(f"  {'':>13}  {text}" for text in rules)]


def _learning(reader: _HDF5Reader, file: Any, at: Any) -> str:
    """Return how connections learn."""
    number = reader.attribute(at, "plasticity", int)
    rule = file.get(f"plasticity/{number}")
    name = None if rule is None else reader.attribute(rule, "class", str)
    return f"which learn by {name or 'an unknown rule'}"


def _length(at: Any, name: str) -> int:
    """Return the length of a column, 0 where there is none."""
    shape = getattr(at.get(name), "shape", None) or (0,)
    return int(shape[0])


class _HDF5Reader(ColumnReader):
    """Takes the parts of a circuit from its file."""

    def __init__(self, models: dict[str, type[NDComponent]], faults: Faults) -> None:
        super().__init__(faults)
        self.models = models

    def numbered(self, file: Any, name: str) -> Iterator[Any]:
        """Yield the groups 0, 1, 2, ... of a group."""
        found = self.members(file, name)
        for number in range(len(found)):
            at = found.get(str(number))
            if isinstance(at, h5py.Group):
                yield at
            else:
                self.faults.add(f"/{name}/{number}: a group of this name is expected")

    def namespace(self, file: Any) -> str | None:
        """Return the namespace of random numbers, None where there is none."""
        stored = self.attempt("/random_namespace", lambda: file.get("random_namespace"))
        if stored is None:
            return None
        column = self.values(stored, "/random_namespace", "U", ())
        return None if column is None else str(column)

    def spaces(self, file: Any, groups: Sequence[Group]) -> dict[str, Space]:
        """Return where the cells of populations are, which must be among some groups."""
        if "spaces" not in file:
            return {}
        spaces = take_spaces(self, self.numbered(file, "spaces"))
        counts: Counter[str] = Counter()
        for group in groups:
            if POPULATION in group.columns:
                names, times = np.unique(group.columns[POPULATION], return_counts=True)
                counts.update(dict(zip(names.tolist(), times.tolist(), strict=True)))
        for name, space in spaces.items():
            if counts[name] != space.count:
                say = f"{space.count:,} cells have places, but the population has {counts[name]:,}"
                self.faults.add(f"/spaces, population {quoted(name)}: {say}")
        return spaces

    def groups(self, file: Any) -> Iterator[Group]:
        """Yield the components, model by model."""
        for at in self.numbered(file, "groups"):
            name, count = self.attribute(at, "model", str), self.attribute(at, "count", int)
            hidden = self.attribute(at, "hidden", bool)
            model = self.models.get(name)
            if name is not None and model is None:
                say = f"unknown model {quoted(name)}{near(name[:60], self.models)}"
                own = "give your own with models= or --models"
                self.faults.add(f"{at.name}: {say}; `neurodriver models` lists the known, {own}")
            if count is not None and count < 0:
                self.faults.add(f"{at.name}, attribute 'count': must be at least 0 (got {count})")
            if count is None or count < 0:
                continue
            uids, keys = (
                self.column(at, part, kind, (count,)) if part in at else None
                for part, kind in (("uids", "U"), ("keys", "u"))
            )
            params = self.columns(at, "params", "fiu", (count,), ())
            labels = self.columns(at, "labels", "Ub", (count,))
            if model is not None and model.is_port:
                for lost in sorted({*PORT_LABELS}.difference(labels)):
                    self.faults.add(f"{at.name}/labels/{lost}: this column is missing")
            scopes = self.pieces(at, "scopes", count) if "scopes" in at else ()
            named = Numbered(self.pieces(at, "counted", count)) if "counted" in at else uids
            nodes = self.columns(at, "columns", "Ubfiu", (count,)) if "columns" in at else {}
            if POPULATION in nodes and nodes[POPULATION].dtype.kind != "U":
                self.faults.add(f"{at.name}/columns/{POPULATION}: must hold text")
            if model is not None:
                more = labels, bool(hidden), scopes, keys, nodes
                layer = take_layer(self, at, model)
                when, learning = self.steps(at), self.learning(at, model)
                yield Group(model, params, count, named, *more, layer, *when, learning=learning)

    def learning(self, at: Any, model: type[NDComponent]) -> frozenset[str]:
        """Return the accesses that connections which learn reach in the whole circuit."""
        text = self.attribute(at, "learning", str) if "learning" in at.attrs else None
        found, known = frozenset((text or "").split()), {one.name for one in model.accesses}
        for name in sorted(found - known):
            say = f"{model.__name__} has no access {quoted(name)}{near(name, known)}"
            self.faults.add(f"{at.name}, attribute 'learning': {say}")
        return found & known

    def steps(self, at: Any) -> tuple[int, int, int]:
        """Return ``phase``, ``every`` and ``first``; what a file does not say is as ever."""
        out = []
        for name, least in PLACES.items():
            found = self.attribute(at, name, int) if name in at.attrs else least
            if found is not None and found < least:
                say = f"must be at least {least} (got {found})"
                self.faults.add(f"{at.name}, attribute '{name}': {say}")
            out.append(max(found or 0, least))
        return out[0], out[1], out[2]

    def columns(
        self, at: Any, name: str, kinds: str, *shapes: tuple[int, ...]
    ) -> dict[str, Column]:
        """Return the columns of a group by name."""
        found = self.members(at, name)
        taken = {
            key: self.values(item, f"{at.name}/{name}/{stored_name(key)}", kinds, *shapes)
            for key, item in found.items()
        }
        return {key: column for key, column in taken.items() if column is not None}

    def pieces(self, at: Any, what: str, count: int) -> tuple[tuple[str, int], ...]:
        """Return which components belong to which of several circuits, or populations."""
        found = self.members(at, what)
        size = _length(found, "counts")
        names = self.values(found.get("names"), f"{at.name}/{what}/names", "U", (size,))
        counts = self.values(found.get("counts"), f"{at.name}/{what}/counts", "i", (size,))
        if names is None or counts is None:
            return ()
        if counts.min(initial=0) < 0 or counts.sum() != count:
            say = f"must add up to {count:,}, got {counts.sum():,}"
            self.faults.add(f"{at.name}/{what}/counts: {say}")
        return tuple(zip(names.tolist(), counts.tolist(), strict=True))

    def bound(
        self, given: Iterable[Connections | tuple[Projection, int]], circuit: Circuit
    ) -> tuple[Connections, ...]:
        """Return connections whose rules fit the components."""
        sets = list(given)
        rules = [one for one in sets if isinstance(one, tuple)]
        projections, keys = [one for one, _ in rules], [key for _, key in rules]
        drawn = bind(projections, circuit, 0, self.faults, keys) if circuit.groups else []
        if len(drawn) < len(rules):
            return ()
        again = iter(drawn)
        return tuple(next(again) if isinstance(one, tuple) else one for one in sets)

    def connections(
        self, file: Any, kind: str, rules: RulesReader
    ) -> Iterator[Connections | tuple[Projection, int]]:
        """Yield the connections, set by set."""
        for at in self.numbered(file, kind):
            variable, access = (self.attribute(at, name, str) for name in ("variable", "access"))
            learning = rules.of(at)
            if learning is None:
                continue
            if "rule" in at.attrs:
                if variable is not None and access is not None:
                    made = take_rule(self, at, variable, access, learning)
                    yield from () if made is None else (made,)
                continue
            m = _length(at, "source")
            source, target = (self.column(at, end, "i", (m,)) for end in ("source", "target"))
            delay = self.column(at, "delay", "fiu", (m,), ())
            data = self.columns(at, "data", "fiu", (m,), ())
            if source is None or target is None or delay is None or None in (variable, access):
                continue
            for end, column in (("source", source), ("target", target)):
                if column.dtype != np.int32:
                    self.faults.add(f"{at.name}/{end}: must be int32 (got {column.dtype})")
            yield Connections(variable, access, source, target, delay, data, **learning)

    def held(self, file: Any) -> Iterator[tuple[str, Column, Column]]:
        """Yield what holds the values of input ports."""
        for at in self.numbered(file, "held"):
            variable = self.attribute(at, "variable", str)
            n = _length(at, "ports")
            ports, components = (self.column(at, p, "i", (n,)) for p in ("ports", "components"))
            if variable is not None and ports is not None and components is not None:
                yield variable, ports, components
