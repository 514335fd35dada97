"""Calls of a backend, and what they have recorded on its way to the writer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Ahead, Backend, Followed
from ..profiling.phases import Off, Profile
from ..recorders.base import Block, Recorder
from ..recorders.writer import Writer
from .behind import Behind
from .execution import RecorderFeed


@dataclass
class _Call:
    """A call of the backend whose rows are not with the writer yet."""

    number: int  # calls of the backend before it
    first: int
    steps: int
    begin: float
    rows: list[dict[str, NDArray[np.generic]]]  # where those of each recorder lie, or will
    blocks: list[tuple[Recorder, Block]] | None = None  # not with the writer; None: not completed

    def end(self, steps: int, feeds: Sequence[RecorderFeed]) -> None:
        """Note how many steps were done: fewer than were begun where another process failed."""
        if steps < self.steps:
            self.steps = steps
            for rows, feed in zip(self.rows, feeds, strict=True):
                interval = feed.recorder.sample_interval
                count = (self.first + steps) // interval - self.first // interval
                rows.update({name: values[:count] for name, values in rows.items()})


class CallsInFlight:
    """Lets a backend advance steps, the next ones before the rows of the last ones are here.

    It does not where a user's code or another process ``waits`` for the rows of each call.

    With ``follows``, a device gets what comes behind the last call as soon as the call has begun.

    Attributes
    ----------
    ahead : Ahead or None
        The backend, if it begins a call before the last one has completed.
    seconds_per_step : float
        Of the last calls, of the backend alone where it begins calls ahead; 0 before the first one
        has completed.
    """

    def __init__(
        self,
        backend: Backend,
        feeds: Sequence[RecorderFeed],
        waits: bool,
        profile: Profile | Off,
        follows: bool = False,
    ) -> None:
        self._backend, self._feeds, self._profile = backend, feeds, profile
        for feed in feeds:
            feed.bind(backend)
        waits = waits or not feeds
        waits = waits or any(feed.recorder.per_step or feed.waits for feed in feeds)
        self._followed = backend if follows and isinstance(backend, Followed) else None
        self.ahead: Ahead | None = None
        if not waits and isinstance(backend, Ahead):
            self.ahead = backend
        self.seconds_per_step = 0.0
        self._calls: list[_Call] = []
        self._completed = self._spent = (
            0.0  # when the last call did; seconds of a device until then
        )

    def begin(self, first: int, steps: int, last: Behind) -> int:
        """Advance up to ``steps`` steps, or begin to; return how many."""
        if self._followed is not None and first + steps == last.end and last.some:
            self._followed.follow(last.begin)
        backend, at = self._backend, 0
        for feed in self._feeds:
            count = len(feed.probes)
            feed.prepare([backend.probes[at + i] for i in range(count)], first, steps)
            at += count
        number = self.ahead.completed + len(self._calls) if self.ahead else 0
        with self._profile.phase("step loop"):
            begin = time.perf_counter()
            run = self.ahead.begin if self.ahead else backend.run
            done = run(first, steps)
        self._profile.step(backend, begin)
        # an interrupt may come anywhere: what counts as done is in flight, waits for the writer,
        # or is with it
        rows = [feed.dense(first, done) for feed in self._feeds]
        self._calls.append(_Call(number, first, done, begin, rows))
        return done

    @property
    def due(self) -> bool:
        """Whether a call has to complete before the next one begins."""
        return len(self._calls) > (self.ahead is not None)

    def __bool__(self) -> bool:
        """Whether any call has not been completed."""
        return bool(self._calls)

    def complete(self, writer: Writer[Recorder] | None) -> None:
        """Give the writer what the call that was begun first has recorded.

        An interrupt may come anywhere here; called again, it goes on where it was.
        """
        call = self._calls[0]
        if call.blocks is None:
            if self.ahead and self.ahead.completed <= call.number:
                try:
                    with self._profile.phase("step loop"):
                        call.end(self.ahead.land(), self._feeds)
                except Exception:
                    self._calls.clear()  # nothing will come from this device any more
                    raise
            call.blocks = self._blocks(call)
        with self._profile.phase("hand over"):
            while call.blocks and writer is not None:
                writer.put(*call.blocks[0])
                del call.blocks[0]
        del self._calls[0]

    def _blocks(self, call: _Call) -> list[tuple[Recorder, Block]]:
        """Return what each recorder gets of a call whose rows are here."""
        now = time.perf_counter()
        steps = max(call.steps, 1)  # a call that had to leave at once has done none
        seconds = (now - max(call.begin, self._completed)) / steps
        if self.ahead:
            spent, self._spent = self._spent, self.ahead.device_seconds
            seconds = (self._spent - spent) / steps
        before = self.seconds_per_step
        self.seconds_per_step = max(seconds, before / 8) if before else seconds
        self._completed = now
        out = []
        at = 0
        for feed, rows in zip(self._feeds, call.rows, strict=True):
            events = [self._backend.found(at + i) for i in range(len(feed.events))]
            out.append((feed.recorder, feed.block(call.first, call.steps, rows, events)))
            at += len(feed.events)
        return out
