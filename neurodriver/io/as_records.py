"""``Circuit`` -> records: the way back, for what is small enough for a graph of objects."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..circuit.circuit import Circuit, Column, Connections
from ..circuit.drawn import Drawn
from ..circuit.records import Records
from ..errors import CircuitWarning, NeurodriverError, quoted


def as_records(circuit: Circuit) -> Records:
    """Return nodes and edges with their attributes, as `assemble` takes them.

    Edges come set by set, each with its ``variable``, ``receptor`` and numbers. What a component or
    an edge does not have (NaN, an empty text) is left out. A graph cannot tell joined circuits
    apart, nor hide components, so these raise NeurodriverError; a namespace of random numbers and
    an order within a step, which a graph does not hold, are warned of.
    """
    hidden = [group for group in circuit.groups if group.hidden and group.count]
    if hidden and not circuit.held and not any(group.scopes for group in circuit.groups):
        say = "is hidden, as the source of a stimulus is, which no graph holds; save it as .h5"
        raise NeurodriverError(f"{circuit.name}: {quoted(hidden[0].uids[0])} {say}")
    if circuit.replaced or circuit.held or any(g.scopes or g.hidden for g in circuit.groups):
        say = "is joined from several circuits, which no graph holds; save the parts, or as HDF5"
        raise NeurodriverError(f"{circuit.name}: {say}")
    namespace = circuit.random_namespace
    if namespace is not None and any(g.model.draws_random() for g in circuit.groups):
        message = f"the namespace {quoted(namespace)} of random numbers is not kept in a graph"
        warnings.warn(f"{circuit.name}: {message}; save as HDF5", CircuitWarning, stacklevel=2)
    if circuit.phase_of_group is not None:
        message = "the order of its populations within a step is not kept in a graph"
        warnings.warn(f"{circuit.name}: {message}; save as HDF5", CircuitWarning, stacklevel=2)
    records = Records(circuit.name, uids=circuit.uids.tolist())
    meant = {name for group in circuit.groups for name in (*group.params, *group.labels, "class")}
    for group in circuit.groups:
        further = {f"{n}_" if n in meant else n: c for n, c in group.columns.items()}
        columns = {**further, **group.params, **group.labels}
        records.nodes += _rows(columns, group.count, {"class": group.name})
    _add_places(records, circuit)
    found = [links for links in circuit.connections if isinstance(links, Drawn) and links.located]
    if found:
        edges = sum(map(len, found))
        message = f"{len(found)} rules of place become {edges:,} edges in a graph"
        warnings.warn(f"{circuit.name}: {message}; save as HDF5", CircuitWarning, stacklevel=2)
    for links in circuit.connections:
        rule = "" if links.plasticity is None else _add_rule(records, links)
        _add(records, circuit, links.expanded(), rule)
    return records


def _add_places(records: Records, circuit: Circuit) -> None:
    """Give each node that has a place the attributes ``pos.<axis>``."""
    for name, space in circuit.spaces.items():
        for number, place in zip(circuit.populations[name].numbers, space.positions, strict=True):
            known = zip(space.names, place.tolist(), strict=True)
            records.nodes[number] |= {f"pos.{axis}": x for axis, x in known if x == x}


def _add_rule(records: Records, links: Connections) -> str:
    """Add the node of a rule, and the edges that feed its modulators; return its id."""
    rule, name = links.plasticity, links.name
    assert rule is not None
    while name in records.uids:
        name += "_"
    records.uids.append(name)
    records.nodes.append({"class": type(rule).__name__, **rule.values})
    for modulator, uids in rule.released_by.items():
        records.sources += [str(uid) for uid in uids]
        records.targets += [name] * len(uids)
        records.edges += [{"receptor": modulator} for _ in uids]
    return name


def _add(records: Records, circuit: Circuit, links: Connections, rule: str) -> None:
    uids = circuit.uids.tolist()
    records.sources += [uids[i] for i in links.source.tolist()]
    records.targets += [uids[i] for i in links.target.tolist()]
    columns = dict(links.data)
    if links.delay.ndim or links.delay:
        columns["delay"] = links.delay
    common = {"variable": links.variable, **({"plasticity": rule} if rule else {})}
    rows = _rows(columns, len(links), common)
    receptors = {
        g: a.receptor
        for g, group in enumerate(circuit.groups)
        for a in group.model.accesses
        if a.receptor and a.name == links.access
    }
    which = circuit.group_of(links.target)
    for i in np.flatnonzero(np.isin(which, list(receptors))).tolist():
        rows[i]["receptor"] = receptors[which[i]]
    records.edges += rows


def _rows(columns: dict[str, Column], count: int, common: dict[str, Any]) -> list[dict[str, Any]]:
    """Return attributes row by row, without what is not given."""
    rows = [dict(common) for _ in range(count)]
    for name, column in columns.items():
        given = column != "" if column.dtype.kind == "U" else column == column  # not NaN
        each = np.broadcast_to(column, (count,)).tolist()
        for row, value, there in zip(
            rows, each, np.broadcast_to(given, (count,)).tolist(), strict=True
        ):
            if there:
                row[name] = value
    return rows
