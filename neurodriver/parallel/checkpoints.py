"""Checkpoints of LPUs that are simulated together, in one process or on several ranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..errors import NeurodriverError, StateError
from ..mpi import World
from ..run.going_on import go_on_from, snapshots_of
from ..run.injected import compare_inputs, injected_by
from ..state.checkpoint import SavedLPU, StoredState, write_state
from ..state.parts import Index, has_parts
from ..state.snapshot import Snapshot
from ..state.taking import check_readable
from ..state.together import together
from .job import Job

T = TypeVar("T")


def check_savable(job: Job) -> None:
    """Raise StateError on every rank where what runs on any of them cannot be saved."""
    on_every_rank(job.world, lambda: _check(job))


def _check(job: Job) -> None:
    if job.modules:
        raise StateError(
            f"a run with Modules has no checkpoints ('{next(iter(job.modules))}' is one): they may "
            f"keep their state anywhere"
        )
    if job.simulation is not None:
        check_readable(job.simulation.program)


def save_share(job: Job, path: Path) -> str:
    """Write the state of the LPUs of this rank; return its digest.

    All ranks do so at the same step.
    """
    assert job.simulation is not None
    for _, feed in job.simulation.feeds:
        feed.recorder.settle()
    return write_state(path, snapshots_of(job.simulation), _saved(job))


def resume(job: Job, path: Path) -> int:
    """Let the LPUs of a job go on from a state, and recordings in files, too; return its step.

    Raises
    ------
    StateError
        On every rank, for a file that is missing or damaged, and where other LPUs were saved.
    """
    step, snapshot = on_every_rank(job.world, lambda: _read(job, path))
    on_every_rank(job.world, lambda: _go_on(job, snapshot))
    return step


def _go_on(job: Job, snapshot: Snapshot | None) -> None:
    if job.simulation is None or snapshot is None:
        return
    try:
        go_on_from(job.simulation, [snapshot])
    except BaseException:
        job.world.tell()  # others wait for the rows that this rank sends
        raise
    for _, feed in job.simulation.feeds:
        if feed.recorder.outlives:
            feed.go_on()


def _read(job: Job, path: Path) -> tuple[int, Snapshot | None]:
    """Return the step of a checkpoint, and the state of its LPUs that this rank has."""
    if has_parts(path):
        index = Index(path)
        step, ids = index.step, set(index.part_of)
        numbers = sorted({index.part_of[name] for name in job.lpus if name in ids})
        parts = [index.read(number) for number in numbers]
    else:
        parts = [StoredState(path)]
        step, ids = parts[0].snapshots[0].step, {one.id for one in parts[0].lpus}
    saved = {one.id: one for part in parts for one in part.lpus}
    mine = _saved(job)
    if ids != set(job.ranks) or any(saved[one.id].digest != one.digest for one in mine):
        raise StateError(f"{path}: was saved of LPUs with other ids or circuits")
    for one in mine:
        compare_inputs(f"{path}: {one.id}", saved[one.id].inputs, one.inputs)
    return step, together([part.snapshots[0] for part in parts]) if mine else None


def _saved(job: Job) -> list[SavedLPU]:
    """Return what a checkpoint tells of the LPUs of this rank."""
    return [
        SavedLPU(name, lpu.circuit.digest, injected_by(lpu.inputs))
        for name, lpu in job.lpus.items()
    ]


def on_every_rank(world: World, work: Callable[[], T]) -> T:
    """Do something on every rank; an error of one is an error of all, in the same words."""
    message = ""
    failed: NeurodriverError = StateError("")
    try:
        value = work()
    except NeurodriverError as error:
        message, failed = str(error), error
    said = [text for text in world.gather(message) if text]
    if said:
        failed = failed if message == said[0] else StateError(said[0])
        failed.known_to_all_ranks = True  # type: ignore[attr-defined]
        raise failed
    return value
