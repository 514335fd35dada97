"""Rows by source of connections that learn: from columns, or drawn straight into their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Connections
from ...circuit.drawn import Drawn
from ...native.buffers import aligned
from ..delays import axonal_of, forward_of, times_of
from ..edges import element_of
from ..layout import Layout
from ..sorting import stable_order, times_before
from .drawn import constant
from .source_rows import blocks_of

Place = tuple[int, int, int]
"""Where on their way some synapses stand, in steps: a, f and b of `plan.spikes.learning`."""


@dataclass(frozen=True)
class LearningRows:
    """Connections that learn, of one set, into the components of one group.

    Attributes
    ----------
    block : (blocks, 6) int64
        a, first element, end, first row, f, b.
    first : (rows + 1,) int64
        Where the connections of each row begin.
    place : (m,) int32
        Targets within the group, ascending in each row.
    degree : (targets,) int64
        Connections of each target.
    weight : (m,) or () float64
    rank : (m,) int64 or None
        Number of each connection among those of its set; None: 0, 1, 2, ...
    """

    block: NDArray[np.int64]
    first: NDArray[np.int64]
    place: NDArray[np.int32]
    degree: NDArray[np.int64]
    weight: NDArray[np.float64]
    rank: NDArray[np.int64] | None

    @property
    def ranges(self) -> NDArray[np.int64]:
        """Where sources lie, (n, 4): 0, first element, end, first source."""
        ends = np.unique(self.block[:, 1:3], axis=0)
        size = ends[:, 1] - ends[:, 0]
        return np.column_stack([np.zeros_like(size), ends, np.cumsum(size) - size])

    @property
    def sources(self) -> NDArray[np.int64]:
        """First source of each block, and which of the rows of a source it has, (blocks, 2).

        Blocks whose synapses stand elsewhere on their way have the same sources.
        """
        ranges = self.ranges
        which = np.searchsorted(ranges[:, 1], self.block[:, 1])
        return np.column_stack([ranges[which, 3], times_before(which)])

    def beside(self) -> tuple[int, NDArray[np.int64]]:
        """Return the most rows of a source, and where each row lies beside those of its source."""
        first, among = self.sources.T
        each = int(among.max()) + 1
        place = np.zeros(len(self.first) - 1, np.int64)
        for (_, begin, end, row, *_), source, n in zip(self.block, first, among, strict=True):
            place[row : row + end - begin] = (source + np.arange(end - begin)) * each + n
        return each, place


def rows_of(layout: Layout, number: int, variable: str, links: Connections) -> LearningRows:
    """Return the rows of a set of connections, for the components of one group."""
    if isinstance(links, Drawn) and number not in layout.positions:
        delay = constant(links.latency)
        if delay is not None:
            return _drawn(layout, number, variable, links)
    return _from_columns(layout, number, variable, links)


def _drawn(layout: Layout, number: int, variable: str, links: Drawn) -> LearningRows:
    """Draw a projection whose delays are equal; its connections are never columns."""
    start, stop = layout.circuit.starts[number : number + 2].tolist()
    rows = links.rows(range(start, stop))
    sources = np.arange(links.ends.source.start, links.ends.source.stop)
    has = np.flatnonzero(rows.count)
    elements = element_of(layout, sources[has], variable)
    ((place, _),) = _places(layout, links, np.arange(1))
    block, row, lags = blocks_of(layout, elements, np.full(len(has), place[0]), variable)
    first = np.zeros(len(lags) + 1, np.int64)
    first[row + 1] = rows.count[has]
    np.cumsum(first, out=first)
    begin = np.zeros(len(sources), np.int64)
    begin[has] = first[row]
    target = aligned(rows.edges, np.int32)
    rows.place(target, begin, origin=start)
    degree, unused = np.zeros(stop - start, np.int64), np.zeros((3, stop - start))
    rows.bounds(target, degree, *unused)
    weight = np.asarray(constant(links.weight) or 0.0)
    if links.filtered or constant(links.weight) is None:
        weight = np.empty(rows.edges)
        rows.values("weight", weight)
    rank = None
    if rows.edges != len(links) or (np.diff(row) < 0).any():
        whole = links.rows().count
        began = np.cumsum(whole) - whole + rows.skip
        rank = np.empty(rows.edges, np.int64)
        number_of = np.repeat(began[has] - begin[has], rows.count[has])
        where = np.repeat(begin[has] - (np.cumsum(rows.count[has]) - rows.count[has]),
                          rows.count[has]) + np.arange(rows.edges)  # fmt: skip
        rank[where] = number_of + where
    return LearningRows(_with_place(block, place), first, target, degree, weight, rank)


def _from_columns(layout: Layout, number: int, variable: str, links: Connections) -> LearningRows:
    start, stop = layout.circuit.starts[number : number + 2].tolist()
    rank = np.flatnonzero((links.target >= start) & (links.target < stop))
    target = links.target[rank].astype(np.int64) - start
    if number in layout.positions:
        target = layout.positions[number][target]
    if (np.diff(target) < 0).any():
        by_target = stable_order(target)
        rank, target = rank[by_target], target[by_target]
    element = element_of(layout, links.source[rank], variable)
    blocks = []
    row = np.zeros(len(element), np.int64)
    rows = 0
    for place, mine in _places(layout, links, rank):
        lag = np.full(len(mine), place[0])
        made, which, lags = blocks_of(layout, element[mine], lag, variable)
        made[:, 3] += rows
        row[mine] = which + rows
        blocks.append(_with_place(made, place))
        rows += len(lags)
    order = stable_order(row)  # targets ascend already
    first = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=first[1:])
    weight = np.asarray(links.data.get("weight", 1.0), np.float64)
    if weight.ndim:
        weight = np.nan_to_num(weight[rank[order]], nan=1.0)
    place_of = target[order].astype(np.int32)
    degree = np.bincount(target)
    made = np.concatenate(blocks), first, place_of, degree, weight, rank[order]
    return LearningRows(*made)


def _with_place(block: NDArray[np.int64], place: Place) -> NDArray[np.int64]:
    """Return blocks with f and b behind their numbers."""
    return np.concatenate([block, np.tile(place[1:], (len(block), 1))], axis=1)


def _places(
    layout: Layout, links: Connections, which: NDArray[np.int64]
) -> Iterator[tuple[Place, NDArray[np.int64]]]:
    """Yield the places where some connections stand, and which of them stand there."""
    dt = layout.dt
    back = np.rint(np.asarray(times_of(links, "back"), np.float64) / dt).astype(np.int64)
    columns = [axonal_of(links, dt), forward_of(links, dt), back]
    columns = [np.broadcast_to(c[which] if c.ndim else c, (len(which),)) for c in columns]
    if all((c == c[0]).all() for c in columns):
        a, f, b = (int(c[0]) for c in columns)
        yield (a, f, b), np.arange(len(which))
        return
    wide = [int(c.max()) + 1 for c in columns]
    key = (columns[0] * wide[1] + columns[1]) * wide[2] + columns[2]
    order = np.argsort(key, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        a, f, b = (int(c[part[0]]) for c in columns)
        yield (a, f, b), part
