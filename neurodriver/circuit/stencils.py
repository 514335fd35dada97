"""Stencils: what a cell is connected with, counted from its own place.

On regular axes most cells have the same stencil. Example: on a torus of 1,000 x 1,000 cells with
connections within 12, there are 440 million connections. They follow from 625 stencils: one of all
cells whose connections do not cross the seam, and others beside the seam.

Cells have one stencil only if all numbers are equal, bit by bit. So what follows from stencils has
the bits of connections that are listed one by one.

With a mask some points of a grid have no cell. Stencils then count points, as if all were there. A
table has the cell of each point, and partners without a cell are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .formula import Formula
from .relation import AxisRuns, Relation
from .space import AxisGrid

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
End = Literal["source", "target"]
Cells = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Stencil and home of each cell."""

SHARES = {False: 2, "auto": 8}
"""Connections for each entry of a stencil, at least, by whether connections are to be stored."""

MOST = 1 << 23
"""Entries of all stencils of a relation at most."""

CHUNK = 1 << 22
"""Connections that are listed at once."""


@dataclass(frozen=True, eq=False)
class Stencils:
    """The stencils of the cells of one end of a relation.

    Attributes
    ----------
    of : (cells,) int32
        Number of each cell's stencil.
    home : (cells,) int32
        The cell of the other end from which its partners are counted, or with a mask the point.
    begin : (stencils + 1,) int64
        Where the entries of each stencil begin.
    partner : (entries,) int32
        Partners less the home, ascending in each stencil.
    squared : (entries,) float64
        Squared distances.
    along : list of (entries,) float64
        Ways from source to target along each axis.
    offset : (entries,) int64 or None
        Number of the offset, of relations by offsets.
    cell : (points,) int32 or None
        Cell of the other end at each point of its grid, -1 for none; None where there is no mask.
    """

    of: NDArray[np.int32]
    home: NDArray[np.int32]
    begin: Integers
    partner: NDArray[np.int32]
    squared: Reals
    along: list[Reals]
    offset: Integers | None = None
    cell: NDArray[np.int32] | None = None

    @cached_property
    def edges(self) -> int:
        """Number of connections."""
        return int(self.degree.sum())

    @cached_property
    def degree(self) -> Integers:
        """Number of connections of each cell, (cells,)."""
        size: Integers = np.diff(self.begin)[self.of]
        if self.cell is None:
            return size
        size = size.copy()
        some = self.broken
        for cells in np.array_split(some, max(self._listed(some) // CHUNK, 1)):
            which, _, _ = self.lists(cells)
            size[cells] = np.bincount(which, minlength=len(cells))
        return size

    @cached_property
    def broken(self) -> Integers:
        """The cells some of whose partners have no cell, ascending; none without a mask."""
        if self.cell is None:
            return np.zeros(0, np.int64)
        # points without a cell up to each point; a run of points between the first partner and the
        # last one that has none of them is whole
        gone = np.concatenate([[0], np.cumsum(self.cell < 0)])
        size = np.diff(self.begin)
        low = np.zeros(len(self), np.int64)
        high = low - 1
        some = np.flatnonzero(size)
        low[some] = self.partner[self.begin[some]]
        high[some] = self.partner[self.begin[some + 1] - 1]
        home = self.home.astype(np.int64)
        first, last = home + low[self.of], home + high[self.of]
        maybe = np.flatnonzero(gone[np.maximum(last + 1, first)] > gone[first])
        broken = [np.zeros(0, np.int64)]
        for cells in np.array_split(maybe, max(self._listed(maybe) // CHUNK, 1)):
            at, which = self._entries(cells)
            lost = self.cell[home[cells][which] + self.partner[at]] < 0
            broken.append(cells[np.unique(which[lost])])
        return np.concatenate(broken)

    def _listed(self, cells: Integers) -> int:
        return int(np.diff(self.begin)[self.of[cells]].sum())

    def _entries(self, cells: Integers) -> tuple[Integers, Integers]:
        """Return the entries of some cells, and which of the cells each belongs to."""
        rows = self.of[cells]
        size = np.diff(self.begin)[rows]
        which = np.repeat(np.arange(len(cells)), size)
        first = np.cumsum(size) - size
        at: Integers = np.arange(size.sum()) + np.repeat(self.begin[rows] - first, size)
        return at, which

    def lists(self, cells: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the connections of some cells, those of one cell after those of another.

        Returns
        -------
        which : (m,) int64
            Place among ``cells``.
        entry : (m,) int64
        partner : (m,) int64
            Number of the cell of the other end.
        """
        at, which = self._entries(cells)
        partner: Integers = self.home[cells].astype(np.int64)[which] + self.partner[at]
        if self.cell is None:
            return which, at, partner
        partner = self.cell[partner].astype(np.int64)
        there = partner >= 0
        return which[there], at[there], partner[there]

    def __len__(self) -> int:
        return len(self.begin) - 1

    @property
    def number(self) -> Integers:
        """Stencil of each entry, (entries,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.begin))

    def partners(self, cells: Integers) -> Integers:
        """Return the partners of some cells, those of one cell after those of another."""
        return self.lists(cells)[2]

    def computed(self, formula: Formula, names: tuple[str, ...]) -> Reals:
        """Return what a formula gives for each entry, (entries,)."""
        return formula.values(names, self.squared, self.along)


@dataclass(frozen=True, eq=False)
class AxisStencils:
    """The same along one axis.

    Attributes
    ----------
    of, home : (cells,) int64
    begin : (stencils + 1,) int64
    partner : (entries,) int64
        Indices of partners less the home, ascending; for offsets one for each of their steps, -1
        where it leads to no cell.
    way : (entries,) float64 or None
    own : (entries,) bool or None
        Whether the partner is the cell itself.
    partners : int
        Number of indices at the other end.
    """

    of: Integers
    home: Integers
    begin: Integers
    partner: Integers
    way: Reals | None
    own: NDArray[np.bool_] | None
    partners: int


def along_axes(relation: Relation, end: End, alone: bool) -> list[AxisStencils] | None:
    """Return the stencils along each axis; None where the cells are not in plain rows.

    Parameters
    ----------
    end : {"source", "target"}
        The end whose cells have the stencils.
    alone : bool
        Whether a cell is not to be connected with itself.
    """
    if relation.form not in ("grid", "offsets"):
        return None
    if relation.point is not None and (np.diff(relation.point) <= 0).any():
        return None  # the axes of the sources come in another order
    if alone and (relation.point is not None or relation.cell is not None):
        a, b = relation.source, relation.target  # one population, or two of equal cells
        assert isinstance(a, AxisGrid) and isinstance(b, AxisGrid)
        if not np.array_equal(a.indices, b.indices):
            return None
    made = []
    for axis in relation.axes:
        jump = relation.tables.get(f"jump {axis.name}")
        if jump is None:
            one = _of_runs(axis, end, alone)
        else:
            one = _of_jumps(jump.astype(np.int64), axis, end, alone)
        if one is None:
            return None
        made.append(one)
    return made


def stencils_of(
    relation: Relation, end: End, axes: Sequence[AxisStencils], stored: bool | str
) -> Stencils | None:
    """Return the stencils of the cells of one end; None where few cells have equal ones.

    Parameters
    ----------
    end : {"source", "target"}
    axes : sequence of AxisStencils
        Along the axes of the relation.
    stored : bool or "auto"
        Whether connections are to be stored.
    """
    entries = edges = 1.0
    for one in axes:
        size = np.ones(len(one.begin) - 1) if relation.form == "offsets" else np.diff(one.begin)
        entries, edges = entries * size.sum(), edges * size[one.of].sum()
    if relation.form == "offsets":
        entries, edges = (n * len(relation.tables["factor"]) for n in (entries, edges))
    if entries > MOST or not edges or entries * SHARES.get(stored, np.inf) > edges:
        return None
    of = home = np.zeros(1, np.int64)
    for one in axes:
        of = (of[:, None] * (len(one.begin) - 1) + one.of).reshape(-1)
        home = (home[:, None] * one.partners + one.home).reshape(-1)
    point, cell = _masked(relation, end)
    if point is not None:
        of, home = of[point], home[point]
    cells = of.astype(np.int32), home.astype(np.int32)
    made = (_by_offsets if relation.form == "offsets" else _along_all)(relation, axes, cells)
    return made if cell is None else replace(made, cell=cell)


def _masked(
    relation: Relation, end: End
) -> tuple[NDArray[np.integer] | None, NDArray[np.int32] | None]:
    """Return the point of each cell of an end, and the cell at each point of the other end."""
    if end == "source":
        return relation.point, relation.cell
    point = None if relation.cell is None else np.flatnonzero(relation.cell >= 0)
    if relation.point is None:
        return point, None
    cell = np.full(math.prod(one.sources for one in relation.axes), -1, np.int32)
    cell[relation.point] = np.arange(len(relation.point), dtype=np.int32)
    return point, cell


def _along_all(relation: Relation, axes: Sequence[AxisStencils], cells: Cells) -> Stencils:
    """Return the stencils of all combinations of those along the axes."""
    along: list[Reals] = []
    number, partner = np.zeros(1, np.int64), np.zeros(1, np.int64)
    squared, own = np.zeros(1), np.ones(1, dtype=bool)
    total = 1
    for one in axes:
        size, many, before = np.diff(one.begin), len(one.partner), len(number)
        total *= len(size)
        each = np.repeat(np.arange(len(size)), size)
        number = np.repeat(number * len(size), many) + np.tile(each, before)
        partner = np.repeat(partner * one.partners, many) + np.tile(one.partner, before)
        along = [np.repeat(way, many) for way in along]
        squared = np.repeat(squared, many)
        own = np.repeat(own, many)
        own &= np.zeros_like(own) if one.own is None else np.tile(one.own, before)
        way = np.zeros(many) if one.way is None else one.way
        along.append(np.tile(way, before))
        if one.way is not None:
            squared = squared + along[-1] * along[-1]
        kept = np.flatnonzero(squared <= relation.squared)
        order = kept[np.argsort(number[kept], kind="stable")]
        number, partner, squared = number[order], partner[order], squared[order]
        own, along = own[order], [way[order] for way in along]
    others = ~own
    begin = np.concatenate([[0], np.cumsum(np.bincount(number[others], minlength=total))])
    along = [way[others] for way in along]
    return Stencils(*cells, begin, partner[others].astype(np.int32), squared[others], along)


def _by_offsets(relation: Relation, axes: Sequence[AxisStencils], cells: Cells) -> Stencils:
    """Return the same of offsets."""
    which = relation.tables["which"]
    partner, there = np.zeros((1, len(which)), np.int64), np.ones((1, len(which)), dtype=bool)
    own = there.copy()
    for d, one in enumerate(axes):
        kinds = len(one.partner) // (len(one.begin) - 1)
        to = one.partner.reshape(-1, kinds)[:, which[:, d]]
        mine = np.zeros_like(one.partner, dtype=bool) if one.own is None else one.own
        at = mine.reshape(-1, kinds)[:, which[:, d]]
        partner = (partner[:, None] * one.partners + to).reshape(-1, len(which))
        there = (there[:, None] & (to >= 0)).reshape(-1, len(which))
        own = (own[:, None] & at).reshape(-1, len(which))
    number, offset = np.nonzero(there & ~own)
    found = partner[number, offset]
    order = np.lexsort((offset, found, number))
    begin = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=len(there)))])
    partners, none = found[order].astype(np.int32), np.zeros(len(order))
    return Stencils(*cells, begin, partners, none, [], offset[order])


