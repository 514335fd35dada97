"""A signal -> a panel of a movie: what it shows follows the time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import NeurodriverError, near
from .signals import Array, Signal, as_signal, as_spikes
from .style import COLOURS
from .thinning import MOST_POINTS

DOME = 60
"""Points of a dome along each of its two angles."""


class Scene(ABC):
    """A panel of a movie.

    Parameters
    ----------
    axis : Axes
        An empty panel.
    sources : sequence
        What it shows: one signal, or two for ``hsv`` and ``quiver``.
    options : dict
        Those named in ``takes`` are taken out; the rest is for the setters of matplotlib.

    Attributes
    ----------
    artist
        The object of matplotlib whose setters options may name; None if there is no single one.
    start, stop : float
        First and last time that the panel can show, s.
    """

    sources_needed = 1
    takes: tuple[str, ...] = ()
    projection: str | None = None
    over_time = False  # time runs along the horizontal axis
    start = 0.0
    stop = 0.0
    artist: Any = None

    def __init__(self, axis: Any, sources: Sequence[Any], options: dict[str, Any]) -> None:
        if len(sources) != self.sources_needed:
            raise NeurodriverError(
                f"{type(self).__name__.lower()}: {self.sources_needed} lists of components "
                f"needed, got {len(sources)}"
            )
        self.axis = axis
        self.options = {name: options.pop(name) for name in self.takes if name in options}
        self.prepare(sources)

    @abstractmethod
    def prepare(self, sources: Sequence[Any]) -> None:
        """Make the artists."""

    @abstractmethod
    def show(self, time: float) -> None:
        """Show a time, s; times come in ascending order or anew from the beginning."""


class Waveform(Scene):
    """One line per component that grows with time.

    Spikes survive: of long recordings, minimum and maximum of each stretch are drawn.
    """

    takes = ("fmt",)
    over_time = True

    def prepare(self, sources: Sequence[Any]) -> None:
        self.signal = signal = as_signal(sources[0])
        self.start, self.stop = signal.start, signal.stop
        self.width = max(1, -(-2 * len(signal.values) // MOST_POINTS))
        self.lines = []
        for i in range(signal.values.shape[1]):
            style = [self.options["fmt"]] if self.options.get("fmt") else []
            colour = {} if style else {"color": COLOURS[i % len(COLOURS)]}
            self.lines += self.axis.plot([], [], *style, linewidth=1.1, **colour)
        self.artist = self.lines[0] if len(self.lines) == 1 else None
        low, high = signal.limits()
        margin = 0.05 * (high - low) or 1.0
        self.axis.set_ylim(low - margin, high + margin)
        self.axis.set(xlabel="time (s)", ylabel=signal.label)
        self._begin()

    def _begin(self) -> None:
        self.rows = 0
        self.done: list[tuple[Array, Array]] = []

    def show(self, time: float) -> None:
        signal, width = self.signal, self.width
        end = signal.row_at(time) + 1 if time > signal.start - signal.step / 2 else 0
        if end < self.rows:
            self._begin()
        whole = end - end % width
        if whole > self.rows:
            self.done += self._thinned(self.rows, whole)
            self.rows = whole
        rest = self._thinned(whole, end) if end > whole else []
        shown = self.done + rest
        times = np.concatenate([t for t, _ in shown]) if shown else np.empty(0)
        values = np.concatenate([v for _, v in shown]) if shown else np.empty((0, len(self.lines)))
        for column, line in enumerate(self.lines):
            line.set_data(times, values[:, column])

    def _thinned(self, first: int, last: int) -> list[tuple[Array, Array]]:
        """Return times and values of rows, thinned; read slab by slab."""
        signal, width, parts = self.signal, self.width, []
        slab = width * max(1, 1_000_000 // (width * len(self.lines)))
        for begin in range(first, last, slab):
            rows = np.asarray(signal.values[begin : min(begin + slab, last)], np.float64)
            at = np.arange(0, len(rows), width)
            time = signal.start + (begin + at) * signal.step
            if width == 1:
                parts.append((time, rows))
                continue
            both = np.stack([np.minimum.reduceat(rows, at), np.maximum.reduceat(rows, at)], 1)
            parts.append((np.repeat(time, 2), both.reshape(-1, rows.shape[1])))
        return parts


class ProfileScene(Scene):
    """The values of all components at a time, over their number."""

    takes = ("fmt",)

    def prepare(self, sources: Sequence[Any]) -> None:
        self.signal = signal = as_signal(sources[0])
        self.start, self.stop = signal.start, signal.stop
        style = [self.options["fmt"]] if self.options.get("fmt") else []
        count = signal.values.shape[1]
        (self.artist,) = self.axis.plot(np.arange(count), np.zeros(count), *style)
        low, high = signal.limits()
        margin = 0.05 * (high - low) or 1.0
        self.axis.set_ylim(low - margin, high + margin)
        self.axis.set(xlabel="component", ylabel=signal.label)

    def show(self, time: float) -> None:
        self.artist.set_ydata(self.signal.at(time))


class Raster(Scene):
    """A mark per spike up to the time shown; component i lies at height i + 1."""

    over_time = True

    def prepare(self, sources: Sequence[Any]) -> None:
        self.spikes = spikes = as_spikes(sources[0])
        self.start, self.stop = spikes.start, spikes.stop
        height = 0.55 * 72 * self.axis.get_position().height
        height *= self.axis.figure.get_size_inches()[1] / max(1, spikes.count)
        (self.artist,) = self.axis.plot(
            [], [], "|", color="#222222", markersize=float(np.clip(height, 0.8, 14))
        )
        self.axis.set_ylim(0.5, spikes.count + 0.5)
        self.axis.set_yticks([])
        self.axis.set(xlabel="time (s)", ylabel="components")

    def show(self, time: float) -> None:
        # Times are multiples of dt with rounding errors.
        end = np.searchsorted(self.spikes.time, time + 1e-9 * (1 + abs(time)), side="right")
        self.artist.set_data(self.spikes.time[:end], self.spikes.index[:end] + 1)


class Grid(Scene):
    """What the panels of components on a grid have in common."""

    takes: tuple[str, ...] = ("shape",)

    def grid(self, signal: Signal) -> tuple[int, int]:
        """Return rows and columns of the grid: as told, or nearly square."""
        count = signal.values.shape[1]
        if "shape" in self.options:
            rows, columns = (int(n) for n in self.options["shape"])
            if rows * columns != count:
                raise NeurodriverError(
                    f"shape {rows} x {columns} has {rows * columns} places for {count} components"
                )
            return rows, columns
        rows = int(np.ceil(np.sqrt(count)))
        return rows, -(-count // rows)

    def placed(self, values: Array) -> Array:
        """Put values on the grid, row by row; places left over are not a number."""
        rows, columns = self.shape
        full = np.full(rows * columns, np.nan)
        full[: len(values)] = values
        return full.reshape(rows, columns)

    def prepare(self, sources: Sequence[Any]) -> None:
        self.signals = [as_signal(source) for source in sources]
        self.start = min(s.start for s in self.signals)
        self.stop = max(s.stop for s in self.signals)
        self.shape = self.grid(self.signals[0])
        counts = [s.values.shape[1] for s in self.signals]
        if len(set(counts)) > 1:
            raise NeurodriverError(f"as many components in both lists needed, got {counts}")
        self.axis.set_xticks([])
        self.axis.set_yticks([])
        self.make()

    @abstractmethod
    def make(self) -> None:
        """Make the artist."""

    def largest(self) -> float:
        """Return a bound of the magnitude of two components, 1 if all is zero."""
        x, y = (max(abs(end) for end in signal.limits()) for signal in self.signals)
        return float(np.hypot(x, y)) or 1.0


class Image(Grid):
    """A pixel per component, its value in grey; ``trans`` swaps rows and columns."""

    takes = ("shape", "clim", "trans")

    def make(self) -> None:
        low, high = self.options.get("clim") or self.signals[0].limits()
        self.artist = self.axis.imshow(
            self._picture(self.start),
            cmap="gist_gray",
            vmin=low,
            vmax=high,
            interpolation="nearest",
        )

    def _picture(self, time: float) -> Array:
        picture = self.placed(self.signals[0].at(time))
        return picture.T if self.options.get("trans") else picture

    def show(self, time: float) -> None:
        self.artist.set_data(self._picture(time))


class HSV(Grid):
    """A pixel per pair (x, y): hue is the angle, brightness the magnitude over ``top``."""

    sources_needed = 2
    takes = ("shape", "top")

    def make(self) -> None:
        self.top = float(self.options.get("top") or self.largest())
        self.artist = self.axis.imshow(self._picture(self.start), interpolation="nearest")

    def _picture(self, time: float) -> Array:
        from matplotlib.colors import hsv_to_rgb

        x, y = (self.placed(signal.at(time)) for signal in self.signals)
        hue = (np.arctan2(x, y) + np.pi) / (2 * np.pi)
        value = np.clip(np.hypot(x, y) / self.top, 0, 1)
        picture = np.stack([hue, np.ones_like(hue), value], axis=2)
        return np.asarray(hsv_to_rgb(np.nan_to_num(picture)))

    def show(self, time: float) -> None:
        self.artist.set_data(self._picture(time))


class Quiver(Grid):
    """An arrow per pair (x, y); the longest possible one fills a place of the grid."""

    sources_needed = 2
    takes = ("shape", "scale")

    def make(self) -> None:
        scale = self.options.get("scale") or self.largest()
        rows, columns = self.shape
        self.axis.set_xlim(-1, columns)
        self.axis.set_ylim(-1, rows)
        self.axis.set_aspect("equal")
        self.artist = self.axis.quiver(*self._arrows(self.start), scale=scale, scale_units="x")

    def _arrows(self, time: float) -> list[Array]:
        return [self.placed(signal.at(time)) for signal in self.signals]

    def show(self, time: float) -> None:
        self.artist.set_UVC(*self._arrows(time))


class Dome(Scene):
    """Values on a half sphere; each of its points shows the nearest component in grey.

    ``lat`` is the angle from the top and ``long`` that around it, radians, one for each component;
    ``norm`` is a pair of values for black and white, a `matplotlib.colors.Normalize`, or "auto".
    """

    takes = ("lat", "long", "norm")
    projection = "3d"

    def prepare(self, sources: Sequence[Any]) -> None:
        self.signal = signal = as_signal(sources[0])
        self.start, self.stop = signal.start, signal.stop
        if missing := [name for name in ("lat", "long") if name not in self.options]:
            raise NeurodriverError(f"dome: '{missing[0]}' is missing, an angle per component")
        places = self._places(signal.values.shape[1])
        polar, around = np.meshgrid(
            np.linspace(0, np.pi / 2, DOME), np.linspace(0, 2 * np.pi, DOME), indexing="ij"
        )
        surface = _on_sphere(polar, around)
        self.norm = self._norm()
        # The nearest on a sphere has the largest product; row by row, for memory.
        self.nearest = np.stack([np.argmax(surface[i] @ places.T, axis=1) for i in range(DOME)])
        x, y, z = np.moveaxis(surface, 2, 0)
        grey = self._grey(self.start)
        self.axis.set(xticks=[], yticks=[], zticks=[])
        self.artist = self.axis.plot_surface(
            x, y, z, rstride=1, cstride=1, facecolors=grey, antialiased=False, shade=False
        )

    def _places(self, count: int) -> Array:
        lat, long = (np.asarray(self.options[n], np.float64).ravel() for n in ("lat", "long"))
        if not len(lat) == len(long) == count:
            raise NeurodriverError(
                f"dome: {count} components, {len(lat)} 'lat' and {len(long)} 'long'"
            )
        return _on_sphere(lat, long)

    def _norm(self) -> Any:
        from matplotlib.colors import Normalize

        norm = self.options.get("norm")
        if isinstance(norm, Normalize):
            return norm
        if norm is None or isinstance(norm, str):
            # The first rows are often still far from rest.
            norm = self.signal.limits(100 if len(self.signal.values) > 100 else 0)
        low, high = norm
        return Normalize(low, high, clip=True)

    def _grey(self, time: float) -> Array:
        level = np.ma.getdata(self.norm(self.signal.at(time)))[self.nearest]
        return np.stack([level, level, level, np.ones_like(level)], axis=2)

    def show(self, time: float) -> None:
        # A face has the colour of its first corner.
        self.artist.set_facecolor(self._grey(time)[:-1, :-1].reshape(-1, 4))


class Blank(Scene):
    """Nothing; keeps a place."""

    def prepare(self, sources: Sequence[Any]) -> None:
        pass

    def show(self, time: float) -> None:
        pass


def _on_sphere(polar: Array, around: Array) -> Array:
    """Return x, y, z of points of the unit sphere, (..., 3)."""
    sine = np.sin(polar)
    return np.stack([np.cos(around) * sine, np.sin(around) * sine, np.cos(polar)], axis=-1)


KINDS: dict[str, type[Scene]] = {
    "waveform": Waveform,
    "profile": ProfileScene,
    "raster": Raster,
    "image": Image,
    "hsv": HSV,
    "quiver": Quiver,
    "dome": Dome,
    "blank": Blank,
}


def kind_of(name: str) -> type[Scene]:
    """Return the class of a kind of panel."""
    if name not in KINDS:
        known = ", ".join(KINDS)
        raise NeurodriverError(f"no panel '{name}'{near(name, KINDS)}; there are: {known}")
    return KINDS[name]


def apply(axis: Any, artist: Any, options: dict[str, Any], fontsize: float) -> list[str]:
    """Hand options to the setters of axes and artist; return the names that none takes.

    Titles and labels get the font size.
    """
    refused = []
    # The labels of ticks belong to ticks that are set.
    for name in sorted(options, key=lambda name: name.lower().endswith("ticklabels")):
        taken = False
        for target in (axis, artist):
            setter = getattr(target, f"set_{name.lower()}", None)
            if setter is None:
                continue
            taken = True
            if name.lower() in ("title", "xlabel", "ylabel"):
                setter(options[name], fontsize=fontsize)
            else:
                setter(options[name])
            break
        if not taken:
            refused.append(name)
    return refused
