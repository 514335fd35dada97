"""One rank of ``test_two_gpus.py``: its LPU on a GPU of its own, against one GPU and the CPU."""

from __future__ import annotations

import sys
from itertools import product

from cutting import assert_equal_bits, managed, network, random_parts, whole, with_crossings

from neurodriver.circuit.cut import cut
from neurodriver.mpi import world
from neurodriver.parallel import buffers

STEPS = 400


def main() -> None:
    """Print how many columns have the same bits; fail where one differs."""
    gpus = int(sys.argv[1])
    rank = world().rank
    compared = 0
    for executor, more, large in product(("resident", "stepwise"), (0, 1, 4), (12, 4096)):
        buffers.LARGE = large
        circuit, inputs = network(300, 1)
        part = random_parts(circuit, 2, 1)
        delayed = with_crossings(circuit, part, more=more)
        gpu = {"backend": "cuda", "executor": executor, "device": rank % gpus}
        expected = whole(delayed, inputs, STEPS, backend="cpu")
        assert_equal_bits(expected, whole(delayed, inputs, STEPS, **gpu), all_of=False)
        parts = cut(circuit, part, ["a", "b"])
        _, found = managed(parts, inputs, STEPS, more * 1e-4, ranks={"a": 0, "b": 1}, **gpu)
        compared += assert_equal_bits(expected, found, all_of=False)
    print(f"rank {rank}: {compared} columns are the same")


if __name__ == "__main__":
    main()
