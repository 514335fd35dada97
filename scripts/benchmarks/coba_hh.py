"""Active Hodgkin-Huxley neurons (Brette et al. 2007), beside Brian2 and NEST."""

from __future__ import annotations

from typing import Any

from .papers import Case, Peer, row


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of each size."""
    rows = []
    for neurons, target in ((4_000, 5.0), (100_000, 4.0)):
        size, short = ("--n", str(neurons)), 400 / neurons
        peers = (
            Peer("coba_hh_brian2.py", size, min(1.0, 10 * short)),
            Peer("coba_hh_nest.py", size, short),
        )
        case = Case("coba_hh", "brette_2007_hh", {"neurons": neurons}, peers, target)
        rows.append(row(case, rounds, python))
    return rows
