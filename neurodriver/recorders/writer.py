"""A thread between the step loop and the recorders, so that disks do not slow the steps."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from ..errors import RecordingError
from ..profiling.phases import OFF, Off, Profile
from .base import settled

_END = None


class Destination(Protocol):
    """What a `Writer` gives blocks to: a recorder, or what stands before one."""

    settle: Callable[[], None]

    @property
    def per_step(self) -> bool:
        """Whether it is called in the thread of the caller."""

    def append(self, block: Any, /) -> None:
        """Take the next block."""

    def close(self) -> None:
        """Finish."""


Receiving = TypeVar("Receiving", bound=Destination)

_Item = tuple[Any, Any] | threading.Event | None


class Writer(Generic[Receiving]):
    """Appends blocks to open recorders in its own thread, which ``close`` closes.

    The queue is bounded: when the disk is slower than the simulation, ``put`` waits. Later blocks
    of a recorder that has failed are discarded, so that its recording has no gap; the others go on.
    Recorders that are ``per_step`` are called in the thread of the caller. The first failure is
    raised by the next ``check`` or by ``close``, whichever comes first.

    Attributes
    ----------
    blocked_seconds : float
        Time that ``put`` has waited for the disk.
    failed : recorder or None
        The one that failed first.
    """

    def __init__(
        self, recorders: Iterable[Receiving], depth: int = 4, profile: Profile | Off = OFF
    ) -> None:
        self.recorders = tuple(recorders)
        self.blocked_seconds = 0.0
        self._profile = profile
        self.failed: Receiving | None = None
        self._queue: queue.Queue[_Item] = queue.Queue(max(1, depth))
        self._failures: dict[int, BaseException] = {}  # by id: a recorder may have no hash
        self._raised = False
        self._closed = False
        # A daemon: a script that ends without close() must not hang at its exit.
        self._thread = threading.Thread(target=self._run, name="neurodriver-writer", daemon=True)
        self._thread.start()
        for recorder in self.recorders:
            recorder.settle = self.flush

    def put(self, recorder: Receiving, block: Any) -> None:
        """Hand a block over; its arrays must not be changed afterwards."""
        if self._closed:
            raise RecordingError("Writer: closed; no more blocks can be taken")
        if recorder.per_step:
            self._append(recorder, block)
            return
        try:
            self._queue.put_nowait((recorder, block))
        except queue.Full:
            began = time.perf_counter()
            try:
                with self._profile.phase("wait for the disk"):
                    self._queue.put((recorder, block))
            finally:
                self.blocked_seconds += time.perf_counter() - began

    def check(self) -> None:
        """Raise what went wrong first."""
        if self.failed is not None:
            self._raised = True
            raise self._failures[id(self.failed)]

    def flush(self) -> None:
        """Wait until the blocks that were put before have been appended."""
        if self._closed or threading.current_thread() is self._thread:
            return
        reached = threading.Event()
        self._queue.put(reached)
        while not reached.wait(0.1) and self._thread.is_alive():
            pass

    def close(self) -> None:
        """Write what waits, close all recorders, end the thread; raise what went wrong."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(_END)
        self._thread.join()
        for recorder in self.recorders:
            recorder.settle = settled
        self._close(per_step=True)
        if not self._raised:
            self.check()

    def __enter__(self) -> Writer[Receiving]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self) -> None:
        """Body of the thread; keeps taking blocks after a failure, so that no ``put`` hangs."""
        last: dict[int, Any] = {}
        while (item := self._queue.get()) is not _END:
            if isinstance(item, threading.Event):
                item.set()
                continue
            twice = last.get(id(item[0])) is item[1]  # an interrupted `put` may be tried again
            last[id(item[0])] = item[1]
            if not twice:
                with self._profile.phase("write", beside=True):
                    self._append(*item)
        self._close(per_step=False)

    def _append(self, recorder: Receiving, block: Any) -> None:
        """Append a block; a recorder that has failed gets no more."""
        if id(recorder) not in self._failures:
            self._try(recorder, lambda: recorder.append(block))

    def _close(self, per_step: bool) -> None:
        """Close the recorders of one kind, all of them."""
        for recorder in (r for r in self.recorders if r.per_step == per_step):
            self._try(recorder, recorder.close)

    def _try(self, recorder: Receiving, work: Callable[[], None]) -> None:
        """Do something with a recorder; note where it fails first: the rest follows from it."""
        try:
            work()
        except BaseException as failure:
            self._failures.setdefault(id(recorder), failure)
            if self.failed is None:
                self.failed = recorder
            if recorder.per_step and not isinstance(failure, Exception):
                self._raised = True
                raise