def _of_runs(axis: AxisRuns, end: End, alone: bool) -> AxisStencils | None:
    """Return the stencils along an axis whose cells have runs of partners."""
    size = axis.high.astype(np.int64) - axis.low + 1
    first = np.repeat(np.arange(axis.sources), np.diff(axis.begin))
    i = np.repeat(first, size)
    j = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size) + np.repeat(axis.low, size)
    way = None
    if axis.places is not None:
        way = ways(axis.places[0][i], axis.places[1][j], axis.period)
    cell, partner, cells, partners = i, j, axis.sources, axis.targets
    if end == "target":
        order = np.lexsort((i, j))
        cell, partner, cells, partners = j[order], i[order], axis.targets, axis.sources
        way = None if way is None else way[order]
    begin = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells))])
    none = begin[1:] == begin[:-1]
    home = np.zeros(cells, np.int64)
    home[~none] = partner[begin[:-1][~none]]
    columns = [partner - home[cell]]
    columns += [] if way is None else [np.ascontiguousarray(way).view(np.int64)]
    columns += [(partner == cell).astype(np.int64)] if alone else []
    found = _equal_lists(begin, columns)
    if found is None:
        return None
    of, example = found
    return _picked(of, example, home, begin, partner - home[cell], way,
                   partner == cell if alone else None, partners)  # fmt: skip


