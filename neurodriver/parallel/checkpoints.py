"""Checkpoints of the LPUs of one process, which are simulated together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ..errors import StateError
from ..run.going_on import go_on_from, snapshots_of
from ..run.injected import compare_inputs, injected_by
from ..run.lpu import LPU
from ..run.simulation import Simulation
from ..state.checkpoint import StoredState, write_state
from .job import Job


def check_savable(job: Job) -> None:
    """Raise StateError where not all LPUs are in this process, or Modules run beside them."""
    if job.world.size > 1 or job.modules:
        raise StateError(
            "checkpoints of a Manager are for LPUs in one process and without Modules; run it "
            "without mpiexec"
        )


def save(job: Job, path: Path) -> None:
    """Write the state of all LPUs of a job."""
    simulation = _simulation(job)
    for _, feed in simulation.feeds:
        feed.recorder.settle()
    write_state(path, snapshots_of(simulation), _inputs(job.lpus), _digest(job.lpus))


def resume(job: Job, path: Path) -> None:
    """Let the LPUs of a job go on from a state, and recordings in files, too.

    Raises
    ------
    StateError
        Where other LPUs were saved.
    """
    stored, simulation = StoredState(path), _simulation(job)
    if stored.circuit_digest != _digest(job.lpus):
        raise StateError(f"{path}: was saved of LPUs with other ids or circuits")
    compare_inputs(str(path), stored.inputs, _inputs(job.lpus))
    go_on_from(simulation, stored.snapshots)
    for _, feed in simulation.feeds:
        if feed.recorder.outlives:
            feed.go_on()


def _simulation(job: Job) -> Simulation:
    check_savable(job)
    assert job.simulation is not None
    return job.simulation


def _digest(lpus: Mapping[str, LPU]) -> str:
    """Return the hash of ids and circuits."""
    made = hashlib.sha256()
    for name, lpu in lpus.items():
        made.update(f"{name}\0{lpu.circuit.digest};".encode())
    return made.hexdigest()


def _inputs(lpus: Mapping[str, LPU]) -> str:
    """Return what inputs inject into each LPU, in words."""
    told = {name: injected_by(lpu.inputs).split("\n") for name, lpu in lpus.items()}
    return "\n".join(f"{name}: {line}" for name, lines in told.items() for line in lines)
