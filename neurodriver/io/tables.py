"""Tables of nodes and edges, as connectomes are released -> ``Circuit``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column, Connections
from ..circuit.validate import repeats
from ..circuit.wiring import resolve
from ..errors import CircuitError, Faults, near, quoted
from ..model.component import NDComponent
from ..model.library import models as known_models
from .arrow import Table
from .table_columns import Indices, Named, Seen, Values, id_texts

Number = float | int
Model = type[NDComponent]


def read_tables(
    edges: str | Path,
    nodes: str | Path | None = None,
    *,
    model: Model | str,
    source: str,
    target: str,
    weight: str | Number | None = None,
    weight_scale: Number | tuple[Number, Number] = 1.0,
    sign: str | None = None,
    delay: str | Number = 0.0,
    delay_scale: Number = 1.0,
    receptor: str | tuple[str, str] | Mapping[str, str] = "",
    receptor_column: str | None = None,
    variable: str = "",
    index: bool = False,
    id: str | None = None,
    params: Mapping[str, Any] | None = None,
    drop_unknown: bool = False,
    models: Any = (),
    strict: bool = False,
    name: str = "",
) -> Circuit:
    """Read one table of edges, and one of nodes where there is one.

    Only the columns that are named are read, in batches; ids never pass through floating point. An
    edge of the circuit is a row, in the order of the file, also where rows repeat a pair.

    Parameters
    ----------
    edges, nodes : str or Path
        Parquet, Feather (Arrow IPC), or CSV with a header, which may be compressed. Without
        ``nodes`` the components are the ids that edges name, ascending.
    model : NDComponent subclass or str
        Model of all nodes.
    source, target : str
        Columns of the edges: ids (whole numbers or text), or numbers of rows (``index``).
    weight : str or number, optional
        Column of the edges, or one number for all; the model's default where it is not given.
    weight_scale : number or (number, number)
        Factor of the weights; of those that are not negative, and of others.
    sign : str, optional
        Column of the edges that holds 1 or -1, a factor of the weight.
    delay : str or number
        Column of the edges, or one number for all; times ``delay_scale`` it is in seconds.
    receptor : str, (str, str) or mapping
        Of all edges; of those whose weight is not negative and of others; of each value of
        ``receptor_column``.
    receptor_column : str, optional
        Column of the edges with names of receptors, or what ``receptor`` translates into them.
    variable : str
        What flows, where the model leaves a choice.
    index : bool
        Whether ``source`` and ``target`` are numbers of rows of the nodes, from 0.
    id : str, optional
        Column of the nodes with their ids, which become the uids; the first one by default.
    params : mapping
        Parameter -> number, column of the nodes, or an array in the order of the nodes.
    drop_unknown : bool
        Leave out edges of nodes that ``nodes`` does not list, with a warning that counts them.
    models, strict, name
        As in `Circuit.from_file`; own models for a ``model`` given by name.

    Returns
    -------
    Circuit

    Raises
    ------
    CircuitError
        With all faults: missing columns, empty or wrong values with file, column, row and value.
    """
    faults = Faults(name or str(edges))
    chosen = _model(model, models)
    plan = _Edges(
        source, target, weight, weight_scale, sign, delay, delay_scale, receptor, receptor_column
    )
    plan.wire(chosen, variable, faults)
    table, listed = Table(edges), _Nodes(nodes, id, dict(params or {}), drop_unknown)
    return _joined(chosen, plan, table, listed, index, faults, strict)


def _joined(
    model: Model,
    plan: _Edges,
    table: Table,
    listed: _Nodes,
    index: bool,
    faults: Faults,
    strict: bool,
) -> Circuit:
    """Check and read both tables, and number the ends of edges."""
    table.missing(plan.columns, faults)
    listed.check(faults)
    if faults.count:
        faults.finish()
    ids, columns = listed.read(faults)
    numbering = _numbering(ids, str(listed.path), index, listed.drop)
    taken = plan.read(table, numbering, faults)
    faults.finish(strict)
    if not numbering.count:
        raise CircuitError(f"{faults.source}: the circuit is empty: no nodes")
    if isinstance(numbering, Seen):
        ids = _ascending(numbering, taken)
    params = {**listed.given, **columns}
    group = model, numbering.count, params, None if ids is None else id_texts(ids)
    connections = plan.connections(taken)
    del taken
    return Circuit.from_arrays([group], connections, faults.source, strict)


def _model(given: Model | str, models: Any) -> Model:
    if not isinstance(given, str):
        return given
    known = known_models(models)
    if given not in known:
        say = f"unknown model {quoted(given)}{near(given, known)}"
        raise CircuitError(f"{say}; `neurodriver models` lists the known ones")
    return known[given]


def _numbering(ids: Any, where: str, index: bool, drop: bool) -> Indices | Named | Seen:
    """Return what turns the ends of edges into numbers of components."""
    if index:
        return Indices(None if ids is None else len(ids), where)
    return Seen() if ids is None else Named(ids, where, drop)


def _ascending(seen: Seen, taken: dict[str, Column]) -> Any:
    """Number the ends of edges in the order of their ids; return these."""
    ids, ranks = seen.ranks()
    for end in ("source", "target"):
        taken[end] = ranks[taken[end]]
    return ids


class _Nodes:
    """The table of nodes, if there is one; the arguments are those of `read_tables`."""

    def __init__(
        self, path: str | Path | None, id: str | None, given: dict[str, Any], drop: bool
    ) -> None:
        self.path, self.given, self.drop = path, given, drop
        self.table = Table(path) if path is not None else None
        self.asked = id
        self.id = self.table.names[0] if self.table is not None and id is None else id or ""
        self.columns = {key: c for key, c in given.items() if isinstance(c, str)}
        """Parameter -> column."""

    def check(self, faults: Faults) -> None:
        """Note columns that are missing, and what has no meaning without a table."""
        if self.table is not None:
            self.table.missing([self.id, *self.columns.values()], faults)
            return
        names = [f"params[{key!r}]" for key in self.columns]
        names += ["id"] * (self.asked is not None) + ["drop_unknown"] * self.drop
        for said in names:
            faults.add(f"{said} asks for a table of nodes; give nodes=")

    def read(self, faults: Faults) -> tuple[Any, dict[str, Column]]:
        """Return the ids of the nodes, and the parameters that are columns."""
        if self.table is None:
            return None, {}
        from .arrow import arrow

        id, values = self.id, Values(self.table, faults)
        parts: list[Any] = []
        numbers: dict[str, list[Column]] = {key: [] for key in self.columns}
        for batch in self.table.batches([id, *self.columns.values()]):
            parts.append(values.ids(id, batch[id]))
            for key, column in self.columns.items():
                numbers[key].append(values.numbers(column, batch[column]))
            values.row += len(parts[-1])
        if len({part.type for part in parts}) > 1:
            values.once(id, "numbers and text are mixed")
            faults.finish()
        ids = arrow().concat_arrays(parts) if parts else arrow().nulls(0, arrow().int64())
        if not faults.count and len(ids):
            where = self.table.column(id, faults)
            twice = list(repeats(id_texts(ids)))
            texts = (f"{where}, rows {a + 1:,} and {b + 1:,}: both are {v}" for v, a, b in twice)
            faults.add_each(texts, len(twice))
        return ids, {k: np.concatenate(v) if v else np.zeros(0) for k, v in numbers.items()}


@dataclass
class _Edges:
    """What the columns of the edges mean; the fields are arguments of `read_tables`."""

    source: str
    target: str
    weight: str | Number | None
    weight_scale: Number | tuple[Number, Number]
    sign: str | None
    delay: str | Number
    delay_scale: Number
    receptor: str | tuple[str, str] | Mapping[str, str]
    receptor_column: str | None
    accesses: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Receptor -> variable and access."""

    def __post_init__(self) -> None:
        scale = self.weight_scale
        first, second = scale if isinstance(scale, tuple) else (scale, scale)
        self.scales = float(first), float(second)
        self.ends = {"source": self.source, "target": self.target}
        self.numbers = [c for c in (self.weight, self.sign, self.delay) if isinstance(c, str)]
        self.columns = [self.source, self.target, *self.numbers]
        self.columns += [] if self.receptor_column is None else [self.receptor_column]
        self.by_sign = isinstance(self.receptor, tuple)
        said = self.weight is not None or self.sign is not None
        self.weighted = said or self.scales != (1.0, 1.0)

    def wire(self, model: Model, variable: str, faults: Faults) -> None:
        """Find variable and access of each receptor."""
        if isinstance(self.receptor, Mapping) and self.receptor_column is None:
            faults.add("receptor translates values: name their column with receptor_column=")
        if self.by_sign and self.receptor_column is not None:
            faults.add("receptor is chosen by the sign of the weight, and by receptor_column=")
        if isinstance(self.receptor, str):
            names = [self.receptor]
            if self.receptor_column is not None:
                names = [a.receptor for a in model.accesses if a.receptor]
        else:
            mapped = isinstance(self.receptor, Mapping)
            names = list(self.receptor.values() if mapped else self.receptor)  # type: ignore[union-attr]
        for name in dict.fromkeys(names):
            wire = resolve(model, model, variable, name)
            if wire.fault:
                faults.add(f"edges between {model.__name__}: {wire.fault}")
                continue
            if wire.warning:
                faults.warn(wire.warning)
            if self.weighted and not model.access(wire.access).weighted:
                say = "takes no weights; leave out weight=, sign= and weight_scale="
                faults.add(f"{model.__name__}: its access {quoted(wire.access)} {say}")
            self.accesses[name] = wire.variable, wire.access

    def read(
        self, table: Table, numbering: Indices | Named | Seen, faults: Faults
    ) -> dict[str, Column]:
        """Return ``source`` and ``target``, and what else differs from edge to edge."""
        values = Values(table, faults)
        taken = _Taken(table.rows)
        dropped = 0
        for batch in table.batches(self.columns):
            part: dict[str, Column] = {}
            for end, name in self.ends.items():
                part[end] = numbering.codes(name, values.ids(name, batch[name]), values)
            given = {name: values.numbers(name, batch[name]) for name in self.numbers}
            part.update(self._numbers(given, values))
            if self.receptor_column is not None:
                part["receptor"] = self._receptors(batch[self.receptor_column], values)
            values.row += len(part["source"])
            if isinstance(numbering, Named) and numbering.drop:
                kept = (part["source"] >= 0) & (part["target"] >= 0)
                dropped += len(kept) - int(kept.sum())
                part = {name: column[kept] for name, column in part.items()}
            taken.add(part)
        if dropped:
            lost = f"lead from or to nodes that are not in {numbering.where}"  # type: ignore[union-attr]
            faults.warn(f"{dropped:,} of {values.row:,} edges {lost}; they are left out")
        return taken.columns()

    def _numbers(self, given: dict[str, Column], values: Values) -> dict[str, Column]:
        """Return the weights and delays of a batch, where they differ."""
        out: dict[str, Column] = {}
        if isinstance(self.weight, str) or self.sign is not None:
            weight = np.array(1.0 if self.weight is None else self.weight)
            if isinstance(self.weight, str):
                weight = given[self.weight]
            if self.sign is not None:
                sign = given[self.sign]
                bad = np.abs(sign) != 1
                values.note(self.sign, bad, lambda i: f"must be 1 or -1 (got {sign[i]:g})")
                weight = weight * sign
            if self.by_sign:
                out["receptor"] = (weight < 0).astype(np.int8)
            if self.scales != (1.0, 1.0):
                weight = weight * np.where(weight < 0, self.scales[1], self.scales[0])
            out["weight"] = weight
        if isinstance(self.delay, str):
            out["delay"] = given[self.delay] * self.delay_scale
            late = out["delay"] < 0
            raw = given[self.delay]
            values.note(self.delay, late, lambda i: f"must not be negative (got {raw[i]:g})")
        return out

    def _receptors(self, array: Any, values: Values) -> NDArray[np.int8]:
        """Return for each edge of a batch the number of its receptor."""
        name = self.receptor_column or ""
        known, codes = values.texts(name, array)
        order = list(self.accesses)
        table = self.receptor if isinstance(self.receptor, Mapping) else {r: r for r in order}
        numbers = np.array([order.index(table[k]) if k in table else -1 for k in known] + [0])
        out = numbers[codes]
        allowed = ", ".join(quoted(k) for k in table)
        bad = (out < 0) & (codes >= 0)
        values.note(
            name, bad, lambda i: f"must be one of {allowed} (got {quoted(known[codes[i]])})"
        )
        return out.astype(np.int8)

    def connections(self, taken: dict[str, Column]) -> list[Connections]:
        """Return the edges by receptor; ``taken`` is emptied."""
        which = taken.pop("receptor", None)
        if which is None and self.by_sign:
            negative = float(self.weight or 1.0) < 0 if not isinstance(self.weight, str) else False
            which = np.full(len(taken["source"]), int(negative), np.int8)
        if "weight" not in taken and self.weighted:
            weight = float(1.0 if self.weight is None else self.weight)
            taken["weight"] = np.array(weight * self.scales[weight < 0])
        if "delay" not in taken:
            taken["delay"] = np.array(float(self.delay) * self.delay_scale)
        out = []
        names = list(self.receptor) if isinstance(self.receptor, tuple) else list(self.accesses)
        for number, name in enumerate(names):
            rows = slice(None) if which is None else which == number
            part = {k: c[rows] if c.ndim else c for k, c in taken.items()}
            if len(part["source"]) or which is None:
                data = {"weight": part["weight"]} if "weight" in part else {}
                ends = part["source"], part["target"]
                out.append(Connections(*self.accesses[name], *ends, part["delay"], data))
        taken.clear()
        return out


class _Taken:
    """Columns that grow batch by batch; in place where the number of rows is known."""

    def __init__(self, rows: int | None) -> None:
        self.rows = rows
        self.filled = 0
        self.parts: dict[str, list[Column]] = {}

    def add(self, part: dict[str, Column]) -> None:
        """Take the columns of a batch."""
        n = len(part["source"])
        for name, column in part.items():
            if self.rows is None:
                self.parts.setdefault(name, []).append(column)
            else:
                if name not in self.parts:
                    self.parts[name] = [np.empty(self.rows, column.dtype)]
                self.parts[name][0][self.filled : self.filled + n] = column
        self.filled += n

    def columns(self) -> dict[str, Column]:
        """Return them whole; each is joined on its own, so that one is there twice at most."""
        ends = {"source": np.int32, "target": np.int32}
        out: dict[str, Column] = {}
        for name in list(self.parts):
            parts = self.parts.pop(name)
            out[name] = parts[0][: self.filled] if len(parts) == 1 else np.concatenate(parts)
        return {**{end: np.zeros(0, kind) for end, kind in ends.items()}, **out}
