"""A synthetic table of a fly brain's size (Shiu et al. 2024), beside Brian2 and NEST."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .papers import Case, Ceiling, Peer, brain, row
from .seconds import Network, rows
from .table import Row, Table

NETWORK = {"neurons": 138_639, "kicked": 150}


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of the case."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.npz")
        if python:
            brain(path, seed=1, **NETWORK)
        given = ("--table", str(path))
        peers = (Peer("fly_brian2.py", given), Peer("fly_nest.py", given, 0.1))
        silent = Ceiling("without a spike", {"threshold": 1e3, "rate": 0.0})
        case = Case(
            "fly, synthetic", "shiu_2024", NETWORK, peers, most_seconds=1.0, ceilings=(silent,)
        )
        return [row(case, rounds, python)]


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of the case."""
    told = "published: GeNN on an RTX 4070 500 ms, NEST GPU 1 s"
    small = {"neurons": 2_000, "kicked": 50}
    return rows(table, Network("fly, synthetic", "shiu_2024", NETWORK, small, 10.0, 5.0, told))
