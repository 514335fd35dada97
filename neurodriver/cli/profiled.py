"""``--profile`` and ``--trace``: what a run tells about its time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import NeurodriverError
from ..profiling.phases import OFF, Off, Profile

if TYPE_CHECKING:
    from ..parallel.mpi import World

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
    from ..profiling.trace import check

    if any(trace.resolve() == other.resolve() for other in others):
        message = "the trace would overwrite a file of the run; name another"
        raise NeurodriverError(f"{trace}: {message}")
    check(trace)


def tell(profile: Profile | Off, show: bool, trace: Path | None, here: World | None = None) -> None:
    """Print the tables and write the trace; of several ranks, rank 0 does it for all."""
    if isinstance(profile, Off):
        return
    from ..profiling.trace import events_of, write

    mine = profile.report() if show else "", events_of(profile)
    told = [mine] if here is None else here.gather(mine, _GATHER_SECONDS)
    if here is not None and here.rank:
        return
    for rank, (text, _) in enumerate(told if show else []):
        click.echo(f"\nrank {rank}\n{text}" if len(told) > 1 else f"\n{text}")
    if trace is not None:
        write(trace, [events for _, events in told])
        click.echo(str(trace))
