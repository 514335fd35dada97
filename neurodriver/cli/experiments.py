"""What ``neurodriver run`` and ``neurodriver check`` do with experiment files."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import LPUExecutionError, NeurodriverError, RunInterrupted
from ..run.progress import both
from .reports import Pace, check_trace, profiled, tell
from .view import ViewedRun

if TYPE_CHECKING:
    from ..experiment import Experiment
    from ..parallel.manager import Manager

ENDINGS = (".toml", ".yaml", ".yml")


def is_experiment(path: Path) -> bool:
    """Whether a file is called like an experiment."""
    return path.suffix.lower() in ENDINGS


def check(path: Path, strict: bool, trust: bool) -> int:
    """Validate an experiment; print what it is made of.

    Programs that it names are imported and called only if they are trusted.
    """
    from ..experiment import load_experiment
    from ..experiment.check import check as describe
    from ..experiment.load import programs_of

    if programs := [] if trust else programs_of(path):
        click.echo(f"{path}: the file is valid; it names these programs:")
        for name in programs:
            click.echo(f"  {name}")
        click.echo("give --trust to run them, and to check what they make")
        return 0
    for line in describe(load_experiment(path), strict):
        click.echo(line)
    return 0


def run(
    path: Path,
    replaced: Mapping[str, Any],
    show: bool = False,
    trace: Path | None = None,
    every: float | None = None,
    resume: bool = False,
    view: tuple[bool, int] | None = None,
) -> int:
    """Run an experiment, some of its keys replaced; under ``mpiexec`` rank 0 speaks for all.

    ``show`` prints a profile, ``trace`` names the file of a Chrome trace. ``every`` and ``resume``
    are those of `neurodriver.experiment.run.run`. ``view`` shows the run in a browser: whether it
    begins paused, and the port.
    """
    from ..experiment import load_experiment
    from ..experiment.run import agreed
    from ..mpi import world

    begin = time.perf_counter()
    here = world()
    words = click.get_current_context().obj
    if here.rank:
        warnings.simplefilter("ignore")
    if view is not None and here.size > 1:
        say = "--view is for one process; beside a job, look at its output: neurodriver view"
        raise click.UsageError(say)
    try:
        with profiled(show, trace) as profile:
            with profile.phase("load experiment"):
                experiment = agreed(lambda: load_experiment(path, command=words, **replaced), here)
            files = [path, experiment.output, *experiment.recordings.values()]
            agreed(lambda: check_trace(None if here.rank else trace, files), here)
            _run(experiment, begin, here.rank == 0, every, resume, view)
        tell(profile, show, trace, here)
    except LPUExecutionError as error:
        if here.rank == 0 and not error.traceback[-1:][0].startswith("neurodriver."):
            click.echo("".join(error.traceback), err=True)
        if here.rank:
            return 1
        raise
    except NeurodriverError:
        if here.rank:
            return 1
        raise
    return 0


def _run(
    experiment: Experiment,
    begin: float,
    speaks: bool,
    every: float | None,
    resume: bool,
    view: tuple[bool, int] | None,
) -> None:
    """Run with a bar on a terminal, quietly otherwise."""
    from ..experiment.run import run as run_experiment

    steps, dt = experiment.steps, experiment.section.dt
    pace = Pace(steps, dt)
    viewed = None if view is None else ViewedRun(experiment.output.name, steps, *view)

    def ready(man: Manager) -> None:
        if speaks:
            ranks = f" on {man.size} ranks" if man.size > 1 else ""
            what = f"{len(man)} LPUs{ranks}; {steps:,} steps of {dt:g} s"
            click.echo(f"{what}; ready in {time.perf_counter() - begin:.2f} s")
            if man.first_step:
                click.echo(f"{experiment.checkpoint}: goes on at step {man.first_step:,}")
            elif resume:
                click.echo(f"{experiment.checkpoint}: no checkpoint yet; the run begins at step 0")
        if viewed is not None:
            _begin(viewed, experiment, man)
        pace.begin_at(man.first_step)
        pace.start(speaks and bool(man.lpus))

    stack = contextlib.ExitStack()
    if viewed is not None:
        stack.enter_context(viewed)
    advanced = both(pace, viewed.control if viewed else None)
    with stack:
        output = _ran(lambda: run_experiment(experiment, ready, advanced, every, resume), pace)
        if speaks:
            pace.tell(output)
        if viewed is not None:
            viewed.end()


def _begin(viewed: ViewedRun, experiment: Experiment, man: Manager) -> None:
    """Show the LPUs of an experiment in a browser."""
    from ..parallel.manager import is_stopping
    from ..run.control import switchable
    from ..view.watched import watched_path

    lpus, files = man.lpus, experiment.recordings
    if not files:
        raise NeurodriverError(
            f"{experiment.source.path}: nothing is recorded, so there is no view"
        )
    parts = [watched_path(name, path, lpus[name].circuit) for name, path in files.items()]
    inputs = [one for name, lpu in lpus.items() for one in switchable(lpu.inputs, name)]
    viewed.begin(parts, man.first_step, inputs, lambda: is_stopping(man))


def _ran(work: Callable[[], Path], pace: Pace) -> Path:
    """Run, and close the bar; Ctrl-C is an error that says what is kept."""
    try:
        return work()
    except KeyboardInterrupt as ended:
        why = f"; {ended}" if str(ended) else ""
        raise RunInterrupted(f"interrupted; the recordings hold what was done{why}") from None
    finally:
        pace.close()
