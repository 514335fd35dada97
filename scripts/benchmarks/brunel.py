"""A sparse random network (Brunel 2000) of 10,000 neurons, beside Brian2 and NEST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .papers import Case, Peer, row
from .seconds import Network, rows
from .table import Row, Table


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of the case."""
    size = ("--n", "10000")
    peers = (Peer("brunel_brian2.py", size), Peer("brunel_nest.py", size, 0.3))
    case = Case("brunel", "brunel_2000", {"neurons": 10_000}, peers, 5.0)
    return [row(case, rounds, python)]


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of the case."""
    size, small = {"neurons": 10_000}, {"neurons": 1_000}
    return rows(
        table, Network("brunel", "brunel_2000", size, small, 30.0, peer="GeNN 5.4.0: 213 ms")
    )
