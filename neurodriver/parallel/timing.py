"""What exchanging cost, over all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .job import Job


@dataclass(frozen=True)
class Exchanged:
    """One rank's share.

    Attributes
    ----------
    seconds : float
        Time spent in exchanging and in waiting for others.
    received : int
        Bytes that came from other ranks.
    steps : int
    """

    seconds: float = 0.0
    received: int = 0
    steps: int = 0

    @classmethod
    def of(cls, job: Job) -> Exchanged:
        """Return what a rank's job has exchanged; nothing where it has no other rank."""
        exchange = job.simulation.exchange if job.simulation else None
        if job.simulation is None or exchange is None or not exchange.received:
            return cls()
        return cls(exchange.spent, exchange.received, job.simulation.step)


def step_seconds(ranks: Sequence[Exchanged]) -> float:
    """Return the seconds per step of the rank that exchanged longest."""
    return max((r.seconds / r.steps for r in ranks if r.steps), default=0.0)


def mean_throughput(ranks: Sequence[Exchanged]) -> float:
    """Return the bytes per second of exchanging, the mean over the ranks that exchanged."""
    rates = [r.received / r.seconds for r in ranks if r.seconds]
    return sum(rates) / len(rates) if rates else 0.0


def total_throughput(ranks: Sequence[Exchanged]) -> float:
    """Return the bytes of all ranks per second of the rank that exchanged longest."""
    longest = max((r.seconds for r in ranks), default=0.0)
    return sum(r.received for r in ranks) / longest if longest else 0.0