def _of_jumps(jump: Integers, axis: AxisRuns, end: End, alone: bool) -> AxisStencils | None:
    """Return the stencils along an axis for offsets: the partner at each of their steps."""
    partners = axis.targets
    if end == "target":
        back = np.full((axis.targets, jump.shape[1]), -1, np.int64)
        source, kind = np.nonzero(jump >= 0)
        back[jump[source, kind], kind] = source
        if (back >= 0).sum() != len(source):
            return None  # several sources at one step from a target
        jump, partners = back, axis.sources
    there = jump >= 0
    home = np.where(there, jump, np.iinfo(np.int64).max).min(axis=1)
    home[~there.any(axis=1)] = 0
    relative = np.where(there, jump - home[:, None], -1)
    own = there & (jump == np.arange(len(jump))[:, None]) if alone else None
    begin = np.arange(len(jump) + 1) * jump.shape[1]
    columns = [relative.reshape(-1)]
    columns += [] if own is None else [own.reshape(-1).astype(np.int64)]
    found = _equal_lists(begin, columns)
    if found is None:
        return None
    mine = None if own is None else own.reshape(-1)
    return _picked(*found, home, begin, relative.reshape(-1), None, mine, partners)


def _picked(
    of: Integers,
    example: Integers,
    home: Integers,
    begin: Integers,
    partner: Integers,
    way: Reals | None,
    own: NDArray[np.bool_] | None,
    partners: int,
) -> AxisStencils:
    """Return the entries of one cell of each stencil."""
    size = np.diff(begin)[example]
    rows = np.concatenate([[0], np.cumsum(size)])
    at = np.arange(rows[-1]) + np.repeat(begin[example] - rows[:-1], size)
    ways = None if way is None else way[at]
    return AxisStencils(
        of, home, rows, partner[at], ways, None if own is None else own[at], partners
    )


