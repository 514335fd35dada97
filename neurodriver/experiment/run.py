"""Runs an experiment, in one process or on all ranks of a job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..errors import ExperimentError, LPUExecutionError, NeurodriverError
from ..mpi import World, world
from ..parallel.manager import Manager
from ..profiling.phases import phased
from ..recorders.hdf5 import refuse_existing
from ..results.joint import write_master
from ..run.given import command_line
from ..version import __version__
from .build import ExperimentLPU
from .contents import Contents
from .pattern_files import Wiring, make_wirings
from .schema import FaultsOfFile

_AGREE_SECONDS = 60.0

T = TypeVar("T")


def agreed(work: Callable[[], T], here: World) -> T:
    """Do something on every rank; an error of one is an error of all, in the same words."""
    message, value = "", None
    try:
        value = work()
    except NeurodriverError as error:
        message = str(error)
    said = [text for text in here.gather(message, _AGREE_SECONDS) if text]
    if said:
        raise ExperimentError(said[0])
    return value  # type: ignore[return-value]


def wirings(experiment: Contents) -> list[Wiring]:
    """Return all patterns of an experiment; raise all that is wrong with any of them."""
    out: list[Wiring] = []
    faults = FaultsOfFile(experiment.source)
    for i, section in enumerate(experiment.section.pattern):
        path = ("pattern", i)
        try:
            out += make_wirings(experiment, section, path)
        except NeurodriverError as error:
            faults.at(path, str(error))
        except Exception as error:
            faults.at(path, f"{type(error).__name__}: {error}")
    if faults.count:
        raise ExperimentError(faults.report())
    return out


@phased("make patterns")
def make_manager(experiment: Contents, here: World) -> Manager:
    """Return a manager that knows the LPUs and the patterns of an experiment."""
    wired = wirings(experiment)
    man = Manager(threads=experiment.section.threads, quiet=True)
    for name, section in experiment.section.lpu.items():
        rank = None if section.rank is None else section.rank % here.size
        man.add(ExperimentLPU, name, experiment, wired=wired, rank=rank)
    for one in wired:
        man.connect(*one.between, one.pattern, *one.interfaces, delay=one.delay)
    return man


def spawn(man: Manager, experiment: Contents, here: World) -> None:
    """Construct and wire the LPUs; tell on every rank in plain words why one cannot be made."""
    try:
        man.spawn()
    except LPUExecutionError as error:
        made = error.__cause__.__cause__ if error.__cause__ is not None else None
        known = isinstance(made, NeurodriverError | MemoryError)
        texts = here.gather(str(made) if known else "", _AGREE_SECONDS)
        said = [text for text in texts if text]
        raise ExperimentError(said[0] if said else str(error)) from None
    except NeurodriverError as error:
        here.engaged = False  # all ranks found the same
        text = str(error).removeprefix("manager: ")
        raise ExperimentError(f"{experiment.source.path}: {text}") from error


def run(
    experiment: Contents,
    ready: Callable[[Manager], None] = lambda man: None,
    progress: Callable[[int], None] | None = None,
    every: float | None = None,
    resume: bool = False,
) -> Path:
    """Run an experiment; return the master file of its recordings.

    ``ready`` is called when all LPUs are made and wired, before the first step; ``progress`` with
    the number of steps done by each call into compiled code. A checkpoint is saved ``every`` so
    many seconds and at the end, or not at all. With ``resume`` the run and its recordings go on
    from the checkpoint, if there is one. When an LPU fails, every rank raises NeurodriverError.
    """
    here = world()
    saved = experiment.checkpoint
    agreed(lambda: _refuse_existing(experiment, every is not None, resume), here)
    resume = resume and here.spread(saved.exists(), _AGREE_SECONDS)
    man = agreed(lambda: make_manager(experiment, here), here)
    spawn(man, experiment, here)
    try:
        done = agreed(lambda: _resume(experiment, man), here) if resume else 0
        if not resume or not experiment.output.exists():
            agreed(lambda: _write_master(experiment, here, replace=not resume), here)
    except ExperimentError:
        here.engaged = False
        raise
    ready(man)
    steps = experiment.steps - done
    if every is None:
        man.start(steps, progress)
    else:
        man.start(steps, progress, saved, every)
    man.wait()
    return experiment.output


def _resume(experiment: Contents, man: Manager) -> int:
    """Go on from the checkpoint; return the steps that are done."""
    done = man.resume(experiment.checkpoint)
    if done > experiment.steps:
        asked = f"the experiment asks for {experiment.steps:,}"
        raise NeurodriverError(f"{experiment.checkpoint}: {done:,} steps are done; {asked}")
    return done


def _refuse_existing(experiment: Contents, saving: bool, resume: bool) -> None:
    """Refuse to begin where recordings of an earlier run are and must not be replaced."""
    clash = [n for n, path in experiment.recordings.items() if path == experiment.checkpoint]
    if clash and (saving or resume):
        raise NeurodriverError(
            f"{experiment.source.path}: the recording of LPU '{clash[0]}' and the checkpoint are "
            f"both {experiment.checkpoint}; give the LPU another name"
        )
    if experiment.section.overwrite or resume:
        return
    for path in (experiment.output, *experiment.recordings.values()):
        refuse_existing(path)


def _write_master(experiment: Contents, here: World, replace: bool) -> None:
    """Write the file that links all recordings, and remove those that this run replaces."""
    if here.rank:
        return
    section, recordings = experiment.section, experiment.recordings
    attributes: dict[str, str | int | float] = {
        "software": "neurodriver",
        "version": __version__,
        "dt": section.dt,
        "steps": experiment.steps,
        "dtype": section.dtype,
        "seed": str(section.seed),  # may exceed what a signed number of HDF5 holds
        "command": command_line(list(experiment.command)),
    }
    write_master(experiment.output, recordings, attributes, experiment.source.text)
    for path in recordings.values() if replace else ():
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise NeurodriverError(f"{path}: cannot be replaced: {error.strerror}") from None
