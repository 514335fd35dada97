"""A variable of a recording -> one panel of a figure: traces, a heat map, a raster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results import Events
from .style import COLOURS, short
from .thinning import averaged, spread, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TRACES = 12
"""More columns than this are drawn as a heat map."""

MOST_NAMES = 24
"""More rows than this in a raster or heat map are numbered instead of named."""

MOST_MARKS = 20_000
"""More events than this are drawn as points."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One variable and its axes; ``scale`` turns seconds into the unit of the time axis."""

    axis: Axes
    part: Any  # Variable or Events
    scale: float
    colours: dict[str, str]  # of uids; shared, so that a component has one in all panels

    @property
    def label(self) -> str:
        """Variable and unit, in print."""
        unit = print_unit(self.part.unit)
        return f"{self.part.name} ({unit})" if unit else str(self.part.name)

    def draw(self) -> None:
        """Draw events as a raster, a few columns as traces, more as a heat map."""
        if isinstance(self.part, Events):
            _raster(self)
        elif len(self.part.uids) <= MOST_TRACES:
            _traces(self)
        else:
            _heat_map(self)
        self.axis.set_title(self.part.name)

    def say(self, text: str) -> None:
        """Tell why the panel is empty."""
        centre: dict[str, Any] = {"ha": "center", "va": "center", "transform": self.axis.transAxes}
        self.axis.text(0.5, 0.5, text, color="#888888", **centre)

    def name_rows(self) -> None:
        """Put uids on the axis, or numbers if there are too many."""
        self.axis.set_ylabel("component")
        if len(self.part.uids) <= MOST_NAMES:
            size = 8 if len(self.part.uids) <= MOST_TRACES else 6
            names = [short(uid) for uid in self.part.uids]
            self.axis.set_yticks(range(len(names)), names, fontsize=size)
            self.axis.set_ylabel("")
            self.axis.tick_params(axis="y", length=0)


def print_unit(unit: str) -> str:
    """Return a unit with the signs of print: µ and raised numbers."""
    unit = re.sub(r"\bu(?=[A-Za-z])", "µ", unit)
    return unit.replace("^2", "²").replace("^3", "³")


def _traces(panel: Panel) -> None:
    """Draw one line per component, its uid at the right end."""
    axis, part, colours = panel.axis, panel.part, panel.colours
    time = part.time * panel.scale
    axis.set_ylabel(panel.label)
    axis.grid(True)
    if not len(time):
        return panel.say("no rows recorded")
    time, values = thin(time, part)
    for column, uid in enumerate(part.uids):
        colour = colours.setdefault(uid, COLOURS[len(colours) % len(COLOURS)])
        axis.plot(time, values[:, column], color=colour, linewidth=1.1)
    axis.margins(y=0.08)
    low, high = axis.get_ylim()
    ends = np.nan_to_num((values[-1].astype(np.float64) - low) / (high - low), nan=0.5)
    for height, uid in zip(spread(ends, 0.078), part.uids, strict=True):
        text = axis.text(1.012, height, short(uid), color=colours[uid], transform=axis.transAxes)
        text.set(va="center", fontsize=8)


def _heat_map(panel: Panel) -> None:
    """Draw one line of pixels per component, or per group of neighbours if there are many."""
    axis, part, uids = panel.axis, panel.part, panel.part.uids
    time = part.time * panel.scale
    panel.name_rows()
    if not len(time):
        return panel.say("no rows recorded")
    image = averaged(part)
    finite = image[np.isfinite(image)]
    # A few extreme values (spikes) must not make everything else one colour.
    low, high = np.percentile(finite, [0.2, 99.8]) if finite.size else (0.0, 1.0)
    most = max(-low, high)
    if two_signed := min(-low, high) > 0.1 * most:
        low, high = -most, most
    half = part.dt * panel.scale / 2
    picture = axis.imshow(
        image.T,
        aspect="auto",
        interpolation="nearest",
        cmap="RdBu_r" if two_signed else "magma",
        vmin=low,
        vmax=high if high > low else low + 1.0,
        extent=(time[0] - half, time[-1] + half, len(uids) - 0.5, -0.5),
    )
    place = axis.inset_axes((1.012, 0, 0.014, 1))
    axis.figure.colorbar(picture, cax=place, label=panel.label).outline.set_visible(False)


def _raster(panel: Panel) -> None:
    """Draw a mark per event, the first component on top."""
    axis, uids = panel.axis, panel.part.uids
    time, row = panel.part.read()
    time = time * panel.scale
    axis.set_ylim(len(uids) - 0.5, -0.5)
    panel.name_rows()
    if not len(time):
        return panel.say("no events")
    points = 130 / len(uids)  # height of a panel, shared by its rows
    many = len(time) > MOST_MARKS
    if points < 2 or many:
        dots = axis.plot(time, row, "," if many else ".", color="#222222", markersize=0.8)
        dots[0].set(alpha=0.7, rasterized=True)
        return
    mark: dict[str, Any] = {"markersize": min(0.8 * points, 12), "markeredgewidth": 0.9}
    for i, uid in enumerate(uids):
        colour = panel.colours.get(uid, "#222222") if len(uids) <= MOST_TRACES else "#222222"
        axis.plot(time[row == i], row[row == i], "|", color=colour, **mark)
