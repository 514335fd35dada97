"""Spikes of populations -> a figure: a raster, and how each population fires."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..results.firing import Activity
from .style import COLOURS, STYLE, matplotlib, new_figure, save_figure

SHOWN = 1_000
"""Neurons of the raster; each population has its share of them, at least `FEWEST`."""

FEWEST = 20

LAST = 0.5
"""Seconds of the raster at most, from the end."""


def plot_populations(
    spikes: Mapping[str, Any],
    found: Sequence[Activity],
    populations: Mapping[str, ArrayLike],
    figure_path: str | os.PathLike[str],
    title: str = "",
) -> Path:
    """Draw the end of a raster beside rate, irregularity and synchrony of each population.

    Parameters
    ----------
    spikes : mapping
        ``time`` (m,) float, s, and ``index`` (m,) int, as a recorder of events has them.
    found : sequence of Activity
        One for each population, in their order.
    populations : mapping of str to (n,) int
        Neurons of each.
    figure_path : path
        The picture; its ending chooses the format (png, svg, pdf).
    title : str
        Text above the figure.

    Returns
    -------
    Path
        ``figure_path``.

    Raises
    ------
    NeurodriverError
        Without matplotlib, and when the file cannot be written.
    """
    with matplotlib().rc_context(STYLE):
        figure = new_figure(9.0, 4.2, title)
        raster, *bars = figure.subplots(1, 4, width_ratios=[4, 1, 1, 1])
        _raster(raster, np.asarray(spikes["time"]), np.asarray(spikes["index"]), populations)
        labels = {"rate": "rate (Hz)", "cv": "CV", "synchrony": "synchrony"}
        for axis, (name, label) in zip(bars, labels.items(), strict=True):
            values = [getattr(one, name) for one in found]
            axis.barh(range(len(found)), values, color=_colours(len(found)))
            axis.set(ylim=(len(found) - 0.5, -0.5), yticks=[], title=label)
        return save_figure(figure, figure_path)


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _raster(axis: Any, time: Any, index: Any, populations: Mapping[str, ArrayLike]) -> None:
    """Draw the spikes of the first neurons of each population, the first population on top."""
    members = [np.asarray(numbers) for numbers in populations.values()]
    total = sum(m.size for m in members)
    late = time >= time.max(initial=0.0) - LAST
    time, index = time[late], index[late]
    row, ticks = 0, []
    for neurons, colour in zip(members, _colours(len(members)), strict=True):
        shown = np.sort(neurons[: max(FEWEST, SHOWN * neurons.size // total)])
        mine = np.isin(index, shown)
        height = row + np.searchsorted(shown, index[mine])
        axis.plot(time[mine] * 1e3, height, ".", ms=1.5, mew=0, color=colour, rasterized=True)
        ticks.append(row + shown.size / 2)
        row += shown.size
    axis.set(ylim=(row, 0), yticks=ticks, xlabel="time (ms)", title="spikes")
    axis.set_yticklabels(populations)
    axis.tick_params(axis="y", length=0)
