"""Active Hodgkin-Huxley neurons (Brette et al. 2007), beside Brian2 and NEST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .papers import Case, Peer, row
from .seconds import Network, rows
from .table import Row, Table


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of each size; NEST, 0.12 s a step of the larger one, is in the first alone."""
    rows = []
    for neurons, target in ((4_000, 5.0), (100_000, 4.0)):
        size, short = ("--n", str(neurons)), 400 / neurons
        brian2 = Peer("coba_hh_brian2.py", size, min(1.0, 10 * short))
        nest = Peer("coba_hh_nest.py", size, short)
        peers = (brian2, nest) if neurons < 10_000 else (brian2,)
        case = Case("coba_hh", "brette_2007_hh", {"neurons": neurons}, peers, target)
        rows.append(row(case, rounds, python))
    return rows


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of both sizes."""
    few, many = {"neurons": 4_000}, {"neurons": 100_000}
    name = "brette_2007_hh"
    return rows(
        table,
        Network("coba_hh", name, few, {"neurons": 1_000}, 25.0, peer="GeNN 5.4.0: 114 ms"),
        Network("coba_hh", name, many, {"neurons": 2_000}, 80.0, peer="GeNN 5.4.0: 1,146 ms"),
    )
