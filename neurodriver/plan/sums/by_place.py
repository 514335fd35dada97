"""The form ``by_place``: rules of place whose connections are stored nowhere, for graded values.

A row is the components that are neighbours along the last axis of a population. Neighbours read
neighbouring sources. So the plan has *segments* (neighbouring components of a row), and *entries*
for each row of targets: a row of sources, and which part of it each component reads. Mostly each
component reads one source, at the same distance as its neighbours. In other entries a *list* gives
the source of each component. Others have a *kind*: how many sources each component reads, and a
table for components at the ends.

No array grows with the connections. The entries of a row, and the sources within them, are in
ascending order. So components add up in the order of the connections, and sums have the bits of all
other forms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...circuit.circuit import Circuit, Connections
from ...circuit.drawn import Drawn
from ...circuit.space import AxisGrid
from ...errors import CircuitError, quoted
from ...model.component import Access
from ...native.buffers import GUARD, LANES, aligned, padded
from ..delays import check_longest
from ..layout import Layout
from .columns import LocatedLink
from .gather import Gather
from .patches import adds_products, graded, may_have_patches, patches_of
from .place_distances import by_distance, needs_distances
from .place_parts import SINGLE, GridRows, Integers, kinds_of, overlap
from .place_reasons import in_other_rows, possible, unfit, unfit_access, unfit_spikes, unplain

LEAST = 0.5
"""Share of the connections that must be read in vectors for the plan to pay."""

MANY = 1 << 23
"""Connections of an access that are stored, where nobody says whether."""

ROOM = GUARD
"""Rows behind the last one of a table, which may be read with it."""

TOGETHER = 4
"""Entries that a GPU loads together: there the rows are filled up to multiples."""

ENTRY = 0.25
"""Work of a component for each entry of its row, in units of one stored connection."""

EMPTY = (0, 0, 0, -1)
"""An entry without any source."""

Patched = dict[int, dict[str, Gather]]
"""Plans by patches: number of a group -> name of an access -> its plan."""


def place_plan(
    layout: Layout, number: int, access: Access, count: int, patched: Patched
) -> Gather | None:
    """Return the plan of an access that rules of place alone reach; None where it does not pay.

    Parameters
    ----------
    number : int
        Of the group.
    count : int
        Components of the group.
    patched : mapping
        What this function has planned for a GPU.

    Raises
    ------
    CircuitError
        Where connections must not be stored, and this plan does not fit them.
    """
    unstored = _unstored(layout, number, access)
    made = _tables(layout, number, access, count)
    if made is not None:
        if layout.target.threads and unstored:
            if number not in patched:
                patched[number] = _by_patches(layout, number, count, patched)
            if access.name in patched[number]:
                return patched[number][access.name]
        pays = made.pays and not layout.target.threads  # stored ones are faster there
        return made.gather(access.weighted) if unstored or pays else None
    for one in unstored:
        if not one.counted():
            continue  # nothing would be stored
        say = f"projection {quoted(one.name)}: stored=False is possible {possible(layout, one)}"
        here = _why(layout, number, access, count, one)
        raise CircuitError(f"{layout.circuit.name}: {say}{here}; leave 'stored' out")
    return None


def _why(layout: Layout, number: int, access: Access, count: int, asked: Drawn) -> str:
    """Return what keeps connections into an access from being found anew, where that is known."""
    if layout.circuit.kinds.is_event(access.variable):
        text = unfit_spikes(layout, asked)
        return f"; here {text}" if text else ""
    text = unfit_access(layout, number, access) or _other_input(layout, number, access)
    start, stop = (int(one) for one in layout.circuit.starts[number : number + 2])
    tables = _Tables(layout, number, count)
    for one in () if text else _into(layout, access, start, stop):
        text = unfit(layout, one, start, stop) if isinstance(one, Drawn) else "it has columns"
        if not text and isinstance(one, Drawn) and not tables.add(one):
            text = unplain(one)
        if text and one is not asked:
            name = one.name or f"{one.variable} -> {one.access}"
            text = f"of the connections {quoted(name)} into the same access, {text}"
        if text:
            break
    return f"; here {text}" if text else ""


def _other_input(layout: Layout, number: int, access: Access) -> str:
    return "" if _alone(layout, number, access) else "an input enters the same access"


def _tables(layout: Layout, number: int, access: Access, count: int) -> _Tables | None:
    """Return the tables of all connections into an access; None where the plan does not fit."""
    links = _reaching(layout, number, access)
    made = _Tables(layout, number, count)
    return made if links is not None and all(made.add(one) for one in links) else None


def _by_patches(layout: Layout, number: int, count: int, others: Patched) -> dict[str, Gather]:
    """Return the plans of the accesses of a group for which patches pay."""
    if not may_have_patches(layout, number):
        return {}
    accesses = [one for one in layout.circuit.groups[number].model.accesses if adds_products(one)]
    tables = {one.name: _tables(layout, number, one, count) for one in accesses}
    known = {name: made for name, made in tables.items() if made is not None}
    every = [one.limits for plans in others.values() for one in plans.values()]
    taken = max((one["end"] for one in every), default=0)
    before = sum(one["slots"] for one in every)
    links = {name: made.links for name, made in known.items()}
    edges = {name: made.edges for name, made in known.items()}
    may = not any(_unstored(layout, number, one) for one in accesses)
    return patches_of(layout, number, links, edges, taken, before, may)


def without_patched(layout: Layout) -> Circuit:
    """Return a circuit in which connections are not stored that are faster by patches.

    Parameters
    ----------
    layout : Layout
        For a GPU, with the components in the order of the circuit.
    """
    circuit = layout.circuit
    patched: Patched = {}
    for number, group in enumerate(circuit.groups if graded(layout) else []):
        if not group.is_port:
            patched[number] = _by_patches(layout, number, group.count, patched)
    better = {
        one
        for number, found in patched.items()
        for name in found
        for one in _reaching(layout, number, circuit.groups[number].model.access(name)) or []
    }
    if not better:
        return circuit
    links = (one.not_stored() if one in better else one for one in circuit.connections)
    return circuit.with_parts(circuit.groups, links)


def never_stored(circuit: Circuit) -> list[Drawn]:
    """Return the projections whose connections must not be stored."""
    return [
        one
        for one in circuit.connections
        if isinstance(one, Drawn) and one.projection.stored is False
    ]


def _unstored(layout: Layout, number: int, access: Access) -> list[Drawn]:
    """Return the projections into an access whose connections must not be stored."""
    start, stop = layout.circuit.starts[number : number + 2]
    return [
        one
        for one in never_stored(layout.circuit)
        if (one.access, one.variable) == (access.name, access.variable)
        if one.ends.target.start < stop and one.ends.target.stop > start
    ]


def _reaching(layout: Layout, number: int, access: Access) -> list[Drawn] | None:
    """Return the projections that reach an access; None where anything else does."""
    circuit = layout.circuit
    if unfit_access(layout, number, access) or not _alone(layout, number, access):
        return None
    start, stop = int(circuit.starts[number]), int(circuit.starts[number + 1])
    found = []
    for one in _into(layout, access, start, stop):
        if not isinstance(one, Drawn) or unfit(layout, one, start, stop):
            return None
        found.append(one)
    return found or None


def _into(layout: Layout, access: Access, start: int, stop: int) -> Iterator[Connections]:
    """Yield what leads into an access of some components."""
    for one in layout.circuit.connections:
        if one.access != access.name or one.variable != access.variable:
            continue
        if isinstance(one, Drawn):
            reached = one.ends.target.start < stop and one.ends.target.stop > start
        else:
            reached = bool(((one.target >= start) & (one.target < stop)).any())
        if reached:
            yield one


def _alone(layout: Layout, number: int, access: Access) -> bool:
    """Whether no input brings the variable to the access."""
    start, stop = layout.circuit.starts[number : number + 2]
    return not any(
        one.access == access.name and ((one.target >= start) & (one.target < stop)).any()
        for one in layout.slots.connections
    )


def _filled(
    values: NDArray[Any], place: Integers, size: np.integer, empty: ArrayLike
) -> NDArray[Any]:
    """Return an array with values at some places, and elsewhere what says that there is none."""
    shape = int(size), *values.shape[1:]
    out = aligned(math.prod(shape), values.dtype).reshape(shape)
    out[:] = empty
    out[place] = values
    return out


@dataclass
class _Target:
    """A population of targets: its rows, and the entries of all projections to it."""

    rows: GridRows
    points: int
    entries: list[Integers]
    weight: list[NDArray[np.float64]]


class _Tables:
    """Collects the tables of all projections into one access.

    An entry of a row of targets: where its sources begin, from which to before which target they
    exist, and -1 where each target reads one source; or the number of the kind; or -2 - n where the
    list of sources begins at element n, in which -1 means none. With lists and kinds the ends are
    those of sources. Kinds: shift, first target
    and end of what is read in vectors, how many sources each of these has, whether there are
    others, and the first row of the table. This has for each index of targets up to two runs.
    """

    def __init__(self, layout: Layout, number: int, count: int) -> None:
        self.layout, self.count = layout, count
        self.start = int(layout.circuit.starts[number])
        self._targets: dict[int, _Target] = {}  # by the number of the first cell
        self._shifts: list[Integers] = []
        self._tables: list[Integers] = []
        self._lists: list[Integers] = []
        self._kinds = self._lines = self._listed = 0
        self._vectors = self._all = 0.0
        self.edges = 0
        self.links: list[LocatedLink] = []

    def add(self, one: Drawn) -> bool:
        """Take up a projection; return False where its cells are not in plain rows."""
        assert one.located is not None
        relation = one.located.relation
        source, target = relation.source, relation.target
        assert isinstance(source, AxisGrid) and isinstance(target, AxisGrid)
        rows = GridRows.of(source)
        if in_other_rows(relation, rows):
            return False
        made = by_distance(one) if needs_distances(one) else kinds_of(relation)
        if made is None:
            return False
        shift, table, entries = made
        by_formula = one.located.formulas[0] is not None
        first, late = one.ends.target.start - self.start, self._steps(one) - 1
        weight = entries[3] if by_formula else one.weight.least * entries[3]
        self.links.append(LocatedLink(relation, made, weight, self._element(one), first, late))
        of_row = np.full(int(np.prod(source.extent[:-1], dtype=np.int64)), -1, np.int64)
        of_row[rows.number] = np.arange(len(rows.number))
        at, from_row, kind, _ = entries
        there = of_row[from_row] >= 0
        at, kind, weight = at[there], kind[there], weight[there]
        row = of_row[from_row[there]]
        base = self._element(one) + rows.cell[row] - rows.first[row] + shift[kind, 0]
        ends = rows.first[row] - shift[kind, 0], rows.first[row] + rows.length[row] - shift[kind, 0]
        plain = not shift[:, 4].any() and bool((shift[:, 3] <= 1).all())
        if plain:
            ends = np.maximum(ends[0], shift[kind, 1]), np.minimum(ends[1], shift[kind, 2])
            some = ends[0] < ends[1]
            at, kind, weight, base = at[some], kind[some], weight[some], base[some]
            ends = ends[0][some], ends[1][some]
        if first not in self._targets:
            points = int(np.prod(target.extent[:-1], dtype=np.int64))
            self._targets[first] = _Target(GridRows.of(target), points, [], [])
        mine = self._targets[first]
        what = np.full(len(at), -1) if plain else self._add_kinds(shift, table)[kind]
        lates = np.full(len(at), late)
        mine.entries.append(np.stack([at, base, *ends, what, lates], axis=1))
        mine.weight.append(weight)
        self.edges += overlap(mine.rows, at, ends) if plain else one.counted()
        vectors = (shift[:, 2] - shift[:, 1]) * shift[:, 3]
        self._vectors += float(vectors[kind].sum())
        self._all += float((vectors + table[:, :, [1, 3]].sum(axis=(1, 2)))[kind].sum())
        return True

    def _add_kinds(self, shift: Integers, table: Integers) -> Integers:
        """Take up lists and kinds; return what entries say of them."""
        count, single = table.shape[1], shift[:, 4] == SINGLE
        what = np.zeros(len(shift), np.int64)
        lists, others = np.arange(single.sum()), np.arange((~single).sum())
        what[single] = -2 - (self._listed + lists * count)
        what[~single] = self._kinds + others
        self._lists.append(np.where(table[single, :, 1] > 0, table[single, :, 0], -1).reshape(-1))
        self._shifts.append(np.column_stack([shift[~single], self._lines + others * count]))
        self._tables.append(table[~single].reshape(-1, 4))
        self._kinds, self._lines = self._kinds + len(others), self._lines + len(others) * count
        self._listed += len(lists) * count
        return what

    def _steps(self, one: Drawn) -> int:
        """Return the latency in steps; 0 without a delay from an earlier phase to a later one."""
        circuit, dt = self.layout.circuit, self.layout.dt
        steps = int(max(np.rint(min(one.latency.least / dt, 2.0**53)), 1))
        check_longest(one, steps, dt, circuit.name)
        phase = circuit.phase_of_group
        if phase is None or one.latency.least > 0:
            return steps
        ends = one.ends.source.start, one.ends.target.start
        source, target = phase[circuit.group_of(ends)]
        return 0 if 0 <= source < target else steps

    def _element(self, one: Drawn) -> int:
        """Return where the first source stands in a row of the variable."""
        circuit = self.layout.circuit
        first = one.ends.source.start
        group = int(circuit.group_of(first))
        segment = self.layout.segment(group, one.variable)
        return int(segment.start + first - circuit.starts[group])

    @property
    def pays(self) -> bool:
        """Whether there are many connections, and most of them are read in vectors."""
        return self._all > MANY and self._vectors > LEAST * self._all

    def gather(self, weighted: bool) -> Gather:
        """Return the plan."""
        targets = [self._targets[first] for first in sorted(self._targets)]
        row0 = np.cumsum([0, *(one.points for one in targets)])
        segments = []
        for first, one, row in zip(sorted(self._targets), targets, row0, strict=False):
            rows, place = one.rows, one.rows.cell + first
            columns = [place, place + rows.length, rows.first, row + rows.number]
            segments.append(np.stack(columns, axis=1))
        segment = np.concatenate(segments)
        entries = np.concatenate([part for one in targets for part in one.entries])
        sizes = [sum(map(len, one.entries)) for one in targets]
        at = entries[:, 0] + np.repeat(row0[:-1], sizes)
        order = np.argsort(at, kind="stable")  # within a row: projection by projection
        number = np.bincount(at, minlength=row0[-1])
        fill = TOGETHER if self.layout.target.threads else 1
        size = -(-number // fill) * fill
        begin = np.concatenate([[0], np.cumsum(size)])
        rank = np.arange(len(at)) - np.repeat(np.cumsum(number) - number, number)
        place = begin[at[order]] + rank
        slices = np.arange(0, padded(self.count), LANES)
        arrays: dict[str, NDArray[np.generic]] = {
            "segment": segment.astype(np.int32),
            "slice": np.searchsorted(segment[:, 1], slices, side="right").astype(np.int32),
            "begin": begin.astype(np.int32),
            "entry": _filled(entries[order, 1:5].astype(np.int32), place, begin[-1], EMPTY),
        }
        late = entries[order, 5].astype(np.int32)
        back = int(late[0]) if len(late) else 0
        alike = bool((late == back).all())
        if not alike:
            arrays["late"] = _filled(late, place, begin[-1], back)
        if self._kinds:
            arrays["kind"] = np.concatenate(self._shifts).astype(np.int32)
            room = np.zeros((ROOM, 4), np.int64)
            arrays["table"] = np.concatenate([*self._tables, room]).astype(np.int32)
        if self._listed:
            arrays["list"] = np.append(np.concatenate(self._lists), [-1] * ROOM).astype(np.int32)
        if weighted:
            weight = [part for one in targets for part in one.weight]
            arrays["weight"] = _filled(np.concatenate(weight)[order], place, begin[-1], 0.0)
        made = Gather("by_place", self.edges, {n: a.reshape(-1) for n, a in arrays.items()})
        made.back = back if alike else None
        made.cost = self._cost(arrays)
        made.limits["segments"] = len(segment)
        return made

    def _cost(self, arrays: dict[str, NDArray[np.generic]]) -> NDArray[np.float64]:
        """Return the work of each slice: the entries of the row in which it begins or ends."""
        segment, begin = (np.asarray(arrays[n], np.int64) for n in ("segment", "begin"))
        which = np.minimum(
            np.asarray(arrays["slice"], np.int64)[: -(-self.count // LANES)], len(segment) - 1
        )
        entries: Integers = np.diff(begin)[segment[which, 3]]
        return entries.astype(np.float64) * (LANES * ENTRY)
