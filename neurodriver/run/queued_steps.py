"""Steps that a device queues behind what another library does with their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..backends.base import Backend, CallQueue, Queueing
from .findings import CopyWatches

if TYPE_CHECKING:
    from .simulation import Simulation


class QueuedSteps:
    """Queues steps of a simulation whose host has nothing to do in them."""

    def __init__(self) -> None:
        self._queue: CallQueue | None = None

    def begin_run(self, backend: Backend, busy: bool) -> None:
        """Begin a run; ``busy``: whether the host works in its steps."""
        self._queue = None
        if not busy and isinstance(backend, Queueing) and backend.queued.possible():
            self._queue = backend.queued

    def begin(self, simulation: Simulation, steps: int) -> bool:
        """Queue steps if another library uses their memory; whether it does."""
        queue = self._queue
        if queue is None or simulation.late:
            return False
        simulation.check_whole()
        before = queue.steps
        try:
            return queue.begin(simulation.step, steps)
        finally:  # an interrupt may come anywhere
            simulation.step += queue.steps - before

    def end_run(self, backend: Backend, findings: CopyWatches) -> None:
        """Wait for the queued steps.

        Raises
        ------
        NonFiniteError
            Where they have found a value that is not finite.
        """
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.land()
            findings.check(backend)
