"""A rank of a circuit in two parts; that of rank 1 fails, or is killed, in the middle of a run.

Before it fails it may stop the launcher, so that this one hangs.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from support import DT, weighted_network

import neurodriver as nd
from neurodriver.mpi import world


class Failing(nd.StepInput):
    """Fails on rank 1 after some steps."""

    def chunk(self, number: int, first: int, steps: int) -> Any:
        """Return the values, or fail."""
        if world().rank == 1 and first + steps > 2000:
            if sys.argv[1] == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if sys.argv[1] == "launcher":
                os.kill(os.getppid(), signal.SIGSTOP)
            raise ValueError("broken on purpose")
        return super().chunk(number, first, steps)


def main() -> None:
    circuit = weighted_network(60, 2)
    inputs = [Failing("I", circuit.uids, 1.0)]
    with nd.LPU(circuit, DT, inputs, nd.MemoryRecorder([("V", None)]), parts="auto") as lpu:
        print("begun", flush=True)
        lpu.run(steps=10_000_000)


if __name__ == "__main__":
    main()
