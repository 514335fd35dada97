"""Events of a time window -> a raster of bounded size, and rates of populations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..results import Events

MOST_READ = 4_000_000
"""Events that a figure reads at most; of more, equal parts of equal stretches of time are read."""

MOST_MARKS = 20_000
"""Events that are drawn one by one; more become an image of counts."""

MOST_POPULATIONS = 12
"""Populations whose rates are drawn; the largest ones are taken."""

BINS, STRETCHES = 300, 100
"""Bins of time of a window, and of one that is read in parts."""

LINES = 300
"""Lines of pixels of an image of counts."""

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class ReadEvents:
    """Events that were read of a window.

    Attributes
    ----------
    time, index : (m,) arrays
        Times in s, and columns.
    total : int
        Events of the window.
    share : float
        Part of the time that was read.
    bins : int
        Bins of the window that rates may have.
    """

    time: Floats
    index: Numbers
    total: int
    share: float
    bins: int


def read_events(events: Events, start: float, stop: float, dt: float) -> ReadEvents:
    """Read the events with ``start <= time < stop``, or a share of them if there are too many.

    Of too many, the first part of each of `STRETCHES` stretches of time is read.
    """
    part = events.between(start, stop)
    total, steps = len(part), max(1, round((stop - start) / dt))
    if total <= MOST_READ:
        return ReadEvents(*part.read(), total, 1.0, min(BINS, steps))
    bins = min(STRETCHES, steps)
    length = max(1, int(steps / bins * MOST_READ / total))  # steps that are read of each stretch
    begins = start + np.arange(bins) * (stop - start) / bins
    pieces = [part.between(begin, begin + length * dt).read() for begin in begins.tolist()]
    time, index = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return ReadEvents(time, index, total, min(1.0, length * bins / steps), bins)


def bins_of(found: ReadEvents, start: float, stop: float, bins: int) -> npt.NDArray[np.intp]:
    """Return the bin of time of each event; times on an edge belong to the later bin."""
    scaled = (found.time - start) * (bins / (stop - start))
    return np.clip(np.floor(scaled + 1e-6), 0, bins - 1).astype(np.intp)


def raster(
    found: ReadEvents, start: float, stop: float, columns: int
) -> dict[str, npt.NDArray[Any] | str]:
    """Return marks, or counts by pixel where there are many events.

    Returns
    -------
    dict
        ``time`` (m,) float32, s after ``start``, and ``row`` (m,) int32; or ``image``
        (lines, bins) uint8. Its values go with the root of the counts, 255 is the largest.
        ``said`` tells what the figure leaves out, and is empty where it shows every event.
    """
    if found.share == 1.0 and found.total <= MOST_MARKS:
        time = (found.time - start).astype(np.float32)
        return {"time": time, "row": found.index.astype(np.int32), "said": ""}
    lines = min(columns, LINES)
    line = found.index.astype(np.int64) * lines // columns
    place = line * found.bins + bins_of(found, start, stop, found.bins)
    counts = np.bincount(place, minlength=lines * found.bins).reshape(lines, found.bins)
    largest = int(counts.max(initial=1))
    image = np.ceil(255 * np.sqrt(counts / largest)).astype(np.uint8)
    said = f"{found.total:,} events as counts in {lines:,} x {found.bins:,} pixels"
    if found.share < 1.0:
        said += f", from {100 * found.share:.2g} % of the time"
    return {"image": image, "said": said}


def rates(
    found: ReadEvents,
    start: float,
    stop: float,
    columns: int,
    populations: dict[str, npt.NDArray[np.intp]],
) -> dict[str, Any]:
    """Return the mean rate of each population in bins of time.

    Parameters
    ----------
    found : ReadEvents
    start, stop : float
        The window, s.
    columns : int
        Number of components.
    populations : dict of name to columns
        Without any, all components are one.

    Returns
    -------
    dict
        ``names``, ``sizes``, ``rates`` (populations, bins) float32 in Hz, and ``said``.
    """
    named = populations or {"all": np.arange(columns)}
    largest = sorted(named, key=lambda name: -len(named[name]))[:MOST_POPULATIONS]
    shown = [name for name in named if name in largest]
    number = np.full(columns, len(shown), np.int64)
    for i, name in enumerate(shown):
        number[named[name]] = i
    bins = found.bins
    place = number[found.index] * bins + bins_of(found, start, stop, bins)
    counts = np.bincount(place, minlength=(len(shown) + 1) * bins).reshape(-1, bins)
    sizes = np.array([max(1, len(named[name])) for name in shown])
    width = (stop - start) / bins * found.share
    values = counts[: len(shown)] / (sizes[:, None] * width)
    left = len(named) - len(shown)
    said = f"the {len(shown)} largest of {len(named):,} populations" if left else ""
    return {
        "names": shown, "sizes": sizes.tolist(), "rates": values.astype(np.float32), "said": said,
    }  # fmt: skip
