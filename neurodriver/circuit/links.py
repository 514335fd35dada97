"""Edges -> connections: what each edge carries, its ends and its numbers as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, near, quoted
from ..model.component import NDComponent
from ..model.kinds import CircuitKinds, VariableKind
from .circuit import Connections, Group
from .numbers import column, real
from .plastic import INITIAL
from .records import Records
from .rule_nodes import Rules, by_rule, complete, unknown_rules
from .validate import edge_name, node_name
from .wiring import INSERTED, Wire, resolve

REVERSAL_NAMES = ("reverse", "Vr", "VR", "reverse_potential")
"""Attributes that give a reversal potential, in the order in which they are looked up."""

_LABELS = frozenset({"id", "networkx_key", "label", "variable", "receptor", "plasticity", "tag"})
_LEARNING = ("dendritic", "back", "largest")
_MEANT = ("delay", "variable", "weight", "receptor", "plasticity", *_LEARNING, *REVERSAL_NAMES)

Rows = NDArray[np.int64]


def make_connections(
    records: Records,
    groups: tuple[Group, ...],
    number: Rows,
    faults: Faults,
    lenient: bool,
    rules: Rules,
) -> tuple[Connections, ...]:
    """Return the edges as connections, one set for each variable, access and rule of plasticity.

    ``number``, (nodes,), is the component of each node, -1 where a fault of its own is told
    already. If ``lenient``, edges between models without a common variable are only warned of.
    """
    index = dict(zip(records.uids, number.tolist(), strict=True))
    source, target = _ends(records, index, faults)
    kept = np.flatnonzero((source >= 0) & (target >= 0))
    edges = records.edges if len(kept) == len(source) else [records.edges[i] for i in kept]
    source, target = source[kept], target[kept]
    names = _Names(records, kept)
    present: set[str] = set().union(*edges)
    used = {key for g in groups for a in g.model.accesses for key in a.connection}
    _warn_unused(edges, present.difference(_LABELS, _MEANT, used), rules, faults)
    of = np.repeat(np.arange(len(groups)), [g.count for g in groups])
    within = np.concatenate([np.arange(g.count) for g in groups] or [of])
    kinds = CircuitKinds([group.model for group in groups])
    if "plasticity" in present:
        for row, text in unknown_rules(edges, rules, index):
            faults.add(f"{names[row]}, {text}")
    sets: dict[tuple[str, str, str], list[Rows]] = {}
    for a, b, variable, receptor, rows in _kinds(of[source], of[target], edges, present):
        wire = _wire(groups[a], groups[b], variable, receptor, names.of(rows), faults, lenient)
        if wire is None:
            continue
        if groups[b].is_port:
            ports = {
                name: column[within[target[rows]]] for name, column in groups[b].labels.items()
            }
            _warn_ports(ports, groups[a].model, wire.variable, bool(variable), faults)
        for rule, mine in by_rule(edges, rows) if rules else [("", rows)]:
            sets.setdefault((wire.variable, wire.access, rule), []).append(mine)
    reversals = None
    out = []
    several = Counter(rule for *_, rule in sets)
    for (variable, access, rule), parts in sets.items():
        rows = np.sort(np.concatenate(parts))  # the order of the file
        links = [edges[r] for r in rows.tolist()] if len(rows) < len(edges) else edges
        meant = {*_MEANT, *used}
        if (kind := kinds.of(variable)) in INSERTED and variable != access:
            meant.update(INSERTED[kind].rules())
        learns = rules.get(rule)
        if learns is not None:
            meant.update((f"{INITIAL}{name}" for name in learns.synapse), learns.params)
        data = _edge_numbers(links, names.of(rows), faults, meant, _units(groups, access))
        data = data if learns is None else complete(data, learns)
        delay = data.pop("delay", np.zeros(()))
        ends = source[rows].astype(np.int32), target[rows].astype(np.int32)
        if kind is VariableKind.CONDUCTANCE:
            if reversals is None:
                reversals = _node_reversals(records, groups, number, faults)
            opens = _opens(groups, variable, access)[of[ends[1]]]
            data["reverse"] = _reversal(data, reversals[ends[0]], opens, faults)
        name = rule if several[rule] == 1 else f"{rule}, {variable} -> {access}"
        learning = () if learns is None else (learns, name)
        out.append(Connections(variable, access, *ends, delay, data, *learning))
    return tuple(out)


def _ends(records: Records, index: dict[str, int], faults: Faults) -> tuple[Rows, Rows]:
    """Return the components at the ends of all edges; negative where there are none."""
    lost = repeat(-2)
    source = np.fromiter(map(index.get, records.sources, lost), np.int64, len(records.edges))
    target = np.fromiter(map(index.get, records.targets, lost), np.int64, len(records.edges))
    dangling = np.flatnonzero((source == -2) | (target == -2))
    faults.add_for(dangling, lambda i: _dangling(records, index, i))
    return source, target


def _wire(
    source: Group,
    target: Group,
    variable: str,
    receptor: str,
    names: _Names,
    faults: Faults,
    lenient: bool,
) -> Wire | None:
    """Return what some edges carry; None after noting why they carry nothing."""
    wire, count = resolve(source.model, target.model, variable, receptor), len(names.rows)
    if wire.unmatched and lenient:
        between = f"{source.name} -> {target.name}"
        faults.warn(f"edges {between} have no variable in common and are ignored", count)
        return None
    if wire.fault:
        faults.add_each((f"{names[r]} {wire.fault}" for r in range(count)), count)
        return None
    if wire.warning:
        faults.warn(wire.warning, count)
    return wire


def _warn_ports(
    ports: dict[str, NDArray[Any]],
    source: type[NDComponent],
    variable: str,
    said: bool,
    faults: Faults,
) -> None:
    """Warn of output ports of one type that publish what goes through the other one.

    Spikes through a gpot port may be meant where the edge says so.
    """
    events = source.kind_of(variable) is VariableKind.EVENT
    wrong, right = ("gpot", "spike") if events else ("spike", "gpot")
    times = int(((ports["port_type"] == wrong) & (ports["port_io"] == "out")).sum())
    if not times or (events and said):
        return
    fitting = [v for v in source.updates if (source.kind_of(v) is VariableKind.EVENT) != events]
    fix = [f"write variable='{v}' on the edges" for v in fitting[:1]]
    fix.append(f"make it port_type '{right}'")
    faults.warn(
        f"output ports with port_type '{wrong}' publish '{variable}' of {source.__name__}; "
        + " or ".join(fix),
        times,
    )


class _Names:
    """Names of edges for messages, made when they are needed."""

    def __init__(self, records: Records, rows: Rows) -> None:
        self.records, self.rows = records, rows

    def __getitem__(self, row: int) -> str:
        at = self.rows[row]
        return edge_name(self.records.sources[at], self.records.targets[at])

    def attribute(self, key: str, row: int) -> str:
        """Return how messages call an attribute of an edge."""
        return f"{self[row]}, attribute '{key}'"

    def of(self, rows: Rows) -> _Names:
        """Return the names of some of these edges."""
        return _Names(self.records, self.rows[rows])


def _kinds(
    source: Rows, target: Rows, edges: list[dict[str, Any]], present: set[str]
) -> Iterator[tuple[int, int, str, str, Rows]]:
    """Yield groups of source and target, variable, receptor and the edges that share them."""
    labels: dict[tuple[str, str], int] = {("", ""): 0}
    label = np.zeros(len(edges), dtype=np.int64)
    if present & {"variable", "receptor"}:
        said = ((str(d.get("variable") or ""), str(d.get("receptor") or "")) for d in edges)
        label = np.fromiter((labels.setdefault(s, len(labels)) for s in said), np.int64, len(edges))
    key = np.stack([source, target, label])
    order = np.lexsort(key)
    cuts = np.flatnonzero((np.diff(key[:, order]) != 0).any(axis=0)) + 1
    texts = list(labels)
    # in the order in which the kinds first appear
    for rows in sorted(np.split(order, cuts), key=lambda r: r[0]) if len(order) else ():
        a, b, t = key[:, rows[0]].tolist()
        yield a, b, *texts[t], rows


def _dangling(records: Records, index: dict[str, int], row: int) -> str:
    ends = records.sources[row], records.targets[row]
    lost = next(uid for uid in ends if uid not in index)
    hint = near(lost, index) if len(index) <= 2000 else ""
    return f"{edge_name(*ends)}: there is no node {quoted(lost)}{hint}"


def _warn_unused(
    edges: list[dict[str, Any]], unused: Iterable[str], rules: Rules, faults: Faults
) -> None:
    """Warn of attributes that look like others, or like parameters of rules, and are none."""
    own = {name for rule in rules.values() if rule is not None for name in rule.params}
    for key in sorted({*map(str, unused)} - own):
        if hint := near(key, [*_MEANT, *own]):
            times = sum(key in data for data in edges)
            faults.warn(f"edges have no attribute {quoted(key)}{hint}; it is not used", times)


def _units(groups: tuple[Group, ...], access: str) -> dict[str, str | None]:
    """Return the units of the numbers of edges into an access; None where models disagree."""
    out: dict[str, str | None] = dict.fromkeys(("delay", "dendritic", "back"), "s")
    out |= dict.fromkeys(REVERSAL_NAMES, "mV")
    for one in (a for g in groups for a in g.model.accesses if a.name == access):
        for key, rule in one.connection.items():
            out[key] = rule.unit if out.get(key, rule.unit) == rule.unit else None
    return out


def _edge_numbers(
    links: list[dict[str, Any]],
    names: _Names,
    faults: Faults,
    meant: set[str],
    units: dict[str, str | None],
) -> dict[str, NDArray[np.float64]]:
    """Return the numeric attributes of edges as columns; NaN where an edge has none."""
    out = {}
    for key in sorted(set().union(*links).difference(_LABELS)):
        values = [d.get(key) for d in links]
        if key == "delay":
            values = [0.0 if value is None else value for value in values]
        if key in meant:
            harmless = 0.0 if key == "delay" else np.nan
            found = column(values, faults, partial(names.attribute, key), harmless, units.get(key))
        else:
            found = np.fromiter(map(real, values), np.float64, len(links))
        if found.any() if key == "delay" else not np.isnan(found).all():
            out[key] = found
    return out


def _node_reversals(
    records: Records, groups: tuple[Group, ...], number: Rows, faults: Faults
) -> NDArray[np.float64]:
    """Return the reversal potential of each component that updates a conductance, or NaN."""
    kinds = [{*map(g.model.kind_of, g.model.updates)} for g in groups]
    gives = np.repeat([VariableKind.CONDUCTANCE in k for k in kinds], [g.count for g in groups])
    found = [
        (row, node_name(uid), name, data[name])
        for row, uid, data in zip(number.tolist(), records.uids, records.nodes, strict=True)
        if row >= 0 and gives[row]
        for name in [next((n for n in REVERSAL_NAMES if data.get(n) is not None), None)]
        if name is not None
    ]
    out = np.full(len(gives), np.nan)
    values = [value for *_, value in found]
    where = lambda i: f"{found[i][1]}, attribute '{found[i][2]}'"  # noqa: E731
    out[[row for row, *_ in found]] = column(values, faults, where, 0.0, "mV")
    return out


def _opens(groups: tuple[Group, ...], variable: str, access: str) -> NDArray[np.bool_]:
    """Return in which groups a conductance becomes a current; some models take it as it is."""
    if variable != access:
        return np.ones(len(groups), dtype=bool)
    rules = ({a.name: a.connection for a in group.model.accesses} for group in groups)
    return np.array(["reverse" in rule.get(access, {}) for rule in rules])


def _reversal(
    data: dict[str, NDArray[np.float64]],
    of_source: NDArray[np.float64],
    opens: NDArray[np.bool_],
    faults: Faults,
) -> NDArray[np.float64]:
    """Return the reversal potential of each conductance edge: edge, then synapse, then 0 mV.

    ``opens``, (edges,), says where it has a meaning.
    """
    out = np.full(len(of_source), np.nan)
    for name in REVERSAL_NAMES:
        if name in data:
            out = np.where(np.isnan(out), data.pop(name), out)
    out = np.where(np.isnan(out), of_source, out)
    lost = int((np.isnan(out) & opens).sum())
    if lost:
        faults.warn("conductance edges without a reversal potential: 0 mV is taken", lost)
    return np.where(np.isnan(out), 0.0, out)
