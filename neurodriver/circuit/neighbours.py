"""What leads to a component and from it, whether connections are stored or follow from rules."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..arguments import texts
from ..errors import CircuitError, CircuitWarning, near, quoted
from .builders import builds
from .circuit import Circuit, Column, Connections
from .distributions import Distribution
from .drawn import Drawn
from .pointers import pointers
from .relation import Relation
from .rules import Ends
from .selection import members_of
from .space import AxisGrid
from .stencils import ways

Table = dict[str, Column]

FEW = 64
"""Components whose connections are found one by one at most; those of more are expanded."""


@builds("inputs_of")
def inputs_of(circuit: Circuit, uid: str) -> Table:
    """Return the table of ``Circuit.inputs_of``."""
    number = _number(circuit, uid)
    _warn_of_texts(circuit, np.array([number]), quoted(uid))
    return _table(circuit, number, "source")


@builds("outputs_of")
def outputs_of(circuit: Circuit, uid: str) -> Table:
    """Return the table of ``Circuit.outputs_of``."""
    number = _number(circuit, uid)
    _warn_of_texts(circuit, np.array([number]), quoted(uid), readers=True)
    return _table(circuit, number, "target")


@builds("trace")
def trace(circuit: Circuit, uid: str, populations: Sequence[str]) -> list[Column]:
    """Return the uids of ``Circuit.trace``."""
    cells = np.array([_number(circuit, uid)], np.int64)
    found: list[Column] = []
    seen = cells
    names = texts(populations, "trace: populations")
    for name in [names] if isinstance(names, str) else names:
        members = np.zeros(circuit.count, bool)
        members[members_of(circuit, name)] = True
        if not members.any():
            known = list(circuit.populations)[:10]
            among = f"{near(str(name), circuit.populations)}; there are {', '.join(known)}"
            raise CircuitError(f"{circuit.name}: no population {quoted(name)}{among}")
        reached = np.zeros(circuit.count, bool)
        for one in circuit.connections:
            reached[_sources(one, cells)] = True
        cells = np.flatnonzero(reached & members)
        found.append(circuit.uids[cells])
        seen = np.concatenate([seen, cells])
    _warn_of_texts(circuit, seen[: len(seen) - len(cells)], quoted(uid))
    return found


def _sources(links: Connections, targets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the sources of the connections into some components, ascending numbers."""
    if isinstance(links, Drawn) and len(targets) <= FEW:
        inside = [one for one in targets.tolist() if one in links.ends.target]
        sources = [found.source for one in inside for found in _into(links, one)]
        return np.concatenate(sources) if sources else np.zeros(0, np.int32)
    wanted = np.isin(links.target, targets)
    return links.source[wanted]


def _number(circuit: Circuit, uid: str) -> int:
    number = int(circuit.find([uid])[0])
    if number < 0:
        some = circuit.uids[:10000].tolist()
        raise CircuitError(f"{circuit.name}: no component {quoted(uid)}{near(str(uid), some)}")
    return number


def _warn_of_texts(
    circuit: Circuit, cells: NDArray[np.int64], who: str, readers: bool = False
) -> None:
    """Warn where texts of some cells read populations, or where texts read the cells."""
    said = []
    for one in pointers(circuit):
        first = int(circuit.starts[one.group]) + one.first
        last = first + one.count
        if not readers:
            first, last = circuit.starts[one.reader : one.reader + 2].tolist()
        if ((first <= cells) & (cells < last)).any():
            layer = circuit.groups[one.reader].layer
            name = quoted(layer.population if layer else circuit.groups[one.reader].name)
            said.append(f"{name} reads {quoted(one.population)} (source {quoted(one.source)})")
    if said:
        some = "; ".join(said[:5]) + (f"; and {len(said) - 5} more" if len(said) > 5 else "")
        why = "what texts read by position is no connection, and is not listed here"
        warnings.warn(f"{who}: {why}: {some}", CircuitWarning, stacklevel=4)


