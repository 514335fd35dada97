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

    The queue is bounded: when the disk is slower than the simulation, ``put`` waits. A failure in
    the thread is raised by the next ``put`` or by ``close``, whichever comes first; later blocks
    are then discarded, so that no recording has a gap. Recorders that are ``per_step`` are called
    in the thread of the caller.

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
        self._failure: BaseException | None = None
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
        self._raise_failure()
        if recorder.per_step:
            self.failed = recorder
            recorder.append(block)
            self.failed = None
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
            self._raise_failure()

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
            self._raise_failure()

    def __enter__(self) -> Writer[Receiving]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            self._raised = True
            raise self._failure

    def _run(self) -> None:
        """Body of the thread; keeps taking blocks after a failure, so that no ``put`` hangs."""
        last: dict[Receiving, Any] = {}
        while (item := self._queue.get()) is not _END:
            if isinstance(item, threading.Event):
                item.set()
                continue
            twice = last.get(item[0]) is item[1]  # an interrupted `put` may be tried again
            last[item[0]] = item[1]
            if self._failure is None and not twice:
                try:
                    with self._profile.phase("write", beside=True):
                        item[0].append(item[1])
                except BaseException as failure:
                    self._failure, self.failed = failure, item[0]
        self._close(per_step=False)

    def _close(self, per_step: bool) -> None:
        """Close the recorders of one kind, all of them."""
        for recorder in (r for r in self.recorders if r.per_step == per_step):
            try:
                recorder.close()
            except BaseException as failure:
                # The first failure is the cause; those of close() mostly follow from it.
                self._failure = self._failure or failure
                self.failed = self.failed or recorder
