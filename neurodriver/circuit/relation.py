"""What a rule of place says of two populations: tables along axes, none as long as the connections.

Along each axis the sources of a target are a run of neighbours, and so are the targets of a source
(several runs where an axis is closed). Points are sorted into bins.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError
from .axis import Axis
from .nearest import nearest
from .place_rules import SAME, Near, Offsets, PlaceRule, Within
from .room import check_free
from .space import AxisGrid, Points, Space

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

KINDS = {"grid": 7, "points": 8, "listed": 9, "offsets": 10}
"""How compiled code calls the forms of relations."""

LISTED_BYTES = 24
"""Memory for each connection while the nearest points are listed."""

FEWER_NEAR = "take fewer cells or a smaller n"

JUMP_BYTES = 12
"""Memory for each source and step along an axis while offsets are looked up."""


@dataclass(frozen=True, eq=False)
class AxisRuns:
    """One axis of both ends: which indices of targets belong to each index of a source.

    Attributes
    ----------
    sources, targets : int
        Number of indices at both ends; 1 where an end does not have the axis.
    begin : (sources + 1,) int64
    low, high : (runs,) int32
        The targets of source index i are ``low[k]`` to ``high[k]``, for k from ``begin[i]`` on.
    places : tuple of (sources,) and (targets,) float64, or None
        Positions, where distances count.
    first : (targets,) int64 or None
        Of each target the first index of its uncut run of sources.
    """

    name: str
    sources: int
    targets: int
    begin: Integers
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    places: tuple[Reals, Reals] | None = None
    period: float | None = None
    first: Integers | None = None


@dataclass(frozen=True, eq=False)
class Relation:
    """A rule of place between two spaces.

    Attributes
    ----------
    form : {"grid", "points", "listed", "offsets"}
    names : tuple of str
        Axes along which formulas know the way.
    axes : tuple of AxisRuns
        Those of the targets come in their order, so that the targets of a source ascend.
    point, cell : array or None
        Grid point of each source cell, and target cell of each grid point or -1; None where they
        are equal.
    squared : float
        Largest squared distance.
    tables : dict of str to array
        What else the form consists of.
    """

    form: str
    names: tuple[str, ...]
    source: Space
    target: Space
    axes: tuple[AxisRuns, ...] = ()
    point: NDArray[np.int32] | None = None
    cell: NDArray[np.int32] | None = None
    squared: float = np.inf
    tables: dict[str, NDArray[Any]] = field(default_factory=dict)


def relation_of(rule: PlaceRule, source: Space, target: Space) -> Relation:
    """Return what a rule says of two spaces that it fits.

    Raises
    ------
    CircuitError
        Where a look-up along an axis does not fit it.
    """
    if isinstance(rule, Offsets):
        assert isinstance(source, AxisGrid) and isinstance(target, AxisGrid)
        return _by_offsets(rule, source, target)
    if isinstance(source, AxisGrid) and isinstance(target, AxisGrid):
        return _along_axes(rule, source, target)
    return _between_points(rule, source, target)


def _along_axes(rule: PlaceRule, source: AxisGrid, target: AxisGrid) -> Relation:
    assert isinstance(rule, Near | Within)
    reach = rule.r if isinstance(rule, Within) else None
    every = [*(name for name in source.names if name not in target.names), *target.names]
    runs = []
    counted = 0
    for name in every:
        a, b = source.axes.get(name), target.axes.get(name)
        said = rule.axes.get(name)
        placed = a and b and a.positions is not None and b.positions is not None
        if a is None or b is None:
            runs.append(_whole(name, a, b))
        elif said == SAME:
            runs.append(_same(name, a, b))
        elif said is not None or (reach is not None and placed):
            counted += said is None
            runs.append(_looked_up(rule, name, a, b, reach if said is None else said))
        else:
            runs.append(_whole(name, a, b))
    if reach is not None and not counted:
        say = "no axis with positions at both ends along which distance counts"
        raise CircuitError(f"there is {say}; give positions, or name axes")
    names = tuple(one.name for one in runs)
    maps = _maps(source, target, names)
    squared = np.inf if reach is None else float(reach) * float(reach)
    if reach is None:
        return Relation("grid", names, source, target, tuple(runs), *maps)
    return Relation("grid", names, source, target, tuple(runs), *maps, squared)


def _maps(
    source: AxisGrid, target: AxisGrid, names: tuple[str, ...]
) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """Return the grid point of each source cell, and the cell of each point of the targets.

    Points are counted along the axes of the relation. None stands for equal numbers.
    """
    point = source.point_of_cell
    if tuple(name for name in names if name in source.names) != source.names:
        extent = [source.axes[n].count if n in source.names else 1 for n in names]
        index = dict(zip(source.names, source.indices.T, strict=True))
        none = np.zeros(source.count, np.int64)
        where = [index.get(name, none) for name in names]
        point = np.ravel_multi_index(where, extent).astype(np.int32)
    return point, target.cell_of_point


def _whole(name: str, a: Axis | None, b: Axis | None) -> AxisRuns:
    """Return every source index with every target index."""
    sources, targets = a.count if a else 1, b.count if b else 1
    ends = np.zeros(sources, np.int32), np.full(sources, targets - 1, np.int32)
    places = None
    if a and b and a.positions is not None and b.positions is not None:
        places = a.positions, b.positions
    period = a.period if a and places is not None else None
    return AxisRuns(name, sources, targets, np.arange(sources + 1), *ends, None, period)


def _without_runs(name: str, a: Axis | None, b: Axis | None) -> AxisRuns:
    """Return an axis along which offsets lead; tables say where to."""
    none = np.zeros(0, np.int32)
    ends = a.count if a else 1, b.count if b else 1
    return AxisRuns(name, *ends, _NO_RUNS, none, none, None, a.period if a and b else None)


_NO_RUNS = np.zeros(0, np.int64)


def _same(name: str, a: Axis, b: Axis) -> AxisRuns:
    if a.count != b.count:
        want = f"'{name}' is joined by index, but the source has {a.count} and the target {b.count}"
        raise CircuitError(f"axis {want} cells; take axes of one length")
    every = np.arange(a.count, dtype=np.int32)
    return AxisRuns(name, a.count, b.count, np.arange(a.count + 1), every, every, None, None)


def _looked_up(rule: PlaceRule, name: str, a: Axis, b: Axis, reach: Any) -> AxisRuns:
    """Return the targets in whose run of sources each source index is."""
    if a.positions is None or b.positions is None:
        fix = "give positions, or write 'same'"
        raise CircuitError(f"axis '{name}' has no positions at both ends; {fix}")
    try:
        look = a.runs_near if isinstance(rule, Near) else a.runs_within
        first, last = look(b.positions, reach)
    except CircuitError as error:
        raise CircuitError(f"axis '{name}': {error}") from None
    return _inverted(name, a, b, first, last)


def firsts_of(axis: AxisRuns) -> Integers:
    """Return of each target the index from which places of its sources are counted, (targets,)."""
    if axis.first is not None:
        return axis.first
    same = axis.sources == axis.targets and bool((axis.low == axis.high).all())
    return np.arange(axis.targets) if same else np.zeros(axis.targets, np.int64)


def _inverted(name: str, a: Axis, b: Axis, first: Integers, last: Integers) -> AxisRuns:
    """Return the runs of targets of each source index; runs of sources ascend with the targets."""
    every = np.arange(a.count)
    turns = [0]
    if a.period is not None:
        found = range(int(first.min()) // a.count, int(last.max()) // a.count + 1)
        turns = [*found] or turns  # no turn where no target has a source
    parts = []
    for turn in turns:
        at = every + turn * a.count
        low = np.searchsorted(last, at, side="left")
        high = np.searchsorted(first, at, side="right") - 1
        there = low <= high
        parts.append((every[there], low[there], high[there]))
    source, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((low, source))
    begin = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=a.count))])
    ends = low[order].astype(np.int32), high[order].astype(np.int32)
    assert a.positions is not None and b.positions is not None
    places = a.positions, b.positions
    return AxisRuns(name, a.count, b.count, begin, *ends, places, a.period, first)


def _by_offsets(rule: Offsets, source: AxisGrid, target: AxisGrid) -> Relation:
    names = [*(name for name in source.names if name not in target.names), *target.names]
    table = dict(zip(rule.names(source), rule.table.T, strict=True))
    runs, tables, which = [], {}, []
    for name in names:
        a, b = source.axes.get(name), target.axes.get(name)
        if name not in table:
            if a is not None and b is not None:
                say = f"'offsets' say nothing of the axis '{name}' of both ends"
                raise CircuitError(f"{say}; give a column for it")
            one = a if a is not None else b
            assert one is not None
            if one.count != 1:
                end = "source" if a else "target"
                raise CircuitError(f"the axis '{name}' of the {end} must have one cell for offsets")
            table[name] = np.zeros(len(rule.table))
            jump = np.zeros((1, 1), np.int32)
            kind = np.zeros(len(rule.table), np.int64)
        else:
            assert a is not None and b is not None
            steps, kind = np.unique(table[name], return_inverse=True)
            jump = _jumps(a, b, steps)
        runs.append(_without_runs(name, a, b))
        tables[f"jump {name}"] = np.ascontiguousarray(jump, dtype=np.int32)
        which.append(kind)
    tables["which"] = np.ascontiguousarray(np.stack(which, axis=1), dtype=np.int32)
    tables["factor"] = rule.columns["weights"]
    maps = _maps(source, target, tuple(names))
    return Relation("offsets", tuple(names), source, target, tuple(runs), *maps, np.inf, tables)


_KNOWN_JUMPS: WeakValueDictionary[bytes, NDArray[np.int32]] = WeakValueDictionary()
"""Jumps of relations that live, by what they follow from: many relations have the same."""


def _jumps(a: Axis, b: Axis, steps: Reals) -> NDArray[np.int32]:
    """Return the target index at each source's position plus each step, (sources, steps)."""
    sizes = np.array([a.count, b.count])
    arrays = [sizes, *(np.zeros(0) if x is None else x for x in (a.positions, b.positions)), steps]
    more = repr((a.period, b.period, a.step, b.step, [len(x) for x in arrays]))
    key = more.encode() + b"".join(np.ascontiguousarray(x).tobytes() for x in arrays)
    digest = hashlib.sha256(key).digest()
    found = _KNOWN_JUMPS.get(digest)
    if found is None:
        number = a.count * len(steps)
        what = f"the targets of {a.count:,} sources at {len(steps):,} steps along an axis"
        check_free(JUMP_BYTES * number, what, "take fewer cells or fewer offsets")
        found = np.stack([_moved(a, b, float(step)) for step in steps], axis=1).astype(np.int32)
        _KNOWN_JUMPS[digest] = found
    return found


