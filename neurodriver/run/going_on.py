"""The state of a simulation is taken, and another simulation goes on from it."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import NeurodriverError
from ..state.putting import put
from ..state.snapshot import Snapshot
from ..state.taking import take
from .simulation import Simulation


def snapshot_of(simulation: Simulation) -> Snapshot:
    """Return the state of a simulation at its step."""
    simulation.check_whole()
    simulation.complete_calls()
    return take(simulation.backend, simulation.step, simulation.targets, simulation.late)


def go_on_from(simulation: Simulation, snapshot: Snapshot) -> None:
    """Let a simulation take over a state, before its first step."""
    if simulation.started or simulation.step:
        raise NeurodriverError("LPU: a run that has begun cannot go on from another state")
    simulation.late = put(simulation.backend, snapshot, simulation.targets)
    simulation.step = snapshot.step


def leave(simulation: Simulation) -> None:
    """Give a simulation's memory back; its inputs and recorders stay for another one."""
    _check_finished(simulation)
    simulation.backend.close()


def _check_finished(simulation: Simulation) -> None:
    if simulation.started:
        raise NeurodriverError("LPU: call finish() before a change that compiles anew")


def replaced(simulation: Simulation, make: Callable[[], Simulation]) -> Simulation:
    """Return a simulation of another form of the circuit, which goes on from the state of this one.

    Recordings go on, too. Both are in memory for a moment: where the other one cannot be made, this
    one is as it was.
    """
    _check_finished(simulation)
    state, plans = snapshot_of(simulation), {f.recorder: f.plan for _, f in simulation.feeds}
    other = make()
    go_on_from(other, state)
    leave(simulation)
    for _, feed in other.feeds:
        feed.plan = plans.get(feed.recorder)
    return other
