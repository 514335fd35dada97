"""Where the components of a recording are: positions of a circuit, axes, or a grid of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..circuit.circuit import Circuit
from ..circuit.node_columns import Column
from ..errors import CircuitError
from ..results.sheets import Sizes

HEXAGONAL = ("u", "v")
"""Names of oblique coordinates of a hexagonal lattice."""

NAMES = (("u", "v"), ("x", "y"), ("pos_x", "pos_y"), ("soma_x", "soma_y"))
"""Pairs of node columns that are taken for positions, the first one that is there."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PlanePlaces:
    """Positions of components on a plane.

    Attributes
    ----------
    xy : (n, 2) float64
        NaN where a component has no position.
    hexagons : bool
        Whether they lie on a hexagonal lattice of spacing 1.
    said : str
        Where the positions come from.
    """

    xy: Floats
    hexagons: bool
    said: str


def places_of(
    uids: list[str], population: str, circuit: Circuit | None, axes: dict[str, Sizes]
) -> PlanePlaces:
    """Return where components are.

    Parameters
    ----------
    population : str
        Their population; '' where they are of none, or of several.
    circuit : Circuit or None
        Its positions and node columns are asked first.
    axes : dict of population to sizes
        Axes of a recording's populations.
    """
    found = None if circuit is None else _of_circuit(uids, population, circuit)
    if found is None and population in axes:
        found = _of_axes(uids, axes[population])
    if found is not None:
        return found
    across = max(1, math.isqrt(max(0, len(uids) - 1)) + 1)
    numbers = np.arange(len(uids))
    xy = np.stack([numbers % across, -(numbers // across)], axis=1).astype(np.float64)
    return PlanePlaces(xy, False, "no positions are known: components by number, row by row")


def _of_circuit(uids: list[str], population: str, circuit: Circuit) -> PlanePlaces | None:
    numbers = circuit.find(np.array(uids, dtype=np.str_))
    if (numbers < 0).all():
        return None
    space = circuit.spaces.get(population)
    if space is not None and population in circuit.populations:
        rows = np.full(circuit.count, -1)
        members = np.asarray(circuit.populations[population].numbers)
        rows[members] = np.arange(len(members))
        row = np.where(numbers >= 0, rows[np.maximum(numbers, 0)], -1)
        held = np.where(row[:, None] >= 0, space.positions[np.maximum(row, 0)], np.nan)
        return _plane(list(space.names), held)
    known = [] if circuit.joined_from else circuit.select().columns
    for pair in NAMES:
        if all(name in known for name in pair):
            return _of_columns(pair, numbers, circuit)
    return None


def _of_columns(
    pair: tuple[str, str], numbers: npt.NDArray[np.int64], circuit: Circuit
) -> PlanePlaces | None:
    every = circuit.select()
    columns = [_as_numbers(every.column(name)) for name in pair]
    if any(column is None for column in columns):
        return None
    held = np.stack([np.asarray(c)[np.maximum(numbers, 0)] for c in columns], axis=1)
    held = np.where(numbers[:, None] >= 0, held, np.nan)
    return _plane([pair[0], pair[1]], held) if np.isfinite(held).all(axis=1).any() else None


def _as_numbers(column: Column) -> Floats | None:
    try:
        return np.asarray(column, np.float64)
    except (ValueError, CircuitError):
        return None


def _of_axes(uids: list[str], sizes: Sizes) -> PlanePlaces | None:
    numbers = [uid.rpartition("/")[2] for uid in uids]
    if not all(text.isdigit() for text in numbers):
        return None
    cells = np.array(numbers, dtype=np.int64)
    if not len(cells) or cells.max() >= math.prod(sizes.values()):
        return None
    held = np.stack(np.unravel_index(cells, tuple(sizes.values())), axis=1).astype(np.float64)
    return _plane(list(sizes), held)


def _plane(names: list[str], held: npt.NDArray[Any]) -> PlanePlaces:
    """Return the plane of some axes: hexagons of u and v, x and y, or the last two axes."""
    lowered = [name.lower() for name in names]
    if set(HEXAGONAL) <= set(lowered):
        u, v = (held[:, lowered.index(name)] for name in HEXAGONAL)
        xy = np.stack([v * (math.sqrt(3.0) / 2.0), -(u + v / 2.0)], axis=1)
        return PlanePlaces(xy, True, "hexagons of u and v")
    if {"x", "y"} <= set(lowered):
        at = [lowered.index("x"), lowered.index("y")]
    else:
        at = [len(names) - 1, max(0, len(names) - 2)]
    xy = np.stack([held[:, at[0]], held[:, at[1]]], axis=1)
    if len(names) == 1:
        xy[:, 1] = 0.0
        return PlanePlaces(xy, False, f"positions along {names[0]}")
    return PlanePlaces(xy, False, f"positions along {names[at[0]]} and {names[at[1]]}")
