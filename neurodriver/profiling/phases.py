"""The phases of a run and what each took: ``with phase("compile"): ...``, nearly free when off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from pathlib import Path


from .measured import Measured, Timed

P = ParamSpec("P")
R = TypeVar("R")

MOST_EVENTS = 500_000
"""Events that a trace keeps; a viewer shows no more. The table counts all."""

DOMAIN = "neurodriver"
"""NVTX domain of the ranges."""


@dataclass(frozen=True)
class Event:
    """One stretch of time; seconds of ``time.perf_counter``."""

    name: str
    thread: str
    begin: float
    end: float


@dataclass
class Spent:
    """What all passes of one phase took.

    Attributes
    ----------
    seconds : float
    passes : int
    beside : bool
        Whether another thread goes on meanwhile.
    """

    seconds: float = 0.0
    passes: int = 0
    beside: bool = False


class Profile:
    """Measures what runs inside it.

    Parameters
    ----------
    trace : bool
        Whether to keep the begin and end of each phase for `write_trace`.

    Attributes
    ----------
    spent : dict of tuple of str to Spent
        Names of a phase and of those around it, outermost first -> what it took.
    events : list of Event
    measured : list of Measured
        One entry for each simulation that has ended.
    total : float
        Seconds from the begin to the end of the ``with`` block, without measuring the bandwidth.

    Examples
    --------
    >>> with Profile() as profile:  # doctest: +SKIP
    ...     with LPU("circuit.gexf", dt=1e-4) as lpu:
    ...         lpu.run(duration=0.5)
    >>> print(profile.report())  # doctest: +SKIP
    """

    on = True

    def __init__(self, trace: bool = False) -> None:
        self.trace = trace
        self.spent: dict[tuple[str, ...], Spent] = {}
        self.events: list[Event] = []
        self.lost = 0
        self.measured: list[Measured] = []
        self.total = 0.0
        self.epoch = time.time() - time.perf_counter()
        self._begin = 0.0
        self._open = threading.local()
        self._lock = threading.Lock()
        self._nvtx = _nvtx()
        self._tokens: list[Token[Profile | Off]] = []

    def __enter__(self) -> Profile:
        self._tokens.append(_CURRENT.set(self))
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self.total += time.perf_counter() - self._begin
        _CURRENT.reset(self._tokens.pop())

    def phase(self, name: str, beside: bool = False) -> AbstractContextManager[object]:
        """Return what measures its ``with`` block; phases may stand inside each other.

        Parameters
        ----------
        name : str
        beside : bool
            Whether the block runs in a thread of its own, beside the phases of the others.
        """
        return _Phase(self, name, beside)

    def add(self, event: Event) -> None:
        """Keep an event for the trace, if there is to be one."""
        if not self.trace:
            return
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)
        else:
            self.lost += 1

    def step(self, backend: object, begin: float) -> None:
        """Keep one step of the call that began at ``begin``, kernel by kernel."""
        if not self.trace or not isinstance(backend, Timed):
            return
        here = threading.current_thread().name
        parts = backend.profile_step()
        for thread in sorted({part[0] for part in parts}):
            mine = [part for part in parts if part[0] == thread]
            name = f"worker {thread}" if thread else here
            ends = begin + mine[0][2], begin + mine[-1][3]
            self.add(Event("one step", name, *ends))
            for _, part, first, last in mine:
                self.add(Event(part, name, begin + first, begin + last))

    def measure(self, measured: Callable[[], Measured]) -> None:
        """Take what a backend knows of its steps, before it is closed."""
        begin, token = time.perf_counter(), _CURRENT.set(OFF)
        try:
            self.measured.append(measured())
        finally:
            _CURRENT.reset(token)
            self._begin += time.perf_counter() - begin  # no part of what it measures

    def report(self) -> str:
        """Return the table of phases and kernels; the LPUs must have been closed."""
        from .report import report

        return report(self)

    def write_trace(self, path: str | Path) -> None:
        """Write the events as a Chrome trace, for chrome://tracing or Perfetto.

        Raises
        ------
        NeurodriverError
            When the file cannot be written.
        """
        from .trace import events_of, write

        write(path, [events_of(self)])


class _Phase:
    """One pass of a phase."""

    __slots__ = ("_begin", "_beside", "_name", "_path", "_profile", "_stack")

    def __init__(self, profile: Profile, name: str, beside: bool) -> None:
        self._profile, self._name, self._beside = profile, name, beside

    def __enter__(self) -> None:
        profile = self._profile
        stack: list[str] | None = getattr(profile._open, "stack", None)
        if stack is None:
            stack = profile._open.stack = []
        self._stack = stack
        stack.append(self._name)
        self._path = tuple(stack)
        if self._path not in profile.spent:  # here, so that the outer ones come first
            with profile._lock:
                profile.spent.setdefault(self._path, Spent(beside=self._beside))
        if profile._nvtx is not None:
            profile._nvtx.push_range(self._name, domain=DOMAIN)
        self._begin = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        end = time.perf_counter()
        profile = self._profile
        if profile._nvtx is not None:
            profile._nvtx.pop_range(domain=DOMAIN)
        self._stack.pop()
        with profile._lock:
            spent = profile.spent[self._path]
            spent.seconds += end - self._begin
            spent.passes += 1
            profile.add(Event(self._name, threading.current_thread().name, self._begin, end))


class Off:
    """Stands where nothing is measured."""

    on = False

    def phase(self, name: str, beside: bool = False) -> AbstractContextManager[object]:
        """Return a block like any other."""
        return _NOTHING

    def step(self, backend: object, begin: float) -> None:
        """Keep nothing."""

    def measure(self, measured: Callable[[], Measured]) -> None:
        """Take nothing."""


_NOTHING: AbstractContextManager[object] = nullcontext()
OFF = Off()
_CURRENT: ContextVar[Profile | Off] = ContextVar("profile", default=OFF)


def current() -> Profile | Off:
    """Return the profile inside whose ``with`` block we are."""
    return _CURRENT.get()


def phased(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make each call of a function a phase of the current profile."""

    def around(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            with current().phase(name):
                return function(*given, **named)

        return call

    return around


def _nvtx() -> ModuleType | None:
    """Return the package that marks ranges for NVIDIA's tools, where it is installed."""
    try:
        import nvtx
    except ImportError:
        return None
    found: ModuleType = nvtx
    return found
