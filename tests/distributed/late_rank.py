"""A job of two ranks of which rank 1 does not come: ``late_rank.py never|stopped|slow``."""

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
if HERE == 1 and KIND == "slow":
    time.sleep(5.0)
print("started", world().size, flush=True)
