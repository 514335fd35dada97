"""What the steps of a simulation took: times, components and bytes of each kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable


class Traffic(NamedTuple):
    """Bytes a step.

    Attributes
    ----------
    spared : int
        The part of ``read`` that is not read where the row of events that it belongs to is silent.
    """

    read: int
    written: int
    spared: int = 0

    @property
    def total(self) -> int:
        """Bytes read and written."""
        return self.read + self.written


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


@runtime_checkable
class Timed(Protocol):
    """What a backend tells about the steps of a profiled run; one without it has no kernel table.

    It asks ``current().on`` when it is made or started, and measures only where that is so.

    Attributes
    ----------
    threads : int
        How many work side by side: by so many the seconds are divided.
    worker : str
        What each of them is: ``thread``, ``warp``.
    peak_by : str
        What ``peak_bandwidth`` has measured.
    """

    threads: int
    worker: str
    peak_by: str

    def profile_times(self) -> list[tuple[str, float]]:
        """Return name and seconds of each unit, in the program's order, then of everything else.

        Seconds are those of all threads together, from step 0 to now. Of the rest, ``barrier`` is
        the time that threads wait for each other.
        """

    def profile_step(self) -> list[tuple[int, str, float, float]]:
        """Return thread, name, begin and end of the parts of one step of the last call.

        In seconds since that call began; empty where that is not known.
        """

    def peak_bandwidth(self) -> float:
        """Return the bandwidth of the memory that the kernels use, in bytes a second."""
