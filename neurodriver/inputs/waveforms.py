"""Inputs of given waveform: a step, a ramp, pulses."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import checked_arguments, optional
from ..circuit.uids import Who
from ..errors import CircuitWarning, InputError
from ..quantities import number_of_seconds, point_in_time, seconds
from .base import Chunk, Input, active_steps, as_numbers, check_span, values_for

Array = NDArray[np.float64]


class StepInput(Input):
    """Injects ``value`` at every step k with ``start <= k * dt < stop``, zero otherwise.

    Parameters
    ----------
    variable : str
    uids : sequence of str, Population, part of one, or Selection
    value : float or (n,) array
        In the unit of the variable.
    start, stop : float
        Seconds; compared as float64 with ``k * dt``.
    duration : float, optional
        Seconds, instead of ``stop``.
    """

    value: Array

    def __init__(
        self,
        variable: str,
        uids: Who,
        value: ArrayLike,
        start: float = 0.0,
        stop: float = np.inf,
        duration: float | None = None,
    ) -> None:
        super().__init__([(variable, uids)])
        name = f"StepInput '{variable}'"
        self.take(0, value, name, "_set", "value", name)
        self.start, self.stop = check_span(start, stop, name, duration)

    def _set(self, values: ArrayLike, attribute: str, name: str) -> None:
        setattr(self, attribute, values_for(values, self.targets[0][1], name))

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        self._table = self.value.astype(dtype)[None, :]

    def chunk(self, number: int, first: int, steps: int) -> Chunk:
        rows = np.full(steps, -1, dtype=np.int32)
        rows[slice(*active_steps(first, steps, self.dt, self.start, self.stop))] = 0
        return Chunk(self._table, rows, version=1)

    def row_bytes(self) -> int:
        return 4


class RampInput(Input):
    """Injects a value that goes linearly from one to another and stays there.

    ``start_value`` up to ``start``, ``stop_value`` from ``stop`` on.

    Parameters
    ----------
    variable : str
    uids : sequence of str, Population, part of one, or Selection
    start, duration : float
        Seconds.
    start_value, stop_value : float or (n,) array
        In the unit of the variable.
    stop : float
        Seconds; instead of ``duration``.
    start_time : float
        Old name of ``start``.
    """

    start_value: Array
    stop_value: Array

    @checked_arguments(start=optional(point_in_time), duration=optional(number_of_seconds))
    def __init__(
        self,
        variable: str,
        uids: Who,
        start: float | None = None,
        duration: float | None = None,
        start_value: ArrayLike = 0.0,
        stop_value: ArrayLike | None = None,
        *,
        stop: float | None = None,
        start_time: float | None = None,
    ) -> None:
        super().__init__([(variable, uids)])
        name = f"RampInput '{variable}'"
        if start_time is not None:
            start = _renamed_time(start, start_time, name)
        if stop_value is None:
            raise InputError(f"{name}: stop_value is missing, the value at the end of the ramp")
        self.start, self.duration = _start_and_duration(start, stop, duration, name)
        self.take(0, start_value, name, "_set", "start_value", name)
        self.take(0, stop_value, name, "_set", "stop_value", name)

    def _set(self, values: ArrayLike, attribute: str, name: str) -> None:
        setattr(self, attribute, values_for(values, self.targets[0][1], name))

    def chunk(self, number: int, first: int, steps: int) -> Chunk:
        time = np.arange(first, first + steps) * self.dt
        part = np.clip((time - self.start) / self.duration, 0.0, 1.0)[:, None]
        values = self.start_value + part * (self.stop_value - self.start_value)
        values = np.where(part < 1, values, self.stop_value)  # exactly
        return Chunk(values.astype(self.dtype), np.arange(steps, dtype=np.int32))


class PulseInput(Input):
    """Injects pulses: each one at every step k with ``start <= k * dt < stop``.

    Where pulses overlap their values add up. `PulseInput.periodic` makes equal pulses at equal
    distances.

    Parameters
    ----------
    variable : str
    uids : sequence of str, Population, part of one, or Selection
    starts, stops : sequence of float
        Seconds, one of each for every pulse; compared as float64 with ``k * dt``.
    values : float, (pulses,) or (pulses, n) array
        In the unit of the variable: one for all, one for each pulse, or one for each pulse and uid.
    """

    values: Array

    def __init__(
        self,
        variable: str,
        uids: Who,
        starts: ArrayLike,
        stops: ArrayLike,
        values: ArrayLike,
    ) -> None:
        super().__init__([(variable, uids)])
        self.name = f"PulseInput '{variable}'"
        self.starts = _times(starts, "starts", self.name)
        self.stops = _times(stops, "stops", self.name)
        count, n = len(self.starts), len(self.targets[0][1])
        if len(self.stops) != count:
            raise InputError(f"{self.name}: {count} starts, but {len(self.stops)} stops")
        late = np.flatnonzero(self.stops < self.starts)
        if len(late):
            i = late[0]
            raise InputError(
                f"{self.name}: pulse {i} stops at {self.stops[i]} s, before its start at "
                f"{self.starts[i]} s"
            )
        self.take(0, values, self.name, "_set", count, n)
        self._period: tuple[float, float, float] | None = None
        self._number: int | None = None

    @classmethod
    def periodic(
        cls,
        variable: str,
        uids: Who,
        value: ArrayLike,
        period: float,
        width: float,
        number: int | None = None,
        start: float = 0.0,
    ) -> PulseInput:
        """Return pulses that begin at ``start + j * period`` and last ``width`` seconds.

        Parameters
        ----------
        variable, uids
            As above.
        value : float or (n,) array
            In the unit of the variable.
        period, width : float
            Seconds; pulses wider than the period overlap and add up.
        number : int, optional
            How many; without end when not given.
        start : float
            Seconds.
        """
        pulses = cls(variable, uids, [], [], 0.0)
        name = pulses.name
        given = {"period": period, "width": width, "start": start}
        period, width, start = (seconds(v, f"{name}: {k}") for k, v in given.items())
        if not (0 < period < math.inf and 0 < width < math.inf and math.isfinite(start)):
            raise InputError(
                f"{name}: period and width must be positive seconds and start finite, "
                f"got {period}, {width} and {start}"
            )
        if width / period > 1e6:
            raise InputError(f"{name}: width must be at most a million periods, got {width} s")
        if number is not None and (int(number) != number or number < 0):
            raise InputError(f"{name}: number must be whole and at least 0, got {number!r}")
        pulses._period = (float(start), float(period), float(width))
        pulses._number = None if number is None else int(number)
        pulses.take(0, value, name, "_set_every")
        return pulses

    def _set(self, values: ArrayLike, count: int, n: int) -> None:
        self.values = _values(values, count, n, self.name)

    def _set_every(self, value: ArrayLike) -> None:
        self.values = values_for(value, self.targets[0][1], self.name)[None, :]

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        self._version = 0
        self._sets: tuple[tuple[int, ...], ...] | None = None
        """Pulses that are active together, for each row of the table."""

    def chunk(self, number: int, first: int, steps: int) -> Chunk:
        time = np.arange(first, first + steps) * self.dt
        numbers, starts, stops = self._near(float(time[0]), float(time[-1]))
        edges = np.unique(np.concatenate([[-np.inf], starts, stops]))  # between two: constant
        segment = np.searchsorted(edges, time, side="right") - 1
        used, which = np.unique(segment, return_inverse=True)
        active = [
            tuple(numbers[(starts <= edge) & (edge < stops)].tolist()) for edge in edges[used]
        ]
        row = {pulses: i for i, pulses in enumerate(sorted({*active} - {()}))}
        if tuple(row) != self._sets:  # equal tables keep their version: nothing is copied
            self._sets = tuple(row)
            self._version += 1
            table = np.zeros((len(row), len(self.targets[0][1])))
            for pulses, i in row.items():
                for pulse in pulses:  # one after the other
                    table[i] += self.values[pulse]
            self._table = table.astype(self.dtype)
        rows = np.array([row.get(pulses, -1) for pulses in active], dtype=np.int32)
        return Chunk(self._table, rows[which], version=self._version)

    def _near(self, begin: float, end: float) -> tuple[NDArray[np.int64], Array, Array]:
        """Return numbers, starts and stops of the pulses that touch a stretch of time."""
        starts, stops = self.starts, self.stops
        if self._period is not None:
            start, period, width = self._period
            low = max(0, math.floor((begin - start - width) / period) - 1)
            high = max(low, math.floor((end - start) / period) + 2)
            if self._number is not None:
                high = max(low, min(high, self._number))
            starts = start + np.arange(low, high, dtype=np.float64) * period
            stops = starts + width
        near = np.flatnonzero((starts <= end) & (stops > begin))
        # of equal pulses, how many are active says all
        numbers = near if self._period is None else np.zeros_like(near)
        return numbers, starts[near], stops[near]


def _renamed_time(start: float | None, start_time: float, name: str) -> float:
    """Return the start of a ramp that was given by its old name."""
    if start is not None:
        raise InputError(f"{name}: start_time is the old name of start; give start alone")
    text = f"{name}: start_time is called start now; {start_time} s is taken as start"
    warnings.warn(text, CircuitWarning, stacklevel=3)
    return start_time


def _start_and_duration(
    start: float | None, stop: float | None, duration: float | None, name: str
) -> tuple[float, float]:
    """Return start and length of a ramp, s, from its start and one of two others."""
    start, stop = seconds(start, f"{name}: start"), seconds(stop, f"{name}: stop")
    duration = seconds(duration, f"{name}: duration")
    begin = 0.0 if start is None else start
    if (stop is None) == (duration is None):
        raise InputError(f"{name}: give either stop or duration, in seconds")
    length = duration if stop is None else stop - begin
    if not np.isfinite(begin):
        raise InputError(f"{name}: start must be finite seconds, got {begin}")
    if length is None or not 0 < length < np.inf:
        what = "duration must be positive" if stop is None else f"stop must be after {begin},"
        raise InputError(f"{name}: {what} seconds, got {duration if stop is None else stop}")
    return float(begin), float(length)


def _times(times: ArrayLike, what: str, name: str) -> Array:
    """Return a list of times, (pulses,)."""
    times = seconds(times, f"{name}: {what}")
    text = f"{name}: {what} must be seconds, got {times!r:.60}"
    every = as_numbers(times, InputError(text))
    if every.ndim != 1 or np.isnan(every).any():
        raise InputError(f"{name}: {what} must be a list of seconds, got {times!r:.60}")
    return every


def _values(numbers: ArrayLike, count: int, n: int, name: str) -> Array:
    """Return the values as (pulses, n)."""
    text = f"{name}: values must be numbers, got {numbers!r:.60}"
    values = as_numbers(numbers, InputError(text))
    if values.shape == (count,):
        values = values[:, None]
    if values.shape not in ((), (count, 1), (count, n)):
        want = f"a number, {count} or {count} x {n} of them"
        raise InputError(f"{name}: values must be {want}, got shape {values.shape}")
    if not np.isfinite(values).all():
        bad = values[~np.isfinite(values)].flat[0]
        raise InputError(f"{name}: values must be finite, got {bad}")
    return np.broadcast_to(values, (count, n))
