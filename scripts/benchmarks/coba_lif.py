"""Active leaky neurons with conductances (Vogels & Abbott 2005), beside Brian2 and NEST."""

from __future__ import annotations

from typing import Any

from .papers import Case, Peer, row


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of each size."""
    rows = []
    for neurons in (4_000, 20_000):
        size = ("--n", str(neurons))
        peers = (Peer("coba_lif_brian2.py", size), Peer("coba_lif_nest.py", size, 0.05))
        network = {"neurons": neurons}
        rows.append(
            row(Case("coba_lif", "vogels_abbott_2005", network, peers, 4.0), rounds, python)
        )
    return rows
