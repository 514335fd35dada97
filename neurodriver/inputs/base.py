"""What every input has in common: where it injects, and its values for a chunk of steps.

The value of row r enters at step r: it is added to the other inputs of its component and first
shows in row r + 1 of what the component updates. Several inputs may inject into one component;
their values add up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..circuit.uids import Who as Who
from ..circuit.uids import uid_list as uid_list
from ..errors import InputError, TargetError, UnitError
from ..model.kinds import agreed_unit
from ..quantities import bare, is_quantity, magnitude, seconds
from .units import unit_into

Target = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Values of one target for consecutive steps.

    Attributes
    ----------
    table : (rows, n) array of the working type
        Different rows of values.
    row_of_step : (steps,) int32
        Row of the table at each step; -1 injects zero.
    version : int
        Equal positive versions mean equal tables; 0 promises nothing.
    """

    table: NDArray[np.floating]
    row_of_step: NDArray[np.int32]
    version: int = 0


@dataclass(frozen=True, eq=False)
class EventChunk:
    """Events of one target in consecutive steps; everything else is zero.

    Attributes
    ----------
    count : int
        Columns of the target.
    begin : (steps + 1,) int64
        Where the events of each step begin; the last number is where those of the last step end.
    column : (events,) int32
        Ascending within a step.
    value : (events,) array of the working type
        What enters, for instance the number of spikes.
    sound : bool
        Whether compiled code has drawn numbers of spikes, so that nobody has to look at them:
        columns ascend, and values are whole numbers that kernels can count.
    """

    count: int
    begin: NDArray[np.int64]
    column: NDArray[np.int32]
    value: NDArray[np.floating]
    sound: bool = False

    version: ClassVar[int] = 0

    @property
    def span(self) -> slice:
        """Which of the events belong to the steps."""
        return slice(int(self.begin[0]), int(self.begin[-1]))

    def steps_of(self) -> NDArray[np.int64]:
        """Return the step of each event in `span`, counted from the first one, (n,)."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    @cached_property
    def row_of_step(self) -> NDArray[np.int32]:
        """Row of `table` at each step, as `Chunk` has it."""
        some = np.diff(self.begin) > 0
        return np.where(some, np.cumsum(some) - 1, -1).astype(np.int32)

    @cached_property
    def table(self) -> NDArray[np.floating]:
        """A row of values for each step that has events, as `Chunk` has it."""
        rows = int(self.row_of_step.max(initial=-1)) + 1
        table = np.zeros((rows, self.count), dtype=self.value.dtype)
        table[self.row_of_step[self.steps_of()], self.column[self.span]] = self.value[self.span]
        return table


def silenced(chunk: Chunk | EventChunk, steps: int) -> Chunk | EventChunk:
    """Return a chunk like another one that injects nothing in any step."""
    if isinstance(chunk, Chunk):
        return Chunk(chunk.table, np.full(steps, -1, np.int32), chunk.version)
    begin, empty = np.zeros(steps + 1, np.int64), slice(0, 0)
    values = chunk.column[empty].copy(), chunk.value[empty].copy()
    return EventChunk(chunk.count, begin, *values, chunk.sound)


@dataclass(frozen=True, eq=False)
class _Quantity:
    """Quantities of a target whose unit a model has to tell, and what keeps them as numbers."""

    number: int
    values: Any
    name: str
    keep: str
    given: tuple[Any, ...]


_CHANGING = {"on", "dt", "dtype", "first_step"}
"""Attributes of inputs that change while an LPU uses them."""


def check_assignment(kind: type, name: str) -> None:
    """Raise AttributeError for an attribute of an input that an LPU uses already.

    A class of a user has attributes of its own, which may change at any time.
    """
    if kind.__module__.startswith(f"{__package__}."):
        raise AttributeError(
            f"{kind.__name__}: '{name}' cannot be assigned, as an LPU uses the input already; "
            f"give another input to run(inputs=...), or switch this one by 'on'"
        )


class Input(ABC):
    """Base of all inputs.

    Parameters
    ----------
    targets : sequence of (variable, uids)
        What is injected where; a `Population`, a part of one or a `Selection` stands for its uids.

    Attributes
    ----------
    per_step : bool
        Whether the values of a step must be asked for right before it.
    first_step : int
        Steps that were done when the run began.
    on : bool
        Whether its values enter; zeros do otherwise. It may be changed between two calls of
        `LPU.advance`. Values are asked for all the same, so random numbers stay those of the step.
        Other attributes are not assigned while an LPU uses the input, unless a user's class has it.
    """

    per_step = False
    on = True
    first_step = 0
    _used = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self._used and name not in _CHANGING and not name.startswith("_"):
            check_assignment(type(self), name)
        super().__setattr__(name, value)

    def __init__(self, targets: Sequence[tuple[str, Who]]) -> None:
        self.targets: list[Target] = []
        for variable, uids in targets:
            given: object = variable
            if not isinstance(given, str):
                say = f"the name of a variable is needed, got {given!r:.60}"
                raise InputError(f"{type(self).__name__}: {say}")
            self.targets.append((variable, tuple(uid_list(uids))))
        self.dt = 0.0
        self.dtype = np.dtype(np.float64)
        self._quantities: tuple[_Quantity, ...] = ()
        self._units: dict[_Quantity, str | None] = {}

    def attach(self, lpu: Any) -> None:
        """Get to know the LPU; called before it is compiled.

        Its models tell the units of what is injected; quantities become numbers now.

        Raises
        ------
        UnitError
            For a quantity of another dimension.
        """
        for one in self._quantities:
            variable, uids = self.targets[one.number]
            unit = unit_into(lpu.circuit, variable, uids, one.name)
            before = self._units.get(one, unit)
            if before != unit:
                raise UnitError(
                    f"{one.name}: one LPU takes it in {before}, another one in {unit}; make an "
                    f"input for each of them"
                )
            self._used, self._units = False, {**self._units, one: unit}
            getattr(self, one.keep)(magnitude(one.values, unit, one.name), *one.given)
        self._used = True

    def take(self, number: int, values: Any, name: str, keep: str, *given: Any) -> None:
        """Keep values of a target as numbers: at once, or again when models have told their unit.

        Parameters
        ----------
        number : int
            Of the target.
        values : quantity, number or array
        name : str
            What the values are, for messages.
        keep : str
            Method that checks and keeps numbers. Until the unit is known it gets those of the
            quantity as it was given.
        *given
            What the method gets, too.
        """
        unit = agreed_unit(self.targets[number][0])
        if unit or not is_quantity(values):
            getattr(self, keep)(magnitude(values, unit, name), *given)
            return
        getattr(self, keep)(bare(values, name), *given)
        self._quantities = (*self._quantities, _Quantity(number, values, name, keep, given))

    def in_random_namespace(self, namespace: str) -> Input:
        """Return this input, or one like it, that draws its random numbers in a namespace.

        An LPU calls it with its own namespace and keeps what is returned, so that one input may be
        given to several LPUs. An input that passes on the values of another one overrides it
        and `random_keys`.

        Parameters
        ----------
        namespace : str
            The empty one is that of an LPU without a Manager.
        """
        return self

    def random_keys(self) -> NDArray[np.uint64]:
        """Return the keys of its random numbers, (n,); equal ones draw equal numbers."""
        return np.empty(0, dtype=np.uint64)

    def open(self, dt: float, dtype: np.dtype) -> None:
        """Get ready for steps of ``dt`` seconds and values of type ``dtype``."""
        self.dt = dt
        self.dtype = np.dtype(dtype)

    @abstractmethod
    def chunk(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        """Return the values of target ``number`` for steps ``first`` to ``first + steps - 1``.

        An `EventChunk` costs as much as it has events, a `Chunk` as much as it has values.
        """

    def entering(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        """Return what enters: that of `chunk`, or nothing while the input is off."""
        chunk = self.chunk(number, first, steps)
        return chunk if self.on else silenced(chunk, steps)

    def row_bytes(self) -> int:
        """Return the bytes that one step of values may take."""
        return sum(len(uids) for _, uids in self.targets) * self.dtype.itemsize

    def check(self) -> None:  # noqa: B027  (most inputs can always begin)
        """Raise an error where a run must not begin; nothing has been written then."""

    def draw_ahead(self) -> None:  # noqa: B027  (most inputs have no random numbers)
        """Draw random numbers in threads, before they are asked for: cores are idle."""

    def draw_in_threads(self, threads: int) -> None:  # noqa: B027
        """Draw random numbers in so many threads, when they are asked for."""

    def begin_run(self, steps: int | None) -> None:  # noqa: B027  (most inputs have nothing to do)
        """Begin a run of ``steps`` steps, or of unknown length; the LPU is built by now."""

    def end_run(self, steps: int) -> None:  # noqa: B027
        """End the run after ``steps`` steps."""

    def close(self) -> None:  # noqa: B027
        """Let go of files."""


def as_numbers(values: ArrayLike, error: InputError) -> NDArray[np.float64]:
    """Return an array of float64, or raise the error for what is no number."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise error from None


