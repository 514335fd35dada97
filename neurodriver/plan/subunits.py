"""Sub-units of a group -> places in arrays, with their bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Group
from ..model.subunits import SubUnits
from ..native.buffers import LANES, padded
from .arrays import Array, Key, Kind, PopulationOwner, Role, row, zeros

COST = 4.0
"""Estimated work of a sub-unit and sub-step, in units of one stored connection."""


def place(
    number: int, group: Group, substeps: int, grain: int, cost: NDArray[np.float64]
) -> tuple[list[Array], NDArray[np.float64], str]:
    """Return the rows of a group's sub-units, the work of each ``grain`` components, and a claim.

    ``cost`` is the work of each ``LANES`` components without their sub-units; the claim says in
    words what needs the memory.
    """
    units = group.model.sub_units
    assert units is not None
    counts = counts_of(group, units)
    stored = storage(number, units, counts)
    what = f"the {counts.sum():,} sub-units of {group.name} ({units.per})"
    first = np.arange(0, group.count, grain)
    work = cost[first // LANES] * grain / LANES
    return stored, work + COST * substeps * np.add.reduceat(counts.astype(float), first), what


def counts_of(group: Group, sub_units: SubUnits) -> NDArray[np.int64]:
    """Return how many sub-units each component of a group has, (count,)."""
    default = group.model.params[sub_units.per].default
    column = np.asarray(group.params.get(sub_units.per, default), dtype=np.float64)
    return np.broadcast_to(column, (group.count,)).astype(np.int64)


def storage(number: int, sub_units: SubUnits, counts: NDArray[np.int64]) -> list[Array]:
    """Return the rows of the table: where each component's sub-units stand, and their counts.

    Parameters
    ----------
    number : int
        Of the group.
    sub_units : SubUnits
    counts : (count,) int64
        Sub-units of each component; each component's begin at a multiple of ``LANES``.
    """
    owner, places = PopulationOwner(number), padded(len(counts))
    each = np.zeros(places, dtype=np.int64)
    each[: len(counts)] = counts
    first = np.concatenate([[0], np.cumsum(-(-each // LANES) * LANES)])
    total = int(first[-1])
    rows = [
        row(Key(owner, Kind.INDEX, "first sub-unit"), first[:-1].copy()),
        row(Key(owner, Kind.INDEX, "sub-units"), each),
        zeros(Key(owner, Kind.RANDOM, "clock"), total, np.int32, Role.STATE),
    ]
    for name, kind in sub_units.species.items():
        dtype = np.uint8 if kind.most < 256 else np.uint16
        rows.append(zeros(Key(owner, Kind.SUB_UNIT, name), total, dtype, Role.STATE))
    for name in sub_units.totals:
        rows.append(zeros(Key(owner, Kind.SUM, name), places, np.int64, Role.STATE))
    return rows
