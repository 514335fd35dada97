"""What ``neurodriver run`` and ``neurodriver check`` do with experiment files."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import LPUExecutionError, NeurodriverError
from .profiled import check_trace, profiled, tell

if TYPE_CHECKING:
    from ..experiment import Experiment
    from ..parallel.manager import Manager

ENDINGS = (".toml", ".yaml", ".yml")


def is_experiment(path: Path) -> bool:
    """Whether a file is called like an experiment."""
    return path.suffix.lower() in ENDINGS


def refuse_options(allowed: Iterable[str]) -> None:
    """Refuse options that an experiment file tells itself."""
    context = click.get_current_context()
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    for parameter in context.command.params:
        if parameter.name in given - {*allowed, "file"}:
            message = f"{parameter.opts[-1]} is for circuits; an experiment tells it in its file"
            raise click.UsageError(message)


def need_options(given: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse a circuit without the options that it needs."""
    context = click.get_current_context()
    for parameter in context.command.params:
        if parameter.name in names and given[parameter.name] is None:
            raise click.MissingParameter(ctx=context, param=parameter)


def check(path: Path, strict: bool) -> int:
    """Validate an experiment; print what it is made of."""
    from ..experiment import load_experiment
    from ..experiment.check import check as describe

    for line in describe(load_experiment(path), strict):
        click.echo(line)
    return 0


def run(
    path: Path, replaced: Mapping[str, Any], show: bool = False, trace: Path | None = None
) -> int:
    """Run an experiment, some of its keys replaced; under ``mpiexec`` rank 0 speaks for all.

    ``show`` prints a profile, ``trace`` names the file of a Chrome trace.
    """
    from ..experiment import load_experiment
    from ..experiment.run import agreed
    from ..parallel.mpi import world

    begin = time.perf_counter()
    here = world()
    words = click.get_current_context().obj
    if here.rank:
        warnings.simplefilter("ignore")
    try:
        with profiled(show, trace) as profile:
            with profile.phase("load experiment"):
                experiment = agreed(lambda: load_experiment(path, command=words, **replaced), here)
            files = [path, experiment.output, *experiment.recordings.values()]
            agreed(lambda: check_trace(None if here.rank else trace, files), here)
            _run(experiment, begin, here.rank == 0)
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


def _run(experiment: Experiment, begin: float, speaks: bool) -> None:
    """Run with a bar on a terminal, quietly otherwise."""
    from ..experiment.run import run as run_experiment

    steps, dt = experiment.steps, experiment.section.dt
    start = begin
    bar: Any = None

    def ready(man: Manager) -> None:
        nonlocal start, bar
        start = time.perf_counter()
        if speaks:
            ranks = f" on {man.size} ranks" if man.size > 1 else ""
            what = f"{len(man)} LPUs{ranks}; {steps:,} steps of {dt:g} s"
            click.echo(f"{what}; ready in {start - begin:.2f} s")
            if sys.stderr.isatty() and man.lpus:
                from tqdm import tqdm

                bar = tqdm(total=steps, unit=" steps", unit_scale=True)

    def progress(done: int) -> None:
        if bar is not None:
            bar.update(done)

    try:
        output = run_experiment(experiment, ready, progress)
    except KeyboardInterrupt:
        raise NeurodriverError("interrupted; the recordings hold what was done") from None
    finally:
        if bar is not None:
            bar.close()
    if speaks:
        spent = time.perf_counter() - start
        simulated = steps * dt
        factor = simulated / spent if spent else float("inf")
        click.echo(f"{simulated:g} s simulated in {spent:.2f} s ({factor:.3g} x real time)")
        click.echo(str(output))
