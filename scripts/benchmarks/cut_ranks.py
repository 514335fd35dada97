"""One rank of a published network in two halves, one thread or GPU each.

    python -m benchmarks.cut_ranks NETWORK BACKEND DTYPE SMALL HALVES

HALVES are ``lpus`` with ports, or ``parts`` that the network is cut into by itself.

Prints one line of JSON on rank 0: seconds of a step, of a bare ``Sendrecv`` of as many bytes and of
a single value, of exchanging as the Manager tells it, with bytes a step of a rank, and the spikes
of a second.
"""

from __future__ import annotations

import json
import statistics
import sys
from typing import Any

from mpi4py import MPI

from .cuts import NAMES, NETWORKS, WARM, WINDOWS, clocked, in_parts, managed
from .exchange_worker import sendrecv
from .papers import example

SENDS = 2_000
"""Bare exchanges of one round."""


def main() -> None:
    name, backend, dtype, small, halves = sys.argv[1:]
    network, world = NETWORKS[name], MPI.COMM_WORLD
    module = example(network.example)
    made = module.network(seed=1, **(network.small if small == "1" else network.arguments))
    options: dict[str, Any] = {"backend": backend, "dtype": dtype, "seed": 1}
    steps = round((0.2 if small == "1" else 1.0) / module.DT) // WINDOWS
    if halves == "parts":
        spent, exchanged, spikes = in_parts(made, module.DT, steps, options)
    else:
        ranks = {part: rank for rank, part in enumerate(NAMES)}
        devices = ranks if backend == "cuda" else None
        man, recorders = managed(made, module.DT, ranks, options, devices)
        man.spawn()
        spent = clocked(man, steps)
        spikes = world.allreduce(len(recorders[world.rank].get("spike_state")["time"]))
        exchanged = [one for one in man.exchanged if one.steps]
    size = statistics.mean(one.received / one.steps for one in exchanged)
    values = max(1, round(size / 8))
    found = {
        "step": spent,
        "exchange": max(one.seconds / one.steps for one in exchanged),
        "bytes": size,
        "bare": min(sendrecv(values, SENDS) for _ in range(5)),
        "latency": min(sendrecv(1, SENDS) for _ in range(5)),
        "rate": spikes / ((WARM + WINDOWS) * steps * module.DT),
    }
    if world.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
