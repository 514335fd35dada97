"""The cortical microcircuit (Potjans & Diesmann 2014) at a tenth, beside Brian2 and NEST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .papers import Case, Peer, example, row
from .seconds import Network, rows
from .table import Row, Table


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of the case."""
    size = ("--scale", "0.1")
    peers = (
        Peer("potjans_diesmann_brian2.py", size),
        Peer("potjans_diesmann_nest.py", size, 0.3),
    )
    case = Case("potjans_diesmann", "potjans_diesmann_2014", {"scale": 0.1}, peers, 3.0)
    return [row(case, rounds, python)]


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of the full scale, with weights of any value and with weights on a grid."""
    told, name = "GeNN 5.4.0: 217 ms", "potjans_diesmann_2014"
    full, small, targets = {"scale": 1.0}, {"scale": 0.02}, (100.0, 40.0, told)
    steps = example(name).GRID
    return rows(
        table,
        Network("potjans_diesmann", name, full, small, *targets, parts=1.0),
        Network(
            "potjans_diesmann, weights on a grid", name, full | {"grid": steps},
            small | {"grid": steps}, *targets, dtypes=("float32",), parts=1.0,
        ),
    )  # fmt: skip
