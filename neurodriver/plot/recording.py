"""A recording -> a figure: traces, heat maps, rasters, one panel per variable."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import ArgumentError, checked_arguments, file_path, optional, text, texts
from ..errors import NeurodriverError, near
from ..model.kinds import usually_event
from ..quantities import point_in_time
from ..results import Events, Recording, Variable, open_recording
from ..results.batch import single
from .movie import Movie
from .panels import MOST_TRACES, Panel
from .style import STYLE, finish, given_axes, matplotlib, new_figure

PANEL = 2.1
"""Height of a panel, inches."""


def _a_recording(value: Any, name: str) -> Any:
    if isinstance(value, str | os.PathLike) or hasattr(value, "is_events"):
        return value
    raise ArgumentError(f"{name} must be a recording or the path of one, got {value!r:.60}")


@checked_arguments(
    recording=_a_recording, figure_path=optional(file_path), variables=optional(texts),
    uids=optional(texts), title=optional(text),
    start=optional(point_in_time), stop=optional(point_in_time),
)  # fmt: skip
def plot_recording(
    recording: str | os.PathLike[str] | Recording,
    figure_path: str | os.PathLike[str] | None = None,
    variables: Sequence[str] | None = None,
    uids: Sequence[str] | None = None,
    title: str | None = None,
    *,
    start: float | None = None,
    stop: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw a recording: one panel per variable over a common time axis.

    Up to twelve columns are drawn as traces, more as a heat map, events as a raster.

    Parameters
    ----------
    recording : path or Recording
    figure_path : path, optional
        The picture; its ending chooses the format (png, svg, pdf).
    variables : sequence of str, optional
        What to draw, from top to bottom; by default all.
    uids : sequence of str, optional
        Which components; a panel shows those that it has. By default all.
    title : str, optional
        Text above a new figure.
    start, stop : float, optional
        Time window, s; by default everything.
    ax : matplotlib axes, or a sequence of them, optional
        Where to draw: axes for each variable. By default in a new figure.

    Returns
    -------
    matplotlib axes, Path or matplotlib Figure
        ``ax`` if it is given, else ``figure_path`` if it is given, else the figure, which a
        notebook shows.

    Raises
    ------
    NeurodriverError
        Without matplotlib, for a variable or uid that was not recorded, for another number of
        axes, and when the file cannot be written.

    Examples
    --------
    >>> figure, (left, right) = plt.subplots(1, 2)  # doctest: +SKIP
    >>> nd.plot_recording("run.h5", variables=["V"], ax=left)  # doctest: +SKIP
    """
    with _opened(recording) as opened, matplotlib().rc_context(STYLE):
        window = _window(opened, start, stop)
        parts = _parts(opened, variables, uids, None if start is stop is None else window)
        if ax is None:
            axes, first = _layout(parts, title), -1
        else:
            axes, first = given_axes(ax, [part.name for part in parts], "plot_recording"), 0
        _draw(parts, axes, window, first)
        return finish(axes[0].figure, ax, figure_path)


@checked_arguments(
    recording=_a_recording, movie_path=file_path, variables=optional(texts),
    uids=optional(texts), title=optional(text),
    start=optional(point_in_time), stop=optional(point_in_time),
)  # fmt: skip
def plot_movie(
    recording: str | os.PathLike[str] | Recording,
    movie_path: str | os.PathLike[str],
    variables: Sequence[str] | None = None,
    uids: Sequence[str] | None = None,
    title: str | None = None,
    interval: float | None = None,
    fps: float = 10.0,
    *,
    start: float | None = None,
    stop: float | None = None,
) -> Path:
    """Draw a recording as a movie: lines and rasters that grow, many columns as an image.

    Parameters
    ----------
    recording, variables, uids, title, start, stop
        As those of `plot_recording`.
    movie_path : path
        Its ending chooses the kind: ``.gif``, or with ffmpeg ``.mp4``, ``.webm``, ``.avi``.
    interval : float, optional
        Simulated time between frames, s; by default a hundred frames.
    fps : float
        Frames a second.

    Returns
    -------
    Path
        ``movie_path``.
    """
    with _opened(recording) as opened:
        begin, end = _window(opened, start, stop)
        parts = _parts(opened, variables, uids, None if start is stop is None else (begin, end))
        movie = Movie(len(parts), 1, (8.0, 0.8 + 2.1 * len(parts)), title=title)
        for part in parts:
            rows = isinstance(part, Variable)
            many = "image" if len(part.uids) > MOST_TRACES else "waveform"
            movie.add(part, many if rows else "raster", title=part.name)
        movie.save(movie_path, interval, fps, start=begin, stop=end - opened.dt)
    return Path(movie_path)


