"""Simple neurons with delays of 1 to 20 ms (Izhikevich 2003), beside Brian2 and NEST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .papers import Case, Peer, row
from .seconds import Network, rows
from .table import Row, Table


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of the case."""
    size = ("--n", "100000")
    peers = (Peer("izhikevich_brian2.py", size), Peer("izhikevich_nest.py", size, 0.3))
    case = Case("izhikevich", "izhikevich_2003", {"neurons": 100_000}, peers, 5.0)
    return [row(case, rounds, python)]


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of the case."""
    size, small, told = {"neurons": 100_000}, {"neurons": 2_000}, "GeNN 5.4.0: 305 ms"
    return rows(table, Network("izhikevich", "izhikevich_2003", size, small, 8.0, peer=told))
