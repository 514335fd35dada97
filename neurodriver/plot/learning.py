"""Learning curves, and the weights into the units of a layer -> figures."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import NeurodriverError, near, quoted
from .style import COLOURS, STYLE, matplotlib, new_figure, save_figure


def plot_learning(
    logs: Any,
    figure_path: str | os.PathLike[str],
    columns: Sequence[str] = ("unit_error", "error", "correlation"),
) -> Path:
    """Draw columns of epochs: each training as a thin line, their mean as a thick one.

    The mean is that of the trainings that have come so far.

    Parameters
    ----------
    logs : Log or sequence of Log
        Of one training, or of several.
    figure_path : path
        The picture; its ending chooses the format (png, svg, pdf).
    columns : sequence of str

    Returns
    -------
    Path
        ``figure_path``.

    Raises
    ------
    NeurodriverError
        For columns that a log does not have, without matplotlib, and when the file cannot be
        written.
    """
    several = logs if isinstance(logs, Sequence) else [logs]
    tables: list[Mapping[str, Any]] = [log["epoch"] for log in several]
    for table in tables:
        for name in columns:
            if name not in table:
                say = f"{quoted(name)}{near(name, table)}; there are {', '.join(table) or 'none'}"
                raise NeurodriverError(f"plot_learning: a log has no column {say}")
    with matplotlib().rc_context(STYLE):
        figure = new_figure(3.2 * len(columns), 2.6)
        axes = figure.subplots(1, len(columns), squeeze=False)[0]
        for axis, name, colour in zip(axes, columns, COLOURS, strict=False):
            curves = [np.asarray(table[name], float) for table in tables]
            for curve in curves:
                axis.plot(curve, color=colour, lw=0.7, alpha=0.5)
            axis.plot(_mean(curves), color=colour, lw=2)
            axis.set(xlabel="epoch", title=name.replace("_", " "))
            axis.grid(True)
        return save_figure(figure, figure_path)


def plot_receptive_fields(
    weights: ArrayLike, shape: tuple[int, ...], figure_path: str | os.PathLike[str]
) -> Path:
    """Draw the weights into each unit as an image of the sending layer.

    Parameters
    ----------
    weights : (receivers, senders) array
        As `Trainer.path` returns them; NaN where there is no synapse.
    shape : (rows, columns) of int
        Of an image; of the sending layer.
    figure_path : path
        The picture; its ending chooses the format (png, svg, pdf).

    Returns
    -------
    Path
        ``figure_path``.

    Raises
    ------
    NeurodriverError
        For a shape of another size, without matplotlib, and when the file cannot be written.
    """
    given = np.asarray(weights, float)
    if given.ndim != 2 or len(shape) != 2 or given.shape[1] != math.prod(shape):
        want = "weights (receivers, senders) and a shape (rows, columns) of the senders"
        raise NeurodriverError(
            f"plot_receptive_fields: {want} are needed (got {given.shape} and {tuple(shape)})"
        )
    rows, columns = shape
    wide = math.ceil(math.sqrt(len(given)))
    high = math.ceil(len(given) / wide)
    sheet = np.full((high * (rows + 1), wide * (columns + 1)), np.nan)
    for number, field in enumerate(given):
        y, x = number // wide * (rows + 1), number % wide * (columns + 1)
        sheet[y : y + rows, x : x + columns] = field.reshape(rows, columns)
    with matplotlib().rc_context(STYLE):
        figure = new_figure(5.2, 4.6)
        axis = figure.subplots()
        image = axis.imshow(sheet[:-1, :-1], cmap="viridis", interpolation="nearest")
        axis.set_axis_off()
        figure.colorbar(image, label="weight")
        return save_figure(figure, figure_path)


def _mean(curves: Sequence[Any]) -> Any:
    """Return the mean of curves of different lengths, as long as the longest."""
    whole = np.full((len(curves), max(map(len, curves), default=0)), np.nan)
    for row, curve in zip(whole, curves, strict=True):
        row[: len(curve)] = curve
    return np.nanmean(whole, axis=0)
