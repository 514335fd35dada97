"""Which warp does what: items of a program dealt to the warps of a launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...compile.memory import LANES
from ...compile.program import Unit
from ...kernels.device import Shape

WARP = 32
MOST_THREADS = 1024
REGISTERS = 65536
"""Of a multiprocessor."""

INJECT, SAMPLE, EVENTS, EXPORT = -1, -2, -3, -4
WIDTHS = ("alone", "block", "cluster", "grid")

Items = NDArray[np.int32]


@dataclass(frozen=True)
class Plan:
    """How wide a circuit runs.

    Attributes
    ----------
    width : {"block", "cluster", "grid"}
    blocks : int
    shape : Shape
    own : tuple of int
        Components of a thread, for each unit.
    """

    width: str
    blocks: int
    shape: Shape
    own: tuple[int, ...]

    @property
    def warps(self) -> int:
        """Warps of the launch."""
        return self.blocks * self.shape.threads // WARP


@dataclass
class Lists:
    """The items of every warp of a launch.

    Attributes
    ----------
    items : (n, 4) int32
        What, first, end, which.
    offsets : (warps + 1,) int32
        Where each warp's items begin.
    """

    items: Items
    offsets: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))


def tiles(count: int, own: int) -> int:
    """Return how many items the components of a unit make."""
    return -(-count // (WARP * own))


def choose(units: Sequence[Unit], processors: int, clusters: bool) -> Plan:
    """Return how wide a circuit runs: one block, a cluster of blocks, or the whole device.

    Parameters
    ----------
    units : sequence of Unit
    processors : int
        Multiprocessors of the device.
    clusters : bool
        Whether the device has clusters of 16 blocks.
    """
    counts = [unit.count for unit in units]
    ones = [1] * len(counts)
    total = max(sum(tiles(n, 1) for n in counts), 1)
    if total <= 16:
        return Plan("block", 1, Shape(max(total + 1, 4) * WARP, 1, True), tuple(ones))
    if total <= 16 * 20 and clusters:
        each = -(-(total + 16) // 16)
        return Plan("cluster", 16, Shape(each * WARP, 1, True), tuple(ones))
    room = processors * 31
    if total <= processors * 15:
        each = max(-(-total // processors) + 1, 4)
        return Plan("grid", processors, Shape(each * WARP, 1, True), tuple(ones))
    own = list(ones)
    for more in (1, 2, 4):
        own = [more if tiles(n, 1) > processors else 1 for n in counts]
        if sum(tiles(n, o) for n, o in zip(counts, own, strict=True)) <= room:
            return Plan("grid", processors, Shape(MOST_THREADS, 1, True), tuple(own))
    return Plan("grid", processors, Shape(MOST_THREADS, 1, False), tuple(own))


def unit_items(unit: Unit, number: int, own: int) -> tuple[Items, NDArray[np.float64]]:
    """Return the items of a unit, (n, 4), and their estimated work."""
    size = WARP * own
    first = np.arange(0, unit.count, size)
    end = np.minimum(first + size, unit.count)
    items = np.stack([np.full_like(first, number), first, end, np.zeros_like(first)], axis=1)
    begin = first // unit.grain
    work = np.add.reduceat(np.append(unit.cost, 0.0), begin)
    return items.astype(np.int32), work


def pieces(what: int, which: int, count: int, warps: int) -> Items:
    """Return the items that copy ``count`` elements."""
    size = max(4 * WARP, -(-count // (warps * WARP)) * WARP)
    first = np.arange(0, count, size)
    end = np.minimum(first + size, count)
    whole = [np.full_like(first, what), first, end, np.full_like(first, which)]
    return np.stack(whole, axis=1).astype(np.int32)


def deal(plan: Plan, units: Sequence[Unit], others: Sequence[Items]) -> Lists:
    """Deal items to warps: heavy ones first, over blocks before warps; the others to the idlest.

    The first item of a warp is its components, where it has any.
    """
    made = [unit_items(u, i, o) for i, (u, o) in enumerate(zip(units, plan.own, strict=True))]
    items = np.concatenate([m[0] for m in made]) if made else np.zeros((0, 4), np.int32)
    work = np.concatenate([m[1] for m in made]) if made else np.zeros(0)
    items = items[np.argsort(-work, kind="stable")]
    warps, per_block = plan.warps, plan.shape.threads // WARP
    turn = np.arange(warps)
    order = turn % plan.blocks * per_block + turn // plan.blocks  # warp of each turn
    mine = order[np.arange(len(items)) % warps]
    rest = np.concatenate(list(others)) if others else np.zeros((0, 4), np.int32)
    idle = order[::-1]
    theirs = idle[np.arange(len(rest)) % warps]
    return by_warp(np.concatenate([items, rest]), np.concatenate([mine, theirs]), warps)


def one_each(items: Items) -> Lists:
    """Return lists of one item a warp."""
    return by_warp(items, np.arange(len(items)), len(items))


def by_warp(items: Items, warp: NDArray[np.int64], warps: int) -> Lists:
    """Return items sorted by their warp, in order within it."""
    order = np.argsort(warp, kind="stable")
    offsets = np.zeros(warps + 1, np.int32)
    np.cumsum(np.bincount(warp, minlength=warps), out=offsets[1:])
    return Lists(np.ascontiguousarray(items[order]), offsets)


assert LANES * 2 == WARP  # slices of sums are half a warp
