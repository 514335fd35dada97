"""What a backend has measured of the steps, joined with what each kernel moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .traffic import Traffic, bytes_of

if TYPE_CHECKING:
    from ..plan.program import Program
    from .phases import Timed


@dataclass(frozen=True)
class Row:
    """A part of the steps.

    Attributes
    ----------
    name : str
        Of a kernel's models, or ``recording``, ``inputs``, ``barrier``.
    seconds : float
        Of all threads together, all steps.
    count : int
        Components; 0 where it is no kernel.
    traffic : Traffic or None
        Bytes a step of a kernel.
    """

    name: str
    seconds: float
    count: int = 0
    traffic: Traffic | None = None


@dataclass(frozen=True)
class Measured:
    """The steps of one simulation.

    Attributes
    ----------
    threads, steps : int
    rows : list of Row
        Each unit of the program in its order, then the rest.
    peak : float
        Bandwidth of the memory in bytes a second.
    worker, peak_by : str
        What each of the threads is, and what has measured the peak (see `phases.Timed`).
    """

    threads: int
    steps: int
    rows: list[Row]
    peak: float
    worker: str = "thread"
    peak_by: str = "a triad by as many"

    @property
    def kernels(self) -> list[Row]:
        """The rows of kernels."""
        return [row for row in self.rows if row.traffic is not None]

    @property
    def seconds(self) -> float:
        """Seconds of all rows and threads."""
        return sum(row.seconds for row in self.rows)

    def bandwidth(self, row: Row) -> float:
        """Return the bytes a second that a kernel moves while it runs, on all threads."""
        if row.traffic is None or not row.seconds:
            return 0.0
        return row.traffic.total * self.steps / (row.seconds / self.threads)


def measured(backend: Timed, program: Program, steps: int) -> Measured:
    """Return times, bytes and the peak of a backend that has done ``steps`` steps."""
    times = backend.profile_times()
    units = program.units
    rows = [
        Row(name, seconds, unit.count, bytes_of(program, unit))
        for (name, seconds), unit in zip(times, units, strict=False)
    ]
    rows += [Row(name, seconds) for name, seconds in times[len(units) :]]
    words = backend.worker, backend.peak_by
    return Measured(backend.threads, steps, rows, backend.peak_bandwidth(), *words)
