"""The components of a unit -> items: 32 of them a thread's component, or a piece of a row.

A thread has several components of a row where their sums read entries of the row (``by_place``).
Then no item has components of two rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...plan.sums.by_place import ENTRY
from ...plan.unit import Unit

WARP = 32

ROW_SIZES = (4, 2)
"""Components of a row that a thread has, at most."""

FULL = 0.7
"""Share of the threads at least that have components, where items are pieces of rows."""

BEGIN = 6
"""Entries whose work is that of beginning an item, which waits for memory several times."""

Items = NDArray[np.int32]


def rows_by_thread(unit: Unit, warps: int) -> int:
    """Return how many components of a row a thread has: all warps get items, and are mostly full.

    Parameters
    ----------
    unit : Unit
    warps : int
    """
    if unit.side is not None or unit.spread or unit.collects:
        return 1
    for own in ROW_SIZES:
        first, end = _row_pieces(unit, own)
        turns = -(-(end - first) // WARP)
        if len(first) > warps and turns.sum() * WARP * FULL <= unit.count:
            return own
    return 1


def _row_pieces(unit: Unit, own: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where pieces of rows begin and end; a piece is at most ``WARP * own`` long."""
    cuts = [np.array([0, unit.count])]
    for gather in unit.specs[0].gathers.values():
        if gather.form == "by_place":
            cuts.append(gather.arrays["segment"].reshape(-1, 4)[:, :2].reshape(-1))
    edges = np.unique(np.concatenate(cuts)).astype(np.int64)
    length = np.diff(edges)
    count = -(-length // (WARP * own))
    turn = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    first = np.repeat(edges[:-1], count) + turn * WARP * own
    return first, np.minimum(first + WARP * own, np.repeat(edges[1:], count))


def _by_rows(unit: Unit, own: int) -> bool:
    return own > 1 and unit.near and unit.side is None and not unit.spread


def tiles(unit: Unit, own: int) -> int:
    """Return how many items the components of a unit make."""
    if _by_rows(unit, own):
        return len(_row_pieces(unit, own)[0])
    return -(-unit.turns(own) // _size(unit, own))


def _size(unit: Unit, own: int) -> int:
    """Return how many components, or threads with cells side by side, an item has."""
    return own if unit.spread else WARP if unit.side else WARP * own


def unit_items(unit: Unit, number: int, own: int) -> tuple[Items, NDArray[np.float64]]:
    """Return the items of a unit, (n, 4), and their estimated work."""
    size, turns = _size(unit, own), unit.turns(own)
    first = np.arange(0, turns, size)
    end = np.minimum(first + size, turns)
    if _by_rows(unit, own):
        first, end = _row_pieces(unit, own)
    items = np.stack([np.full_like(first, number), first, end, np.zeros_like(first)], axis=1)
    if unit.side:
        return items.astype(np.int32), np.full(len(items), unit.cost.sum() / len(items))
    begin = first // unit.grain
    if unit.spread:
        return items.astype(np.int32), unit.cost[begin] / unit.grain * own
    if unit.near:
        return items.astype(np.int32), _work_of_rows(unit, first, end)
    work = np.add.reduceat(np.append(unit.cost, 0.0), begin)
    return items.astype(np.int32), work


def _work_of_rows(
    unit: Unit, first: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the work of items whose threads go through the entries of rows."""
    each = unit.cost / unit.grain
    largest = np.maximum(each[first // unit.grain], each[(end - 1) // unit.grain])
    return (largest + BEGIN * ENTRY) * -(-(end - first) // WARP) * WARP
