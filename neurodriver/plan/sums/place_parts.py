"""Rows of cells, and what a row of targets reads of a row of sources, for the form ``by_place``.

The part of a row that neighbours read has a *kind*: how the sources of a target follow from its
index along the last axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...circuit.relation import AxisRuns, Relation
from ...circuit.space import AxisGrid

Integers = NDArray[np.int64]

SINGLE = 2
"""Mark of a kind whose targets have one source each, which the table gives."""


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


def overlap(rows: GridRows, at: Integers, ends: tuple[Integers, Integers]) -> int:
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


def kinds_of(relation: Relation) -> Found | None:
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
    shift, table = straight(lists)
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
    shift, table = straight(lists_of(last)[None])
    leading = relation.axes[:-1]
    target, row = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for axis in leading:
        lists = lists_of(axis)
        j, i = pairs_of(lists)
        sizes = lists[:, 1] + lists[:, 3]
        # each pair so far with each pair of this axis: by target row, then by source row
        many = len(target)
        target = np.repeat(target * axis.targets, len(j)) + np.tile(j, many)
        row = np.repeat(row * axis.sources, len(j)) + np.tile(i, many)
        assert len(j) == sizes.sum()
    order = np.lexsort((row, target))
    none = np.zeros(len(target), np.int64)
    return shift, table, (target[order], row[order], none, np.ones(len(target)))


def lists_of(axis: AxisRuns) -> Integers:
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


def pairs_of(lists: Integers) -> tuple[Integers, Integers]:
    """Return target and source index of each pair, by target, sources ascending."""
    first, length = lists[:, [0, 2]].reshape(-1), lists[:, [1, 3]].reshape(-1)
    j = np.repeat(np.repeat(np.arange(len(lists)), 2), length)
    rank = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return j, np.repeat(first, length) + rank


def straight(lists: Integers) -> tuple[Integers, Integers]:
    """Return for each kind what is read in vectors, and tables of what is not.

    In vectors are the most neighbouring targets of which each reads as many sources, one further
    than the target before: shift, first target, end, number of sources, and whether there are
    others. Where targets have one source at most, but mostly not one further than the target
    before, all are in the table.
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
        left = int(table[kind, :, [1, 3]].sum())
        shift[kind, 4] = left > 0
        if left > size[best] and one[:, 1].max() == 1 and not one[:, 3].any():
            table[kind], shift[kind] = one, (0, 0, 0, 0, SINGLE)
    return shift, table
