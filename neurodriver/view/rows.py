"""Rows of a time window -> lines of a few components, or an image of many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..plot.thinning import extremes
from ..results import Variable

MOST_VALUES = 4_000_000
"""Values that a figure reads at most; of more, rows at equal distances are read."""

MOST_LINES = 12
"""More components than these become an image."""

POINTS = 800
"""Points of a line in time, of which each two are a minimum and a maximum."""

PIXELS, LINES = 400, 300
"""Size of an image: in time and across components."""

Floats = npt.NDArray[np.float64]


def read_rows(part: Variable, width: int) -> tuple[Floats, npt.NDArray[Any], int]:
    """Return times, values, and the distance of the rows that were read, in rows.

    Parameters
    ----------
    part : Variable
        The window.
    width : int
        Values that one row takes to read.
    """
    rows = len(part)
    most = max(1, MOST_VALUES // max(1, width))
    if rows <= most:
        return part.time, part[:], 1
    most = min(most, PIXELS)  # rows are read one by one
    at = np.unique(np.linspace(0, rows - 1, most).astype(np.int64)).tolist()
    times = np.array([part.times(row, row + 1)[0] for row in at])
    return times, np.stack([part[row] for row in at]), -(-rows // len(at))


def drawn_rows(part: Variable, width: int, start: float) -> dict[str, Any]:
    """Return what a page draws of some rows.

    Returns
    -------
    dict
        ``time`` (m,) float32, s after ``start``, and ``lines`` (components, m) float32; or
        ``image`` (lines, m) uint8 with ``low`` and ``high``, the values of 0 and 255, and ``end``,
        s after ``start``. ``said`` tells what the figure leaves out.
    """
    time, values, apart = read_rows(part, width)
    said = f"one row of {apart:,}" if apart > 1 else ""
    values = np.asarray(values, np.float64)
    if values.shape[1] <= MOST_LINES:
        stretch = -(-2 * len(time) // POINTS) if len(time) else 1
        if stretch > 1:
            values = extremes(values, stretch, 0, len(values))
            time = np.repeat(time[::stretch], 2)
        seconds = (time - start).astype(np.float32)
        return {"time": seconds, "lines": values.T.astype(np.float32), "said": said}
    after = time[-1] + part.dt * apart if len(time) else start
    return {**_image(time, values, start, said), "end": float(after - start)}


def _image(time: Floats, values: Floats, start: float, said: str) -> dict[str, Any]:
    rows, columns = values.shape
    if not rows:
        return {"time": time.astype(np.float32), "lines": values.T.astype(np.float32), "said": said}
    image = _averaged(_averaged(values, PIXELS).T, LINES)
    pixel, line = -(-rows // PIXELS), -(-columns // LINES)
    parts = [said] if said else []
    if pixel * line > 1:
        parts.append(f"a pixel is the mean of {pixel:,} x {line:,} values")
    shades, low, high = shaded(image)
    return {
        "time": (time[::pixel] - start).astype(np.float32), "image": shades,
        "low": low, "high": high, "said": ", ".join(parts),
    }  # fmt: skip


def _averaged(values: Floats, most: int) -> Floats:
    """Return means over stretches of rows, so that at most ``most`` are left."""
    width = -(-len(values) // most)
    at = np.arange(0, len(values), width)
    counts = np.diff(np.append(at, len(values)))
    return np.asarray(np.add.reduceat(values, at, axis=0) / counts[:, None])


def shaded(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint8], float, float]:
    """Return shades 0 to 255, and the values of both; a few extreme ones do not count.

    What is not finite has the shade 0.
    """
    numbers = np.asarray(values, np.float64)
    finite = numbers[np.isfinite(numbers)]
    low, high = np.percentile(finite, [0.2, 99.8]).tolist() if finite.size else (0.0, 1.0)
    high = high if high > low else low + 1.0
    scaled = np.nan_to_num((numbers - low) / (high - low), nan=0.0, posinf=1.0, neginf=0.0)
    return (255 * np.clip(scaled, 0.0, 1.0)).astype(np.uint8), low, high
