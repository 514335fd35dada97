"""A recording -> a figure: traces, heat maps, rasters, one panel per variable."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .errors import NeurodriverError, near
from .results import Recording, Traces, open_recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_TRACES = 12
"""More columns than this are drawn as a heat map."""

MOST_NAMES = 24
"""More rows than this in a raster or heat map are numbered instead of named."""

MOST_POINTS = 4000
MOST_ROWS = 800
"""Points per trace, and pixels of a heat map: along time and across components."""

COLOURS = (
    "#4477AA", "#CC6677", "#117733", "#DDAA33", "#332288", "#44AA99",
    "#AA4499", "#999933", "#88CCEE", "#882255", "#EE7733", "#555555",
)  # fmt: skip
"""Distinct also for colour-blind readers (after Paul Tol)."""

STYLE: dict[str, Any] = {
    "font.size": 9.0, "svg.fonttype": "none",
    "axes.edgecolor": "#888888", "axes.labelcolor": "#333333", "axes.linewidth": 0.8,
    "axes.spines.top": False, "axes.spines.right": False,
    "axes.titlesize": 10.0, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "grid.color": "#E6E6E6", "grid.linewidth": 0.6,
    "xtick.color": "#555555", "ytick.color": "#555555",
}  # fmt: skip

Floats = npt.NDArray[np.float64]


def plot_recording(
    path: str | os.PathLike[str],
    figure_path: str | os.PathLike[str],
    variables: Sequence[str] | None = None,
    uids: Sequence[str] | None = None,
    title: str | None = None,
) -> Path:
    """Draw a recording: one panel per variable over a common time axis.

    Up to twelve columns are drawn as traces, more as a heat map, events as a raster.

    Parameters
    ----------
    path : path
        The recording.
    figure_path : path
        The picture; its ending chooses the format (png, svg, pdf).
    variables : sequence of str, optional
        What to draw, from top to bottom; by default all.
    uids : sequence of str, optional
        Which components; a panel shows those that it has. By default all.
    title : str, optional
        Text above the figure.

    Returns
    -------
    Path
        ``figure_path``.
    """
    matplotlib = _matplotlib()
    with open_recording(path) as recording, matplotlib.rc_context(STYLE):
        panels = _panels(recording, variables, uids)
        figure = _draw(recording, panels, title)
        try:
            figure.savefig(figure_path, dpi=150)
        except (OSError, ValueError) as error:
            raise NeurodriverError(f"{figure_path}: cannot be written: {error}") from error
    return Path(figure_path)


def _matplotlib() -> Any:
    """Import matplotlib, or say how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise NeurodriverError('figures need pip install "neurodriver[plot]"') from error
    return matplotlib


def _panels(
    recording: Recording, variables: Sequence[str] | None, uids: Sequence[str] | None
) -> list[tuple[str, list[str]]]:
    """Return variable and uids of each panel."""
    held = {v: recording.uids(v) for v in variables or recording.variables}
    if uids is not None:
        wanted = [uids] if isinstance(uids, str) else list(uids)
        known = {uid for v in held.values() for uid in v}
        for uid in wanted:
            if uid not in known:
                among = f"{', '.join(held)}{near(uid, known)}"
                raise NeurodriverError(f"{recording.path}: no column '{uid}' in {among}")
        held = {v: [uid for uid in wanted if uid in set(u)] for v, u in held.items()}
    panels = [(v, u) for v, u in held.items() if u]
    if not panels:
        raise NeurodriverError(f"{recording.path}: nothing to draw; no variable has a column")
    return panels


@dataclass(frozen=True, slots=True)
class _Panel:
    """One variable and its axes; ``scale`` turns seconds into the unit of the time axis."""

    axis: Axes
    recording: Recording
    variable: str
    uids: list[str]
    scale: float
    colours: dict[str, str]  # of uids; shared, so that a component has one in all panels

    @property
    def label(self) -> str:
        """Variable and unit, in print."""
        unit = re.sub(r"\bu(?=[A-Za-z])", "µ", self.recording.unit(self.variable))
        unit = unit.replace("^2", "²").replace("^3", "³")
        return f"{self.variable} ({unit})" if unit else self.variable

    def say(self, text: str) -> None:
        """Tell why the panel is empty."""
        centre: dict[str, Any] = {"ha": "center", "va": "center", "transform": self.axis.transAxes}
        self.axis.text(0.5, 0.5, text, color="#888888", **centre)

    def name_rows(self) -> None:
        """Put uids on the axis, or numbers if there are too many."""
        self.axis.set_ylabel("component")
        if len(self.uids) <= MOST_NAMES:
            size = 8 if len(self.uids) <= MOST_TRACES else 6
            names = [_short(uid) for uid in self.uids]
            self.axis.set_yticks(range(len(names)), names, fontsize=size)
            self.axis.set_ylabel("")
            self.axis.tick_params(axis="y", length=0)


