"""The components of a unit -> items, and their estimated work."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from ...plan.sums.by_place import ENTRY
from ...plan.unit import Unit

WARP = 32

BEGIN = 6
"""Entries whose work is that of beginning an item, which waits for memory several times."""

Items = NDArray[np.int32]


def items_of(*columns: int | NDArray[np.int64]) -> Items:
    """Return items from their columns, or what they share: what, first, end, which."""
    return np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.int32)


def tiles(unit: Unit, own: int) -> int:
    """Return how many items the components of a unit make."""
    return -(-unit.turns(own) // _size(unit, own))


def _size(unit: Unit, own: int) -> int:
    """Return how many components, or threads with cells side by side, an item has."""
    return own if unit.spread else WARP if unit.side else WARP * own


def unit_items(unit: Unit, number: int, own: int) -> tuple[Items, NDArray[np.float64]]:
    """Return the items of a unit, (n, 4), and their estimated work."""
    size, turns = _size(unit, own), unit.turns(own)
    first = np.arange(0, turns, size)
    end = np.minimum(first + size, turns)
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
    """Return the work of items that read much that is the same: beginning one takes time, too."""
    each = unit.cost / unit.grain
    largest = np.maximum(each[first // unit.grain], each[(end - 1) // unit.grain])
    return (largest + BEGIN * ENTRY) * WARP


def alike(items: Items, work: NDArray[np.float64]) -> bool:
    """Whether items are of one unit and have about equal work: any warp may get any of them."""
    one = len(items) > 0 and bool((items[:, 0] == items[0, 0]).all())
    return one and float(work.max()) * len(work) <= 2.0 * float(work.sum())


def even_shares(work: NDArray[np.float64], warps: int) -> NDArray[np.int64]:
    """Return which warp gets each item: neighbours, about as much work as the others get.

    Neighbours often have equal parameters, and a warp keeps what it computed of them.
    """
    middle = np.cumsum(work) - 0.5 * work
    share: NDArray[np.int64] = (middle * (warps / float(work.sum()))).astype(np.int64)
    return np.minimum(share, warps - 1)


def by_block(work: NDArray[np.float64], blocks: int, per_block: int) -> NDArray[np.int64]:
    """Return which warp gets each item, so that a block has neighbouring items.

    These have neighbouring cells, which read the same: a block finds it in its cache.
    """
    before = np.cumsum(work) - work
    shares = (before + 0.5 * work) * blocks / max(float(work.sum()), 1e-300)
    block = np.minimum(shares.astype(np.int64), blocks - 1)
    warp = np.zeros(len(work), np.int64)
    for one in np.unique(block):
        mine = np.flatnonzero(block == one)
        heavy = mine[np.argsort(-work[mine], kind="stable")]
        warp[heavy] = one * per_block + by_work(work[heavy], per_block)
    return warp


def side_by_side(count: int, used: NDArray[np.int64], per_block: int) -> NDArray[np.int64]:
    """Return which warp gets each of ``count`` items, so that a block has neighbouring ones.

    Each item has a warp of its own, and all blocks get about as many.

    Parameters
    ----------
    used : (blocks,) int64
        Warps of each block that have an item already, its first ones.
    per_block : int
        Warps of a block.
    """
    level = -(-(int(used.sum()) + count) // len(used))
    room = np.maximum(level - used, 0)
    room -= (room > 0) & (np.cumsum(room > 0) <= room.sum() - count)
    block = np.repeat(np.arange(len(used)), room)
    place = used[block] + np.arange(count) - (np.cumsum(room) - room)[block]
    warps: NDArray[np.int64] = block * per_block + place
    return warps


def by_work(work: NDArray[np.float64], warps: int, first: int = 0) -> NDArray[np.int64]:
    """Return which warp gets each item, the one with the least work first."""
    turns: NDArray[np.int64] = (first + np.arange(len(work))) % warps
    if len(work) > warps and work[0] > 2 * work[-1]:
        heap = [(0.0, w) for w in range(warps)]
        for i, amount in enumerate(work.tolist()):
            load, w = heap[0]
            heapq.heapreplace(heap, (load + amount, w))
            turns[i] = w
    return turns
