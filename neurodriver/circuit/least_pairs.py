"""How many connections a rule of place makes at least; no pair of cells is tested."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import quoted
from .drawing import BYTES
from .located import Located
from .relation import AxisRuns, Relation
from .room import FEWER, check_free, fits
from .rules import Ends
from .stencils import ways

BINS = 4096
"""Steps of squared distance up to the largest one."""

MOST = 1 << 22
"""Pairs along one axis whose distances are counted; of more, the distance is taken as largest."""

Counts = NDArray[np.float64]


def least_connections(located: Located, ends: Ends) -> float:
    """Return a lower bound of the number of connections; 0 where none is known.

    The bound is exact for ends that fill their axes and look-ups along axes. Distances are rounded
    up, which leaves out about 1 connection of 1,000.
    """
    relation = located.relation
    if relation.form == "grid":
        found = _on_grids(relation, len(ends.source), len(ends.target))
    elif relation.form == "points":
        found = _among_points(located, ends)
    elif relation.form == "offsets":
        found = _by_offsets(relation, len(ends.source), len(ends.target))
    else:
        found = _listed(located, ends)
    alone = 0 if located.autapses else ends.shared
    if alone and relation.form == "offsets":
        alone *= _to_themselves(relation)
    return max(found - alone, 0.0)


def check_stored(located: Located, ends: Ends, name: str) -> None:
    """Raise CircuitError where connections are more than memory has room for.

    Called before they are stored, and before they are counted for that.
    """
    if not fits(BYTES * float(len(ends.source)) * len(ends.target)):
        edges = least_connections(located, ends)
        many = f"at least {edges:,.0f} connections {quoted(name)}"
        check_free(BYTES * edges, many, f"{FEWER}, or try stored=False")


def _among_points(located: Located, ends: Ends) -> float:
    """Return the number of pairs in boxes whose diagonal is the largest distance."""
    relation, starts = located.relation, located.firsts
    places = []
    for name, held, start in zip(("from", "to"), vars(ends).values(), starts, strict=True):
        places.append(relation.tables[name][held.start - start : held.stop - start])
    side = np.sqrt(relation.squared / places[0].shape[1]) * (1 - 1e-9)
    if not side:
        return 0.0
    number = len(places[0])
    boxes = np.floor(np.concatenate(places) / side)
    kind = np.unique(boxes, axis=0, return_inverse=True)[1].reshape(-1)
    most = int(kind.max()) + 1
    counts = [np.bincount(some, minlength=most) for some in (kind[:number], kind[number:])]
    return float(counts[0].astype(float) @ counts[1])


def _listed(located: Located, ends: Ends) -> float:
    """Return the number of listed pairs; of some of the targets none is known."""
    tables = located.relation.tables
    first = ends.source.start - located.firsts[0]
    begin = tables["begin"]
    every = len(ends.target) == len(tables["to"])
    return float(begin[first + len(ends.source)] - begin[first]) if every else 0.0


def _by_offsets(relation: Relation, begins: int, reached: int) -> float:
    """Return the bound where sources lead to cells at offsets, which are on the grid or not."""
    which = relation.tables["which"]
    pairs = np.ones(len(which))
    for place, axis in enumerate(relation.axes):
        pairs *= (relation.tables[f"jump {axis.name}"] >= 0).sum(axis=0)[which[:, place]]
    sources, targets = (
        float(np.prod([getattr(axis, end) for axis in relation.axes], dtype=float))
        for end in ("sources", "targets")
    )
    return float(pairs.sum()) - len(which) * (sources - begins + targets - reached)


def _to_themselves(relation: Relation) -> int:
    """Return how many offsets may lead from a cell to itself."""
    which = relation.tables["which"]
    found = np.ones(len(which), bool)
    for place, axis in enumerate(relation.axes):
        jump = relation.tables[f"jump {axis.name}"]
        same = jump == np.arange(len(jump))[:, None]
        found &= same.any(axis=0)[which[:, place]]
    return int(found.sum())


def _on_grids(relation: Relation, begins: int, reached: int) -> float:
    """Return the bound where cells stand on axes; points without a cell lose all that they have."""
    pairs = 1.0
    sources = targets = out = into = 1.0
    near: Counts | None = None
    for axis in relation.axes:
        runs = axis.high.astype(np.int64) - axis.low + 1
        pairs *= float(runs.sum())
        out *= float(np.diff(np.concatenate([[0], np.cumsum(runs)])[axis.begin]).max(initial=0))
        into *= _most_into(axis)
        sources, targets = sources * axis.sources, targets * axis.targets
        if np.isfinite(relation.squared) and axis.places is not None:
            one = _by_distance(axis, relation.squared, runs)
            near = one if near is None else _together(near, one)
    if near is not None:
        counted = [one for one in relation.axes if one.places is not None]
        box = np.prod([float((one.high.astype(np.int64) - one.low + 1).sum()) for one in counted])
        pairs *= float(near.sum()) / max(float(box), 1.0)
    return pairs - (sources - begins) * out - (targets - reached) * into


def _most_into(axis: AxisRuns) -> float:
    """Return the largest number of sources of a target index."""
    change = np.zeros(axis.targets + 1)
    np.add.at(change, axis.low, 1)
    np.add.at(change, axis.high + 1, -1)
    return float(np.cumsum(change).max(initial=0))


def _by_distance(axis: AxisRuns, squared: float, runs: NDArray[np.int64]) -> Counts:
    """Return how many pairs of indices have each squared distance, rounded up, (BINS + 1,)."""
    number = int(runs.sum())
    if number > MOST or not squared:
        out = np.zeros(BINS + 1)
        out[-1 if squared else 0] = number
        return out
    assert axis.places is not None
    source = np.repeat(np.repeat(np.arange(axis.sources), np.diff(axis.begin)), runs)
    first = np.cumsum(runs) - runs
    target = np.arange(number) + np.repeat(axis.low - first, runs)
    way = ways(axis.places[0][source], axis.places[1][target], axis.period)
    bins = np.ceil(way * way / squared * BINS).astype(np.int64)
    return np.bincount(np.minimum(bins, BINS + 1), minlength=BINS + 2)[: BINS + 1].astype(float)


def _together(a: Counts, b: Counts) -> Counts:
    """Return the counts of pairs along two axes, with the sums of their squared distances."""
    return np.convolve(a, b)[: BINS + 1]
