"""A job of two ranks of which rank 1 does not come: ``late_rank.py KIND``."""

from __future__ import annotations

import os
import signal
import sys
import time

HERE, KIND = int(os.environ["PMIX_RANK"]), sys.argv[1]
if HERE == 1 and KIND == "never":
    time.sleep(1000.0)

import neurodriver  # noqa: E402, F401
from neurodriver.mpi import world  # noqa: E402

if HERE == 1 and KIND == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
if HERE == 1 and KIND == "left":
    sys.exit(0)
if HERE == 1 and KIND == "left_with_mpi":  # then MPI waits for the others at the end of the script
    from mpi4py import MPI  # noqa: F401

    raise ValueError("a mistake before the first call")
if HERE == 1 and KIND == "slow":
    time.sleep(5.0)
print("started", world().size, flush=True)
