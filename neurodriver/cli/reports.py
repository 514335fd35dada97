"""What a run tells about its time: a bar, its speed, ``--profile`` and ``--trace``."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import NeurodriverError
from ..profiling.phases import OFF, Off, Profile
from ..profiling.trace import check, write
from ..run.progress import StepBar

if TYPE_CHECKING:
    from ..mpi import World

_GATHER_SECONDS = 60.0


@contextmanager
def profiled(show: bool, trace: Path | None) -> Iterator[Profile | Off]:
    """Measure the block where a table or a trace is asked for."""
    if show or trace is not None:
        with Profile(trace is not None) as profile:
            yield profile
    else:
        yield OFF


def check_trace(trace: Path | None, others: Iterable[Path]) -> None:
    """Refuse a file for the trace that cannot be written, or that is another file of the run."""
    if trace is None:
        return
    if any(trace.resolve() == other.resolve() for other in others):
        message = "the trace would overwrite a file of the run; name another"
        raise NeurodriverError(f"{trace}: {message}")
    check(trace)


def tell(profile: Profile | Off, show: bool, trace: Path | None, here: World | None = None) -> None:
    """Print the tables and write the trace; of several ranks, rank 0 does it for all."""
    if isinstance(profile, Off):
        return
    mine = profile.report() if show else "", profile.trace_events
    gathered = [mine] if here is None else here.gather(mine, _GATHER_SECONDS)
    if here is not None and here.rank:
        return
    for rank, (text, _) in enumerate(gathered if show else []):
        click.echo(f"\nrank {rank}\n{text}" if len(gathered) > 1 else f"\n{text}")
    if trace is not None:
        write(trace, [events for _, events in gathered])
        click.echo(str(trace))


class Pace:
    """A bar on a terminal while steps of ``dt`` seconds are done, then how fast they were."""

    def __init__(self, steps: int, dt: float) -> None:
        self.steps, self.dt = steps, dt
        self.begin = time.perf_counter()
        self.bar: StepBar | None = None

    def begin_at(self, step: int) -> None:
        """Leave out the steps that are done."""
        self.steps -= step

    def start(self, shown: bool = True) -> None:
        """Begin to count."""
        if shown and sys.stderr.isatty():
            self.bar = StepBar(self.steps, self.dt)
        self.begin = time.perf_counter()

    def __call__(self, done: int) -> None:
        """Take the number of steps that were done."""
        if self.bar is not None:
            self.bar(done)

    def close(self) -> None:
        """Close the bar."""
        if self.bar is not None:
            self.bar.close()

    def tell(self, output: Path) -> None:
        """Print how fast it was, and the file that holds what was recorded."""
        simulated, spent = self.steps * self.dt, time.perf_counter() - self.begin
        factor = simulated / spent if spent else float("inf")
        click.echo(f"{simulated:g} s simulated in {spent:.2f} s ({factor:.3g} x real time)")
        click.echo(str(output))
