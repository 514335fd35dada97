"""The old ``visualizer``: recordings -> a movie or its last frame, on top of `neurodriver.Movie`.

What differs from the old class, and why:

* rasters are drawn from spikes in either form, events or rows;
* times are those at which values were taken, also with a sample interval above one;
* there is one frame per update; the old class wrote the first one twice;
* ``avconv`` is gone from matplotlib: ``FFMpeg = False`` uses ffmpeg as well. Without ffmpeg, a
  GIF with the name of the movie is written, with a warning; with ``FFMpeg = True`` it is an error;
* a codec that ffmpeg lacks, or that does not go into the kind of file, is replaced, with a
  warning;
* an option that no setter of matplotlib takes gives a warning; it was passed over in silence.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, NeurodriverError, near
from ..plot.encode import find_ffmpeg
from ..plot.movie import Movie
from ..plot.signals import Signal, Spikes
from ..results import Events, Recording, Variable

KINDS = ("waveform", "raster", "image", "hsv", "quiver", "dome", "rate")
OWN = ("type", "variable", "uids", "ids", "imlim")
"""Keys of a configuration that are no options of panels."""

Limits = Sequence[float]


class _Settings:
    """The attributes of a `visualizer` that scripts set."""

    def __init__(self) -> None:
        self.xlim: Limits = [0, 1]
        self.ylim: Limits = [-1, 1]
        self.imlim: Limits = [-1, 1]
        self.rows = 0
        self.cols = 0
        self.fontsize: float = 18
        self.suptitle: str | None = None
        self.FFMpeg: bool | None = None
        self.dt: float | None = None
        self._update_interval: float | None = -1
        self._out_file: str | None = None
        self._fps = 5
        self._codec = "libtheora"
        self._figsize = (16, 9)

    @property
    def update_interval(self) -> float | None:
        """Simulated time between frames, s."""
        return self._update_interval

    @update_interval.setter
    def update_interval(self, value: float | None) -> None:
        self._update_interval = value

    @property
    def out_filename(self) -> str | None:
        """The movie."""
        return self._out_file

    @out_filename.setter
    def out_filename(self, value: str) -> None:
        self._out_file = _checked("out_filename", value, str)

    @property
    def fps(self) -> int:
        """Frames a second."""
        return self._fps

    @fps.setter
    def fps(self, value: int) -> None:
        self._fps = _checked("fps", value, int)

    @property
    def codec(self) -> str:
        """Encoder of ffmpeg."""
        return self._codec

    @codec.setter
    def codec(self, value: str) -> None:
        self._codec = _checked("codec", value, str)

    @property
    def figsize(self) -> tuple[float, float]:
        """Width and height, inches."""
        return self._figsize

    @figsize.setter
    def figsize(self, value: tuple[float, float]) -> None:
        self._figsize = _checked("figsize", value, tuple)


class visualizer(_Settings):
    """Draws the recordings of LPUs: waveforms, rasters, images, vectors, domes.

    Attributes
    ----------
    xlim, ylim, imlim : pair of float
        Limits of waveforms and of the grey values of images, where a plot does not tell its own:
        [0, 1], [-1, 1] and [-1, 1].
    update_interval : float or None
        Simulated time between frames, s; -1: fifty rows; None or 0: only the last frame.
    out_filename : str or None
        The movie.
    fps, codec, FFMpeg
        Frames a second (5), encoder ("libtheora"), True to insist on ffmpeg.
    rows, cols : int
        Layout; 0 for a grid that is nearly square.
    figsize, fontsize, suptitle
        Size in inches (16, 9), points (18), text above the plots.
    dt : float or None
        Time step of input files that do not tell theirs. With it, an ``update_interval`` beyond
        the end of the recording counts steps, as in old scripts that set 50.

    Examples
    --------
    >>> V = visualizer()
    >>> V.add_LPU("retina_output.h5", "retina")  # doctest: +SKIP
    >>> V.add_plot({"type": "raster", "variable": "spike_state"}, "retina")  # doctest: +SKIP
    >>> V.out_filename = "retina.mp4"
    >>> V.run("last.png")  # doctest: +SKIP
    """

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[str, dict[str, Any]] = {}
        self._config: dict[str, list[dict[str, Any]]] = {}

    def add_LPU(
        self,
        data_file: str | os.PathLike[str],
        LPU: str = "",
        win: Any = None,
        is_input: bool = False,
        gexf_file: str | None = None,
        sample_interval: int = 1,
        start_time: float = 0,
        dt: float = 1e-4,
        transpose_axes: Sequence[int] = (1, 0),
    ) -> None:
        """Add the recording of an LPU, or its input.

        Parameters
        ----------
        data_file : path
            A recording, or an input file.
        LPU : str
            Name for `add_plot`; that of an input becomes ``'input_' + LPU``.
        win : slice or sequence of int, optional
            Rows to show; without gaps. Their times begin at ``start_time``.
        is_input : bool
            The file is an input: row r is step r.
        gexf_file : str, optional
            Not needed any more.
        sample_interval, start_time, dt
            Of an input file, as far as the file does not tell them.
        transpose_axes : pair of int
            (1, 0): a row per time, as all programs write it; (0, 1): a row per component.
        """
        name = f"input_{LPU}" if is_input else str(LPU)
        if sorted(transpose_axes) != [0, 1]:
            raise InputError(f"transpose_axes: [1, 0] or [0, 1] needed, got {transpose_axes}")
        self._files[name] = {
            "path": Path(data_file),
            "win": win,
            "is_input": is_input,
            "told": {"sample_interval": sample_interval, "dt": dt},
            "start_time": start_time,
            "turned": list(transpose_axes) == [0, 1],
        }
        self._config.setdefault(name, [])
        with self._open(name):
            pass  # a file that cannot be read is told here, with its name

    def add_plot(self, config_dict: dict[str, Any], LPU: str) -> None:
        """Add a plot.

        Parameters
        ----------
        config_dict : dict
            ``type``: waveform, raster, image, hsv, quiver, dome, or rate (an empty place);
            ``variable``; ``uids``: a list with one list of uids, two for hsv and quiver, all when
            absent; ``shape``, ``clim``, ``imlim``, ``fmt``, ``trans``, ``norm``, ``lat``,
            ``long``; ``title``, ``xlim``, ``ylim``, ``yticks`` and any other setter of matplotlib.
        LPU : str
            Name of the recording.

        Raises
        ------
        InputError
            For an LPU that was not added, an unknown type, or a missing variable.
        """
        if LPU not in self._files:
            known = ", ".join(self._files) or "none"
            raise InputError(f"no LPU '{LPU}'{near(LPU, self._files)}; added: {known}")
        config = dict(config_dict)
        if "variable" not in config:
            raise InputError(f"plot of '{LPU}': 'variable' is missing")
        kind = str(config.setdefault("type", "image" if LPU.startswith("input_") else "waveform"))
        config["type"] = kind.lower()
        if config["type"] not in KINDS:
            raise InputError(
                f"plot of '{LPU}': type '{kind}'{near(kind, KINDS)}; there are: {', '.join(KINDS)}"
            )
        pairs = 2 if config["type"] in ("hsv", "quiver") else 1
        if "uids" in config:
            config["uids"] = _lists(config["uids"])
            if len(config["uids"]) != pairs:
                raise InputError(
                    f"plot of '{LPU}': {kind} needs {pairs} list(s) of uids, "
                    f"got {len(config['uids'])}"
                )
        elif pairs == 2:
            raise InputError(f"plot of '{LPU}': {kind} needs 'uids', two lists of them")
        plain = LPU.removeprefix("input_")
        config.setdefault("title", f"{plain} - Input" if LPU.startswith("input_") else LPU)
        self._config[LPU].append(config)

    def run(self, final_frame_name: str | None = None, dpi: float = 300) -> None:
        """Draw; write the movie, and the last frame if it has a name.

        Parameters
        ----------
        final_frame_name : str, optional
            Picture of the last frame.
        dpi : float
            Its pixels per inch.

        Raises
        ------
        NeurodriverError
            When there is nothing to write, and for everything that cannot be drawn or written.
        """
        if not (self.out_filename or final_frame_name):
            raise NeurodriverError(
                "nothing to write: set out_filename for a movie, or call run(final_frame_name)"
            )
        opened = {name: self._open(name) for name, plots in self._config.items() if plots}
        try:
            movie, stop, step = self._movie(opened)
            interval = self._interval(stop, step)
            times = movie.times(interval, 0.0, stop) if interval else np.array([stop])
            if self.out_filename:
                path = self._movie_path()
                first = float(times[0])
                movie.save(path, interval, self._fps, self._known_codec(path), 80, first, stop)
            if final_frame_name is not None:
                movie.save_frame(final_frame_name, float(times[-1]), dpi)
        finally:
            for recording in opened.values():
                recording.close()

    def _movie(self, opened: dict[str, Recording]) -> tuple[Movie, float, float]:
        """Return the movie, the time that all recordings reach, and the largest step, s."""
        movie = _Lenient(
            self.rows or None, self.cols or None, self._figsize, self.fontsize, clock=False
        )
        movie.title = self.suptitle
        stops, steps = [], []
        for name, recording in opened.items():
            for config in self._config[name]:
                sources = self._sources(name, recording, config)
                kind, options = self._options(config, sources)
                movie.add(sources, kind, **options)
                stops += [s.stop for s in sources if not isinstance(s, Spikes)]
            steps.append(recording.dt * recording.sample_interval)
            if not stops:
                stops.append(recording.duration - recording.dt)
        return movie, min(stops, default=0.0), max(steps, default=0.0)

    def _options(self, config: dict[str, Any], sources: Sequence[Any]) -> tuple[str, Any]:
        """Return the kind of panel and its options, with the limits of this class."""
        kind = config["type"]
        options = {key: value for key, value in config.items() if key.lower() not in OWN}
        if kind == "waveform":
            if sources[0].values.shape[1] > 1:
                kind = "profile"
                options.setdefault("xlim", [0, sources[0].values.shape[1] - 1])
            options = {"xlim": self.xlim, "ylim": self.ylim, **options}
        elif kind == "image":
            options.setdefault("clim", config.get("imlim", self.imlim))
        elif kind == "hsv":
            options.setdefault("top", options.pop("clim", self.imlim)[1])
        elif kind == "dome":
            norm = options.setdefault("norm", [-70, 0])
            options["norm"] = None if isinstance(norm, str) else norm
        elif kind == "rate":
            kind = "blank"
        return kind, options

    def _sources(self, name: str, recording: Recording, config: dict[str, Any]) -> list[Any]:
        """Return what a plot shows, one for each list of uids."""
        variable, kind = config["variable"], config["type"]
        file = self._files[name]
        lists: list[Any] = config.get("uids", [None])
        if recording.is_events(variable):
            if kind not in ("raster", "rate"):
                raise InputError(
                    f"{recording.path}: '{variable}' is recorded as events; draw a raster"
                )
            events = recording.as_events(variable)
            end = recording.duration
            return [_spikes(events, uids, file["win"], recording.dt, end) for uids in lists]
        if file["turned"]:
            return [_turned(recording, variable, uids, file["win"]) for uids in lists]
        return [_signal(recording.data(variable, uids), file["win"]) for uids in lists]

    def _open(self, name: str) -> Recording:
        """Open a file; what an input file does not tell is what `add_LPU` was told."""
        file = self._files[name]
        if not file["is_input"]:
            return Recording(file["path"])
        told = dict(file["told"])
        if self.dt is not None and told["dt"] == 1e-4:
            told["dt"] = self.dt
        try:
            recording = Recording(file["path"])
        except NeurodriverError:
            return Recording(file["path"], **told, start_time=file["start_time"])
        return recording

    def _interval(self, stop: float, step: float) -> float | None:
        """Return the time between frames, s; None for the last frame alone."""
        interval = self._update_interval
        if not interval:
            return None
        if interval == -1:
            return 50 * step
        if self.dt is not None and interval > stop:
            return interval * self.dt
        return interval

    def _movie_path(self) -> Path:
        """Return the file to write: a GIF if there is no ffmpeg."""
        path = Path(str(self.out_filename))
        if path.suffix.lower() == ".gif" or find_ffmpeg() is not None:
            return path
        if self.FFMpeg:
            raise NeurodriverError(f"{path}: cannot find ffmpeg, and FFMpeg is True")
        instead = path.with_suffix(".gif")
        warnings.warn(f"{path}: cannot find ffmpeg; written: {instead}", stacklevel=3)
        return instead

    def _known_codec(self, path: Path) -> str | None:
        # The default was chosen by nobody: no warning when another one fits better.
        default = self._codec == "libtheora" and path.suffix.lower() not in (".ogv", ".ogg")
        return None if default else self._codec


class _Lenient(Movie):
    """A movie that warns of options that nothing takes."""

    def check(self, refused: list[str]) -> None:
        for name in dict.fromkeys(refused):
            warnings.warn(f"no setter of matplotlib takes '{name}'; passed over", stacklevel=2)


def _checked(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise InputError(f"{name}: {kind.__name__} needed, got {value!r}")
    return value


def _lists(uids: Any) -> list[list[str]]:
    """Return uids as lists of lists of text; one list alone, or one uid, is the first."""
    if isinstance(uids, (str, bytes)) or not hasattr(uids, "__iter__"):
        uids = [uids]
    items = list(uids.values()) if isinstance(uids, dict) else list(uids)
    nested = [i for i in items if hasattr(i, "__iter__") and not isinstance(i, (str, bytes))]
    lists = [list(i) for i in nested] if len(nested) == len(items) else [items]
    return [[u.decode() if isinstance(u, bytes) else str(u) for u in one] for one in lists]


def _window(win: Any, count: int) -> slice:
    """Return the rows of a window as a slice without steps."""
    if win is None:
        return slice(0, count)
    rows = range(count)[win] if isinstance(win, slice) else np.arange(count)[np.asarray(win)]
    if len(rows) == 0 or (np.diff(rows) != 1).any():
        raise InputError(f"win: rows without gaps, in order, are needed, got {win!r}")
    return slice(int(rows[0]), int(rows[-1]) + 1)


def _signal(variable: Variable, win: Any) -> Signal:
    if not len(variable):
        raise InputError(f"'{variable.name}': no rows to show")
    start = float(variable.times(0, 1)[0])
    rows = _window(win, len(variable))
    values = variable.rows(rows.start, rows.stop) if win is not None else variable
    return Signal(values, start, variable.dt)


def _turned(recording: Recording, variable: str, uids: Any, win: Any) -> Signal:
    """Return a variable whose file has a row per component."""
    dataset = recording.dataset(variable)
    names = recording.uids(variable)
    if dataset.shape[0] != len(names):
        raise InputError(
            f"{recording.path}: '{variable}' has {dataset.shape[0]} rows and {len(names)} uids; "
            "transpose_axes=[0, 1] is for a row per component"
        )
    missing = [uid for uid in uids or () if uid not in names]
    if missing:
        raise InputError(f"{recording.path}: no uid '{missing[0]}'{near(missing[0], names)}")
    columns = [names.index(uid) for uid in uids] if uids is not None else list(range(len(names)))
    values = np.asarray(dataset[:, _window(win, dataset.shape[1])])[columns].T
    return Signal(values, 0.0, recording.dt * recording.sample_interval)


def _spikes(events: Events, uids: Any, win: Any, dt: float, end: float) -> Spikes:
    """Return events; a window counts steps and begins at zero."""
    if uids is not None:
        events = events[uids]
    if win is None:
        time, index = events.read()
        return Spikes(time, index, len(events.uids), 0.0, max(end - dt, 0.0))
    steps = _window(win, max(1, round(end / dt)))
    time, index = events.between(steps.start * dt, steps.stop * dt).read()
    last = (steps.stop - steps.start - 1) * dt
    return Spikes(time - steps.start * dt, index, len(events.uids), 0.0, last)
