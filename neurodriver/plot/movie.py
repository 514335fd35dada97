"""Variables of recordings -> a movie of panels that follow the time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..arguments import (
    ArgumentError,
    checked_arguments,
    file_path,
    number,
    optional,
    some,
    text,
    truth,
    whole_number,
)
from ..errors import NeurodriverError, near
from ..quantities import number_of_seconds
from .encode import write_movie
from .scenes import Scene, apply, kind_of
from .style import STYLE, matplotlib, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRAMES = 100
"""Frames of a movie without an interval."""

CLOSE = 1e-6
"""A last frame may lie this part of an interval behind the end."""


def _panels(value: Any, name: str) -> int:
    return whole_number(value, name, 1, 1000)


def _positive(value: Any, name: str) -> Any:
    if not 0 < number(value, name) <= 1000:
        raise ArgumentError(f"{name} must be above 0, 1,000 at most, got {value!r:.60}")
    return value


def _dots(value: Any, name: str) -> Any:
    if not 10 <= number(value, name) <= 10_000:
        raise ArgumentError(f"{name} must be 10 to 10,000 dots an inch, got {value!r:.60}")
    return value


def _inches(value: Any, name: str) -> tuple[float, float]:
    sides = [_positive(one, name) for one in some(value, name)]
    if len(sides) != 2 or max(sides) > 1000:
        raise ArgumentError(f"{name} must be a width and a height in inches, got {value!r:.60}")
    return sides[0], sides[1]


class Movie:
    """Panels over the same time, written as a movie; one frame is in memory at a time.

    Parameters
    ----------
    rows, cols : int, optional
        Layout of the panels; by default as many columns as make the grid nearly square.
    figsize : (float, float)
        Width and height, inches.
    fontsize : float
        Of titles and labels, points.
    title : str, optional
        Text above the panels.
    clock : bool
        Tell the time of each frame.

    Examples
    --------
    >>> movie = Movie()  # doctest: +SKIP
    >>> movie.add(recording["V"][["n0", "n1"]], "waveform", title="Potentials")  # doctest: +SKIP
    >>> movie.add(recording["spike_state"], "raster")  # doctest: +SKIP
    >>> movie.save("run.gif", interval=2e-3)  # doctest: +SKIP
    """

    @checked_arguments(
        rows=optional(_panels),
        cols=optional(_panels),
        figsize=_inches,
        fontsize=_positive,
        title=optional(text),
        clock=truth,
    )
    def __init__(
        self,
        rows: int | None = None,
        cols: int | None = None,
        figsize: tuple[float, float] = (9.0, 5.0),
        fontsize: float = 10.0,
        title: str | None = None,
        clock: bool = True,
    ) -> None:
        self.rows = rows
        self.cols = cols
        self.figsize = figsize
        self.fontsize = fontsize
        self.title = title
        self.clock = clock
        self.refused: list[str] = []
        self._panels: list[tuple[type[Scene], tuple[Any, ...], dict[str, Any]]] = []
        self._drawn: tuple[Figure, list[Scene]] | None = None

    def add(self, source: Any, kind: str = "waveform", **options: Any) -> None:
        """Add a panel.

        Parameters
        ----------
        source : Variable, Events, or a pair of Variables
            What it shows; ``hsv`` and ``quiver`` need a pair for the two directions.
        kind : {'waveform', 'raster', 'image', 'hsv', 'quiver', 'dome', 'profile', 'blank'}
            ``waveform``: lines that grow; ``raster``: spikes; ``image``: a pixel per component;
            ``hsv``, ``quiver``: a vector per place; ``dome``: a half sphere; ``profile``: the
            values over the components.
        **options
            ``shape`` (rows, columns) of grids, ``clim`` of an image, ``fmt`` of lines, ``lat``,
            ``long`` and ``norm`` of a dome, ``top`` of hsv; all else is a setter of the axes or
            of the artist of matplotlib: ``title``, ``ylim``, ``yticks``, ``cmap``.

        Raises
        ------
        NeurodriverError
            For a kind that does not exist; when the figure is made, for what does not fit.
        """
        sources = tuple(source) if isinstance(source, (tuple, list)) else (source,)
        self._panels.append((kind_of(kind), sources, options))
        self._drawn = None

    @property
    def figure(self) -> Figure:
        """The figure of matplotlib, made when it is first asked for."""
        return self._draw()[0]

    @property
    def scenes(self) -> list[Scene]:
        """The panels in the order in which they were added."""
        return self._draw()[1]

    def times(
        self, interval: float | None = None, start: float | None = None, stop: float | None = None
    ) -> npt.NDArray[np.float64]:
        """Return the times of the frames, s: from the first to the last time of any panel.

        Parameters
        ----------
        interval : float, optional
            Simulated time between frames, s; by default 100 frames.
        start, stop : float, optional
            First and last time, s.
        """
        begin = min((s.start for s in self.scenes), default=0.0) if start is None else start
        end = max((s.stop for s in self.scenes), default=0.0) if stop is None else stop
        step = (end - begin) / (FRAMES - 1) if interval is None else interval
        if end <= begin:
            return np.array([begin], dtype=np.float64)
        if not 0 < step < np.inf:
            raise NeurodriverError(f"the interval of frames has to be positive, got {step:g} s")
        count = int(np.floor((end - begin) / step + CLOSE)) + 1
        return begin + step * np.arange(count, dtype=np.float64)

    def show(self, time: float) -> Figure:
        """Let all panels show a time, s; return the figure."""
        figure, scenes = self._draw()
        for scene in scenes:
            scene.show(time)
        if self._clock is not None:
            self._clock.set_text(f"t = {time:.4g} s")
        return figure

    @checked_arguments(
        path=file_path,
        interval=optional(number_of_seconds),
        fps=_positive,
        codec=optional(text),
        dpi=_dots,
        start=optional(number_of_seconds),
        stop=optional(number_of_seconds),
    )
    def save(
        self,
        path: str | os.PathLike[str],
        interval: float | None = None,
        fps: float = 10.0,
        codec: str | None = None,
        dpi: float = 80.0,
        start: float | None = None,
        stop: float | None = None,
    ) -> int:
        """Write the movie; return its number of frames.

        Parameters
        ----------
        path : path
            ``.gif`` needs nothing more; ``.mp4``, ``.mkv``, ``.avi``, ``.webm``, ``.ogv`` need
            ffmpeg.
        interval : float, optional
            Simulated time between frames, s.
        fps : float
            Frames a second.
        codec : str, optional
            Encoder of ffmpeg.
        dpi : float
            Pixels per inch.
        start, stop : float, optional
            Time window, s.
        """
        frames = map(self.show, self.times(interval, start, stop).tolist())
        return write_movie(path, self.figure, frames, fps, dpi, codec)

    @checked_arguments(path=file_path, time=optional(number_of_seconds), dpi=_dots)
    def save_frame(
        self, path: str | os.PathLike[str], time: float | None = None, dpi: float = 150.0
    ) -> Path:
        """Write one frame as a picture: that of a time, s, or the last."""
        figure = self.show(self.end if time is None else time)
        return save_figure(figure, path, dpi)

    @property
    def end(self) -> float:
        """Last time that a panel can show, s."""
        return max((s.stop for s in self.scenes), default=0.0)

    def layout(self) -> tuple[int, int]:
        """Return rows and columns of the grid of panels."""
        count = len(self._panels)
        if self.rows and self.cols and self.rows * self.cols >= count:
            return self.rows, self.cols
        if self.rows and not self.cols:
            return self.rows, -(-count // self.rows)
        columns = self.cols if self.cols and not self.rows else int(np.ceil(np.sqrt(count)))
        return -(-count // columns), columns

    def _draw(self) -> tuple[Figure, list[Scene]]:
        """Return the figure and its panels, made when they are first asked for."""
        if self._drawn is None:
            if not self._panels:
                raise NeurodriverError("a movie needs a panel: add(variable, kind)")
            with matplotlib().rc_context(STYLE):
                figure = new_figure(*self.figsize, self.title, self.fontsize + 1)
                self._drawn = figure, self._fill(figure)
        return self._drawn

    def _fill(self, figure: Figure) -> list[Scene]:
        scenes, left = [], []
        for i, (kind, sources, options) in enumerate(self._panels, 1):
            axis = figure.add_subplot(*self.layout(), i, projection=kind.projection)
            left.append(dict(options))  # a scene takes its own out
            scenes.append(kind(axis, sources, left[-1]))
        begin, end = min(s.start for s in scenes), max(s.stop for s in scenes)
        self.refused = []
        for scene, options in zip(scenes, left, strict=True):
            if scene.over_time:
                scene.axis.set_xlim(begin, end if end > begin else begin + 1.0)
            self.refused += apply(scene.axis, scene.artist, options, self.fontsize)
        self._clock = figure.text(0.005, 0.005, "", fontsize=8) if self.clock else None
        self.check(self.refused)
        # Panels stay where they are: laying out each frame takes longer than drawing it.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        return scenes

    def check(self, refused: list[str]) -> None:
        """Refuse options that nothing takes."""
        if refused:
            taken = {name for kind, _, _ in self._panels for name in kind.takes}
            raise NeurodriverError(
                f"no panel takes the option '{refused[0]}'{near(refused[0], taken)}; "
                "options are those of add() and setters of matplotlib"
            )
