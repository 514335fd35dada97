"""Active leaky neurons with conductances (Vogels & Abbott 2005), beside Brian2 and NEST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .papers import Case, Ceiling, Peer, first_steps, row
from .seconds import Network, rows
from .table import Row, Table

CEILINGS = (
    Ceiling("without a spike", {"threshold": 1e3}),
    Ceiling(
        "its arrays read and written without computation",
        {},
        "V = V + exc; left = left + 1; g_exc = g_exc + exc; g_inh = g_inh + inh;",
    ),
)


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of each size."""
    rows = []
    for neurons in (4_000, 20_000):
        size = ("--n", str(neurons))
        peers = (Peer("coba_lif_brian2.py", size), Peer("coba_lif_nest.py", size, 0.05))
        network = {"neurons": neurons}
        case = Case("coba_lif", "vogels_abbott_2005", network, peers, 4.0, ceilings=CEILINGS)
        rows.append(row(case, rounds, python))
        if neurons == 4_000:
            rows.append(first_steps(case, 1_000, 30))
    return rows


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of all sizes."""
    few, many, most = {"neurons": 4_000}, {"neurons": 20_000}, {"neurons": 4_000_000}
    name = "vogels_abbott_2005"
    return rows(
        table,
        Network("coba_lif", name, few, few, 20.0, peer="GeNN 5.4.0: 99 ms"),
        Network("coba_lif", name, many, {"neurons": 5_000}, 30.0, peer="GeNN 5.4.0: 193 ms"),
        Network(
            "coba_lif", name, most, {"neurons": 8_000}, 2000.0, 1200.0, dtypes=("float32",),
            parts=0.6,
        ),
    )  # fmt: skip