def values_for(
    values: ArrayLike, uids: Sequence[str], name: str, unit: str | None = None
) -> NDArray[np.float64]:
    """Return one finite value per uid from a scalar or a sequence, (n,) float64.

    Quantities are converted to ``unit``.
    """
    values = magnitude(values, unit, name)
    text = f"a number or {len(uids)} of them, got {values!r:.60}"
    array = as_numbers(values, TargetError(f"{name}: {text}"))
    if array.shape not in ((), (len(uids),)):
        raise TargetError(f"{name}: a number or {len(uids)} of them, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name}: values must be finite, got {array[~np.isfinite(array)].flat[0]}")
    return np.broadcast_to(array, (len(uids),)).copy()


def check_span(
    start: float, stop: float, name: str, duration: float | None = None
) -> tuple[float, float]:
    """Return start and stop as floats, in seconds; ``duration`` may be given instead of stop."""
    start, stop = seconds(start, f"{name}: start"), seconds(stop, f"{name}: stop")
    if duration is not None:
        duration = seconds(duration, f"{name}: duration")
        if stop != np.inf:
            raise InputError(f"{name}: give either stop or duration, got {stop} and {duration}")
        wrong = InputError(f"{name}: duration must be seconds, at least 0, got {duration!r:.60}")
        length = as_numbers(duration, wrong)
        if length.ndim or not 0 <= length < np.inf:
            raise wrong
    try:
        begin, end = float(start), float(stop)
        end = end if duration is None else begin + float(duration)
    except (TypeError, ValueError):
        begin = end = np.nan
    if np.isnan(begin) or np.isnan(end):
        raise InputError(f"{name}: start and stop must be seconds, got {start} and {stop}")
    if end < begin:
        raise InputError(f"{name}: stop must not be before start, got {begin} and {end}")
    return begin, end


def active_steps(first: int, steps: int, dt: float, start: float, stop: float) -> tuple[int, int]:
    """Return which of some steps k have ``start <= k * dt < stop``: first and end, from ``first``.

    Compared as float64 with ``k * dt``.
    """
    if start <= first * dt and (first + steps - 1) * dt < stop:
        return 0, steps
    time = np.arange(first, first + steps) * dt
    begin, end = np.searchsorted(time, [start, stop], side="left")
    return int(begin), int(max(begin, end))
