"""Spikes of populations -> a figure: a raster, and how each population fires."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..results.events import Events
from ..results.firing import Activity
from .style import COLOURS, STYLE, finish, given_axes, matplotlib, new_figure
from .thinning import spread

SHOWN = 1_000
"""Neurons of the raster; each population has its share of them, at least `FEWEST`."""

FEWEST = 20

LAST = 0.5
"""Seconds of the raster at most, from the end."""

BIN = 5e-3
"""Seconds over which the course of a rate is averaged."""

PANELS = ("raster", "rate over time", "rate", "CV", "synchrony")
"""What the panels show, in the order in which they take axes."""

COURSES = 3
"""Populations whose rates are drawn apart."""


def plot_populations(
    spikes: Mapping[str, Any] | Events,
    found: Sequence[Activity],
    populations: Mapping[str, ArrayLike],
    figure_path: str | os.PathLike[str] | None = None,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw the end of a raster and of rates, beside how each population fires.

    Parameters
    ----------
    spikes : mapping, or spikes of a recording
        ``time`` (m,) float, s, and ``index`` (m,) int, as ``recorder.get("spike_state")`` and
        ``recording.spikes`` have them.
    found : sequence of Activity
        One for each population, in their order.
    populations : mapping of str to (n,) int
        Neurons of each.
    figure_path : path, optional
        The picture; its ending chooses the format (png, svg, pdf).
    title : str
        Text above a new figure.
    ax : matplotlib axes, or a sequence of them, optional
        Where to draw; by default in a new figure. One for the raster, or up to five for the
        raster, the rates over time, and the bars of rate, CV and synchrony.

    Returns
    -------
    matplotlib axes, Path or matplotlib Figure
        ``ax`` if it is given, else ``figure_path`` if it is given, else the figure, which a
        notebook shows.

    Raises
    ------
    NeurodriverError
        For more than five axes, without matplotlib, and when the file cannot be written.
    """
    with matplotlib().rc_context(STYLE):
        if ax is None:
            axes = _layout(title)
        else:
            axes = given_axes(ax, PANELS, "plot_populations", fewer=True)
        time, index = np.asarray(spikes["time"]), np.asarray(spikes["index"])
        _raster(axes[0], time, index, populations)
        if len(axes) == 1:
            axes[0].set_xlabel("time (ms)")
        else:
            axes[0].tick_params(axis="x", labelbottom=False)
            _course(axes[1], time, index, populations)
        labels = {"rate": "rate (Hz)", "cv": "CV", "synchrony": "synchrony"}
        for axis, (name, label) in zip(axes[2:], labels.items(), strict=False):
            _bars(axis, [getattr(one, name) for one in found], label)
        if len(axes) > 2:
            axes[2].set_yticks(range(len(found)), populations)
            axes[2].tick_params(axis="y", length=0)
        return finish(axes[0].figure, ax, figure_path)


def _layout(title: str) -> list[Any]:
    """Return the axes of a new figure: the rates below the raster, the bars beside them."""
    figure = new_figure(9.0, 4.8, title)
    grid = figure.add_gridspec(2, 4, width_ratios=[4, 1, 1, 1], height_ratios=[3, 1])
    raster = figure.add_subplot(grid[0, 0])
    course = figure.add_subplot(grid[1, 0], sharex=raster)
    return [raster, course, *(figure.add_subplot(grid[:, column]) for column in (1, 2, 3))]


def _bars(axis: Any, values: Sequence[float], label: str) -> None:
    """Draw a bar for each population, the first one on top."""
    thick = min(0.8, 0.2 + 0.1 * len(values))
    bars = axis.barh(range(len(values)), values, thick, color=_colours(len(values)))
    axis.bar_label(bars, ["" if np.isnan(v) else f"{v:.3g}" for v in values], padding=2, fontsize=8)
    axis.set(ylim=(len(values) - 0.5, -0.5), yticks=[], title=label)
    axis.set_xlim(0.0, 1.3 * max(np.nanmax([0.0, *values]), 1e-9))


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _raster(axis: Any, time: Any, index: Any, populations: Mapping[str, ArrayLike]) -> None:
    """Draw the spikes of the first neurons of each population, the first population on top."""
    members = [np.asarray(numbers) for numbers in populations.values()]
    total = sum(m.size for m in members)
    late = time >= time.max(initial=0.0) - LAST
    time, index = time[late], index[late]
    first = [np.sort(m[: max(FEWEST, SHOWN * m.size // total)]) for m in members]
    rows = sum(neurons.size for neurons in first)
    marks = np.count_nonzero(np.isin(index, np.concatenate(first))) if first else 0
    # Points. Few marks are larger, so that each can be seen.
    size = float(np.clip(300 / np.sqrt(max(marks, 1)), 1.5, 5.0))
    row, middles = 0, []
    for neurons, colour in zip(first, _colours(len(first)), strict=True):
        mine = np.isin(index, neurons)
        height = row + np.searchsorted(neurons, index[mine])
        axis.plot(time[mine] * 1e3, height, ".", ms=size, mew=0, color=colour, rasterized=True)
        middles.append((row + neurons.size / 2) / rows)
        row += neurons.size
    of = f"{rows:,} of {total:,} neurons" if rows < total else f"{total:,} neurons"
    ticks = spread(np.array(middles), 0.055) * rows
    margin = 0.01 * rows  # for half a mark
    axis.set(ylim=(rows + margin, -margin), yticks=ticks, title=f"spikes of {of}")
    axis.set_yticklabels(populations)
    axis.tick_params(axis="y", length=0)


def _course(axis: Any, time: Any, index: Any, populations: Mapping[str, ArrayLike]) -> None:
    """Draw rates over the time of the raster: of each population, or of all if there are many."""
    stop = time.max(initial=0.0)
    bins = round(min(LAST, stop) / BIN)
    edges = stop - BIN * np.arange(bins, -1, -1)
    members = [np.asarray(numbers) for numbers in populations.values()]
    colours = _colours(len(members))
    if len(members) > COURSES:
        members, colours = [np.concatenate(members)], ["#222222"]
    for neurons, colour in zip(members, colours, strict=True):
        counts = np.histogram(time[np.isin(index, neurons)], edges)[0]
        rate = counts / (max(neurons.size, 1) * BIN)
        axis.stairs(rate, edges * 1e3, color=colour, baseline=None, lw=1.0)
    who = "of all " if len(populations) > COURSES else ""
    axis.set(xlabel="time (ms)", ylabel=f"rate {who}(Hz)")
    axis.set_ylim(bottom=0.0)
