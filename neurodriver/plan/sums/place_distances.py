"""What a row of targets reads of a row of sources where distances decide, for ``by_place``.

On regular axes all targets of a row read sources at the same distances. So each difference of
indices along the last axis is a kind, and an entry has one weight, also one by a formula. Near the
seam of a closed axis the difference is another one: then a target reads a source of another entry.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...circuit.drawn import Drawn
from ...circuit.formula import Formula
from ...circuit.place_formula import PlaceFormula
from ...circuit.relation import AxisRuns, Relation, firsts_of
from ...circuit.stencils import ways
from .place_parts import Found, Integers, lists_of, pairs_of, straight

Reals = NDArray[np.float64]

MOST = 1 << 24
"""Pairs of rows and differences that are looked at."""

AROUND = 4
"""Differences along an axis for each source of a target, at most; more on irregular axes."""


def needs_distances(one: Drawn) -> bool:
    """Whether distances, a formula, or left out cells decide what a projection connects."""
    located = one.located
    assert located is not None
    alone = not located.autapses and one.ends.shared > 0
    by_formula = located.formulas[0] is not None
    grid = located.relation.form == "grid"
    return grid and (alone or by_formula or bool(np.isfinite(located.relation.squared)))


def by_distance(one: Drawn) -> Found | None:
    """Return kinds, their tables and entries, as `kinds_of` does; factors are weights by a formula.

    None where distances differ between the targets of a row, as on irregular axes.
    """
    located = one.located
    assert located is not None
    relation, formula = located.relation, located.formulas[0]
    apart = not isinstance(formula, PlaceFormula) or formula.reads_distance(relation.names)
    found = _differences(relation.axes[-1], apart or bool(np.isfinite(relation.squared)))
    if found is None:
        return None
    lists, difference, last = found
    leading = _leading(relation)
    if len(leading[0]) * len(difference) > MOST:
        return None
    size = len(difference)
    target, row = (np.repeat(column, size) for column in leading[:2])
    same, squared = np.repeat(leading[2], size), np.repeat(leading[3], size)
    kind = np.tile(np.arange(size), len(leading[0]))
    way = np.zeros(len(kind)) if last is None else last[kind]
    if last is not None:
        squared = squared + way * way
    kept = squared <= relation.squared
    if not located.autapses and one.ends.shared:
        kept &= ~(same & (difference[kind] == 0))
    at = np.flatnonzero(kept)
    at = at[np.lexsort((kind[at], row[at], target[at]))]
    columns = [np.repeat(each, size)[at] for each in leading[4]]
    factor = np.ones(len(at))
    if formula is not None:
        places = _places(formula, relation, difference, (target[at], row[at], kind[at]))
        if places is None:
            return None
        factor = formula.values(relation.names, squared[at], [*columns, way[at]], places)
    return *straight(lists), (target[at], row[at], kind[at], factor)


def _places(
    formula: Formula, relation: Relation, difference: Integers, entries: Sequence[Integers]
) -> list[Integers] | None:
    """Return indices and places along the axes for a formula that reads them, none for others.

    None where a formula differs between the targets of a row.

    Parameters
    ----------
    difference : (kinds,) int64
        Source index less target index along the last axis.
    entries : three of (entries,) int64
        Row of targets, row of sources, kind.
    """
    if not isinstance(formula, PlaceFormula):
        return []
    *leading, last = relation.axes
    shift = firsts_of(last) - np.arange(last.targets)
    uneven = formula.reads_place(last.name) and (shift != shift[0]).any()
    if formula.reads_index(last.name) or uneven:
        return None
    target, row, kind = entries
    j = np.unravel_index(target, [axis.targets for axis in leading]) if leading else ()
    i = np.unravel_index(row, [axis.sources for axis in leading]) if leading else ()
    index = [b if axis.name in relation.target.names else a
             for axis, a, b in zip(leading, i, j, strict=True)]  # fmt: skip
    place = [
        _turned(axis, a - firsts_of(axis)[b]) for axis, a, b in zip(leading, i, j, strict=True)
    ]
    none = np.zeros(len(kind), np.int64)
    return [*index, none, *place, _turned(last, difference[kind] - shift[0])]


def _turned(axis: AxisRuns, place: Integers) -> Integers:
    return place % axis.sources if axis.period is not None else place


def _differences(axis: AxisRuns, apart: bool) -> tuple[Integers, Integers, Reals | None] | None:
    """Return the lists of each difference, source index less target index, and the ways.

    None where a difference is not always the same way; it need not be if nothing asks how far
    cells are ``apart``.
    """
    per_target = lists_of(axis)
    j, i = pairs_of(per_target)
    difference, which = np.unique(i - j, return_inverse=True)
    most = int((per_target[:, 1] + per_target[:, 3]).max(initial=0))
    if not len(j) or len(difference) > AROUND * most:
        return None
    way = _ways(axis, j, i) if apart else None
    last = None
    if way is not None:
        last = np.zeros(len(difference))
        last[which] = way
        if last[which].tobytes() != way.tobytes():
            return None
    lists = np.zeros((len(difference), axis.targets, 4), np.int64)
    lists[which, j, 0], lists[which, j, 1] = i, 1
    return lists, difference, last


def _leading(
    relation: Relation,
) -> tuple[Integers, Integers, NDArray[np.bool_], Reals, list[Reals]]:
    """Return the pairs of rows: target, source, whether they are one, squared distance, ways."""
    target, row, same = np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1, dtype=bool)
    along: list[Reals] = []
    squared = np.zeros(1)
    for axis in relation.axes[:-1]:
        j, i = pairs_of(lists_of(axis))
        many, size = len(target), len(j)
        target = np.repeat(target * axis.targets, size) + np.tile(j, many)
        row = np.repeat(row * axis.sources, size) + np.tile(i, many)
        same = np.repeat(same, size) & np.tile(i == j, many)
        squared, along = np.repeat(squared, size), [np.repeat(one, size) for one in along]
        way = _ways(axis, j, i)
        along.append(np.tile(np.zeros(size) if way is None else way, many))
        if way is not None:
            squared = squared + along[-1] * along[-1]
        near = squared <= relation.squared
        target, row, same, squared = target[near], row[near], same[near], squared[near]
        along = [one[near] for one in along]
    return target, row, same, squared, along


def _ways(axis: AxisRuns, j: Integers, i: Integers) -> Reals | None:
    if axis.places is None:
        return None
    return ways(axis.places[0][i], axis.places[1][j], axis.period)
