"""More rows and columns than a figure has pixels -> what can be seen of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MOST_POINTS = 4000
MOST_ROWS = 800
"""Points per trace, and pixels of a heat map: along time and across components."""

Floats = npt.NDArray[np.float64]


def thin(time: Floats, data: Any) -> tuple[Floats, npt.NDArray[Any]]:
    """Keep minimum and maximum of each stretch of rows, so that no spike disappears."""
    width = -(-2 * len(time) // MOST_POINTS)
    if width <= 1:
        return time, data[:]
    low = reduced(data, width, np.minimum)
    high = reduced(data, width, np.maximum)
    values = np.stack([low, high], axis=1).reshape(-1, low.shape[1])
    return np.repeat(time[::width], 2), values


def averaged(data: Any) -> npt.NDArray[Any]:
    """Return means over stretches of rows and over neighbouring columns: the pixels."""
    rows, columns = data.shape
    width, depth = -(-rows // MOST_POINTS), -(-columns // MOST_ROWS)
    sums = reduced(data, width, np.add, depth)
    per_row = np.diff(np.append(np.arange(0, rows, width), rows))
    per_column = np.diff(np.append(np.arange(0, columns, depth), columns))
    return np.asarray(sums / (per_row[:, None] * per_column))


def reduced(data: Any, width: int, how: np.ufunc, depth: int = 1) -> npt.NDArray[Any]:
    """Reduce each ``width`` rows and ``depth`` columns to one, reading slab by slab."""
    slab = width * max(1, 4_000_000 // (width * max(1, data.shape[1])))
    parts = []
    for first in range(0, len(data), slab):
        part = data[first : first + slab].astype(np.float64)
        part = how.reduceat(part, np.arange(0, len(part), width), axis=0)
        parts.append(how.reduceat(part, np.arange(0, part.shape[1], depth), axis=1))
    return np.concatenate(parts)


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
