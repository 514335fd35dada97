"""NEST's hpc_benchmark, whose excitatory synapses learn, beside Brian2 and NEST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .papers import Case, Peer, row
from .seconds import Network, rows
from .table import Row, Table

INPUTS = 1_000
"""Plastic inputs of an excitatory neuron on the CPU."""

MOST_SECONDS = 1.5
"""Target for a second of simulated time: 150 us a step."""


def run(rounds: int, python: str | None) -> list[dict[str, Any]]:
    """Return the row of the case."""
    size = ("--k", str(INPUTS))
    peers = (Peer("stdp_hpc_brian2.py", size, 0.2), Peer("stdp_hpc_nest.py", size, 0.2))
    given = {"inputs": INPUTS}
    case = Case("stdp_hpc", "hpc_benchmark", given, peers, most_seconds=MOST_SECONDS)
    return [row(case, rounds, python)]


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of the case at its full in-degree."""
    size, small = {"inputs": 9_000}, {"neurons": 1_125, "inputs": 100}
    told = "GeNN on a Titan RTX, published: 1,030 ms"
    network = Network("stdp_hpc", "hpc_benchmark", size, small, 100.0, 60.0, peer=told)
    return rows(table, network)