def _draw(recording: Recording, panels: list[tuple[str, list[str]]], title: str | None) -> Figure:
    """Lay out the panels and fill them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    duration = recording.duration
    unit, scale = ("s", 1.0) if duration >= 2 else ("ms", 1e3)
    figure = Figure(figsize=(9.0, 0.8 + 2.1 * len(panels)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    colours: dict[str, str] = {}
    for axis, (variable, uids) in zip(axes, panels, strict=True):
        panel = _Panel(axis, recording, variable, uids, scale, colours)
        if recording.is_events(variable):
            _raster(panel)
        elif len(uids) <= MOST_TRACES:
            _traces(panel)
        else:
            _heat_map(panel)
        axis.set_title(variable)
    axes[-1].set_xlabel(f"time ({unit})")
    axes[-1].set_xlim(0, max(duration, recording.dt) * scale)
    if title:
        figure.suptitle(title, fontsize=12, fontweight="bold")
    return figure


def _traces(panel: _Panel) -> None:
    """Draw one line per component, its uid at the right end."""
    axis, recording, colours = panel.axis, panel.recording, panel.colours
    time = recording.time(panel.variable) * panel.scale
    axis.set_ylabel(panel.label)
    axis.grid(True)
    if not len(time):
        return panel.say("no rows recorded")
    time, values = _thin(time, recording.data(panel.variable, panel.uids))
    for column, uid in enumerate(panel.uids):
        colour = colours.setdefault(uid, COLOURS[len(colours) % len(COLOURS)])
        axis.plot(time, values[:, column], color=colour, linewidth=1.1)
    axis.margins(y=0.08)
    low, high = axis.get_ylim()
    ends = np.nan_to_num((values[-1].astype(np.float64) - low) / (high - low), nan=0.5)
    for height, uid in zip(_spread(ends, 0.078), panel.uids, strict=True):
        text = axis.text(1.012, height, _short(uid), color=colours[uid], transform=axis.transAxes)
        text.set(va="center", fontsize=8)


def _heat_map(panel: _Panel) -> None:
    """Draw one line of pixels per component, or per group of neighbours if there are many."""
    axis, recording, uids = panel.axis, panel.recording, panel.uids
    time = recording.time(panel.variable) * panel.scale
    panel.name_rows()
    if not len(time):
        return panel.say("no rows recorded")
    image = _averaged(recording.data(panel.variable, uids))
    finite = image[np.isfinite(image)]
    # A few extreme values (spikes) must not make everything else one colour.
    low, high = np.percentile(finite, [0.2, 99.8]) if finite.size else (0.0, 1.0)
    most = max(-low, high)
    if two_signed := min(-low, high) > 0.1 * most:
        low, high = -most, most
    half = recording.sample_interval * recording.dt * panel.scale / 2
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


def _raster(panel: _Panel) -> None:
    """Draw a mark per event, the first component on top."""
    axis, recording, uids = panel.axis, panel.recording, panel.uids
    columns = {uid: i for i, uid in enumerate(recording.uids(panel.variable))}
    rows = np.full(len(columns), -1)
    rows[[columns[uid] for uid in uids]] = np.arange(len(uids))
    time, index = recording.events(panel.variable)
    row = rows[index]
    time, row = time[row >= 0] * panel.scale, row[row >= 0]
    axis.set_ylim(len(uids) - 0.5, -0.5)
    panel.name_rows()
    if not len(time):
        return panel.say("no events")
    points = 130 / len(uids)  # height of a panel, shared by its rows
    many = len(time) > 20_000
    if points < 2 or many:
        dots = axis.plot(time, row, "," if many else ".", color="#222222", markersize=0.8)
        dots[0].set(alpha=0.7, rasterized=True)
        return
    mark: dict[str, Any] = {"markersize": min(0.8 * points, 12), "markeredgewidth": 0.9}
    for i, uid in enumerate(uids):
        colour = panel.colours.get(uid, "#222222") if len(uids) <= MOST_TRACES else "#222222"
        axis.plot(time[row == i], row[row == i], "|", color=colour, **mark)


def _thin(time: Floats, data: Traces) -> tuple[Floats, npt.NDArray[Any]]:
    """Keep minimum and maximum of each stretch of rows, so that no spike disappears."""
    width = -(-2 * len(time) // MOST_POINTS)
    if width <= 1:
        return time, data[:]
    low = _reduced(data, width, np.minimum)
    high = _reduced(data, width, np.maximum)
    values = np.stack([low, high], axis=1).reshape(-1, low.shape[1])
    return np.repeat(time[::width], 2), values


def _averaged(data: Traces) -> npt.NDArray[Any]:
    """Return means over stretches of rows and over neighbouring columns: the pixels."""
    rows, columns = data.shape
    width, depth = -(-rows // MOST_POINTS), -(-columns // MOST_ROWS)
    sums = _reduced(data, width, np.add, depth)
    per_row = np.diff(np.append(np.arange(0, rows, width), rows))
    per_column = np.diff(np.append(np.arange(0, columns, depth), columns))
    return np.asarray(sums / (per_row[:, None] * per_column))


def _reduced(data: Traces, width: int, how: np.ufunc, depth: int = 1) -> npt.NDArray[Any]:
    """Reduce each ``width`` rows and ``depth`` columns to one, reading slab by slab."""
    slab = width * max(1, 4_000_000 // (width * max(1, data.shape[1])))
    parts = []
    for first in range(0, len(data), slab):
        part = data[first : first + slab].astype(np.float64)
        part = how.reduceat(part, np.arange(0, len(part), width), axis=0)
        parts.append(how.reduceat(part, np.arange(0, part.shape[1], depth), axis=1))
    return np.concatenate(parts)


def _spread(heights: Floats, gap: float) -> Floats:
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


def _short(uid: str) -> str:
    return uid if len(uid) <= 22 else f"{uid[:10]}…{uid[-11:]}"
