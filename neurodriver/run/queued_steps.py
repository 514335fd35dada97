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
        self._run: tuple[CallQueue, CopyWatches] | None = None

    def begin_run(self, backend: Backend, findings: CopyWatches, busy: bool) -> None:
        """Begin a run; ``busy``: whether the host works in its steps."""
        self._run = None
        alone = not (busy or findings.waits)
        if alone and isinstance(backend, Queueing) and backend.queued.possible():
            self._run = backend.queued, findings

    def begin(self, simulation: Simulation, steps: int) -> bool:
        """Do a short call, or queue it if another library uses the memory; whether it was done.

        Raises
        ------
        NonFiniteError
            Where a call that is not queued has found a value that is not finite.
        """
        if self._run is None or simulation.late:
            return False
        queue, findings = self._run
        simulation.check_whole()
        before, seconds = queue.steps, simulation.calls.seconds_per_step
        try:
            done = queue.begin(simulation.step, steps, 0 < seconds * steps < BRIEF)
        finally:  # an interrupt may come anywhere
            simulation.step += queue.steps - before
        if done and not queue.waiting:
            findings.check(simulation.backend, simulation.step)
        return done

    def end_run(self, backend: Backend) -> None:
        """Wait for the queued steps.

        Raises
        ------
        NonFiniteError
            Where they have found a value that is not finite.
        """
        run, self._run = self._run, None
        if run is not None:
            queue, findings = run
            queue.land()
            findings.check(backend)
