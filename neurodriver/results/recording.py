"""A recording -> variables by name and uid, times in seconds, spikes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..arguments import checked_arguments, optional, text, texts
from ..errors import RecordingError, near
from ..model.kinds import SPIKES
from .events import Events, nonzero
from .exports import RecordingExports
from .labels import RecordingLabels
from .sampling import sample_times
from .sources import FileSource, RecordingSource, StoredVariable
from .spikes import SpikeEvents, TimeAxis
from .tables import recording_html, recording_text
from .variable import Times, Variable


class OpenRecording:
    """What can be read as long as its source is open; a context manager."""

    _source: Any

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a recording in memory is left alone."""
        self._source.close()

    @property
    def is_open(self) -> bool:
        """Whether values can be read."""
        return bool(self._source.is_open)

    @property
    def complete(self) -> bool:
        """False if the run was killed or still goes on."""
        return bool(self._source.complete)


class Recording(OpenRecording, RecordingLabels, RecordingExports):
    """A recording of a file or of a recorder; a context manager.

    ``recording.V`` and ``recording["V"]`` are a `Variable`, ``recording.spike_state`` mostly
    `Events`; nothing is read before it is asked for. Of a run that was killed or still goes on,
    only the valid rows and events are shown.

    Parameters
    ----------
    source : path or RecordingSource
        The file, or what a recorder holds.
    group : str
        Where in the file the recording is; links to other files are followed.
    dt : float, optional
        Time step, s, of a file without it; where both have one, this one counts.
    sample_interval : int, optional
        Steps per row, likewise.
    start_time : float, optional
        Time of the first row, s; by default that at which it was taken.

    Attributes
    ----------
    path : Path or None
        The file; None if the recording is in memory.
    name : str
        What messages call the recording: the file, or the recorder.
    variables : tuple of str
        What was recorded.
    attributes : dict
        ``dt``, ``start_time``, ``sample_interval``, and where the recording comes from.
    dt : float
        Time step, s.
    sample_interval : int
        Steps per row.

    Examples
    --------
    >>> with neurodriver.open("run.h5") as recording:  # doctest: +SKIP
    ...     potential = recording.V["n0"].between(0.1, 0.2)[:]  # (rows,), mV
    ...     spikes = recording.spikes()["n0"]  # s
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | RecordingSource,
        *,
        group: str = "/",
        dt: float | None = None,
        sample_interval: int | None = None,
        start_time: float | None = None,
    ) -> None:
        self._source: Any = (
            FileSource(source, group) if isinstance(source, str | os.PathLike) else source
        )
        self.path: Path | None = self._source.path
        self.name: str = self._source.name
        self._overrides = {"dt": dt, "sample_interval": sample_interval}
        self._start = start_time
        try:
            self._read_header()
        except BaseException:
            self._source.close()
            raise

    def _read_header(self) -> None:
        self.variables: tuple[str, ...] = tuple(self._source.variables)
        if not self.variables:
            several = getattr(self._source, "several", None)
            if several:
                raise RecordingError(
                    f"{self.name}: holds several recordings; choose one with group=: "
                    f"{', '.join(several)}"
                )
            raise RecordingError(f"{self.name}: holds no variable (a group with 'data' and 'uids')")
        self.attributes: dict[str, Any] = dict(self._source.attributes)
        self.attributes |= {k: v for k, v in self._overrides.items() if v is not None}
        if "dt" not in self.attributes:
            raise RecordingError(
                f"{self.name}: attribute 'dt' of 'metadata' is missing; "
                "tell the time step: neurodriver.open(path, dt=...)"
            )
        try:
            self.dt = float(self.attributes["dt"])
            self.sample_interval = int(self.attributes.get("sample_interval", 1))
        except (TypeError, ValueError, OverflowError):
            got = {k: self.attributes.get(k) for k in ("dt", "sample_interval")}
            raise RecordingError(
                f"{self.name}: dt and sample_interval have to be numbers, got {got!r:.100}"
            ) from None
        if not (0 < self.dt < math.inf and self.sample_interval > 0):
            raise RecordingError(
                f"{self.name}: dt and sample_interval have to be positive, "
                f"got {self.dt:g} s and {self.sample_interval}"
            )

    def __getitem__(self, variable: str) -> Variable | Events:
        population, _, name = str(variable).rpartition(".")
        if population and variable not in self.variables and name in self.variables:
            found = self[name]
            part: Variable | Events = found[
                variable if variable in found.populations else population
            ]
            return part
        events = self.is_events(variable)
        return self.as_events(variable) if events else self.data(variable)

    def __getattr__(self, name: str) -> Any:
        held = () if name.startswith("_") or "variables" not in vars(self) else tuple(self)
        if name not in held:
            kind = type(self).__name__
            say = f"{kind} has no variable or attribute {name!r}{near(name, held)}"
            raise AttributeError(say + (f"; recorded: {', '.join(held)}" if held else ""))
        return self[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self if name.isidentifier())})

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __contains__(self, variable: object) -> bool:
        return variable in self.variables

    def __repr__(self) -> str:
        return recording_text(self)

    def _repr_html_(self) -> str:
        return recording_html(self)

    @property
    def duration(self) -> float:
        """Time simulated, s; the last thing recorded ends it."""
        ends = [0.0]
        for variable in self.variables:
            steps = self._stored(variable).steps
            if steps is not None:
                ends.append(steps * self.dt)
                continue
            part = self[variable]
            last = part.times(len(part) - 1, len(part)) if len(part) else ()
            ends += [float(time) + self.dt for time in last]
        return max(ends)

    def is_events(self, variable: str) -> bool:
        """Return whether a variable is stored as events instead of rows."""
        return self._stored(variable).events

    @property
    def time(self) -> TimeAxis:
        """Times of the rows, (rows,) float64, s; ``recording.time("V")`` are those of a variable.

        It is that of the first variable stored as rows, and empty if there is none.

        Files of older programs hold no times. There, row j of an output is step
        ``(j + 1) * s - 1`` and row j of a recorded input (no ``start_time``) step ``j * s``, with
        sample interval s; that is when the values were taken, whatever ``start_time`` says.
        """
        rows = (variable for variable in self.variables if not self.is_events(variable))
        first = next(rows, None)
        axis = (np.empty(0) if first is None else self.data(first).time).view(TimeAxis)
        axis._recording = self
        return axis

    @checked_arguments(variable=text, uids=optional(texts))
    def data(self, variable: str, uids: str | Sequence[str] | None = None) -> Variable:
        """Return the rows of a variable; they are read when they are sliced.

        Parameters
        ----------
        variable : str
            A variable stored as rows.
        uids : str or sequence of str, optional
            The components or populations, in the order wanted; all by default.
        """
        stored = self._stored(variable)
        if stored.events:
            raise RecordingError(f"{self.name}: '{variable}' is stored as events; use spikes()")
        dataset = stored.data
        if dataset.ndim != 2:
            raise RecordingError(
                f"{self.name}: '{variable}/data' has {dataset.ndim} axes, 2 are needed: rows, uids"
            )
        labels = self._labels(variable)
        width, named = dataset.shape[1], len(labels.uids)
        if width != named:
            raise RecordingError(f"{self.name}: '{variable}' has {width} columns and {named} uids")
        rows = dataset.shape[0] if stored.count is None else stored.count
        self._check_count(variable, rows, dataset.shape[0])
        columns = None if uids is None else labels.columns(uids)
        if columns is not None and np.array_equal(columns, np.arange(width)):
            columns = None  # all of them: no need to pick
        return Variable(dataset, labels, self._times(stored), rows, columns)

    @checked_arguments(variable=text)
    def as_events(self, variable: str = SPIKES) -> Events:
        """Return a variable as events; what is stored as rows is searched for values not zero."""
        stored, labels = self._stored(variable), self._labels(variable)
        if not stored.events:  # older files, and recorded inputs
            rows = self.data(variable)
            time, index = nonzero(rows, rows.times)
            return Events(time, index, labels, len(time))
        data = stored.data
        missing = [part for part in ("time", "index") if part not in data]
        if missing:
            raise RecordingError(f"{self.name}: '{variable}/data/{missing[0]}' is missing")
        count = len(data["time"]) if stored.count is None else stored.count
        self._check_count(variable, count, min(len(data["time"]), len(data["index"])))
        return Events(data["time"], data["index"], labels, count)

    def _check_count(self, variable: str, valid: int, held: int) -> None:
        if not 0 <= valid <= held:
            say = f"{valid:,} rows or events are said to be valid, but there are {held:,}"
            raise RecordingError(f"{self.name}: '{variable}' is damaged: {say}")

    def events(
        self, variable: str = SPIKES
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
        """Return the events of a variable: times (m,) float64 s, and columns (m,) int32."""
        return self.as_events(variable).read()

    @property
    def spikes(self) -> SpikeEvents:
        """The events of ``spike_state``; ``recording.spikes()`` is a dict of uid -> times, s."""
        return SpikeEvents(self)

    def _stored(self, variable: str) -> StoredVariable:
        if variable not in self.variables:
            raise RecordingError(
                f"{self.name}: no variable '{variable}'{near(variable, self.variables)}; "
                f"recorded: {', '.join(self.variables)}"
            )
        if not self.is_open:
            raise RecordingError(f"{self.name}: the recording is closed; open it again")
        stored: StoredVariable = self._source.variable(variable)
        return stored

    def dataset(self, variable: str) -> Any:
        """Return what holds a variable: a data set or array, or a group or mapping of events."""
        return self._stored(variable).data

    def _times(self, stored: StoredVariable) -> Times:
        """Return the function that gives the times of rows."""
        step, start = self.sample_interval * self.dt, self._start
        if start is None and (times := stored.times) is not None:
            return times
        if start is None and "start_time" in self.attributes:
            s, dt = self.sample_interval, self.dt
            return lambda low, high: sample_times(low, high - low, s, dt)
        begin = start or 0.0
        return lambda low, high: begin + np.arange(low, high, dtype=np.float64) * step