def ways(a: Reals, b: Reals, period: float | None) -> Reals:
    """Return the ways from a to b, the shorter ones round, with the bits of compiled code."""
    way = b - a
    if period is None:
        return way
    size = np.abs(way)
    rest = size - period * np.floor(size / period)
    shorter = np.minimum(rest, period - rest)
    return np.where((way < 0) != (rest > period - rest), -shorter, shorter)


_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def _equal_lists(begin: Integers, columns: Sequence[Integers]) -> tuple[Integers, Integers] | None:
    """Return the number of each list among the different ones, and an example of each.

    List i has the entries ``begin[i]`` to ``begin[i + 1]`` of all columns. None where two lists
    cannot be told from each other by a hash.
    """
    size = np.diff(begin)
    place = np.arange(begin[-1]) - np.repeat(begin[:-1], size)
    mixed = place.astype(np.uint64)
    a, b, c = map(np.uint64, _MIX)
    with np.errstate(over="ignore"):
        for column in columns:
            mixed = (mixed + column.view(np.uint64)) * a
            mixed = (mixed ^ (mixed >> np.uint64(30))) * b
            mixed = (mixed ^ (mixed >> np.uint64(27))) * c
            mixed ^= mixed >> np.uint64(31)
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        hashed = (sums[begin[1:]] - sums[begin[:-1]]) ^ (size.astype(np.uint64) * a)
    _, example, of = np.unique(hashed, return_index=True, return_inverse=True)
    if (size != size[example][of]).any():
        return None
    same = np.repeat(begin[example][of], size) + place
    if any((column != column[same]).any() for column in columns):
        return None
    return of.astype(np.int64), example.astype(np.int64)