def _moved(a: Axis, b: Axis, step: float) -> Integers:
    """Return the target index at each source's position plus a step, -1 where there is none."""
    if a.positions is None or b.positions is None or b.step is None:
        index = np.arange(a.count) + int(step)
        return np.where((index >= 0) & (index < b.count) & (step == int(step)), index, -1)
    places = a.positions + step
    if b.period is not None:
        places = b.positions[0] + np.mod(places - b.positions[0], b.period)
    tie = 2.0**-20 * min(b.step, a.step or b.step)
    at = np.clip(np.searchsorted(b.positions, places - tie), 0, b.count - 1)
    found = np.abs(b.positions[at] - places) <= tie
    if b.period is not None:  # just below the period is at the first cell
        around = np.abs(places - b.positions[0] - b.period) <= tie
        at, found = np.where(around, 0, at), found | around
    return np.where(found, at, -1)


def _between_points(rule: PlaceRule, source: Space, target: Space) -> Relation:
    assert isinstance(rule, Near | Within)
    names = source.names
    if {*names} != {*target.names}:
        both = f"{', '.join(names)} and {', '.join(target.names)}"
        raise CircuitError(f"coordinates of source and target must be the same (got {both})")
    at = [target.names.index(name) for name in names]
    a, b = np.ascontiguousarray(source.positions), np.ascontiguousarray(target.positions[:, at])
    if np.isnan(a).any() or np.isnan(b).any():
        raise CircuitError("distances need positions along all axes; give positions to all")
    period = np.array([p or 0.0 for p in _periods(source)])
    tables: dict[str, NDArray[Any]] = {"from": a, "to": b, "period": period}
    if isinstance(rule, Near):
        tables["begin"], tables["listed"] = _listed(a, b, period, int(rule.n or 0))
        return Relation("listed", names, source, target, tables=tables)
    assert rule.r is not None
    r = float(rule.r)
    tables |= _binned(b, period, r)
    return Relation("points", names, source, target, squared=r * r, tables=tables)


