"""Spikes of populations -> a figure: a raster, and how each population fires."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import NeurodriverError
from ..results.firing import Activity
from .style import COLOURS, STYLE, matplotlib

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
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.0, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        raster, *bars = figure.subplots(1, 4, width_ratios=[4, 1, 1, 1])
        _raster(raster, np.asarray(spikes["time"]), np.asarray(spikes["index"]), populations)
        for axis, (name, label) in zip(bars, _SHOWN_OF_EACH.items(), strict=True):
            values = [getattr(a, name) for a in found]
            axis.barh(range(len(found)), values, color=_colours(len(found)))
            axis.set(ylim=(len(found) - 0.5, -0.5), yticks=[], title=label)
        if title:
            figure.suptitle(title, fontsize=12, fontweight="bold")
        try:
            Path(figure_path).parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(figure_path, dpi=150)
        except (OSError, ValueError) as error:
            raise NeurodriverError(f"{figure_path}: cannot be written: {error}") from error
    return Path(figure_path)


_SHOWN_OF_EACH = {"rate": "rate (Hz)", "cv": "CV", "synchrony": "synchrony"}


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _raster(axis: Any, time: Any, index: Any, populations: Mapping[str, ArrayLike]) -> None:
    """Draw the spikes of the first neurons of each population, the first population on top."""
    members = {name: np.asarray(given) for name, given in populations.items()}
    total = sum(m.size for m in members.values())
    late = time >= time.max(initial=0.0) - LAST
    time, index = time[late], index[late]
    row, ticks = 0, []
    for neurons, colour in zip(members.values(), _colours(len(members)), strict=True):
        shown = np.sort(neurons[: max(FEWEST, SHOWN * neurons.size // total)])
        mine = np.isin(index, shown)
        height = row + np.searchsorted(shown, index[mine])
        axis.plot(time[mine] * 1e3, height, ".", ms=1.5, mew=0, color=colour, rasterized=True)
        ticks.append(row + shown.size / 2)
        row += shown.size
    axis.set(ylim=(row, 0), yticks=ticks, xlabel="time (ms)", title="spikes")
    axis.set_yticklabels(populations)
    axis.tick_params(axis="y", length=0)
