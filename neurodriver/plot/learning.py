"""Learning curves, and the weights into the units of a layer -> figures."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import NeurodriverError, near, quoted
from .style import COLOURS, STYLE, finish, given_axes, matplotlib, new_figure


def plot_learning(
    logs: Any,
    figure_path: str | os.PathLike[str] | None = None,
    columns: Sequence[str] = ("unit_error", "error", "correlation"),
    ax: Any = None,
) -> Any:
    """Draw columns of epochs: each training as a thin line, their mean as a thick one.

    The mean is that of the trainings that have come so far.

    Parameters
    ----------
    logs : Log or sequence of Log
        Of one training, or of several.
    figure_path : path, optional
        The picture; its ending chooses the format (png, svg, pdf).
    columns : sequence of str
    ax : matplotlib axes, optional
        Where to draw: axes for each of ``columns``. By default in a new figure.

    Returns
    -------
    matplotlib axes, Path or matplotlib Figure
        ``ax`` if it is given, else ``figure_path`` if it is given, else the figure, which a
        notebook shows.

    Raises
    ------
    NeurodriverError
        For columns that a log does not have, for another number of axes, without matplotlib,
        and when the file cannot be written.
    """
    several = logs if isinstance(logs, Sequence) else [logs]
    tables: list[Mapping[str, Any]] = [log["epoch"] for log in several]
    for table in tables:
        for name in columns:
            if name not in table:
                say = f"{quoted(name)}{near(name, table)}; there are {', '.join(table) or 'none'}"
                raise NeurodriverError(f"plot_learning: a log has no column {say}")
    with matplotlib().rc_context(STYLE):
        if ax is None:
            axes = new_figure(3.2 * len(columns), 2.6).subplots(1, len(columns), squeeze=False)[0]
        else:
            axes = given_axes(ax, columns, "plot_learning")
        for axis, name, colour in zip(axes, columns, COLOURS, strict=False):
            curves = [np.asarray(table[name], float) for table in tables]
            for curve in curves:
                axis.plot(curve, color=colour, lw=0.7, alpha=0.5)
            axis.plot(_mean(curves), color=colour, lw=2)
            axis.set(xlabel="epoch", title=name.replace("_", " "))
            axis.grid(True)
        return finish(axes[0].figure, ax, figure_path)


def plot_receptive_fields(
    weights: ArrayLike,
    shape: tuple[int, ...],
    figure_path: str | os.PathLike[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the weights into each unit as an image of the sending layer.

    Parameters
    ----------
    weights : (receivers, senders) array
        As `Trainer.path` returns them; NaN where there is no synapse.
    shape : (rows, columns) or (py, px, y, x) of int
        Of the sending layer. With sub-pools, their images stand side by side.
    figure_path : path, optional
        The picture; its ending chooses the format (png, svg, pdf).
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib axes, Path or matplotlib Figure
        ``ax`` if it is given, else ``figure_path`` if it is given, else the figure, which a
        notebook shows.

    Raises
    ------
    NeurodriverError
        For a shape of another size, without matplotlib, and when the file cannot be written.
    """
    given = np.asarray(weights, float)
    if given.ndim != 2 or len(shape) not in (2, 4) or given.shape[1] != math.prod(shape):
        want = "weights (receivers, senders) and a shape (rows, columns) or (py, px, y, x) of them"
        raise NeurodriverError(
            f"plot_receptive_fields: {want} are needed (got {given.shape} and {tuple(shape)})"
        )
    py, px, y, x = shape if len(shape) == 4 else (1, 1, *shape)
    rows, columns = py * y, px * x
    images = given.reshape(-1, py, px, y, x).swapaxes(2, 3).reshape(-1, rows, columns)
    wide = math.ceil(math.sqrt(len(given)))
    high = math.ceil(len(given) / wide)
    sheet = np.full((high * (rows + 1), wide * (columns + 1)), np.nan)
    for number, image in enumerate(images):
        top, left = number // wide * (rows + 1), number % wide * (columns + 1)
        sheet[top : top + rows, left : left + columns] = image
    with matplotlib().rc_context(STYLE):
        if ax is None:
            axis = new_figure(5.2, 4.6).subplots()
        else:
            (axis,) = given_axes(ax, ["weights"], "plot_receptive_fields")
        drawn = axis.imshow(sheet[:-1, :-1], cmap="viridis", interpolation="nearest")
        axis.set_axis_off()
        axis.figure.colorbar(drawn, ax=axis, label="weight")
        return finish(axis.figure, ax, figure_path)


def _mean(curves: Sequence[Any]) -> Any:
    """Return the mean of curves of different lengths, as long as the longest."""
    whole = np.full((len(curves), max(map(len, curves), default=0)), np.nan)
    for row, curve in zip(whole, curves, strict=True):
        row[: len(curve)] = curve
    count = np.count_nonzero(~np.isnan(whole), axis=0)
    return np.where(count > 0, np.nansum(whole, axis=0) / np.maximum(count, 1), np.nan)
