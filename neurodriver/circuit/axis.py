"""Axes: named dimensions of a population, with positions, and look-ups of cells by position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError
from .numbers import real, whole

TIE = 2.0**-20
"""Share of the step within which two distances are equal."""

FAR = 2.0**40
"""Steps of an axis beyond which a radius reaches no further."""

LONGEST = 2**31 - 1
"""Most cells of an axis."""

Numbers = NDArray[np.int64]
Places = NDArray[np.float64]


@dataclass(frozen=True)
class AxisRun:
    """Neighbouring cells of an axis that a look-up found.

    Attributes
    ----------
    first, last : int
        First and last index; they may lie beyond the ends of the axis. ``last`` is less than
        ``first`` where there is no cell.
    valid : range
        The indices that exist. On a closed axis they are modulo the number of cells.
    """

    first: int
    last: int
    valid: range

    @property
    def complete(self) -> bool:
        """Whether all of the run exists."""
        return len(self.valid) == self.last - self.first + 1


@dataclass(frozen=True, eq=False, init=False)
class Axis:
    """A named dimension of a population.

    ``Axis(8)`` is a row of 8 cells without positions. `span`, `regular` and `at` give positions.

    Parameters
    ----------
    count : int
        Number of cells.

    Attributes
    ----------
    positions : (count,) float64 or None
        Positions in ascending order.
    step : float or None
        Distance between neighbours, the mean one where they differ.
    period : float or None
        Length of a closed axis, after which it begins again.

    Raises
    ------
    CircuitError
        Where the count is no whole number, at least 1.

    Examples
    --------
    >>> y = Axis.span(64, 0, 1)
    >>> y.near(0.02, 11).valid
    range(0, 7)
    """

    count: int
    positions: Places | None
    step: float | None
    period: float | None

    def __init__(self, count: int) -> None:
        self._set(_count(count), None, None, None)

    @classmethod
    def span(cls, count: int, low: float, high: float, period: float | None = None) -> Axis:
        """Return cells side by side that fill [low, high]."""
        _count(count)
        _finite({"low": low, "high": high})
        if not high > low:
            raise CircuitError(f"axis: 'high' must be above 'low' (got {low!r} and {high!r})")
        step = (high - low) / count
        return cls.regular(count, low + 0.5 * step, step, period)

    @classmethod
    def regular(cls, count: int, start: float, step: float, period: float | None = None) -> Axis:
        """Return cells at start, start + step, start + 2 step, ..."""
        _count(count)
        _finite({"start": start, "step": step})
        if not step > 0:
            raise CircuitError(f"axis: 'step' must be positive (got {step!r})")
        places = float(start) + np.arange(count, dtype=np.float64) * float(step)
        return cls._placed(places, float(step), period)

    @classmethod
    def at(cls, positions: ArrayLike, period: float | None = None) -> Axis:
        """Return cells at ascending positions, (count,)."""
        try:
            places = np.array(positions, dtype=np.float64)
        except (TypeError, ValueError):
            places = np.empty((0, 0))
        if places.ndim != 1 or not len(places):
            got = f"shape {places.shape}" if places.size else f"{positions!r:.60}"
            raise CircuitError(
                f"axis: positions must be a row of numbers, at least one (got {got})"
            )
        count = len(places)
        step = (places[-1] - places[0]) / (count - 1) if count > 1 else 1.0
        return cls._placed(places, float(step), period)

    @classmethod
    def stored(cls, positions: Places, step: float, period: float | None) -> Axis:
        """Return an axis as a file keeps it: an even one need not have the mean step exactly."""
        _finite({"step": step})
        if not step > 0:
            raise CircuitError(f"axis: 'step' must be positive (got {step!r})")
        places = cls.at(positions, period).positions
        assert places is not None
        return cls._placed(places.copy(), step, period)

    @classmethod
    def _placed(cls, places: Places, step: float, period: float | None) -> Axis:
        bad = np.flatnonzero(~np.isfinite(places))
        if len(bad):
            raise CircuitError(
                f"axis: positions must be finite numbers (position {bad[0]} is {places[bad[0]]})"
            )
        falls = np.flatnonzero(np.diff(places) <= 0)
        if len(falls):
            at = int(falls[0])
            got = f"position {at} is {places[at]}, position {at + 1} is {places[at + 1]}"
            raise CircuitError(f"axis: positions must ascend, each once ({got}); sort them")
        if period is not None:
            _finite({"period": period})
            ends = f"position 0 is {places[0]}, position {len(places) - 1} is {places[-1]}"
            if not places[-1] - places[0] < period:
                want = "positions must span less than the period"
                raise CircuitError(f"axis: {want} {period!r} ({ends}); take a longer period")
        made = cls.__new__(cls)
        places.flags.writeable = False
        made._set(len(places), places, step, None if period is None else float(period))
        return made

    def _set(self, *given: Any) -> None:
        names = "count", "positions", "step", "period"
        vars(self).update(zip(names, given, strict=True))

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        if self.positions is None:
            return f"Axis({self.count})"
        ends = f"{self.positions[0]:g} to {self.positions[-1]:g}"
        closed = "" if self.period is None else f", period {self.period:g}"
        return f"<Axis: {self.count} cells from {ends}{closed}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @cached_property
    def _content(self) -> tuple[Any, ...]:
        places = None if self.positions is None else self.positions.tobytes()
        return self.count, places, self.step, self.period

    @cached_property
    def even(self) -> bool:
        """Whether all neighbours are one step apart."""
        if self.positions is None or self.step is None:
            return False
        even = self.positions[0] + np.arange(self.count) * self.step
        return bool((self.positions == even).all())

    @property
    def middle(self) -> float:
        """Middle between the first and the last cell."""
        places, _ = self._known("middle")
        return float(0.5 * (places[0] + places[-1]))

    def windows(self, size: int, step: int = 1) -> Axis:
        """Return the centres of all whole windows of ``size`` cells, ``step`` cells apart.

        Cells that are left over are shared between both ends. An odd one stays at the high end.
        """
        places, h = self._known("windows")
        _at_least_1({"size": size, "step": step})
        if size > self.count:
            say = f"a window of {size} cells is more than the {self.count} of the axis"
            raise CircuitError(f"axis: {say}; the largest window has {self.count}")
        count = (self.count - size) // step + 1
        first = (self.count - size - (count - 1) * step) // 2
        return Axis.regular(count, places[0] + (first + 0.5 * (size - 1)) * h, step * h)

    def scaled(self, factor: float) -> Axis:
        """Return the same extent in cells ``factor`` times as far apart, about the same middle."""
        _, h = self._known("scaled")
        _finite({"factor": factor})
        count = int(np.floor(self.count / factor + TIE)) if factor > 0 else 0
        if not 0 < count <= LONGEST:
            want = f"must be positive and at most {self.count}, the number of cells"
            raise CircuitError(f"axis: 'factor' {want} (got {factor!r})")
        step = h * factor
        return Axis.regular(count, self.middle - 0.5 * (count - 1) * step, step)

    def spread(self, size: int, step: int) -> Axis:
        """Return the axis of which this one would be ``windows(size, step)``."""
        _, h = self._known("spread")
        _at_least_1({"size": size, "step": step})
        count, fine = size + step * (self.count - 1), h / step
        return Axis.regular(count, self.middle - 0.5 * (count - 1) * fine, fine)

    def whole(self) -> Axis:
        """Return one cell in the middle."""
        _, h = self._known("whole")
        return Axis.regular(1, self.middle, h * self.count)

    def position(self, index: int) -> float:
        """Return the position of an index, also of one beyond the ends."""
        return float(self.positions_of(np.array([index]))[0])

    def positions_of(self, index: Numbers) -> Places:
        """Return the positions of indices, also of those beyond the ends, (n,) float64.

        Beyond its ends an axis goes on by the distance of its last two cells, or by its step if it
        has one cell. A closed axis begins again.
        """
        places, h = self._known("position")
        n = self.count
        if self.period is not None:
            return np.asarray(places[index % n] + (index // n) * self.period)
        inside = places[np.clip(index, 0, n - 1)]
        if n == 1:
            return np.where(index == 0, inside, places[0] + index * h)
        below = places[0] + index * (places[1] - places[0])
        above = places[-1] + (index - n + 1) * (places[-1] - places[-2])
        return np.where(index < 0, below, np.where(index >= n, above, inside))

    def near(self, place: float, n: int) -> AxisRun:
        """Return the ``n`` cells nearest to a place; of two equal choices the lower one."""
        first, last = self.runs_near(np.array([_place(place)]), n)
        return self._run(int(first[0]), int(last[0]))

    def within(self, place: float, r: float) -> AxisRun:
        """Return all cells at most ``r`` from a place; on a closed axis each of them once."""
        first, last = self.runs_within(np.array([_place(place)]), r)
        return self._run(int(first[0]), int(last[0]))

    def runs_near(self, places: Places, n: int) -> tuple[Numbers, Numbers]:
        """Return first and last index of ``near(place, n)`` for many places, each (m,) int64."""
        start, h = self._start("near")
        _at_least_1({"n": n})
        if self.period is not None and n > self.count:
            say = f"near(n={n}) is more than the {self.count} cells of a closed axis"
            raise CircuitError(f"axis: {say}; take at most {self.count}")
        least = 2 * places - 2 * TIE * h

        def holds(i: Numbers) -> NDArray[np.bool_]:
            return np.asarray(self.positions_of(i) + self.positions_of(i + n) >= least)

        first = _least(holds, _guess(places, start, h) - n // 2)
        return first, first + (n - 1)

    def runs_within(self, places: Places, r: float) -> tuple[Numbers, Numbers]:
        """Return first and last index of ``within(place, r)`` for many places, each (m,) int64."""
        start, h = self._start("within")
        if not real(r) >= 0:
            raise CircuitError(f"axis: a radius must be a number, at least 0 (got {r!r:.40})")
        r = min(float(r), FAR * abs(h))  # indices are integers
        low, high = places - r - TIE * h, places + r + TIE * h
        first = _least(lambda i: self.positions_of(i) >= low, _guess(places - r, start, h))
        beyond = _least(lambda i: self.positions_of(i) > high, _guess(places + r, start, h))
        last = np.maximum(beyond, first) - 1
        if self.period is not None:
            last = np.minimum(last, first + self.count - 1)
        return first, last

    def valid(self, first: Numbers, last: Numbers) -> tuple[Numbers, Numbers]:
        """Return the parts of runs that exist: all of them on a closed axis."""
        if self.period is not None:
            return first, last
        return np.maximum(first, 0), np.minimum(last, self.count - 1)

    def _run(self, first: int, last: int) -> AxisRun:
        low, high = self.valid(np.array(first), np.array(last))
        return AxisRun(first, last, range(int(low), max(int(high) + 1, int(low))))

    def _start(self, what: str) -> tuple[float, float]:
        places, h = self._known(what)
        return float(places[0]), h

    def _known(self, what: str) -> tuple[Places, float]:
        """Return positions and step; raise CircuitError where there are none."""
        if self.positions is None or self.step is None:
            fix = "give it some, as Axis.span, Axis.regular and Axis.at do"
            raise CircuitError(f"axis: {what} needs positions, and this axis has none; {fix}")
        return self.positions, self.step


def axis_of(given: object, where: str) -> Axis:
    """Return an axis, also of a number of cells; raise CircuitError for anything else."""
    if isinstance(given, Axis):
        return given
    if whole(given):
        return Axis(given)
    raise CircuitError(f"{where}: expected an Axis or a number of cells, got {given!r:.60}")


def _guess(places: Places, start: float, h: float) -> Numbers:
    return np.rint((places - start) / h).astype(np.int64)


def _least(holds: Callable[[Numbers], NDArray[np.bool_]], guess: Numbers) -> Numbers:
    """Return the least indices for which a test holds that holds from some index on."""
    low, high = guess - 1, guess.copy()
    for end, sign in ((low, -1), (high, 1)):
        leap = 1
        while (wrong := holds(end) if sign < 0 else ~holds(end)).any():
            end += np.where(wrong, sign * leap, 0)
            leap *= 2
    while (high - low > 1).any():
        middle = (low + high) // 2
        there = holds(middle)
        high = np.where(there, middle, high)
        low = np.where(there, low, np.minimum(middle, high - 1))
    return high


def _count(count: object) -> int:
    if not whole(count) or not 1 <= count <= LONGEST:
        want = "the number of cells must be whole, 1 to 2^31 - 1"
        raise CircuitError(f"axis: {want} (got {count!r:.40})")
    return int(count)


def _at_least_1(given: dict[str, object]) -> None:
    for name, value in given.items():
        if not whole(value) or value < 1:
            raise CircuitError(f"axis: '{name}' must be whole, at least 1 (got {value!r:.40})")


def _finite(given: dict[str, object]) -> None:
    for name, value in given.items():
        if not np.isfinite(real(value)):
            raise CircuitError(f"axis: '{name}' must be a finite number (got {value!r:.40})")


def _place(place: object) -> float:
    _finite({"place": place})
    return real(place)
