"""Simple neurons with delays whose excitatory synapses learn, beside Brian2 and NEST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .papers import Case, Peer, row
from .seconds import Network, rows
from .table import Row, Table

GIVEN = {"neurons": 10_000, "learns": True}

MOST_SECONDS = 0.1
"""Target for a second of simulated time: 100 us a step."""


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of the case."""
    names = ("stdp_izhikevich_brian2.py", "stdp_izhikevich_nest.py")
    peers = tuple(Peer(name, ("--n", "10000"), 2.0) for name in names)
    case = Case("stdp_izhikevich", "izhikevich_2003", GIVEN, peers, most_seconds=MOST_SECONDS)
    return [row(case, rounds, python)]


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of the case."""
    small = {"neurons": 1_000, "learns": True}
    return rows(table, Network("stdp_izhikevich", "izhikevich_2003", GIVEN, small))
