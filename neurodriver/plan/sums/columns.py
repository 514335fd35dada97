"""Rules of place as distances in columns: what a patch of columns reads, for the form ``patches``.

Populations share columns where their axes have the same names, and their positions are whole
numbers of steps apart. Each axis of a population may have every column, or every second one, and so
on. A rule then is a list of *offsets*: the column of a source less that of its target. A target
reads a source for each offset at which there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...circuit.axis import Axis
from ...circuit.relation import Relation
from ...circuit.space import AxisGrid
from .place_parts import Found, Integers, pairs_of

Reals = NDArray[np.float64]

EVEN = 1e-6
"""Part of a step by which a position may miss its column."""

MOST = 1 << 12
"""Columns along an axis, at most."""


class LocatedLink(NamedTuple):
    """A projection: its relation, the parts of its rows, and the weight of each entry of these.

    ``element`` is where its first source stands in a row of the variable, ``first`` the component
    that is its first target, ``late`` the rows back.
    """

    relation: Relation
    found: Found
    weight: Reals
    element: int
    first: int
    late: int


class ColumnOffsets(NamedTuple):
    """Columns of sources less those of targets, in the order in which targets add up."""

    row: Integers
    last: Integers
    weight: Reals


Places = tuple[Integers, Integers]
"""Columns of a population's points along two axes; of one axis the first column is 0."""


def columns_of(spaces: Sequence[AxisGrid]) -> list[Places] | None:
    """Return the columns of each population; None where they do not share columns."""
    names = spaces[0].names
    if len(names) > 2 or any(one.names != names for one in spaces):
        return None
    along = [_along([one.axes[name] for one in spaces]) for name in names]
    if len(names) == 1:
        along.insert(0, [np.zeros(1, np.int64)] * len(spaces))
    rows, last = along
    return None if rows is None or last is None else list(zip(rows, last, strict=True))


def _along(axes: Sequence[Axis]) -> list[Integers] | None:
    """Return the column of each index along axes of one name."""
    if any(one.period is not None for one in axes):
        return None  # around the seam sources come in another order
    places = [one.positions for one in axes if one.positions is not None]
    if len(places) < len(axes):
        return None if places else [np.arange(one.count) for one in axes]
    every = np.unique(np.concatenate(places))
    steps = np.diff(every)
    steps = steps[steps > EVEN * (every[-1] - every[0]) / MOST]
    unit = float(steps.min(initial=np.inf))
    found = []
    for one in places:
        exact = (one - every[0]) / unit
        column = np.rint(exact).astype(np.int64)
        if (np.abs(exact - column) > EVEN).any() or column[-1] >= MOST:
            return None
        if (np.diff(column) <= 0).any():
            return None
        found.append(column)
    return found


def offsets_of(link: LocatedLink, source: Places, target: Places) -> ColumnOffsets | None:
    """Return the offsets of a projection; None where some target lacks one that it could have."""
    at, row, kind, _ = link.found[2]
    size, over = _pairs(link.found)
    used = np.zeros(len(link.found[0]), dtype=bool)
    used[kind] = True
    kinds, j, i = (one[used[size]] for one in (size, *over))
    # differences along the last axis of each kind: all pairs at a difference, or none
    last = source[1][i] - target[1][j]
    span = MOST + 1
    known, many = np.unique(kinds * 2 * span + last + span, return_counts=True)
    of_kind, last = known // (2 * span), known % (2 * span) - span
    if (many != _number(source[1], target[1], last)).any():
        return None
    # the same for rows, for each kind and weight
    lead = source[0][row] - target[0][at]
    order = np.lexsort((link.weight, kind, lead))
    key = np.stack([lead[order], kind[order]])
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    fresh[1:] |= np.diff(link.weight[order]) != 0
    begin = np.flatnonzero(fresh)
    many, which = np.diff([*begin, len(order)]), order[begin]
    if (many != _number(source[0], target[0], lead[which])).any():
        return None
    which = np.sort(which)  # in the order of the entries
    low, high = (np.searchsorted(of_kind, kind[which], side) for side in ("left", "right"))
    number = high - low
    each = np.repeat(which, number)
    of = np.arange(len(each)) - np.repeat(np.cumsum(number) - number, number)
    found = last[np.repeat(low, number) + of]
    order = np.lexsort((found, lead[each]))
    each = each[order]
    return ColumnOffsets(lead[each], found[order], link.weight[each])


def _pairs(found: Found) -> tuple[Integers, tuple[Integers, Integers]]:
    """Return kind, target and source index of all pairs along the last axis."""
    shift, table, _ = found
    flat, source = pairs_of(table.reshape(-1, 4))
    kinds, targets, sources = [flat // table.shape[1]], [flat % table.shape[1]], [source]
    for kind, (step, first, end, number) in enumerate(shift[:, :4]):
        j = np.repeat(np.arange(first, end), number)
        kinds.append(np.full(len(j), kind))
        targets.append(j)
        sources.append(j + step + np.tile(np.arange(number), end - first))
    return np.concatenate(kinds), (np.concatenate(targets), np.concatenate(sources))


def _number(source: Integers, target: Integers, offset: Integers) -> Integers:
    """Return at how many pairs of indices the columns differ by each offset."""
    lowest = int(source[0] - target[-1])
    counts = np.bincount((source[:, None] - target[None, :] - lowest).reshape(-1))
    out: Integers = counts[offset - lowest]
    return out
