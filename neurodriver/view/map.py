"""Values of components at one time -> a map: a shade of each place, or of each pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..results import Events, Variable
from .places import PlanePlaces
from .rows import shaded

MOST_PLACES = 10_000
"""More places than these become an image."""

PIXELS = 150
"""Width and height of the image."""

Floats = npt.NDArray[np.float64]


def values_at(part: Variable | Events, time: float, window: float) -> tuple[Floats, str, str]:
    """Return the value of each component at a time, its name with the unit, and what it is.

    Of rows, they are those of the last row that is not after the time. Of events, they are mean
    rates in the ``window`` seconds up to the time.
    """
    if isinstance(part, Events):
        _, index = part.between(time - window, time).read()
        counts = np.bincount(index, minlength=len(part.uids)).astype(np.float64)
        return counts / window, "rate (Hz)", f"mean of {1e3 * window:g} ms before"
    before = part.between(stop=time + part.dt / 2)
    if not len(before):
        return np.full(len(part.uids), np.nan), part.name, "no row yet"
    at = before.times(len(before) - 1, len(before))[0]
    name = f"{part.name} ({part.unit})" if part.unit else part.name
    return np.asarray(before[len(before) - 1], np.float64), name, f"row at {at:g} s"


def drawn_map(places: PlanePlaces, values: Floats) -> dict[str, Any]:
    """Return what a page draws of a map.

    Returns
    -------
    dict
        ``x``, ``y`` (m,) float32 and ``shades`` (m,) uint8; or ``image`` (pixels, pixels) uint8,
        255 being the shade of no component, as 254 is the largest one. ``low`` and ``high`` are
        the values of the first and the last shade.
    """
    there = np.isfinite(places.xy).all(axis=1)
    xy, values = places.xy[there], values[there]
    if len(xy) <= MOST_PLACES:
        shades, low, high = shaded(values)
        x, y = xy.T.astype(np.float32)
        found: dict[str, Any] = {"x": x, "y": y, "shades": shades}
        said = places.said
    else:
        found, low, high = _pixels(xy, values)
        said = f"{places.said}; means of {len(xy):,} components in {PIXELS} x {PIXELS} pixels"
    if not there.all():
        said += f"; {int((~there).sum()):,} components have no position"
    return {**found, "low": low, "high": high, "hexagons": places.hexagons, "said": said}


def _pixels(xy: Floats, values: Floats) -> tuple[dict[str, Any], float, float]:
    low, high = xy.min(axis=0), xy.max(axis=0)
    scaled = (xy - low) / max(float((high - low).max()), 1e-300)
    column, row = np.minimum((scaled * PIXELS).astype(np.int64), PIXELS - 1).T
    place = (PIXELS - 1 - row) * PIXELS + column
    counts = np.bincount(place, minlength=PIXELS**2)
    with np.errstate(invalid="ignore"):
        means = np.bincount(place, values, PIXELS**2) / counts
    shades, first, last = shaded(means)
    shades = np.where(counts > 0, np.minimum(shades, 254), 255).astype(np.uint8)
    return {"image": shades.reshape(PIXELS, PIXELS)}, first, last
