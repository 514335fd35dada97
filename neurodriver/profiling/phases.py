"""The phases of a run and what each took: ``with phase("compile"): ...``, nearly free when off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, Token
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import ParamSpec, TypeVar

from . import report, trace
from .measured import Measured, Timed
from .report import Spent
from .trace import Event

P = ParamSpec("P")
R = TypeVar("R")

MOST_EVENTS = 500_000
"""Events that a trace keeps; a viewer shows no more. The table counts all."""

DOMAIN = "neurodriver"
"""NVTX domain of the ranges."""


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

    @contextmanager
    def phase(self, name: str, beside: bool = False) -> Iterator[None]:
        """Measure a ``with`` block; phases may stand inside each other.

        Parameters
        ----------
        name : str
        beside : bool
            Whether the block runs in a thread of its own, beside the phases of the others.
        """
        stack: list[str] = vars(self._open).setdefault("stack", [])
        stack.append(name)
        path = tuple(stack)
        with self._lock:  # entered now, so that the outer ones come first
            spent = self.spent.setdefault(path, Spent(beside=beside))
        if self._nvtx is not None:
            self._nvtx.push_range(name, domain=DOMAIN)
        begin = time.perf_counter()
        try:
            yield
        finally:
            end = time.perf_counter()
            if self._nvtx is not None:
                self._nvtx.pop_range(domain=DOMAIN)
            stack.pop()
            with self._lock:
                spent.seconds += end - begin
                spent.passes += 1
                self.add(Event(name, threading.current_thread().name, begin, end))

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
        """Keep what a backend has measured of its steps; asking for it takes none of the time."""
        begin, token = time.perf_counter(), _CURRENT.set(OFF)
        try:
            self.measured.append(measured())
        finally:
            _CURRENT.reset(token)
            self._begin += time.perf_counter() - begin

    def report(self) -> str:
        """Return the table of phases and kernels; the LPUs must have been closed."""
        tables = [report.phases(self.spent, self.total), *map(report.steps, self.measured)]
        return "\n\n".join(tables)

    @property
    def trace_events(self) -> trace.ProcessTrace:
        """What this process adds to a trace."""
        return trace.ProcessTrace(self.epoch, self.events, self.lost)

    def write_trace(self, path: str | Path) -> None:
        """Write the events as a Chrome trace, for chrome://tracing or Perfetto.

        Raises
        ------
        NeurodriverError
            When the file cannot be written.
        """
        trace.write(path, [self.trace_events])


class Off:
    """Stands where nothing is measured."""

    on = False

    def phase(self, name: str, beside: bool = False) -> AbstractContextManager[object]:
        """Return a block like any other."""
        return _NOTHING

    def step(self, backend: object, begin: float) -> None:
        """Keep nothing."""

    def measure(self, measured: Callable[[], Measured]) -> None:
        """Keep nothing."""


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
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with current().phase(name):
                return function(*args, **kwargs)

        return call

    return around


def _nvtx() -> ModuleType | None:
    """Return the package that marks ranges for NVIDIA's tools, where it is installed."""
    try:
        import nvtx
    except ImportError:
        return None
    module: ModuleType = nvtx
    return module
