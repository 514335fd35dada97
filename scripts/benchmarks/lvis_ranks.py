"""One of two ranks that train ``benchlvis`` together, each with half of the items.

    python -m benchmarks.lvis_ranks BACKEND SMALL ROUNDS

Prints one line of JSON on rank 0: what `lvis.parts` measures, in ms of a trial and item of both.
"""

from __future__ import annotations

import json
import sys

from mpi4py import MPI

from neurodriver.error_driven import Trainer

from .lvis import MANY, SMALL, network, parts, shown


def main() -> None:
    backend, small, rounds = sys.argv[1:]
    ranks, rank = MPI.COMM_WORLD.Get_size(), MPI.COMM_WORLD.Get_rank()
    net, items = network(SMALL, 8) if int(small) else network(), MANY[0]
    assert items is not None
    options = {"device": rank} if backend == "cuda" else {"threads": 1}
    with Trainer(
        net, items // ranks, MPI.COMM_WORLD, backend=backend, dtype="float32", **options
    ) as sim:
        found = parts(sim, shown(net, items), int(rounds))
    if rank == 0:
        print(json.dumps({name: ms / ranks for name, ms in found.items()}), flush=True)


if __name__ == "__main__":
    main()
