"""A rank of ``test_two_gpus.py`` that trains a network with others: the bits of one process."""

from __future__ import annotations

import sys
from typing import Any

from error_networks import assert_ranks_train_as_one
from mpi4py import MPI

from neurodriver.backends.cuda.peer_counts import PeerCounts


def main() -> None:
    """Fail where a bit differs, or where the changes of weights went through the host."""
    added: list[int] = []
    before = PeerCounts.adding

    def adding(self: PeerCounts) -> Any:
        added.append(1)
        return before(self)

    PeerCounts.adding = adding  # type: ignore[method-assign]
    ranks, rank = MPI.COMM_WORLD.Get_size(), MPI.COMM_WORLD.Get_rank()
    assert_ranks_train_as_one(MPI.COMM_WORLD, backend="cuda", device=rank % int(sys.argv[1]))
    print(f"rank {rank} of {ranks}: {len(added)} trials, all bits are the same", flush=True)


main()