def _opened(
    recording: str | os.PathLike[str] | Recording,
) -> contextlib.AbstractContextManager[Recording]:
    """Open what is not open; what was open before stays so."""
    if not isinstance(recording, str | os.PathLike):
        return contextlib.nullcontext(single(recording))
    return single(open_recording(recording))


def _window(recording: Recording, start: float | None, stop: float | None) -> tuple[float, float]:
    """Return begin and end of what is shown, s."""
    begin = 0.0 if start is None else start
    end = max(recording.duration, recording.dt) if stop is None else stop
    if not (np.isfinite([begin, end]).all() and begin < end):
        raise NeurodriverError(f"a time window from {begin:g} to {end:g} s is empty")
    return begin, end


def _parts(
    recording: Recording,
    variables: Sequence[str] | None,
    uids: Sequence[str] | None,
    between: tuple[float, float] | None,
) -> list[Variable | Events]:
    """Return what each panel shows."""
    held = {v: recording.uids(v) for v in variables or recording.variables}
    if uids is not None:
        wanted = [uids] if isinstance(uids, str) else list(uids)
        recorded = {uid for v in held.values() for uid in v}
        for uid in wanted:
            if uid not in recorded:
                among = f"{', '.join(held)}{near(uid, recorded)}"
                raise NeurodriverError(f"{recording.name}: no column '{uid}' in {among}")
        held = {v: [uid for uid in wanted if uid in set(u)] for v, u in held.items()}
    parts: list[Any] = []
    for variable, chosen in held.items():
        if not chosen:
            continue
        part: Any = recording[variable]
        if usually_event(variable) and isinstance(part, Variable):
            part = recording.as_events(variable)  # rows, in older files
        part = part if uids is None else part[chosen]
        parts.append(part if between is None else part.between(*between))
    if not parts:
        raise NeurodriverError(f"{recording.name}: nothing to draw; no variable has a column")
    return parts


def _height(part: Variable | Events) -> float:
    """Return the height of a panel in inches; a raster of few rows is lower than others."""
    return min(PANEL, 0.7 + 0.2 * len(part.uids)) if isinstance(part, Events) else PANEL


def _layout(parts: list[Variable | Events], title: str | None) -> list[Any]:
    """Return the axes of a new figure, which share the time."""
    heights = [_height(part) for part in parts]
    figure = new_figure(9.0, 0.8 + sum(heights), title)
    rows = figure.subplots(len(parts), 1, sharex=True, squeeze=False, height_ratios=heights)
    return list(rows[:, 0])


def _draw(
    parts: list[Variable | Events], axes: list[Any], window: tuple[float, float], first: int
) -> None:
    """Fill the panels; those from ``first`` on say that their axis is the time."""
    unit, scale = ("s", 1.0) if window[1] - window[0] >= 2 else ("ms", 1e3)
    colours: dict[str, str] = {}
    for axis, part in zip(axes, parts, strict=True):
        Panel(axis, part, scale, colours).draw()
        axis.set_xlim(window[0] * scale, window[1] * scale)
    for axis in axes[first:]:
        axis.set_xlabel(f"time ({unit})")
