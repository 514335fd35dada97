"""What the compiler has to know of the backend that a program is for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Choices of the compiler that suit one backend; none of them changes a result.

    Attributes
    ----------
    name : str
    fuses : bool
        Whether synapses may be advanced by the kernel of their Aggregator.
    keeps_rows : bool
        Whether a ring of inputs alone keeps its row while nothing changes.
    powers_of_two : bool
        Whether the number of rows of a ring is a power of two, so that no step divides.
    threads : bool
        Whether a thread advances one component, and many threads hide what memory takes.
    hosted : bool
        Whether the rings are in host memory; if not, the host keeps row 0 alone.
    events : bool
        Whether a step reads the connections of its weighted spikes alone.
    """

    name: str
    fuses: bool
    keeps_rows: bool
    powers_of_two: bool
    threads: bool
    hosted: bool
    events: bool

    def depth(self, rows: int) -> int:
        """Return how many rows a ring gets that needs ``rows``."""
        return 1 << (rows - 1).bit_length() if self.powers_of_two else rows


CPU = Target(
    "cpu", fuses=True, keeps_rows=True, powers_of_two=False, threads=False, hosted=True, events=True
)
CUDA = Target(
    "cuda", fuses=False, keeps_rows=False, powers_of_two=True, threads=True, hosted=False,
    events=True,
)  # fmt: skip
TARGETS = {target.name: target for target in (CPU, CUDA)}
