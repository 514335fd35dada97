"""More rows and columns than a figure has pixels -> what can be seen of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..results.variable import slabs

MOST_POINTS = 4000
MOST_ROWS = 800
"""Points per trace, and pixels of a heat map: along time and across components."""

Floats = npt.NDArray[np.float64]


def thin(time: Floats, data: Any) -> tuple[Floats, npt.NDArray[Any]]:
    """Keep minimum and maximum of each stretch of rows, so that no spike disappears."""
    width = -(-2 * len(time) // MOST_POINTS)
    if width <= 1:
        return time, data[:]
    return np.repeat(time[::width], 2), extremes(data, width, 0, len(data))


def extremes(data: Any, width: int, first: int, last: int) -> Floats:
    """Return minimum and maximum of each ``width`` rows, in turn; the rows for a width of 1."""
    parts = []
    for rows in slabs(first, last, 8 * data.shape[1], width):
        part = np.asarray(data[rows], np.float64)
        if width > 1:
            at = np.arange(0, len(part), width)
            both = np.minimum.reduceat(part, at), np.maximum.reduceat(part, at)
            part = np.stack(both, axis=1).reshape(-1, part.shape[1])
        parts.append(part)
    return np.concatenate(parts)


def averaged(data: Any) -> Floats:
    """Return means over stretches of rows and over neighbouring columns: the pixels."""
    rows, columns = data.shape
    width, depth = -(-rows // MOST_POINTS), -(-columns // MOST_ROWS)
    across = np.arange(0, columns, depth)
    parts = []
    for some in slabs(0, rows, 8 * columns, width):
        part = np.asarray(data[some], np.float64)
        part = np.add.reduceat(part, np.arange(0, len(part), width), axis=0)
        parts.append(np.add.reduceat(part, across, axis=1))
    per_row = np.diff(np.append(np.arange(0, rows, width), rows))
    per_column = np.diff(np.append(across, columns))
    return np.asarray(np.concatenate(parts) / (per_row[:, None] * per_column))


def spread(heights: Floats, gap: float) -> Floats:
    """Move labels apart, keeping their order and staying within the panel where possible."""
    order = np.argsort(heights, kind="stable")
    placed = np.clip(heights[order], 0.02, 0.98)
    for i in range(1, len(placed)):
        placed[i] = max(placed[i], placed[i - 1] + gap)
    # What was pushed out at the top pushes the others down again.
    ceiling = max(0.98, gap * (len(placed) - 1))
    for i in reversed(range(len(placed))):
        ceiling = placed[i] = min(placed[i], ceiling)
        ceiling -= gap
    heights[order] = placed
    return heights
