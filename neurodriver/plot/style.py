"""What all figures share: colours and sizes, the import of matplotlib, errors of writing."""

from __future__ import annotations

import contextlib
import io
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import NeurodriverError

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

FFMPEG_LINES = 12
"""Lines of ffmpeg's messages that an error shows."""


def matplotlib() -> Any:
    """Import matplotlib, or say how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise NeurodriverError('figures need pip install "neurodriver[plot]"') from error
    return matplotlib


def new_figure(width: float, height: float, title: str | None = None, fontsize: float = 12) -> Any:
    """Return an empty figure of some inches, which no window shows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _figure_class()(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle(title, fontsize=fontsize, fontweight="bold")
    return figure


@cache
def _figure_class() -> type[Any]:
    """Return the class of figures that notebooks show, also where pyplot is not loaded."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """A figure that draws itself where an output shows pictures."""

        def _repr_png_(self) -> bytes:
            with matplotlib().rc_context(STYLE):
                picture = io.BytesIO()
                self.savefig(picture, format="png", dpi=100)
            return picture.getvalue()

    return NotebookFigure


@contextlib.contextmanager
def writing(path: str | PathLike[str]) -> Iterator[None]:
    """Turn what matplotlib, Pillow and ffmpeg raise into an error that names the file."""
    try:
        yield
    except subprocess.CalledProcessError as error:
        output = error.stderr or error.output or b""
        text = output.decode(errors="replace") if isinstance(output, bytes) else output
        lines = "\n".join(text.strip().splitlines()[-FFMPEG_LINES:])
        raise NeurodriverError(f"{path}: ffmpeg failed:\n{lines}") from error
    except NeurodriverError:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise NeurodriverError(f"{path}: cannot be written: {error}") from error


def save_figure(figure: Any, path: str | PathLike[str], dpi: float = 150.0) -> Path:
    """Write a figure; its path's ending chooses the format. Make its folder if there is none."""
    with writing(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=dpi)
    return Path(path)


def given_axes(ax: Any, wanted: Sequence[str], plot: str, fewer: bool = False) -> list[Any]:
    """Return the axes that a user gave, one for each panel.

    Parameters
    ----------
    wanted : sequence of str
        What the panels show.
    plot : str
        Name of the plot, for the error.
    fewer : bool
        Whether the last panels may be left out.

    Raises
    ------
    NeurodriverError
        For another number of axes, and for what is not axes.
    """
    matplotlib()
    from matplotlib.axes import Axes

    # Axes are no sequence; what `subplots` returns is an array of them, of any shape.
    several = list(getattr(ax, "flat", ax)) if isinstance(ax, Iterable) else [ax]
    for one in several:
        if not isinstance(one, Axes):
            got = f"{type(one).__name__} {one!r}" if isinstance(one, str) else type(one).__name__
            raise NeurodriverError(f"{plot}: ax needs axes of matplotlib, got {got}")
    if len(several) != len(wanted) and not (fewer and 0 < len(several) < len(wanted)):
        most = "at most " if fewer else ""
        panels = f"{most}{len(wanted)} axes are needed ({', '.join(wanted)}), got {len(several)}"
        raise NeurodriverError(f"{plot}: {panels}")
    return several


def finish(figure: Any, ax: Any, path: str | PathLike[str] | None) -> Any:
    """Write a figure if there is a path; return the axes that were given, the path, or the figure.

    A notebook shows the figure.
    """
    written = None if path is None else save_figure(figure, path)
    return ax if ax is not None else written or figure


def short(uid: str) -> str:
    """Return a uid as figures show it."""
    return uid if len(uid) <= 22 else f"{uid[:10]}…{uid[-11:]}"
