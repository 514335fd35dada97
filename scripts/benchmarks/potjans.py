"""The cortical microcircuit (Potjans & Diesmann 2014) at a tenth, beside Brian2 and NEST."""

from __future__ import annotations

from typing import Any

from .papers import Case, Peer, row


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of the case."""
    size = ("--scale", "0.1")
    peers = (
        Peer("potjans_diesmann_brian2.py", size),
        Peer("potjans_diesmann_nest.py", size, 0.3),
    )
    case = Case("potjans_diesmann", "potjans_diesmann_2014", {"scale": 0.1}, peers, 3.0)
    return [row(case, rounds, python)]
