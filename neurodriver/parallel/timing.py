"""What exchanging cost, over all ranks."""

from __future__ import annotations

from dataclasses import dataclass

from ..run.simulation import Simulation


@dataclass(frozen=True)
class Exchanged:
    """One rank's share.

    Attributes
    ----------
    seconds : float
        Time spent in exchanging and in waiting for others.
    received : int
        Bytes that came from other ranks.
    """

    seconds: float = 0.0
    received: int = 0
    steps: int = 0

    @classmethod
    def of(cls, simulation: Simulation | None) -> Exchanged:
        """Return what a rank has exchanged; nothing where it has no other rank."""
        exchange = simulation.exchange if simulation else None
        if simulation is None or exchange is None or not exchange.received:
            return cls()
        steps = simulation.step - exchange.first
        return cls(exchange.spent, exchange.received, steps)
