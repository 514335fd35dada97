"""The state of a simulation is taken, and another simulation goes on from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import NeurodriverError, StateError
from ..plan.arrays import Kind
from ..state.putting import put
from ..state.snapshot import Snapshot
from ..state.taking import take
from .divided import Divided
from .simulation import Simulation
from .single_phases import check_between_steps


def snapshots_of(simulation: Simulation) -> list[Snapshot]:
    """Return the state of each copy of a simulation at its step; one without a batch."""
    if isinstance(simulation, Divided):
        return [simulation.snapshot()]
    simulation.check_whole()
    check_between_steps(simulation)
    simulation.complete_calls()
    targets, step, ports = simulation.targets, simulation.step, simulation.ports
    return [take(copy.backend, step, targets, copy.late, ports) for copy in simulation.copies]


def go_on_from(simulation: Simulation, snapshots: Sequence[Snapshot]) -> None:
    """Let a simulation take over the states of its copies, before its first step."""
    if simulation.started or simulation.step:
        raise NeurodriverError("LPU: a run that has begun cannot go on from another state")
    if isinstance(simulation, Divided):
        if len(snapshots) > 1:
            raise StateError(f"{len(snapshots):,} copies were saved; leave out parts=")
        simulation.go_on_from(snapshots[0])
        return
    copies = simulation.copies
    if len(copies) != len(snapshots):
        raise StateError(f"{len(snapshots):,} copies were saved, and there are {len(copies):,}")
    for copy, snapshot in zip(copies, snapshots, strict=True):
        copy.late = put(copy.backend, snapshot, simulation.targets, simulation.ports)
    simulation.step = snapshots[0].step


def leave(simulation: Simulation) -> None:
    """Give a simulation's memory back; its inputs and recorders stay for another one."""
    end_run(simulation)
    if isinstance(simulation, Divided):
        simulation.release()
    else:
        simulation.backend.close()


def end_run(simulation: Simulation) -> None:
    """End the run of a simulation, if there is one; the next run goes on with its recordings.

    Raises
    ------
    NeurodriverError
        Where this is asked for while steps are done, as by ``progress`` or by a recorder.
    """
    if simulation.advancing if isinstance(simulation, Divided) else not simulation.boundary.over:
        say = "cannot be done while run() or advance() does its steps; do it between two calls"
        raise NeurodriverError(f"LPU: a change that compiles anew {say}")
    if simulation.started:
        simulation.finish()


def replaced(simulation: Simulation, make: Callable[[], Simulation]) -> Simulation:
    """Return a simulation of another form of the circuit, which goes on from the state of this one.

    Recordings go on, too. Both are in memory for a moment: where the other one cannot be made, this
    one is as it was.
    """
    try:
        states = snapshots_of(simulation)
    except StateError as error:
        say = "other recorders, inputs or values compile the circuit anew, to go on from its state"
        fix = "or give recorders, inputs and values before the first step"
        raise StateError(f"LPU: {say}: {error}; {fix}") from None
    end_run(simulation)
    other = make()
    go_on_from(other, states)
    if isinstance(simulation, Divided):
        leave(simulation)
        other.go_on_recording(simulation)  # type: ignore[attr-defined]
        return other
    plans = {feed.recorder: feed.plan for _, feed in simulation.feeds}
    _keep_fields(simulation, other)
    leave(simulation)
    for _, feed in other.feeds:
        feed.plan = plans.get(feed.recorder)
    return other


def _keep_fields(simulation: Simulation, other: Simulation) -> None:
    """Give the copies of another form the fields that have been set; the circuit has them once."""
    for before, after in zip(simulation.copies, other.copies, strict=True):
        for key in before.changed:
            if key.kind is Kind.FIELD and key in after.program.arrays:
                values = before.backend.live.read(key, slice(None))
                after.backend.live.write(key, values, slice(0, len(values)))
                after.changed.add(key)


def taken_back(
    simulation: Simulation, make: Callable[[], Simulation], states: Sequence[Snapshot]
) -> Simulation:
    """Return a simulation that goes on from an earlier state; its recordings begin anew."""
    end_run(simulation)
    other = make()
    go_on_from(other, states)
    leave(simulation)
    return other


def renumbered(simulation: Simulation, make: Callable[[], Simulation], step: int) -> Simulation:
    """Return a simulation that goes on from the state of this one, as if at another step.

    Its recordings begin anew.
    """
    states = [replace(one, step=step) for one in snapshots_of(simulation)]
    return taken_back(simulation, make, states)
