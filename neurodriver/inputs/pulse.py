"""Several pulses of constant value."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .base import Chunk, Input, values_for

Array = NDArray[np.float64]


class PulseInput(Input):
    """Injects pulses: each one at every step k with ``start <= k * dt < stop``.

    Where pulses overlap their values add up. `PulseInput.periodic` makes equal pulses at equal
    distances.

    Parameters
    ----------
    variable : str
    uids : sequence of str
    starts, stops : sequence of float
        Seconds, one of each for every pulse; compared as float64 with ``k * dt``.
    values : float, (pulses,) or (pulses, n) array
        In the unit of the variable: one for all, one for each pulse, or one for each pulse and uid.
    """

    def __init__(
        self,
        variable: str,
        uids: Sequence[str],
        starts: ArrayLike,
        stops: ArrayLike,
        values: ArrayLike,
    ) -> None:
        super().__init__([(variable, uids)])
        self.name = f"PulseInput '{variable}'"
        self.starts, self.stops = (_times(t, n, self.name) for t, n in
                                   ((starts, "starts"), (stops, "stops")))  # fmt: skip
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
        self.values = _values(values, count, n, self.name)
        self._period: tuple[float, float, float] | None = None
        self._number: int | None = None

    @classmethod
    def periodic(
        cls,
        variable: str,
        uids: Sequence[str],
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
        made = cls(variable, uids, [], [], 0.0)
        name = made.name
        if not (0 < period < math.inf and 0 < width < math.inf and math.isfinite(start)):
            raise InputError(
                f"{name}: period and width must be positive seconds and start finite, "
                f"got {period}, {width} and {start}"
            )
        if width / period > 1e6:
            raise InputError(f"{name}: width must be at most a million periods, got {width} s")
        if number is not None and (int(number) != number or number < 0):
            raise InputError(f"{name}: number must be whole and at least 0, got {number!r}")
        made._period = (float(start), float(period), float(width))
        made._number = None if number is None else int(number)
        made.values = values_for(value, made.targets[0][1], name)[None, :]
        return made

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        self._version = 1
        self._known: tuple[tuple[int, ...], ...] = ()
        self._table = np.empty((0, len(self.targets[0][1])), dtype=dtype)

    def chunk(self, number: int, first: int, steps: int) -> Chunk:
        time = np.arange(first, first + steps) * self.dt
        numbers, starts, stops = self._near(float(time[0]), float(time[-1]))
        edges = np.unique(np.concatenate([starts, stops]))
        segment = np.searchsorted(edges, time, side="right") - 1  # constant between two edges
        used, which = np.unique(segment, return_inverse=True)
        active: list[tuple[int, ...]] = []
        for s in used.tolist():
            on = (starts <= edges[s]) & (edges[s] < stops) if s >= 0 else np.zeros(0, bool)
            active.append(tuple(numbers[np.flatnonzero(on)].tolist()))
        different = {a: i for i, a in enumerate(sorted({a for a in active if a}))}
        if tuple(different) != self._known:  # equal tables keep their version: nothing is copied
            self._known = tuple(different)
            self._version += 1
            self._table = np.empty((len(different), len(self.targets[0][1])), dtype=self.dtype)
            for pulses, row in different.items():
                self._table[row] = self._sum(pulses)
        place = np.array([different.get(a, -1) for a in active], dtype=np.int32)
        return Chunk(self._table, place[which], version=self._version)

    def _near(self, begin: float, end: float) -> tuple[NDArray[np.int64], Array, Array]:
        """Return numbers, starts and stops of the pulses that touch a stretch of time."""
        if self._period is None:
            found = np.flatnonzero((self.starts <= end) & (self.stops > begin))
            return found, self.starts[found], self.stops[found]
        start, period, width = self._period
        low = max(0, math.floor((begin - start - width) / period) - 1)
        high = max(low, math.floor((end - start) / period) + 2)
        if self._number is not None:
            high = max(low, min(high, self._number))
        starts: Array = start + np.arange(low, high, dtype=np.float64) * period
        stops: Array = starts + width
        hit = (starts <= end) & (stops > begin)
        # equal pulses: how many are active says all
        return np.zeros(int(hit.sum()), dtype=np.int64), starts[hit], stops[hit]

    def _sum(self, pulses: tuple[int, ...]) -> Array:
        """Return the sum of pulses, one after the other, (n,)."""
        total = np.zeros(len(self.targets[0][1]))
        for number in pulses:
            total = total + self.values[number]
        return total


def _times(given: ArrayLike, what: str, name: str) -> Array:
    """Return a list of times, (pulses,)."""
    try:
        times = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: {what} must be seconds, got {given!r:.60}") from None
    if times.ndim != 1 or np.isnan(times).any():
        raise InputError(f"{name}: {what} must be a list of seconds, got {given!r:.60}")
    return times


def _values(given: ArrayLike, count: int, n: int, name: str) -> Array:
    """Return the values as (pulses, n)."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: values must be numbers, got {given!r:.60}") from None
    if values.shape == (count,):
        values = values[:, None]
    if values.shape not in ((), (count, 1), (count, n)):
        want = f"a number, {count} or {count} x {n} of them"
        raise InputError(f"{name}: values must be {want}, got shape {values.shape}")
    if not np.isfinite(values).all():
        bad = values[~np.isfinite(values)].flat[0]
        raise InputError(f"{name}: values must be finite, got {bad}")
    return np.broadcast_to(values, (count, n))