def _periods(space: Space) -> tuple[float | None, ...]:
    if isinstance(space, Points):
        return space.period
    assert isinstance(space, AxisGrid)
    return tuple(axis.period for axis in space.axes.values())


def _binned(places: Reals, period: Reals, r: float) -> dict[str, NDArray[Any]]:
    """Return points sorted into bins that are at least ``r`` wide, in the order of the bins."""
    closed = period > 0
    low, high = places.min(axis=0), places.max(axis=0)
    origin = np.where(closed, 0.0, low)
    extent = np.where(closed, period, high - low)
    most = max(int(len(places) ** (1 / places.shape[1])), 1)
    reach = max(r * (1 + 1e-9), 1e-300)
    bins = np.clip(np.floor(extent / reach), 1, most).astype(np.int64)
    width = np.where(extent > 0, extent / bins, 1.0)
    width = np.where(closed, width, np.maximum(width, reach) * (1 + 1e-9))
    index = np.floor((places - origin) / width).astype(np.int64)
    index = np.where(closed, index % bins, np.clip(index, 0, bins - 1))
    number = np.ravel_multi_index([*index.T], [*bins])
    listed = np.argsort(number, kind="stable").astype(np.int32)
    begin = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=int(bins.prod())))])
    return {"bins": bins, "origin": origin, "width": width, "begin": begin, "listed": listed}


def _listed(a: Reals, b: Reals, period: Reals, n: int) -> tuple[Integers, NDArray[np.int32]]:
    """Return of each source the targets to whose n nearest it belongs, one list after the other."""
    number = len(b) * n
    check_free(LISTED_BYTES * number, f"{number:,} connections of Near({n})", FEWER_NEAR)
    source, target = nearest(a, b, period, n).reshape(-1), np.repeat(np.arange(len(b)), n)
    order = np.argsort(source, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=len(a)))])
    return begin, target[order].astype(np.int32)
