"""A signal -> a panel of a movie: what it shows follows the time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import NeurodriverError, near
from .signals import Array, Signal, Spikes, as_signal, as_spikes
from .style import COLOURS, short
from .thinning import MOST_POINTS, extremes

NAMED = 8
"""Components whose names a panel shows; names of more would lie on each other."""

DOME = 60
"""Points of a dome along each of its two angles."""


class Scene(ABC):
    """A panel of a movie: axes that show one signal, or two for ``hsv`` and ``quiver``.

    Options named in ``takes`` are taken out; the rest is for the setters of matplotlib. ``start``
    and ``stop`` are the first and the last time that the panel can show, s.
    """

    sources_needed = 1
    takes: tuple[str, ...] = ()
    projection: str | None = None
    over_time = False  # time runs along the horizontal axis
    read: Callable[[Any], Any] = staticmethod(as_signal)
    artist: Any = None  # whose setters options may name; None if there is no single one

    def __init__(self, axis: Any, sources: Sequence[Any], options: dict[str, Any]) -> None:
        if len(sources) != self.sources_needed:
            raise NeurodriverError(
                f"{type(self).__name__.lower()}: {self.sources_needed} lists of components "
                f"needed, got {len(sources)}"
            )
        self.axis = axis
        self.options = {name: options.pop(name) for name in self.takes if name in options}
        self.sources = [self.read(source) for source in sources]
        self.start = min(source.start for source in self.sources)
        self.stop = max(source.stop for source in self.sources)
        self.make()

    @property
    def signal(self) -> Signal:
        """The first source."""
        signal: Signal = self.sources[0]
        return signal

    @abstractmethod
    def make(self) -> None:
        """Make the artists."""

    @abstractmethod
    def show(self, time: float) -> None:
        """Show a time, s; times come in ascending order or anew from the beginning."""

    def values_upwards(self, xlabel: str) -> None:
        """Let the vertical axis hold all values of the signal."""
        low, high = self.signal.limits()
        margin = 0.05 * (high - low) or 1.0
        self.axis.set_ylim(low - margin, high + margin)
        self.axis.set(xlabel=xlabel, ylabel=self.signal.label)


class Waveform(Scene):
    """One line per component that grows with time.

    Spikes survive: of long recordings, minimum and maximum of each stretch are drawn.
    """

    takes = ("fmt",)
    over_time = True

    def make(self) -> None:
        self.width = max(1, -(-2 * len(self.signal.values) // MOST_POINTS))
        self.lines = []
        for i in range(self.signal.count):
            style = [self.options["fmt"]] if self.options.get("fmt") else []
            colour = {} if style else {"color": COLOURS[i % len(COLOURS)]}
            self.lines += self.axis.plot([], [], *style, linewidth=1.1, **colour)
        self.artist = self.lines[0] if len(self.lines) == 1 else None
        self.values_upwards("time (s)")
        names = [short(uid) for uid in self.signal.names]
        if 1 < len(names) <= NAMED:
            beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False}
            self.axis.legend(self.lines, names, handlelength=1.2, **beside)
        self._begin()

    def _begin(self) -> None:
        self.rows = 0
        self.thinned: list[Array] = [np.empty((0, self.signal.count))]

    def show(self, time: float) -> None:
        signal, width = self.signal, self.width
        end = signal.row_at(time) + 1 if time > signal.start - signal.step / 2 else 0
        if end < self.rows:
            self._begin()
        whole = end - end % width
        if whole > self.rows:
            self.thinned.append(extremes(signal.values, width, self.rows, whole))
            self.rows = whole
        rest = [extremes(signal.values, width, whole, end)] if end > whole else []
        values = np.concatenate(self.thinned + rest)
        stretch = np.arange(len(values)) // min(width, 2)  # of two values, where it is thinned
        times = signal.start + stretch * width * signal.step
        for column, line in enumerate(self.lines):
            line.set_data(times, values[:, column])


class ProfileScene(Scene):
    """The values of all components at a time, over their number."""

    takes = ("fmt",)

    def make(self) -> None:
        style = [self.options["fmt"]] if self.options.get("fmt") else []
        count = self.signal.count
        (self.artist,) = self.axis.plot(np.arange(count), np.zeros(count), *style)
        self.values_upwards("component")

    def show(self, time: float) -> None:
        self.artist.set_ydata(self.signal.at(time))


class Raster(Scene):
    """A mark per spike up to the time shown; component i lies at height i + 1."""

    over_time = True
    read = staticmethod(as_spikes)

    def make(self) -> None:
        count = self.signal.count
        height = 0.55 * 72 * self.axis.get_position().height
        height *= self.axis.figure.get_size_inches()[1] / max(1, count)
        size = float(np.clip(height, 0.8, 14))
        (self.artist,) = self.axis.plot([], [], "|", color="#222222", markersize=size)
        self.axis.set_ylim(0.5, count + 0.5)
        self.axis.set(xlabel="time (s)", ylabel="components", yticks=[])
        names = [short(uid) for uid in self.signal.names]
        if len(names) <= NAMED and names:
            self.axis.set_yticks(range(1, count + 1), names)
            self.axis.set_ylabel("")

    def show(self, time: float) -> None:
        spikes: Spikes = self.sources[0]
        # Times are multiples of dt with rounding errors.
        end = np.searchsorted(spikes.time, time + 1e-9 * (1 + abs(time)), side="right")
        self.artist.set_data(spikes.time[:end], spikes.index[:end] + 1)


class Grid(Scene):
    """What the panels of components on a grid have in common."""

    takes: tuple[str, ...] = ("shape",)

    def make(self) -> None:
        self.shape = self._shape()
        counts = [signal.count for signal in self.sources]
        if len(set(counts)) > 1:
            raise NeurodriverError(f"as many components in both lists needed, got {counts}")
        self.axis.set_xticks([])
        self.axis.set_yticks([])
        self.draw()

    def _shape(self) -> tuple[int, int]:
        """Return rows and columns of the grid: those of the option, or nearly square."""
        count = self.signal.count
        if "shape" in self.options:
            rows, columns = (int(n) for n in self.options["shape"])
            if rows * columns != count:
                raise NeurodriverError(
                    f"shape {rows} x {columns} has {rows * columns} places for {count} components"
                )
            return rows, columns
        rows = int(np.ceil(np.sqrt(count)))
        return rows, -(-count // rows)

    @abstractmethod
    def draw(self) -> None:
        """Make the artist."""

    def grids(self, time: float) -> list[Array]:
        """Return the values of each source at a time, row by row; NaN in places left over."""
        rows, columns = self.shape
        out = []
        for signal in self.sources:
            full = np.full(rows * columns, np.nan)
            full[: signal.count] = signal.at(time)
            out.append(full.reshape(rows, columns))
        return out

    def largest(self) -> float:
        """Return a bound of the magnitude of two components, 1 if all is zero."""
        x, y = (max(abs(end) for end in signal.limits()) for signal in self.sources)
        return float(np.hypot(x, y)) or 1.0


class Image(Grid):
    """A pixel per component, its value in grey; ``trans`` swaps rows and columns."""

    takes: tuple[str, ...] = ("shape", "clim", "trans")

    def draw(self) -> None:
        low, high = self.options.get("clim") or self.signal.limits()
        picture, style = self.picture(self.start), {"cmap": "gist_gray", "interpolation": "nearest"}
        self.artist = self.axis.imshow(picture, vmin=low, vmax=high, **style)

    def picture(self, time: float) -> Array:
        """Return the pixels of a time."""
        (values,) = self.grids(time)
        return values.T if self.options.get("trans") else values

    def show(self, time: float) -> None:
        self.artist.set_data(self.picture(time))


class HSV(Image):
    """A pixel per pair (x, y): hue is the angle, brightness the magnitude over ``top``."""

    sources_needed = 2
    takes = ("shape", "top")

    def draw(self) -> None:
        self.top = float(self.options.get("top") or self.largest())
        self.artist = self.axis.imshow(self.picture(self.start), interpolation="nearest")

    def picture(self, time: float) -> Array:
        from matplotlib.colors import hsv_to_rgb

        x, y = self.grids(time)
        hue = (np.arctan2(x, y) + np.pi) / (2 * np.pi)
        value = np.clip(np.hypot(x, y) / self.top, 0, 1)
        picture = np.stack([hue, np.ones_like(hue), value], axis=2)
        return np.asarray(hsv_to_rgb(np.nan_to_num(picture)))


class Quiver(Grid):
    """An arrow per pair (x, y); the longest possible one fills a place of the grid."""

    sources_needed = 2
    takes = ("shape", "scale")

    def draw(self) -> None:
        scale = self.options.get("scale") or self.largest()
        rows, columns = self.shape
        self.axis.set_xlim(-1, columns)
        self.axis.set_ylim(-1, rows)
        self.axis.set_aspect("equal")
        self.artist = self.axis.quiver(*self.grids(self.start), scale=scale, scale_units="x")

    def show(self, time: float) -> None:
        self.artist.set_UVC(*self.grids(time))


class Dome(Scene):
    """Values on a half sphere; each of its points shows the nearest component in grey.

    ``lat`` is the angle from the top and ``long`` that around it, radians, one for each component;
    ``norm`` is a pair of values for black and white, a `matplotlib.colors.Normalize`, or "auto".
    """

    takes = ("lat", "long", "norm")
    projection = "3d"

    def make(self) -> None:
        if missing := [name for name in ("lat", "long") if name not in self.options]:
            raise NeurodriverError(f"dome: '{missing[0]}' is missing, an angle per component")
        places = self._places(self.signal.count)
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

    read = staticmethod(lambda source: Spikes(np.empty(0), np.empty(0), 0, 0.0, 0.0))

    def make(self) -> None:
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
        small = name.lower()
        setters = (getattr(target, f"set_{small}", None) for target in (axis, artist))
        setter = next((one for one in setters if one is not None), None)
        if setter is None:
            refused.append(name)
        else:
            size = {"fontsize": fontsize} if small in ("title", "xlabel", "ylabel") else {}
            setter(options[name], **size)
    return refused
