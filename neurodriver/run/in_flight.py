"""``Flights``: calls of a backend, and what they have recorded on its way to the writer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Ahead, Backend
from ..profiling.phases import Off, Profile
from ..recorders.base import Block, Recorder
from ..recorders.writer import Writer
from .execution import RecorderFeed


@dataclass
class _Flight:
    """A call of the backend whose rows are not with the writer yet.

    Attributes
    ----------
    number : int
        Calls of the backend before it.
    first, steps : int
    begin : float
        When it began.
    rows : list of (variable -> array)
        Where the rows of each recorder lie, or will.
    blocks : list of (Recorder, Block), optional
        What the writer has yet to get; None while the rows are under way.
    """

    number: int
    first: int
    steps: int
    begin: float
    rows: list[dict[str, NDArray[np.generic]]]
    blocks: list[tuple[Recorder, Block]] | None = None


class Flights:
    """Lets a backend advance steps, the next ones while the last ones' rows are under way.

    Parameters
    ----------
    backend : Backend
        Its tables are those of the recorders.
    taps : sequence of RecorderFeed
    waits : bool
        Whether a user's code or another process waits for the rows of each call.
    profile : Profile or Off

    Attributes
    ----------
    ahead : Ahead or None
        The backend, if it begins a call before the last one's rows are here.
    seconds_per_step : float
        As of late; 0 before anything is known.
    """

    def __init__(
        self, backend: Backend, taps: Sequence[RecorderFeed], waits: bool, profile: Profile | Off
    ) -> None:
        self._backend, self._taps, self._profile = backend, taps, profile
        recorders = [tap.recorder for tap in taps]
        waits = waits or not recorders or any(one.per_step for one in recorders)
        self.ahead: Ahead | None = None
        if not waits and isinstance(backend, Ahead):
            self.ahead = backend
        self.seconds_per_step = 0.0
        self._flying: list[_Flight] = []
        self._landed = 0.0

    def begin(self, first: int, steps: int) -> int:
        """Advance up to ``steps`` steps, or begin to; return how many."""
        backend, at = self._backend, 0
        for tap in self._taps:
            count = len(tap.probes)
            tap.prepare([backend.probes[at + i] for i in range(count)], first, steps)
            at += count
        number = self.ahead.completed + len(self._flying) if self.ahead else 0
        with self._profile.phase("step loop"):
            begin = time.perf_counter()
            run = self.ahead.begin if self.ahead else backend.run
            done = run(first, steps)
        self._profile.step(backend, begin)
        # an interrupt may come anywhere: what counts as done is under way, waits for the writer,
        # or is with it
        rows = [tap.dense(first, done) for tap in self._taps]
        self._flying.append(_Flight(number, first, done, begin, rows))
        return done

    @property
    def due(self) -> bool:
        """Whether a call has to land before the next one begins."""
        return len(self._flying) > (self.ahead is not None)

    def __bool__(self) -> bool:
        """Whether any call has not landed."""
        return bool(self._flying)

    def land(self, writer: Writer | None) -> None:
        """Give the writer what the call that was begun first has recorded.

        An interrupt may come anywhere here; called again, it goes on where it was.
        """
        flight = self._flying[0]
        if flight.blocks is None:
            if self.ahead and self.ahead.completed <= flight.number:
                try:
                    with self._profile.phase("step loop"):
                        self.ahead.land()
                except Exception:
                    self._flying.clear()  # nothing will come from this device any more
                    raise
            flight.blocks = self._blocks(flight)
        with self._profile.phase("hand over"):
            while flight.blocks and writer is not None:
                writer.put(*flight.blocks[0])
                del flight.blocks[0]
        del self._flying[0]

    def _blocks(self, flight: _Flight) -> list[tuple[Recorder, Block]]:
        """Return what each recorder gets of a call whose rows are here."""
        now = time.perf_counter()
        spent = (now - max(flight.begin, self._landed)) / flight.steps
        known = self.seconds_per_step
        self.seconds_per_step = max(spent, known / 8) if known else spent
        self._landed = now
        out = []
        at = 0
        for tap, rows in zip(self._taps, flight.rows, strict=True):
            found = [self._backend.found(at + i) for i in range(len(tap.events))]
            out.append((tap.recorder, tap.block(flight.first, flight.steps, rows, found)))
            at += len(tap.events)
        return out
