"""Tables of nodes and edges -> ``Circuit``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column, Connections
from ..circuit.validate import repeats
from ..circuit.wiring import resolve
from ..errors import CircuitError, Faults, near, quoted
from ..model.component import NDComponent
from ..model.library import models as known_models
from ..quantities import magnitude, seconds
from .arrow import ColumnTable, arrow, table_name
from .edge_rules import EdgeRules, Rules

Number = float | int
Model = type[NDComponent]


def read_tables(
    edges: Any,
    nodes: Any = None,
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
    plasticity: Rules = None,
    plasticity_column: str | None = None,
    synapse_params: Mapping[str, str] | None = None,
    dendritic: str | Number = 0.0,
    back: str | Number | None = None,
    index: bool = False,
    id: str | None = None,
    params: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    drop_unknown: bool = False,
    models: Any = (),
    strict: bool = False,
    name: str = "",
) -> Circuit:
    """Read one table of edges, and one of nodes where there is one.

    Of the edges only the columns that are named are read. Those of the nodes are kept as node
    columns, by which components are selected; a column ``population`` names their populations. Ids
    never pass through floating point. An edge of the circuit is a row, in the order of the file,
    also where rows repeat a pair.

    Parameters
    ----------
    edges, nodes : str, Path or frame
        Parquet, Feather (Arrow IPC), or CSV with a header, which may be compressed; or a frame of
        pandas, polars or pyarrow. Without ``nodes`` the components are the ids that edges name,
        ascending.
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
    plasticity : Plasticity or mapping, optional
        Rule by which all edges learn; or a rule for each value of ``plasticity_column``, None for
        edges that do not learn. The values become the names of the connections.
    plasticity_column : str, optional
        Column of the edges with the keys of ``plasticity``. Edges where it is empty do not learn.
    synapse_params : mapping of str to str, optional
        Parameter of the rules, or ``init`` and a variable of synapses -> column of the edges. Where
        the column is empty, it is the number of the rule.
    dendritic, back : str or number
        Where the synapses are on their way, as of a `Projection`: columns of the edges, or one
        number for all; times ``delay_scale`` they are in seconds.
    index : bool
        Whether ``source`` and ``target`` are numbers of rows of the nodes, from 0.
    id : str, optional
        Column of the nodes with their ids, which become the uids; the first one by default.
    params : mapping
        Parameter -> number, column of the nodes, or an array in the order of the nodes.
    columns : sequence of str, optional
        Columns of the nodes to keep; all by default that ``id`` and ``params`` do not name.
    drop_unknown : bool
        Leave out edges of nodes that ``nodes`` does not list, with a warning that counts them.
    models, strict, name
        As in `Circuit.from_file`; own models for a ``model`` given by name.

    Raises
    ------
    CircuitError
        With all faults: missing columns, empty or wrong values with file, column, row and value.
    """
    edges_name = table_name(edges, "the table of edges")
    nodes_name = table_name(nodes, "the table of nodes")
    faults = Faults(name or edges_name)
    chosen = _model(model, models)
    rules = EdgeRules(plasticity, plasticity_column, synapse_params or {}, faults)
    plan = _Edges(
        source, target, weight, weight_scale, sign, delay, delay_scale, receptor, receptor_column,
        rules, dendritic, back,
    )  # fmt: skip
    plan.wire(chosen, variable, faults)
    table = ColumnTable(edges, faults, edges_name)
    table.need(plan.columns)
    ids, numbers, kept = _nodes(nodes, id, dict(params or {}), columns, drop_unknown, faults)
    table.read()
    ends, ids, count = _ends(table, plan.ends, index, ids, nodes_name, drop_unknown)
    taken = {**ends, **plan.read(table)}
    table.arrays.clear()
    taken = _known(taken, faults, nodes_name) if drop_unknown else taken
    faults.finish(strict)
    if not count:
        raise CircuitError(f"{faults.source}: the circuit is empty: no nodes")
    group = chosen, count, {**(params or {}), **numbers}, None if ids is None else texts(ids), kept
    return Circuit.from_arrays([group], plan.connections(taken), faults.source, strict)


def _model(given: Model | str, models: Any) -> Model:
    if not isinstance(given, str):
        return given
    known = known_models(models)
    if given not in known:
        say = f"unknown model {quoted(given)}{near(given, known)}"
        raise CircuitError(f"{say}; `neurodriver models` lists the known ones")
    return known[given]


def _nodes(
    given: Any,
    id: str | None,
    params: dict[str, Any],
    wanted: Sequence[str] | None,
    drop: bool,
    faults: Faults,
) -> tuple[Any, dict[str, Column], dict[str, Column]]:
    """Return ids of the nodes, parameters that are columns, node columns; see `read_tables`."""
    columns = {key: c for key, c in params.items() if isinstance(c, str)}
    if given is None:
        names = [f"params[{key!r}]" for key in columns]
        names += ["id"] * (id is not None) + ["drop_unknown"] * drop + ["columns"] * bool(wanted)
        for said in names:
            faults.add(f"{said} asks for a table of nodes; give nodes=")
    else:
        table = ColumnTable(given, faults, "the table of nodes")
        id = table.names[0] if id is None else id
        once = [n for n in table.names if table.names.count(n) == 1 and n.strip()]
        kept = [n for n in once if n not in (id, *columns.values())] if wanted is None else wanted
        table.need([id, *columns.values(), *kept])
    if faults.count:
        faults.finish()
    if given is None or id is None:
        return None, {}, {}
    table.read()
    ids = table.ids(id)
    numbers = {key: table.numbers(column) for key, column in columns.items()}
    if not faults.count:
        twice = list(repeats(texts(ids)))
        say = f"{table.where}column {quoted(id)}, rows"
        faults.add_for(twice, lambda t: f"{say} {t[1] + 1:,} and {t[2] + 1:,}: both are {t[0]}")
    found = {name: table.node_column(name) for name in kept}
    return ids, numbers, {name: c for name, c in found.items() if c is not None}


Ends = dict[str, NDArray[np.int32]]
"""``source`` and ``target``: component numbers."""


def _ends(
    table: ColumnTable, names: dict[str, str], index: bool, ids: Any, where: str, drop: bool
) -> tuple[Ends, Any, int]:
    """Return the ends of the edges, the ids of the nodes if they have some, and their number.

    ``ids`` are those that a table of nodes lists, None without one.
    """
    if index:
        ends, count = _by_number(table, names, None if ids is None else len(ids), where)
        return ends, ids, count
    if ids is None:
        ends, ids = by_appearance(table, names)
    else:
        ends = _by_id(table, names, ids, where, drop)
    return ends, ids, len(ids)


def _by_number(
    table: ColumnTable, ends: dict[str, str], count: int | None, where: str
) -> tuple[Ends, int]:
    """Return ends that are component numbers from 0, and how many components there are."""
    top = 2**31 - 2 if count is None else count - 1
    allowed = f"0 to {top:,}" + (f", as {where} has {count:,} rows" if count is not None else "")
    out: Ends = {}
    for end, name in ends.items():
        ids = table.ids(name)
        if ids.type == arrow().int64():
            given = ids.fill_null(0).to_numpy(zero_copy_only=False)
        else:
            given = np.zeros(table.rows, np.int64)
            table.note(name, np.arange(table.rows) == 0, ids, lambda v: f"no number (got {v})")
        bad = (given < 0) | (given > top)
        table.note(name, bad, given, lambda v: f"a number of {allowed} is expected (got {v})")
        out[end] = np.where(bad, 0, given).astype(np.int32)
    most = max(int(column.max(initial=-1)) for column in out.values())
    return out, most + 1 if count is None else count


def _by_id(table: ColumnTable, ends: dict[str, str], known: Any, where: str, drop: bool) -> Ends:
    """Return the places of ends among the ids that a table of nodes lists, -1 for others."""
    fix = "add it there, or say drop_unknown=True"
    out: Ends = {}
    for end, name in ends.items():
        ids = table.ids(name)
        if ids.type != known.type and ids.null_count < len(ids):
            table.unfit(name, f"ids are {ids.type} here and {known.type} in {where}")
            out[end] = np.zeros(table.rows, np.int32)
            continue
        out[end] = places(ids, known)
        if not drop:
            lost = (out[end] < 0) & ids.is_valid().to_numpy(zero_copy_only=False)
            table.note(name, lost, ids, lambda v: f"{v} is not in {where}; {fix}")
    return out


def by_appearance(table: ColumnTable, ends: dict[str, str]) -> tuple[Ends, Any]:
    """Return the places of ends among all ids that stand there, and these, ascending."""
    pc = arrow().compute
    first, second = (table.ids(name) for name in ends.values())
    if first.type != second.type:
        table.unfit(ends["target"], f"ids are {second.type} here and {first.type} elsewhere")
        second = first
    known = arrow().chunked_array([first, second]).unique().drop_null()
    known = known.take(pc.sort_indices(known))
    return {end: places(ids, known) for end, ids in zip(ends, (first, second), strict=True)}, known


def places(ids: Any, known: Any) -> NDArray[np.int32]:
    """Return where ids stand among the known ones, -1 for others."""
    found = arrow().compute.index_in(ids.cast(known.type), known).fill_null(-1)
    out: NDArray[np.int32] = found.to_numpy(zero_copy_only=False).astype(np.int32)
    return out


def texts(ids: Any) -> Column:
    """Return ids as names of components."""
    if ids.type == arrow().int64():
        numbers = ids.fill_null(0).to_numpy(zero_copy_only=False)
        widest = max(len(str(n)) for n in (numbers.min(initial=0), numbers.max(initial=0)))
        out: Column = numbers.astype(f"U{widest}")
        return out
    return np.array(ids.to_numpy(zero_copy_only=False).astype(str), dtype=np.str_)


def _known(taken: dict[str, Column], faults: Faults, where: str) -> dict[str, Column]:
    """Leave out edges of nodes that are not listed."""
    kept = (taken["source"] >= 0) & (taken["target"] >= 0)
    if dropped := len(kept) - int(kept.sum()):
        lost = f"lead from or to nodes that are not in {where}"
        faults.warn(f"{dropped:,} of {len(kept):,} edges {lost}; they are left out")
    return {name: column[kept] if column.ndim else column for name, column in taken.items()}


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
    rules: EdgeRules
    dendritic: str | Number
    back: str | Number | None
    accesses: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Receptor -> variable and access."""

    def __post_init__(self) -> None:
        weight = self.weight, self.weight_scale
        self.weight, self.weight_scale = magnitude(weight, "", "weight and weight_scale")
        delay = self.delay, self.delay_scale
        self.delay, self.delay_scale = seconds(delay, "delay and delay_scale")
        times = {"dendritic": self.dendritic, "back": self.back} if self.rules.learn else {}
        self.times = {key: value for key, value in times.items() if value is not None}
        """Where the synapses are on their way, of edges that learn."""
        scale = self.weight_scale
        first, second = scale if isinstance(scale, tuple) else (scale, scale)
        self.scales = float(first), float(second)
        self.ends = {"source": self.source, "target": self.target}
        given = (self.source, self.target, self.weight, self.sign, self.delay, self.receptor_column)
        given = (*given, *self.times.values(), *self.rules.columns)  # type: ignore[assignment]
        self.columns = [name for name in given if isinstance(name, str)]
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

    def read(self, table: ColumnTable) -> dict[str, Column]:
        """Return the weights, delays and receptors of edges, where they differ."""
        out: dict[str, Column] = {}
        if isinstance(self.weight, str) or self.sign is not None:
            weight: Column = np.array(1.0 if self.weight is None else self.weight)
            if isinstance(self.weight, str):
                weight = table.numbers(self.weight)
            if self.sign is not None:
                sign = table.numbers(self.sign)
                bad = np.abs(sign) != 1
                table.note(self.sign, bad, sign, lambda v: f"must be 1 or -1 (got {v:g})")
                weight = weight * sign
            if self.by_sign:
                out["receptor"] = (weight < 0).astype(np.int8)
            if self.scales != (1.0, 1.0):
                weight = weight * np.where(weight < 0, self.scales[1], self.scales[0])
            out["weight"] = weight
        if isinstance(self.delay, str):
            raw = table.numbers(self.delay)
            out["delay"] = raw * self.delay_scale
            say = "must not be negative"
            table.note(self.delay, out["delay"] < 0, raw, lambda v: f"{say} (got {v:g})")
        for key, value in self.times.items():
            raw = table.numbers(value) if isinstance(value, str) else np.array(float(value))
            out[key] = raw * self.delay_scale
        if self.receptor_column is not None:
            out["receptor"] = self._receptors(self.receptor_column, table)
        return {**out, **self.rules.read(table)}

    def _receptors(self, name: str, table: ColumnTable) -> NDArray[np.int8]:
        """Return the number of each edge's receptor."""
        known, codes = table.texts(name)
        order = list(self.accesses)
        names = self.receptor if isinstance(self.receptor, Mapping) else {r: r for r in order}
        numbers = np.array([order.index(names[k]) if k in names else -1 for k in known] + [0])
        out = numbers[codes]
        allowed = ", ".join(quoted(k) for k in names)
        say = f"must be one of {allowed}"
        table.note(name, out < 0, codes, lambda v: f"{say} (got {quoted(known[v])})")
        return out.astype(np.int8)

    def connections(self, taken: dict[str, Column]) -> list[Connections]:
        """Return the edges by receptor; ``taken`` is emptied."""
        which, codes = taken.pop("receptor", None), taken.pop("rule", None)
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
            chosen = None if which is None else which == number
            for rows, code in self.rules.parts(codes, chosen):
                part = {k: c[rows] if c.ndim else c for k, c in taken.items()}
                if len(part["source"]) or which is None:
                    out.append(self._some(self.accesses[name], part, code))
        taken.clear()
        return out

    def _some(self, access: tuple[str, str], part: dict[str, Column], code: int) -> Connections:
        """Return the edges of one receptor and one rule."""
        rule, called = self.rules.rule(code), self.rules.called(code, access[1])
        data = {key: part[key] for key in ("weight",) if key in part}
        if rule is not None:
            data |= {key: part[key] for key in self.times} | self.rules.numbers(code, part)
        ends = part["source"], part["target"], part["delay"]
        return Connections(*access, *ends, data, rule, called)
