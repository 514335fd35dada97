"""A synthetic table of a fly brain's size (Shiu et al. 2024), beside Brian2 and NEST."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from .papers import Case, Peer, brain, row


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of the case."""
    network = {"neurons": 138_639, "kicked": 150}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.npz")
        if python:
            brain(path, seed=1, **network)
        given = ("--table", str(path))
        peers = (Peer("fly_brian2.py", given), Peer("fly_nest.py", given, 0.1))
        case = Case("fly, synthetic", "shiu_2024", network, peers, most_seconds=1.0)
        return [row(case, rounds, python)]
