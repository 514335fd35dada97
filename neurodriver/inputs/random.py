"""Random inputs: spike trains and noise that depend on uid, namespace, seed and step alone.

Every number is a function of the seed, a hash of the uid, the namespace of the LPU and the step, or
the block of steps where events are rare (Philox4x32-10, Salmon et al. 2011, doi
10.1145/2063384.2063405). So a uid gets the same train whatever else is injected, in whatever order,
and however a run is cut. Inputs of different class or variable are independent, and so are inputs
into LPUs of different namespaces. Two inputs of one class into one variable of one LPU are so only
with different seeds.
"""

from __future__ import annotations

import copy
import math
import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import checked_arguments, optional, text
from ..circuit.uids import Who
from ..errors import CircuitWarning, InputError
from ..quantities import number_of_seconds
from .base import Chunk, EventChunk, Input, active_steps, check_span, values_for
from .draws import Draws, poisson_table
from .trains import SELDOM, Trains, TrainSpan
from .weights import warn_of_weights

MOST_EVENTS = 500.0
"""Largest mean number of events of one uid in one step."""

_MANY_EVENTS = 10.0
"""Events a step from which threads that draw them are worth their trouble."""


class _RandomInput(Input):
    """What random inputs have in common: seed, span, and rows drawn for the steps within."""

    def __init__(
        self,
        variable: str,
        uids: Who,
        start: float,
        stop: float,
        seed: int,
        duration: float | None,
    ) -> None:
        super().__init__([(variable, uids)])
        self.name = f"{self._purpose} '{variable}'"
        self.start, self.stop = check_span(start, stop, self.name, duration)
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise InputError(f"{self.name}: seed must be a whole number, got {seed!r}")
        if not 0 <= seed < 2**64:
            raise InputError(f"{self.name}: seed must be 0 to 2^64 - 1, got {seed}")
        self.seed = int(seed)
        self._draws = self._drawn_in("")

    _purpose = ""

    def _drawn_in(self, namespace: str) -> Draws:
        variable, uids = self.targets[0]
        return Draws(uids, self.seed, f"{self._purpose} {variable}", namespace)

    def in_random_namespace(self, namespace: str) -> Input:
        if namespace == self._draws.namespace:
            return self
        other = copy.copy(self)
        other._draws = self._drawn_in(namespace)
        return other

    def attach(self, lpu: Any) -> None:
        super().attach(lpu)
        for other in getattr(lpu, "inputs", ()):
            if other is self:
                return
            if isinstance(other, _RandomInput) and self._repeats(other):
                warnings.warn(
                    f"{self.name}: it draws the numbers of another one into the same components, "
                    f"as both have seed={self.seed}; give one of them another seed",
                    CircuitWarning,
                    stacklevel=2,
                )
                return

    def _repeats(self, other: _RandomInput) -> bool:
        """Whether another input draws some of the same numbers, at the same time."""
        mine, others = self._draws, other._draws
        if mine.seed != others.seed:  # it follows from kind and variable, too
            return False
        meet = max(self.start, other.start) < min(self.stop, other.stop)
        return meet and bool(np.isin(mine.keys, others.keys).any())

    def random_keys(self) -> NDArray[np.uint64]:
        return self._draws.keys

    def draw_in_threads(self, threads: int) -> None:
        self._draws.threads = threads

    def chunk(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        a, b = active_steps(first, steps, self.dt, self.start, self.stop)
        table = np.empty((b - a, len(self.targets[0][1])), dtype=self.dtype)
        rows = np.full(steps, -1, dtype=np.int32)
        if b > a:
            some = self._fill(first + a, table)
            rows[a:b] = np.where(some, np.arange(b - a), -1)
        return Chunk(table, rows)

    @abstractmethod
    def _fill(self, first: int, table: NDArray[Any]) -> NDArray[np.bool_]:
        """Fill the rows from step ``first`` on; return which hold anything but zeros."""


class _TrainInput(_RandomInput):
    """Trains of events: those of uids that have few are drawn as events, others step by step."""

    _seldom: NDArray[np.int64]
    _often: NDArray[np.int64]

    def attach(self, lpu: Any) -> None:
        super().attach(lpu)
        for variable, uids in self.targets:
            warn_of_weights(lpu.circuit, variable, uids, self.name)

    def _share(self, mean: NDArray[np.float64], single: bool) -> None:
        """Decide from the events of a step, (n,), how those of each uid are drawn."""
        self._seldom, self._often = np.flatnonzero(mean <= SELDOM), np.flatnonzero(mean > SELDOM)
        self._trains = Trains(self._draws, self._seldom, mean[self._seldom], single, self.dtype)
        self._each = self._draws.of(self._often)
        self._few = 8 * float(np.minimum(mean, 1.0).sum()) <= len(mean)
        self._mean_events = float(mean.sum())

    def chunk(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        if not self._as_events:
            return super().chunk(number, first, steps)
        a, b = active_steps(first, steps, self.dt, self.start, self.stop)
        events = self._events(first + a, max(b - a, 1))
        begin = events.begin
        if b - a < steps:
            begin = np.pad(begin[: b - a + 1], (a, steps - b), mode="edge")
        return EventChunk(events.count, begin, events.column, events.value, events.sound)

    def trains(self, number: int, first: int, steps: int) -> TrainSpan | None:
        """Return the events of steps before they are drawn; None where some are drawn by steps."""
        own = type(self).chunk is _TrainInput.chunk and type(self).entering is Input.entering
        if len(self._often) or not own:
            return None
        active = active_steps(first, steps, self.dt, self.start, self.stop)
        return TrainSpan(self._trains, first, steps, active if self.on else (0, 0))

    @property
    def mean_events(self) -> float:
        """Number of events in a step on average; infinite where they come as rows."""
        return self._mean_events if self._as_events else math.inf

    @property
    def _as_events(self) -> bool:
        return not len(self._often) or (self._few and len(self._seldom) > 0)

    def row_bytes(self) -> int:
        if not self._as_events:
            return super().row_bytes()
        return 8 + math.ceil(self._mean_events * (4 + self.dtype.itemsize))

    def draw_in_threads(self, threads: int) -> None:
        self._each.threads = self._trains.draws.threads = threads

    def draw_ahead(self) -> None:
        if self._as_events and self._mean_events > _MANY_EVENTS:
            self._trains.draw_ahead()

    def _events(self, first: int, steps: int) -> EventChunk:
        """Return the events of all uids."""
        count = len(self.targets[0][1])
        seldom = self._trains.events(first, steps, count)
        if not len(self._often):
            return seldom
        table = np.empty((steps, len(self._often)), dtype=self.dtype)
        self._draw(first, table)
        step, place = np.nonzero(table)
        step = np.concatenate([seldom.steps_of(), step])
        column = np.concatenate([seldom.column[seldom.span], self._often[place].astype(np.int32)])
        value = np.concatenate([seldom.value[seldom.span], table[table != 0]])
        order = np.lexsort((column, step))
        begin = np.searchsorted(step[order], np.arange(steps + 1))
        return EventChunk(count, begin, column[order], value[order])

    def _fill(self, first: int, table: NDArray[Any]) -> NDArray[np.bool_]:
        if not len(self._seldom):
            return self._draw(first, table)
        each = np.empty((len(table), len(self._often)), dtype=self.dtype)
        self._draw(first, each)
        table[:] = 0
        table[:, self._often] = each
        events = self._trains.events(first, len(table), table.shape[1])
        table[events.steps_of(), events.column[events.span]] = events.value[events.span]
        some: NDArray[np.bool_] = np.asarray(table.any(axis=1))
        return some

    def _draw_events(
        self, name: str, first: int, table: NDArray[Any], *arguments: Any
    ) -> NDArray[np.bool_]:
        some = np.empty(len(table), dtype=np.uint8)
        self._each.call(name, first, table, *arguments, some)
        return some.astype(np.bool_)

    @abstractmethod
    def _draw(self, first: int, table: NDArray[Any]) -> NDArray[np.bool_]:
        """Fill rows of those uids that have many; return which hold anything but zeros."""


class PoissonInput(_TrainInput):
    """Injects independent Poisson spike trains.

    The number of events of a uid in a step has a Poisson distribution of mean ``rate * dt``.

    Parameters
    ----------
    variable : str
        ``spike_state`` usually.
    uids : sequence of str, Population, part of one, or Selection
    rate : float or (n,) array
        Events a second, Hz.
    start, stop : float
        Seconds; events come at steps k with ``start <= k * dt < stop``.
    seed : int
        0 to 2^64 - 1.
    counts : bool
        True injects the number of events; False 1 wherever there is at least one.
    duration : float, optional
        Seconds, instead of ``stop``.

    Notes
    -----
    A uid with a mean of at most 0.5 events a step (``SELDOM``) gets its events by blocks of 256
    steps: the block ``floor(step / 256)`` has a number of events of mean ``256 * rate * dt``, and
    each lies at any of its steps with equal probability. These numbers depend on the block, and so
    on the step, as they do on uid, namespace and seed. A uid with a higher mean draws a number of
    events in each step. Either number comes from inversion of the distribution function; a mean of
    500 events a step is the limit.
    """

    _purpose = "PoissonInput"

    def __init__(
        self,
        variable: str,
        uids: Who,
        rate: ArrayLike,
        start: float = 0.0,
        stop: float = math.inf,
        seed: int = 0,
        counts: bool = True,
        duration: float | None = None,
    ) -> None:
        super().__init__(variable, uids, start, stop, seed, duration)
        self.rate = values_for(rate, self.targets[0][1], self.name, "Hz")
        if (self.rate < 0).any():
            raise InputError(f"{self.name}: rate must be at least 0 Hz, got {self.rate.min()}")
        self.counts = bool(counts)

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        mean = self.rate * dt
        if mean.max(initial=0.0) > MOST_EVENTS:
            most = MOST_EVENTS / dt
            raise InputError(
                f"{self.name}: rate must be at most {most:g} Hz at dt = {dt:g} s, "
                f"got {self.rate.max():g}; inject noise of that mean instead"
            )
        self._share(mean, not self.counts)
        self._tables = poisson_table(mean[self._often])

    def _draw(self, first: int, table: NDArray[Any]) -> NDArray[np.bool_]:
        return self._draw_events("nd_poisson", first, table, *self._tables, int(not self.counts))


class BernoulliInput(_TrainInput):
    """Injects 1 with a probability at each step, else 0, independently for each uid.

    Parameters
    ----------
    variable : str
    uids : sequence of str, Population, part of one, or Selection
    p : float or (n,) array
        Probability of a step, 0 to 1.
    start, stop : float
        Seconds; steps k with ``start <= k * dt < stop``.
    seed : int
        0 to 2^64 - 1.
    duration : float, optional
        Seconds, instead of ``stop``.

    Notes
    -----
    A uid with p of at most 0.393 gets its events by blocks, as in `PoissonInput`: 1 wherever a
    train of ``-log(1 - p)`` events a step has at least one, which has the probability p. A uid
    with a larger p draws a number in each step.
    """

    _purpose = "BernoulliInput"

    def __init__(
        self,
        variable: str,
        uids: Who,
        p: ArrayLike,
        start: float = 0.0,
        stop: float = math.inf,
        seed: int = 0,
        duration: float | None = None,
    ) -> None:
        super().__init__(variable, uids, start, stop, seed, duration)
        self.p = values_for(p, self.targets[0][1], self.name, "1")
        bad = self.p[(self.p < 0) | (self.p > 1)]
        if len(bad):
            raise InputError(f"{self.name}: p must be a probability, 0 to 1, got {bad[0]}")

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        with np.errstate(divide="ignore"):  # p = 1 is drawn step by step
            self._share(-np.log1p(-self.p), single=True)
        self._p = self.p[self._often]

    def _draw(self, first: int, table: NDArray[Any]) -> NDArray[np.bool_]:
        return self._draw_events("nd_bernoulli", first, table, self._p)


class NoiseInput(_RandomInput):
    """Injects noise of a mean and a standard deviation, independent for each uid.

    Without ``tau`` the values of different steps are independent (white noise). Their effect then
    depends on dt: over a time T their integral has the variance ``sigma**2 * dt * T``. For the same
    process at another dt scale sigma with ``1 / sqrt(dt)``: an intensity D (unit^2 s) is
    ``sigma = sqrt(D / dt)``.

    With ``tau`` the noise is an Ornstein-Uhlenbeck process (Uhlenbeck and Ornstein 1930, doi
    10.1103/PhysRev.36.823) sampled exactly, ``x[k + 1] = a x[k] + sqrt(1 - a**2) normal`` with
    ``a = exp(-dt / tau)``: standard deviation sigma from the first step on and correlation
    ``exp(-t / tau)``, whatever dt is.

    Parameters
    ----------
    variable : str
        ``I`` usually.
    uids : sequence of str, Population, part of one, or Selection
    mean, sigma : float or (n,) array
        Of the injected values, in the unit of the variable.
    start, stop : float
        Seconds; steps k with ``start <= k * dt < stop``.
    seed : int
        0 to 2^64 - 1.
    distribution : {"normal", "uniform"}
        Uniform values lie within ``mean +- sqrt(3) * sigma``.
    tau : float, optional
        Correlation time in seconds; for normal noise.
    duration : float, optional
        Seconds, instead of ``stop``.
    """

    _purpose = "NoiseInput"
    mean: NDArray[np.float64]
    sigma: NDArray[np.float64]

    @checked_arguments(distribution=text, tau=optional(number_of_seconds))
    def __init__(
        self,
        variable: str,
        uids: Who,
        mean: ArrayLike = 0.0,
        sigma: ArrayLike = 1.0,
        start: float = 0.0,
        stop: float = math.inf,
        seed: int = 0,
        distribution: str = "normal",
        tau: float | None = None,
        duration: float | None = None,
    ) -> None:
        super().__init__(variable, uids, start, stop, seed, duration)
        self.take(0, mean, self.name, "_set", "mean")
        self.take(0, sigma, self.name, "_set", "sigma")
        if (self.sigma < 0).any():
            raise InputError(f"{self.name}: sigma must be at least 0, got {self.sigma.min()}")
        if distribution not in ("normal", "uniform"):
            want = "'normal' or 'uniform'"
            raise InputError(f"{self.name}: distribution must be {want}, got {distribution!r}")
        if tau is not None and (distribution != "normal" or not 0 < tau < math.inf):
            want = "positive seconds, for normal noise"
            raise InputError(f"{self.name}: tau must be {want}, got {tau!r} and {distribution}")
        self.distribution, self.tau = distribution, tau

    def _set(self, values: ArrayLike, attribute: str) -> None:
        setattr(self, attribute, values_for(values, self.targets[0][1], self.name))

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        self._states: dict[int, NDArray[np.float64]] = {}

    def _fill(self, first: int, table: NDArray[Any]) -> NDArray[np.bool_]:
        if self.tau is None:
            uniform = int(self.distribution == "uniform")
            self._draws.call("nd_noise", first, table, self.mean, self.sigma, uniform)
        else:
            before = self._state(first)
            after = before.copy()
            self._walk(first, len(table), after, table)
            self._states = {first: before, first + len(table): after}
        return np.ones(len(table), dtype=np.bool_)

    def _state(self, step: int) -> NDArray[np.float64]:
        """Return the state that the process brings to a step."""
        nearest = max((k for k in self._states if k <= step), default=None)
        if nearest is None:
            begin, state = self._begin(), np.zeros(len(self.mean))
        else:
            begin, state = nearest, self._states[nearest].copy()
        self._walk(begin, step - begin, state, None)
        return state

    def _begin(self) -> int:
        """Return the first step of the span."""
        step = max(0, math.floor(max(self.start, 0.0) / self.dt) - 1)
        while step * self.dt < self.start:
            step += 1
        return step

    def _walk(
        self, first: int, steps: int, state: NDArray[np.float64], out: NDArray[Any] | None
    ) -> None:
        """Advance a state, and store the values where there is room for them."""
        decay = math.exp(-self.dt / float(self.tau or 0.0))
        fresh = math.sqrt(-math.expm1(-2.0 * self.dt / float(self.tau or 0.0)))
        room = np.empty((0, len(state)), dtype=self.dtype) if out is None else out
        self._draws.call("nd_walk", first, room, self.mean, self.sigma, self._begin(),
                         decay, fresh, state, int(out is not None), steps=steps)  # fmt: skip
