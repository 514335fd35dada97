"""Short calls of a device: queued behind what another library does, or waited for at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..backends.base import Backend, CallQueue, Queueing
from .findings import CopyWatches

if TYPE_CHECKING:
    from .simulation import Simulation


BRIEF = 1e-3
"""Seconds that a call may take whose end a Ctrl-C waits for."""


class QueuedSteps:
    """Begins short calls of a simulation whose host has nothing to do in them.

    Such a call needs no tables, no events and no watch for Ctrl-C. So where steps are called one by
    one, a call takes half the time.
    """

    def __init__(self) -> None:
        self._queue: CallQueue | None = None
        self._findings: CopyWatches | None = None

    def begin_run(self, backend: Backend, findings: CopyWatches, busy: bool) -> None:
        """Begin a run; ``busy``: whether the host works in its steps."""
        self._queue, self._findings = None, findings
        alone = not (busy or findings.waits)
        if alone and isinstance(backend, Queueing) and backend.queued.possible():
            self._queue = backend.queued

    def begin(self, simulation: Simulation, steps: int) -> bool:
        """Do short calls, and queue them if another library uses their memory; whether it was done.

        Raises
        ------
        NonFiniteError
            Where a call that is not queued has found a value that is not finite.
        """
        queue = self._queue
        if queue is None or simulation.late:
            return False
        simulation.check_whole()
        before, seconds = queue.steps, simulation.calls.seconds_per_step
        try:
            done = queue.begin(simulation.step, steps, 0 < seconds * steps < BRIEF)
        finally:  # an interrupt may come anywhere
            simulation.step += queue.steps - before
        if done and not queue.waiting and self._findings is not None:
            self._findings.check(simulation.backend, simulation.step)
        return done

    def end_run(self, backend: Backend) -> None:
        """Wait for the queued steps.

        Raises
        ------
        NonFiniteError
            Where they have found a value that is not finite.
        """
        queue, self._queue = self._queue, None
        if queue is not None and self._findings is not None:
            queue.land()
            self._findings.check(backend)
