"""The form ``by_place``: rules of place whose connections are stored nowhere, for graded values.

Components of a row, that is neighbours along the last axis of a population, read sources that lie
beside each other, too. So the plan has *segments* (neighbouring components of a row), and *entries*
for each row of targets: a row of sources, and which part of it each component reads. An entry that
is the same for many components is read in vectors; what lies at the ends is looked up in a table.

No array grows with the connections. Rows of sources and parts within them ascend, so components add
up in the order of the connections, and sums have the bits of all other forms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...circuit.drawn import Drawn
from ...circuit.relation import AxisRuns, Relation
from ...circuit.space import AxisGrid
from ...errors import CircuitError, quoted
from ...model.component import Access
from ...model.language import used
from ...model.language.words import FUNCTIONS
from ...model.texts import texts_of
from ...native.buffers import LANES
from ..delays import check_longest
from ..layout import Layout
from .gather import Gather

Integers = NDArray[np.int64]

LEAST = 0.5
"""Share of the connections that must be read in vectors for the plan to pay."""

MANY = 1 << 23
"""Connections of an access that are stored, where nobody says whether."""

REDUCTIONS = ("sum", "max", "min", "mean", "product", "any")
"""What the plan makes of values."""


@dataclass(frozen=True, eq=False)
class GridRows:
    """The rows of a grid: cells that are neighbours along the last axis.

    Attributes
    ----------
    number : (rows,) int64
        Number of each row among all points of the other axes.
    cell, first, length : (rows,) int64
        First cell of each row, its index along the last axis, number of cells.
    """

    number: Integers
    cell: Integers
    first: Integers
    length: Integers

    @classmethod
    def of(cls, space: AxisGrid) -> GridRows:
        """Return the rows of a grid, in the order of the cells; a gap begins a new one."""
        wide = space.extent[-1]
        if space.mask is None:
            every = np.arange(space.count // wide)
            return cls(every, every * wide, np.zeros_like(every), np.full_like(every, wide))
        points = np.flatnonzero(space.mask)
        fresh = np.ones(len(points), dtype=bool)
        fresh[1:] = (np.diff(points) != 1) | (points[1:] % wide == 0)
        cell = np.flatnonzero(fresh)
        length = np.diff([*cell, len(points)])
        return cls(points[cell] // wide, cell, points[cell] % wide, length)


def place_plan(layout: Layout, number: int, access: Access, count: int) -> Gather | None:
    """Return the plan of an access that rules of place alone reach; None where it does not pay.

    Raises
    ------
    CircuitError
        Where connections must not be stored, and this plan does not fit them.
    """
    unstored = _unstored(layout, number, access)
    links = None if layout.target.threads else _reaching(layout, number, access)
    made = _Tables(layout, number, count)
    if links is not None and all(made.add(one) for one in links):
        return made.gather(access.weighted) if unstored or made.pays else None
    if unstored:
        one = unstored[0]
        where = "on a CPU, where rules along axes alone lead into the access of a graded value"
        what = "each with one weight and one delay"
        say = f"projection {quoted(one.name)}: stored=False is possible {where}, {what}"
        raise CircuitError(f"{layout.circuit.name}: {say}; leave 'stored' out")
    return None


def _unstored(layout: Layout, number: int, access: Access) -> list[Drawn]:
    """Return the projections into an access whose connections must not be stored."""
    start, stop = layout.circuit.starts[number : number + 2]
    return [
        one
        for one in layout.circuit.connections
        if isinstance(one, Drawn) and one.projection.stored is False
        if (one.access, one.variable) == (access.name, access.variable)
        if one.ends.target.start < stop and one.ends.target.stop > start
    ]


def _reaching(layout: Layout, number: int, access: Access) -> list[Drawn] | None:
    """Return the projections that reach an access; None where anything else does."""
    circuit = layout.circuit
    model = circuit.groups[number].model
    if access.reduce not in REDUCTIONS or layout.positions or not _alone(layout, number, access):
        return None
    if circuit.kinds.is_event(access.variable) or {*access.connection} - {"weight"}:
        return None
    known = {access.variable, "weight", *FUNCTIONS}
    if any(used(part.tree) - known for part in texts_of(model).each(access)):
        return None
    start, stop = int(circuit.starts[number]), int(circuit.starts[number + 1])
    found = []
    for one in circuit.connections:
        if one.access != access.name or one.variable != access.variable:
            continue
        if not isinstance(one, Drawn):
            if ((one.target >= start) & (one.target < stop)).any():
                return None
            continue
        if one.ends.target.start < stop and one.ends.target.stop > start:
            if one.projection.stored is True or not _fits(layout, one, start, stop):
                return None
            found.append(one)
    return found or None


def _alone(layout: Layout, number: int, access: Access) -> bool:
    """Whether no input brings the variable to the access."""
    start, stop = layout.circuit.starts[number : number + 2]
    return not any(
        one.access == access.name and ((one.target >= start) & (one.target < stop)).any()
        for one in layout.slots.connections
    )


def _fits(layout: Layout, one: Drawn, start: int, stop: int) -> bool:
    located = one.located
    if located is None or one.plasticity is not None or located.formulas != (None, None):
        return False
    if not located.autapses and one.ends.shared:
        return False
    relation = located.relation
    if relation.form not in ("grid", "offsets") or relation.squared != np.inf:
        return False
    if one.weight.least != one.weight.most or one.latency.least != one.latency.most:
        return False
    ends = (one.ends.source, relation.source, 0), (one.ends.target, relation.target, 1)
    if any(e.start != located.firsts[i] or len(e) != space.count for e, space, i in ends):
        return False
    group = int(np.searchsorted(layout.circuit.starts, one.ends.source.start, side="right") - 1)
    return not layout.circuit.groups[group].is_port and start <= one.ends.target.start < stop


class _Tables:
    """Collects the tables of all projections into one access.

    Entries of a row of targets: row of sources, kind of the part, weight. Kinds: shift, begin and
    end of what is read in vectors, its width; and for each index of targets up to two runs.
    """

    def __init__(self, layout: Layout, number: int, count: int) -> None:
        self.layout, self.count = layout, count
        self.start = int(layout.circuit.starts[number])
        self._targets: dict[int, tuple[GridRows, list[int]]] = {}  # first cell -> rows, projections
        self._projections: list[dict[str, NDArray[np.generic]]] = []
        self._numbers: list[tuple[bool, int]] = []  # whether it is plain, rows back
        self._vectors = self._all = 0.0
        self._edges = 0

    def add(self, one: Drawn) -> bool:
        """Take up a projection; return False where its cells are not in plain rows."""
        assert one.located is not None
        relation = one.located.relation
        source, target = relation.source, relation.target
        assert isinstance(source, AxisGrid) and isinstance(target, AxisGrid)
        rows = GridRows.of(source)
        if len(np.unique(rows.number)) < len(rows.number) or relation.names[-1] not in source.names:
            return False
        if source.names[-1] != target.names[-1]:
            return False
        ordered = tuple(name for name in relation.names if name in source.names)
        if ordered != source.names:
            return False
        made = _kinds(relation)
        if made is None:
            return False
        shift, table, entries = made
        of_row = np.full(int(np.prod(source.extent[:-1], dtype=np.int64)), -1, np.int64)
        of_row[rows.number] = np.arange(len(rows.number))
        at, from_row, kind, factor = entries
        there = of_row[from_row] >= 0
        at, kind, factor = at[there], kind[there], factor[there]
        row = of_row[from_row[there]]
        points = int(np.prod(target.extent[:-1], dtype=np.int64))
        begin = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=points))])
        steps = self._steps(one)
        base = self._element(one) + rows.cell[row] - rows.first[row] + shift[kind, 0]
        ends = rows.first[row] - shift[kind, 0], rows.first[row] + rows.length[row] - shift[kind, 0]
        plain = not shift[:, 4].any() and bool((shift[:, 3] <= 1).all())
        if plain:
            ends = np.maximum(ends[0], shift[kind, 1]), np.minimum(ends[1], shift[kind, 2])
        first = one.ends.target.start - self.start
        if first not in self._targets:
            self._targets[first] = GridRows.of(target), []
        self._targets[first][1].append(len(self._projections))
        self._projections.append({
            "entry": np.stack([base, *ends, kind], axis=1), "weight": one.weight.least * factor,
            "begin": begin, "shift": shift, "table": table,
        })  # fmt: skip
        self._numbers.append((plain, steps - 1))
        self._edges += _overlap(self._targets[first][0], at, ends) if plain else len(one)
        vectors = (shift[:, 2] - shift[:, 1]) * shift[:, 3]
        self._vectors += float(vectors[kind].sum())
        self._all += float((vectors + table[:, :, [1, 3]].sum(axis=(1, 2)))[kind].sum())
        return True

    def _steps(self, one: Drawn) -> int:
        """Return the latency in steps; 0 without a delay from an earlier phase to a later one."""
        circuit, dt = self.layout.circuit, self.layout.dt
        steps = int(max(np.rint(min(one.latency.least / dt, 2.0**53)), 1))
        check_longest(one, steps, dt, circuit.name)
        phase = circuit.phase_of_group
        if phase is None or one.latency.least > 0:
            return steps
        ends = one.ends.source.start, one.ends.target.start
        source, target = phase[np.searchsorted(circuit.starts, ends, side="right") - 1]
        return 0 if 0 <= source < target else steps

    def _element(self, one: Drawn) -> int:
        """Return where the first source stands in a row of the variable."""
        circuit = self.layout.circuit
        first = one.ends.source.start
        group = int(np.searchsorted(circuit.starts, first, side="right") - 1)
        segment = self.layout.segment(group, one.variable)
        return int(segment.start + first - circuit.starts[group])

    @property
    def pays(self) -> bool:
        """Whether there are many connections, and most of them are read in vectors."""
        return self._all > MANY and self._vectors > LEAST * self._all

    def gather(self, weighted: bool) -> Gather:
        """Return the plan."""
        parts = self._projections
        firsts = sorted(self._targets)
        owner = [self._targets[first][1] for first in firsts]
        rows = [self._targets[first][0] for first in firsts]
        place = np.concatenate([r.cell + f for r, f in zip(rows, firsts, strict=True)])
        population = np.repeat(np.arange(len(rows)), [len(r.cell) for r in rows])
        listed = np.array([number for some in owner for number in some], np.int64)
        sizes = {name: [len(p[name]) for p in parts] for name in ("entry", "shift", "begin")}
        sizes["table"] = [p["table"].size // 4 for p in parts]
        offset = {name: np.concatenate([[0], np.cumsum(s)[:-1]]) for name, s in sizes.items()}
        wide = [p["table"].shape[1] for p in parts]
        plain, back = zip(*self._numbers, strict=True)
        columns = [np.asarray(column, np.int64) for column in (
            offset["entry"], offset["shift"], plain, offset["begin"], offset["table"], wide, back
        )]  # fmt: skip
        arrays: dict[str, NDArray[np.generic]] = {
            "segment": np.stack([
                place, *(np.concatenate([getattr(r, n) for r in rows]) for n in
                         ("length", "first", "number")), population], axis=1).astype(np.int32),
            "listed": np.concatenate([[0], np.cumsum([len(some) for some in owner])]),
            "projection": np.stack(columns, axis=1)[listed],
            "entry": np.concatenate([p["entry"] for p in parts]).astype(np.int32),
            "begin": np.concatenate([p["begin"] for p in parts]).astype(np.int64),
            "shift": np.concatenate([p["shift"] for p in parts]).astype(np.int32),
            "table": np.concatenate([p["table"].reshape(-1, 4) for p in parts]).astype(np.int32),
        }  # fmt: skip
        if weighted:
            arrays["weight"] = np.concatenate([p["weight"] for p in parts])
        cost = np.full(-(-self.count // LANES), LANES * self._all / max(self.count, 1) / 4)
        made = Gather("by_place", self._edges, {n: a.reshape(-1) for n, a in arrays.items()}, None)
        made.cost = cost
        made.limits["segments"] = len(place)
        return made


def _overlap(rows: GridRows, at: Integers, ends: tuple[Integers, Integers]) -> int:
    """Return how many targets of rows with numbers ``at`` lie between the ends of their entries."""
    total = 0
    order = np.argsort(rows.number, kind="stable")
    begin, behind = (np.searchsorted(rows.number[order], at, side) for side in ("left", "right"))
    for turn in range(int((behind - begin).max(initial=0))):  # a row with gaps is several rows
        there = begin + turn < behind
        row = order[(begin + turn)[there]]
        first, last = rows.first[row], rows.first[row] + rows.length[row]
        here = np.minimum(ends[1][there], last) - np.maximum(ends[0][there], first)
        total += int(np.maximum(here, 0).sum())
    return total


Found = tuple[Integers, Integers, tuple[Integers, Integers, Integers, NDArray[np.float64]]]


def _kinds(relation: Relation) -> Found | None:
    """Return kinds of parts, their tables, and entries: row of targets, of sources, kind, factor.

    None where the last axis is closed and offsets lead around it.
    """
    if relation.form == "grid":
        return _grid(relation)
    source = relation.source
    assert isinstance(source, AxisGrid)
    last = relation.axes[-1]
    if any(axis.period is not None for axis in source.axes.values()):
        return None
    which, factor = relation.tables["which"], relation.tables["factor"]
    jump = relation.tables[f"jump {last.name}"]
    at = np.full((jump.shape[1], last.targets), -1, np.int64)
    for number, moved in enumerate(jump.T):
        there = np.flatnonzero(moved >= 0)
        at[number, moved[there]] = there
    lists = np.stack([at, (at >= 0), np.zeros_like(at), np.zeros_like(at)], axis=2)
    shift, table = _straight(lists)
    leading = relation.axes[:-1]
    points = int(np.prod([axis.targets for axis in leading], dtype=np.int64))
    every = np.unravel_index(np.arange(points), [axis.targets for axis in leading] or [1])
    parts = []
    for f in range(len(factor)):
        row = np.zeros(points, np.int64)
        known = np.ones(points, dtype=bool)
        for d, axis in enumerate(leading):
            steps = relation.tables[f"jump {axis.name}"][:, which[f, d]]
            back = np.full(axis.targets, -1, np.int64)
            back[steps[steps >= 0]] = np.flatnonzero(steps >= 0)
            index = back[every[d]]
            known &= index >= 0
            row = row * axis.sources + index
        some = np.flatnonzero(known)
        parts.append((some, row[some], np.full(len(some), which[f, -1]), np.full(len(some), f)))
    target, row, kind, which_offset = (np.concatenate(part) for part in zip(*parts, strict=True))
    # a later kind is a longer step back: its sources have lower numbers
    order = np.lexsort((which_offset, -kind, row, target))
    return shift, table, (target[order], row[order], kind[order], factor[which_offset[order]])


def _grid(relation: Relation) -> Found:
    last = relation.axes[-1]
    shift, table = _straight(_lists(last)[None])
    leading = relation.axes[:-1]
    target, row = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for axis in leading:
        lists = _lists(axis)
        j, i = _pairs(lists)
        sizes = lists[:, 1] + lists[:, 3]
        # each pair so far with each pair of this axis: by target row, then by source row
        many = len(target)
        target = np.repeat(target * axis.targets, len(j)) + np.tile(j, many)
        row = np.repeat(row * axis.sources, len(j)) + np.tile(i, many)
        assert len(j) == sizes.sum()
    order = np.lexsort((row, target))
    none = np.zeros(len(target), np.int64)
    return shift, table, (target[order], row[order], none, np.ones(len(target)))


def _lists(axis: AxisRuns) -> Integers:
    """Return for each target index up to two runs of sources: first, length, first, length."""
    i = np.repeat(np.repeat(np.arange(axis.sources), np.diff(axis.begin)), axis.high - axis.low + 1)
    size = axis.high - axis.low + 1
    j = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size) + np.repeat(axis.low, size)
    order = np.lexsort((i, j))
    i, j = i[order], j[order]
    out = np.zeros((axis.targets, 4), np.int64)
    fresh = np.ones(len(i), dtype=bool)
    fresh[1:] = (j[1:] != j[:-1]) | (i[1:] != i[:-1] + 1)
    begin = np.flatnonzero(fresh)
    length = np.diff([*begin, len(i)])
    second = np.zeros(len(begin), dtype=bool)
    second[1:] = j[begin[1:]] == j[begin[:-1]]
    for mine, column in ((~second, 0), (second, 2)):
        out[j[begin[mine]], column] = i[begin[mine]]
        out[j[begin[mine]], column + 1] = length[mine]
    return out


def _pairs(lists: Integers) -> tuple[Integers, Integers]:
    """Return target and source index of each pair, by target, sources ascending."""
    first, length = lists[:, [0, 2]].reshape(-1), lists[:, [1, 3]].reshape(-1)
    j = np.repeat(np.repeat(np.arange(len(lists)), 2), length)
    rank = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return j, np.repeat(first, length) + rank


def _straight(lists: Integers) -> tuple[Integers, Integers]:
    """Return for each kind what is read in vectors, and tables of what is not.

    In vectors are the most neighbouring targets of which each reads as many sources, one further
    than the target before: shift, first target, end, number of sources, and whether there are
    others.
    """
    kinds, count, _ = lists.shape
    shift = np.zeros((kinds, 5), np.int64)
    table = lists.copy()
    for kind, one in enumerate(lists):
        plain = (one[:, 1] > 0) & (one[:, 3] == 0)
        key = np.stack([plain, one[:, 0] - np.arange(count), one[:, 1]], axis=1)
        cuts = np.flatnonzero((key[1:] != key[:-1]).any(axis=1)) + 1
        begin = np.concatenate([[0], cuts])
        size = np.where(plain[begin], np.diff([*begin, count]), 0)
        best = int(size.argmax())
        if size[best]:
            a, b = int(begin[best]), int(begin[best] + size[best])
            shift[kind, :4] = one[a, 0] - a, a, b, one[a, 1]
            table[kind, a:b, 1] = 0
    shift[:, 4] = table[:, :, [1, 3]].sum(axis=(1, 2)) > 0
    return shift, table
