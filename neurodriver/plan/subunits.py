"""Sub-units of a group -> places in arrays, with their bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Group
from ..model.subunits import SubUnits
from ..native.buffers import Blank
from .memory import LANES, MemoryManager, padded

COST = 4.0
"""Estimated work of a sub-unit and sub-step, in units of one stored connection."""


def place(
    group: Group, substeps: int, grain: int, cost: NDArray[np.float64], memory: MemoryManager
) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Return the values of a kernel's arguments, and the work of each ``grain`` components.

    ``cost`` is the work of each ``LANES`` components without their sub-units; ``memory`` is told
    the bytes that they need.
    """
    units = group.model.sub_units
    assert units is not None
    counts = counts_of(group, units)
    stored = storage(units, counts)
    what = f"the {counts.sum():,} sub-units of {group.name} ({units.per})"
    memory.claims[what] = sum(value.nbytes for value in stored.values())
    first = np.arange(0, group.count, grain)
    work = cost[first // LANES] * grain / LANES
    return stored, work + COST * substeps * np.add.reduceat(counts.astype(float), first)


def counts_of(group: Group, sub_units: SubUnits) -> NDArray[np.int64]:
    """Return how many sub-units each component of a group has, (count,)."""
    default = group.model.params[sub_units.per].default
    column = np.asarray(group.params.get(sub_units.per, default), dtype=np.float64)
    return np.broadcast_to(column, (group.count,)).astype(np.int64)


def storage(sub_units: SubUnits, counts: NDArray[np.int64]) -> dict[str, Any]:
    """Return the values of a kernel's arguments: where each component's sub-units stand.

    Parameters
    ----------
    sub_units : SubUnits
    counts : (count,) int64
        Sub-units of each component; each component's begin at a multiple of ``LANES``.
    """
    places = padded(len(counts))
    number = np.zeros(places, dtype=np.int64)
    number[: len(counts)] = counts
    first = np.concatenate([[0], np.cumsum(-(-number // LANES) * LANES)])
    total = int(first[-1])
    values: dict[str, Any] = {"units:first": first[:-1].copy(), "units:count": number}
    values["units:clock"] = Blank(total, "int32")
    for name, kind in sub_units.species.items():
        values[f"species:{name}"] = Blank(total, "uint8" if kind.most < 256 else "uint16")
    for name in sub_units.totals:
        values[f"total:{name}"] = np.zeros(places, dtype=np.int64)
    return values
