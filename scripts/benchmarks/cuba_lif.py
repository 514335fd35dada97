"""Active leaky neurons with currents (Vogels & Abbott 2005), beside Brian2 and NEST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .papers import Case, Peer, row
from .seconds import Network, rows
from .table import Row, Table

EXAMPLE = "vogels_abbott_2005"
NETWORK = {"neurons": 4_000, "currents": True}


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of the case; it has no target."""
    size = ("--n", "4000")
    peers = (Peer("cuba_lif_brian2.py", size), Peer("cuba_lif_nest.py", size, 0.3))
    return [row(Case("cuba_lif", EXAMPLE, NETWORK, peers), rounds, python)]


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of the case; no other simulator was measured."""
    return rows(table, Network("cuba_lif", EXAMPLE, NETWORK, NETWORK))