def _table(circuit: Circuit, number: int, other: str) -> Table:
    parts = [_part(circuit, one, other) for one in _found(circuit, number, other)]
    if not parts:
        none = np.empty(0, np.int32)
        parts = [_part(circuit, Connections("", "", none, none), other)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _part(circuit: Circuit, links: Connections, other: str) -> Table:
    size = (len(links),)
    weight = np.asarray(links.data.get("weight", 1.0), np.float64)
    return {
        "variable": np.full(size, links.variable),
        "access": np.full(size, links.access),
        "uid": circuit.uids[getattr(links, other)],
        "weight": np.broadcast_to(weight, size),
        "delay": np.broadcast_to(np.asarray(links.delay, np.float64), size),
    }


def _found(circuit: Circuit, number: int, other: str) -> Iterator[Connections]:
    """Yield the connections of each set whose one end is a component, as columns."""
    mine = "target" if other == "source" else "source"
    for links in circuit.connections:
        if isinstance(links, Drawn) and number not in getattr(links.ends, mine):
            continue
        if isinstance(links, Drawn) and mine == "target":
            yield from (found for found in _into(links, number) if len(found))
            continue
        if isinstance(links, Drawn) and _alike(links):
            one = Ends(range(number, number + 1), links.ends.target)
            laws = links.weight, links.latency
            found = Drawn(links.projection, one, links.key, laws, links.located).expanded()
        else:
            whole = links.expanded()
            found = whole.taken(np.flatnonzero(_end(whole, mine) == number))
        if len(found):
            yield found


def _into(links: Drawn, number: int) -> Iterator[Connections]:
    """Yield the connections of one target, by ascending sources.

    Only sources that may lead to it are looked at: on axes those from the first to the last one of
    the runs that hold it, elsewhere those at its distance or in its lists.
    """
    simple = _alike(links) and links.plasticity is None
    if not simple or links.located is None or links.located.relation.form == "offsets":
        yield links.into(number)
        return
    start, begin = links.located.firsts
    relation = links.located.relation
    if relation.form == "grid":
        parts = _runs_of_sources(relation, number - begin)
    else:
        parts = _neighbours(_sources_of(relation, number - begin))
    for first, last in parts:
        low, high = max(links.begins.start, start + first), min(links.begins.stop, start + last + 1)
        if low < high:
            ends, laws = Ends(range(low, high), links.ends.target), (links.weight, links.latency)
            yield Drawn(links.projection, ends, links.key, laws, links.located).into(number)


def _neighbours(numbers: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of each run of neighbours."""
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
        if len(run):
            yield int(run[0]), int(run[-1])


def _sources_of(relation: Relation, target: int) -> NDArray[np.int64]:
    """Return the sources that may lead to a target, ascending: of points and lists."""
    tables = relation.tables
    if relation.form == "listed":
        found = np.flatnonzero(tables["listed"] == target)
        return np.searchsorted(tables["begin"], found, side="right") - 1
    squared = np.zeros(len(tables["from"]))
    for d, period in enumerate(tables["period"].tolist()):
        squared += ways(tables["from"][:, d], tables["to"][target, d], period or None) ** 2
    return np.flatnonzero(squared <= relation.squared * (1 + 1e-9))


def _runs_of_sources(relation: Relation, target: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last cell of each part of the sources that may lead to a target."""
    source, reached = relation.source, relation.target
    assert isinstance(source, AxisGrid) and isinstance(reached, AxisGrid)
    points = reached.point_of_cell
    place = np.unravel_index(target if points is None else points[target], reached.extent)
    at = dict(zip(reached.names, place, strict=True))
    held = {}
    for axis in relation.axes:
        index = at.get(axis.name, 0)
        runs = np.flatnonzero((axis.low <= index) & (index <= axis.high))
        held[axis.name] = np.unique(np.searchsorted(axis.begin, runs, side="right") - 1)
    some = [held[name] for name in source.names]
    if not all(map(len, some)):
        return
    for part in np.split(some[0], np.flatnonzero(np.diff(some[0]) > 1) + 1):
        corners = [[one[end] for one in (part, *some[1:])] for end in (0, -1)]
        first, last = (int(np.ravel_multi_index(corner, source.extent)) for corner in corners)
        cells = source.point_of_cell
        if cells is not None:  # cells of a mask ascend with their points
            first = int(np.searchsorted(cells, first))
            last = int(np.searchsorted(cells, last, side="right")) - 1
        yield first, last


def _alike(links: Drawn) -> bool:
    """Whether the row of a source does not depend on its number among the sources."""
    given = links.projection.weight, links.projection.delay
    return links.located is not None and not any(isinstance(v, Distribution) for v in given)


def _end(links: Connections, end: str) -> NDArray[np.int32]:
    ends: NDArray[np.int32] = getattr(links, end)
    return ends
