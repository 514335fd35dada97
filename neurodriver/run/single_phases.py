"""A step phase by phase: what is computed can be looked at, and changed, before the next phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ..errors import NeurodriverError

if TYPE_CHECKING:
    from .simulation import Simulation


@runtime_checkable
class Phased(Protocol):
    """A backend that can advance single phases of a step.

    Attributes
    ----------
    phases_done : int
        How many phases of the next step have been advanced already.
    """

    phases_done: int

    def run_phases(self, step: int, end: int) -> None:
        """Advance the next phases of a step up to one; ``run`` advances those that are left."""


def in_one_launch(simulation: Simulation) -> bool:
    """Whether a GPU advances all phases of a step in one launch, and could do so one by one."""
    parted = len(simulation.program.phase_ends) > 1 and not simulation.backend.stepwise
    alone = not (simulation.exchange or simulation.variants)
    return parted and alone and getattr(simulation.backend, "executor", "") == "resident"


def phases_done(backend: object) -> int:
    """Return how many phases of the next step a backend has advanced already."""
    done: int = getattr(backend, "phases_done", 0)  # isinstance would take 8 us in each call
    return done


def advance_phase(simulation: Simulation) -> None:
    """Advance the next phase of a step; the last one ends the step.

    Raises
    ------
    NeurodriverError
        In a batch, with other LPUs or, on a GPU, with classes that compute themselves.
    """
    backend, done = simulation.backend, phases_done(simulation.backend)
    ends = simulation.program.phase_ends
    end = next(end for end in ends if end > done)
    if end == ends[-1]:
        simulation.advance(1)
        return
    alone = not (simulation.exchange or simulation.variants)
    possible = isinstance(backend, Phased) and getattr(backend, "executor", "") != "resident"
    if not (isinstance(backend, Phased) and possible and alone):
        raise NeurodriverError(
            f"LPU.advance_phase: the circuit has {len(ends)} phases, and single ones of them run "
            f"without a batch or other processes; advance(1) advances all"
        )
    if not simulation.started:
        simulation.start()
    if not done:
        simulation.pools.begin()
        simulation.prepare(1)
    backend.run_phases(simulation.step, end)


def check_between_steps(simulation: Simulation) -> None:
    """Raise NeurodriverError where some phases of a step have been advanced, and others not."""
    done = phases_done(simulation.backend)
    if done:
        ends = simulation.program.phase_ends
        some = sum(end <= done for end in ends)
        raise NeurodriverError(
            f"LPU: {some} of {len(ends)} phases of step {simulation.step} are "
            f"done; advance_phase() or advance(1) ends the step"
        )
