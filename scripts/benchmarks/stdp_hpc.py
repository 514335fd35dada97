"""NEST's hpc_benchmark, whose excitatory synapses learn, beside Brian2 and NEST."""

from __future__ import annotations

import math
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
    """Yield the rows of the case at its full in-degree, for one size and ten and twenty times it.

    With 11,250 neurons the weights grow, and all neurons fire together after some 0.3 s, as NEST's
    script says of this size. So a run is as long as the one whose rates are known from NEST.
    """
    small = {"neurons": 1_125, "inputs": 100}
    told = {
        1: (0.2, 100.0, 60.0, "GeNN on a Titan RTX, published: 1,030 ms"),
        10: (0.5, 600.0, math.inf, "GeNN on a V100, published: 5,600 ms"),
        20: (0.5, 1_500.0, 700.0, "GeNN on a Titan RTX, published: 12,100 ms"),
    }
    for scale, (seconds, target, then, peer) in told.items():
        size = {"neurons": 11_250 * scale, "inputs": 9_000}
        dtypes = ("float32", "float64") if scale == 1 else ("float32",)
        network = Network(
            "stdp_hpc", "hpc_benchmark", size, small, target, then, peer, seconds=seconds,
            dtypes=dtypes,
        )  # fmt: skip
        yield from rows(table, network)
