"""MPI is started once, whichever threads ask for the ranks first."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from neurodriver import mpi, settings

module = sys.modules["neurodriver.mpi.world"]  # the name is that of a function, too


def test_threads_start_mpi_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one of them starts it, which may take long, the others wait."""
    started = []

    class Ranks(module.World):
        """The ranks of a job, which are slow to come."""

        def __init__(self) -> None:
            started.append(self)
            time.sleep(0.05)
            self.size = 2

    monkeypatch.setattr(settings, "launched", lambda: True)
    monkeypatch.setattr(module, "MPIWorld", Ranks)
    module._started.cache_clear()
    try:
        with ThreadPoolExecutor(4) as pool:
            found = [one.result() for one in [pool.submit(mpi.world) for _ in range(4)]]
    finally:
        module._started.cache_clear()
    assert len(started) == 1 and all(one is started[0] for one in found)
