"""Patches of columns -> the items of the warps of their blocks: see `plan.sums.patches`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...codegen.generate import Task
from ...codegen.simt.device import THRESHOLDS_BYTES
from ...codegen.simt.shape import QUEUE_BYTES, Shape
from ...codegen.simt.shared_texts import table_sizes
from ...plan.sums.gather import Gather
from .items import WARP, Items, by_work

if TYPE_CHECKING:
    from .schedule import LaunchPlan

STAGE = -1
"""Mark of an item with which a block copies what a patch reads; all its warps have it."""

BEGIN = 6.0
"""Offsets whose work is that of beginning a population."""

SHARED = 227 << 10
"""Bytes of shared memory of a block, at most."""

TABLES_BYTES, DUE_BYTES = 1 << 10, 32
"""What texts declare of it: tables; of each thread, what warps share of spikes that are due."""


@dataclass(frozen=True)
class PatchItems:
    """The items of a unit that is cut into patches.

    Attributes
    ----------
    items : (n, 4) int32
        The last column is the byte of shared memory where the cells are kept, or 0.
    warp : (n,) int64
    work : (n,) float64
    """

    items: Items
    warp: NDArray[np.int64]
    work: NDArray[np.float64]


def with_patches(shape: Shape, units: Sequence[Task], blocks: int) -> Shape:
    """Return a shape with the shared memory of patches.

    And of their cells, and of where their values are, if these fit, too.
    """
    patches = max((unit.kernel.patches for unit in units), default=0)
    cells = sum(_bytes(unit) * _most(unit.patches, blocks) for unit in units if unit.patches)
    room = SHARED - declared_bytes(shape, units) - patches
    if any(unit.kernel.record for unit in units):
        room = 0
    cells = cells if cells <= room else 0
    plans = [p for u in units for p in u.specs[0].gathers.values() if p.form == "patches"]
    alone = all(one.limits["patches"] <= blocks for one in plans)
    sources = -(-4 * sum(one.limits["slots"] for one in plans) // 16) * 16
    keeps = alone and sources <= room - cells
    return replace(shape, patches=patches, cells=cells, sources=sources * keeps)


def declared_bytes(shape: Shape, units: Sequence[Task]) -> int:
    """Return the bytes of shared memory that a text declares where no warp holds components."""
    thresholds = max((unit.kernel.text.count("nd_counts<") for unit in units), default=0)
    each = DUE_BYTES * shape.due + thresholds * THRESHOLDS_BYTES / WARP
    each += QUEUE_BYTES / WARP * any("nd_put(" in unit.kernel.text for unit in units)
    tables = sum(8 * sum(table_sizes(unit.kernel)) for unit in units) if shape.copies else 0
    return TABLES_BYTES + tables + math.ceil(each * shape.threads)


def patch_items(plan: LaunchPlan, units: Sequence[Task]) -> dict[int, PatchItems]:
    """Return the items of each unit that is cut into patches, by the number of the unit.

    Patch p belongs to block p modulo the number of blocks. The items of its populations follow the
    one that copies its values.
    """
    found, at = {}, plan.shape.patches
    for number, unit in enumerate(units):
        if unit.patches and not unit.stepwise:
            each = _bytes(unit) if plan.shape.cells else 0
            kept = (at, each) if each else (0, 0)
            found[number] = _of_unit(unit, number, plan.blocks, plan.warps, kept)
            at += each * _most(unit.patches, plan.blocks)
    return found


def _most(plan: Gather, blocks: int) -> int:
    """Return how many populations of patches a block has at most."""
    return -(-plan.limits["patches"] // blocks) * plan.limits["targets"]


def _bytes(unit: Task) -> int:
    """Return the bytes that keep the cells of a population of a patch."""
    assert unit.patches is not None
    word = 4 if unit.specs[0].dtype == "float32" else 8
    return WARP * unit.patches.limits["own"] * (unit.kernel.kept * word + 4)


def _of_unit(unit: Task, number: int, blocks: int, warps: int, kept: tuple[int, int]) -> PatchItems:
    """Return the items of a unit; ``kept``: where its first cells are kept, and bytes of each."""
    plans = [one for one in unit.specs[0].gathers.values() if one.form == "patches"]
    plan = plans[0]
    patches, targets, own = (plan.limits[name] for name in ("patches", "targets", "own"))
    each, size = warps // blocks, WARP * own
    cells = np.asarray(plan.arrays["cell"], np.int32).reshape(patches, targets, size)
    there = np.any(cells >= 0, axis=2)
    work = np.full(targets, BEGIN)
    for one in plans:
        work += np.diff(np.asarray(one.arrays["begin"], np.int64))
    items, mine, works = [], [], []
    for patch in range(patches):
        first, before = patch % blocks * each, patch // blocks * targets
        items.append(np.tile([number, patch, 0, STAGE], (each, 1)))
        mine.append(first + np.arange(each))
        works.append(np.zeros(each))
        target = np.flatnonzero(there[patch])
        target = target[np.argsort(-work[target], kind="stable")]
        place = kept[0] + (before + target) * kept[1]
        columns = [np.full_like(target, number), (patch * targets + target) * size, target, place]
        items.append(np.stack(columns, axis=1))
        mine.append(first + by_work(work[target], each))
        works.append(work[target] * size)
    table = np.concatenate(items).astype(np.int32)
    return PatchItems(table, np.concatenate(mine), np.concatenate(works))
