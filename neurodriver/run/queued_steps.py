"""Steps that a device queues behind what another library does with their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..backends.base import CallQueue, Queueing
from .findings import CopyWatches

if TYPE_CHECKING:
    from .simulation import Simulation


class QueuedSteps:
    """Queues steps of a simulation whose host has nothing to do in them."""

    def __init__(self, simulation: Simulation, findings: CopyWatches) -> None:
        self._simulation, self._findings = simulation, findings
        self._queue: CallQueue | None = None

    def begin_run(self, busy: bool) -> None:
        """Begin a run; ``busy``: whether the host works in its steps."""
        backend, self._queue = self._simulation.backend, None
        if not busy and isinstance(backend, Queueing) and backend.queued.possible():
            self._queue = backend.queued

    def begin(self, steps: int) -> bool:
        """Queue steps if another library uses their memory; whether it does."""
        queue, one = self._queue, self._simulation
        if queue is None or one.late:
            return False
        one.check_whole()
        before = queue.steps
        try:
            return queue.begin(one.step, steps)
        finally:  # an interrupt may come anywhere
            one.step += queue.steps - before

    def end_run(self) -> None:
        """Wait for the queued steps.

        Raises
        ------
        NonFiniteError
            Where they have found a value that is not finite.
        """
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.land()
            self._findings.check(self._simulation.backend)
