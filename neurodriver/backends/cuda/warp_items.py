"""Which warp has which items: components of units, delivery of spikes, inputs and recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...codegen.generate import Task
from ...native.buffers import LANES
from .items import (
    WARP,
    Items,
    alike,
    by_block,
    by_work,
    even_shares,
    items_of,
    side_by_side,
    tiles,
    unit_items,
)
from .patches import patch_items
from .schedule import LaunchPlan

LONG_TEXT = 32
"""Numbers of a component from which its text is taken to be long: warps of a block that run
several of them at a time wait for instructions."""

INJECT, SAMPLE, EVENTS, EXPORT, DELIVER, RECORDED, BRING, SEND = range(-1, -9, -1)
"""Kinds of items beside components. ``RECORDED`` scans the first row of a chunk; the warps that
compute the events record the other rows."""

ROUNDS = 2
"""Other items of a warp without components before one with components gets any. In a window of
several steps each warp delivers once, and warps without components take what enters."""


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


def idle_warps(plan: LaunchPlan, units: Sequence[Task]) -> int:
    """Return how many warps have no components; all, where a warp has many components in turn."""
    busy = sum(tiles(unit, own) for unit, own in zip(units, plan.own, strict=True))
    return plan.warps - (busy if plan.shape.holds else 0)


def pieces(what: int, which: int, count: int, warps: int, size: int = 0) -> Items:
    """Return the items that copy ``count`` elements, each of ``size`` or for so many warps."""
    size = size or max(4 * WARP, -(-count // (warps * WARP)) * WARP)
    first = np.arange(0, count, size)
    end = np.minimum(first + size, count)
    return items_of(what, first, end, which)


def delivery_items(warps: int) -> Items:
    """Return the items of delivering warps."""
    return items_of(DELIVER, np.arange(warps), warps, 0)


def over(pieces: Sequence[Items], window: int) -> list[Items]:
    """Return items for each step of a window in turn; it stands above the table's number."""
    out = []
    for items in pieces:
        steps = 1 if not len(items) or items[0, 0] in (DELIVER, RECORDED) else max(window, 1)
        more = np.tile(items, (steps, 1))
        more[:, 3] += np.repeat(np.arange(steps, dtype=np.int32) << 16, len(items))
        out.append(more)
    return out


def distribute(plan: LaunchPlan, units: Sequence[Task], others: Sequence[Items]) -> Lists:
    """Distribute items over warps.

    Components come first, stage by stage, heavy items before light ones, one block after the other.
    Where all are of one unit and have about equal work, a warp that has several has neighbours.
    Where a text is long, the warps of a block have neighbours: they read the same instructions.
    The other items, delivery of spikes first, go to the warps with the least work.

    The first item of a warp is its components, where it has any; the last ones are what is done
    once a chunk. Units that instances launch are left out.
    """
    warps, per_block = plan.warps, plan.shape.threads // WARP
    each = np.arange(warps)
    order = each % plan.blocks * per_block + each // plan.blocks  # warp of each turn
    items, mine, busy = np.zeros((0, 4), np.int32), np.zeros(0, np.int64), np.zeros(warps)
    for one in patch_items(plan, units).values():
        items, mine = np.concatenate([items, one.items]), np.concatenate([mine, one.warp])
        busy = busy + np.bincount(one.warp, one.work, warps)
    long = plan.shape.holds and any(unit.kernel.kept >= LONG_TEXT for unit in units)
    for stage in sorted({unit.stage for unit in units}):
        near = not plan.shape.holds and all(u.near for u in units if u.stage == stage)
        some, work = _items_of_stage(plan, units, stage, near)
        first = len(items) if plan.shape.holds else 0  # a warp that holds its components has one
        if near:
            theirs = by_block(work, plan.blocks, per_block)
        elif long:
            used = np.bincount(mine // per_block, minlength=plan.blocks)
            theirs = side_by_side(len(some), used, per_block)
        elif not plan.shape.holds and alike(some, work):
            theirs = even_shares(work, warps)
        else:
            theirs = order[by_work(work, warps, first)]
        busy = busy + np.bincount(theirs, work, warps)
        items, mine = np.concatenate([items, some]), np.concatenate([mine, theirs])
    stages = np.array([unit.stage for unit in units], np.int64)
    ranks = np.argsort(stages[items[:, 0]], kind="stable")  # patches may be of later stages
    items, mine = items[ranks], mine[ranks]
    rest = np.concatenate(list(others)) if others else np.zeros((0, 4), np.int32)
    first_turns = {DELIVER: 0, SEND: 1, BRING: 1, RECORDED: 3}
    turn = np.array([first_turns.get(what, 2) for what in rest[:, 0].tolist()], np.int64)
    rest = rest[np.argsort(turn, kind="stable")]
    load = busy[order]
    idle, again = order[load == 0], ROUNDS - 1 if plan.shape.window <= 1 else 0
    turns = [np.tile(idle, again), order[np.argsort(load, kind="stable")]]
    theirs = np.resize(np.concatenate(turns), len(rest))
    waits = rest[:, 0] == BRING
    if plan.shape.window > 1 and idle.size:  # while the others compute the window before
        theirs[waits] = np.resize(idle, int(waits.sum()))
    return by_warp(np.concatenate([items, rest]), np.concatenate([mine, theirs]), warps)


def _items_of_stage(
    plan: LaunchPlan, units: Sequence[Task], stage: int, near: bool = False
) -> tuple[Items, NDArray[np.float64]]:
    """Return the items of a stage and their work: heavy ones first, or neighbours together."""
    numbered = enumerate(zip(units, plan.own, strict=True))
    mine = (
        (i, u, o) for i, (u, o) in numbered if u.stage == stage and not (u.stepwise or u.patches)
    )
    made = [unit_items(u, i, o) for i, u, o in mine]
    items = np.concatenate([m[0] for m in made]) if made else np.zeros((0, 4), np.int32)
    work = np.concatenate([m[1] for m in made]) if made else np.zeros(0)
    if near or (not plan.shape.holds and alike(items, work)):
        return items, work
    heavy = np.argsort(-work, kind="stable")
    return items[heavy], work[heavy]


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
