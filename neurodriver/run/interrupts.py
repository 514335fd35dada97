"""Ctrl-C ends a run after the present step, or within it if the step takes too long."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from ..backends.base import Backend, Interruptible
from ..system import interrupt_main_thread
from .in_flight import CallsInFlight

PATIENCE = 0.6
"""Processor time that a step may still take after Ctrl-C, s."""

END_SECONDS = 5.0
"""Time in which threads must leave a step that is ended, s."""

LONGER = 20
"""A step is ended after this multiple of the patience in wall-clock time in any case."""

_PAUSE = 0.02


_BACKENDS = str(Path(__file__).parents[1] / "backends")


def _computes(thread: int) -> bool:
    """Whether a thread is in compiled code."""
    frame = sys._current_frames().get(thread)
    return frame is not None and frame.f_code.co_filename.startswith(_BACKENDS)


def outlasts(
    seconds: float, over: Callable[[], bool], computes: Callable[[], bool] = lambda: True
) -> bool:
    """Wait for some seconds until something is over; return True if it is not over then.

    While it computes, the seconds are processor time. So a step is not ended only because other
    programs keep the processor busy.
    """
    until, spent = time.monotonic() + seconds, time.process_time() + seconds
    while not over():
        late = time.monotonic() - until
        if late > 0 and (late > LONGER * seconds or time.process_time() > spent or not computes()):
            return True
        time.sleep(_PAUSE)
    return False


def nothing_runs() -> bool:
    """Return False: there is no compiled code to end."""
    return False


def end_call(backend: Backend) -> bool:
    """End the step that compiled code runs, from another thread; return whether it ran one.

    The state of the circuit is not valid after that.
    """
    return isinstance(backend, Interruptible) and backend.interrupt(END_SECONDS)


def boundary_of(backend: Backend, calls: CallsInFlight) -> StepBoundary:
    """Return a `StepBoundary` for a backend. If its steps take long, the patience is longer."""
    return StepBoundary(lambda: end_call(backend), lambda: PATIENCE + 2 * calls.seconds_per_step)


def boundary_of_parts(backends: Iterable[Backend], seconds: Callable[[], float]) -> StepBoundary:
    """Return a `StepBoundary` for calls in several threads, which take some ``seconds``."""
    every = list(backends)

    def end_calls() -> bool:
        ended = [end_call(one) for one in every]
        return any(ended)

    return StepBoundary(end_calls, lambda: PATIENCE + 2 * seconds())


class StepBoundary:
    """Delays a SIGINT that arrives within a step until the step is complete.

    If the step takes longer than ``patience``, it is ended. A second SIGINT takes effect at once.
    Nothing is done if the program has a signal handler of its own, or outside of the main thread.

    Parameters
    ----------
    interrupt : callable
        Ends the compiled code that the main thread runs, and returns whether it ran any. It is
        called from another thread.
    patience : callable
        Returns the seconds that a step may still take.

    Attributes
    ----------
    asked : bool
        Whether Ctrl-C has been pressed.
    over : bool
        Whether the steps have ended.

    Examples
    --------
    >>> with StepBoundary() as boundary:
    ...     for step in range(3):
    ...         boundary.reached()  # raises KeyboardInterrupt if Ctrl-C has been pressed
    """

    def __init__(
        self,
        interrupt: Callable[[], bool] = nothing_runs,
        patience: Callable[[], float] = lambda: PATIENCE,
    ) -> None:
        self.asked = False
        self._before: Any = None
        self._interrupt, self._patience = interrupt, patience
        self.over = False
        self._ending = threading.Lock()
        self._thread = 0

    def __enter__(self) -> StepBoundary:
        self._thread = threading.get_ident()
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
            _WATCHER.begin(self)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            signal.default_int_handler(number, frame)
        self.asked = True

    def reached(self) -> None:
        """Raise KeyboardInterrupt if it has been asked for."""
        if self.asked:
            self.asked = False
            raise KeyboardInterrupt

    def end_step(self) -> None:
        """End the step if it is still going on after a while; another thread calls it."""
        if not outlasts(self._patience(), lambda: self.over, lambda: _computes(self._thread)):
            return
        with self._ending:
            if not self.over and not self._interrupt():
                interrupt_main_thread()  # it runs Python

    def __exit__(self, *error: object) -> None:
        try:
            if self._before is not None:
                _WATCHER.end()
            with self._ending:
                self.over = True
        finally:
            if self._before is not None:
                signal.signal(signal.SIGINT, self._before)
                self._before = None
        if error[0] is None:
            self.reached()


class _Watcher:
    """A thread that hears of Ctrl-C while the first thread runs no Python.

    Python sends the number of a signal to a socket at once, and calls the handler later.
    """

    def __init__(self) -> None:
        self._process = -1
        self._boundary: StepBoundary | None = None
        self._on = False

    def begin(self, boundary: StepBoundary) -> None:
        """Watch for a boundary, unless another part of the program has such a socket."""
        if self._process != os.getpid():  # the first time, or in a forked child
            self._start()
        self._boundary = boundary
        before = signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        self._on = before == -1
        if not self._on:
            signal.set_wakeup_fd(before)

    def end(self) -> None:
        """Watch no longer."""
        self._boundary = None
        if self._on:
            signal.set_wakeup_fd(-1)

    def _start(self) -> None:
        self._sender, receiver = socket.socketpair()
        self._sender.setblocking(False)
        self._process = os.getpid()
        args = (receiver,)
        name = "neurodriver-interrupts"
        threading.Thread(target=self._watch, args=args, name=name, daemon=True).start()

    def _watch(self, receiver: socket.socket) -> None:
        while numbers := receiver.recv(64):
            boundary = self._boundary
            if signal.SIGINT in numbers and boundary is not None:
                boundary.end_step()


_WATCHER = _Watcher()

NO_STEPS = StepBoundary()
"""That of a simulation which has not begun any steps."""
NO_STEPS.over = True
