"""Threads of a run look for processors of their own, and leave a user's choice of them alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support import Record, assert_same_bits, recorded, spiking_network, started

from neurodriver import LPU, ArrayInput, Circuit

TASKS = Path("/proc/self/task")
STEPS = 200

pytestmark = pytest.mark.needs("two processors")


def places(others: set[int]) -> list[set[int]]:
    """Return where each thread begun since ``others`` may run."""
    return [os.sched_getaffinity(task) for task in tasks() - others]


def tasks() -> set[int]:
    """Return the threads of this process."""
    return {int(path.name) for path in TASKS.iterdir()}


@pytest.fixture
def alone() -> Iterator[set[int]]:
    """Let this thread, and those that it begins, run on one processor."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    yield allowed
    os.sched_setaffinity(0, allowed)


def driven(threads: int, record: Record = ()) -> LPU:
    """Return a network of spikes whose steps take a few microseconds."""
    circuit: Circuit = spiking_network(200, 3, seed=4)
    uids = circuit.groups[0].uids
    given = ArrayInput({"I": (uids, np.full((STEPS, len(uids)), 3.0))})
    return started(circuit, inputs=given, record=record, threads=threads, backend="cpu")


def test_threads_that_share_a_processor(alone: set[int]) -> None:
    """They take turns, and the bits are those of a single one."""
    found = []
    for threads in (1, 3):
        before = tasks()
        with driven(threads, [("V", None)]) as lpu:
            lpu.advance(STEPS)
            begun = places(before)
            assert len(begun) >= threads - 1 and all(one == {min(alone)} for one in begun)
            lpu.close()
            found.append(recorded(lpu, STEPS))
    assert_same_bits(*found)


def test_threads_may_run_where_they_might(alone: set[int]) -> None:
    """One that leaves a processor where another one works may come back."""
    before = tasks()
    with driven(2) as lpu:
        lpu.advance(1)
        (worker,) = tasks() - before
        for _ in range(30):
            for task in (0, worker):
                os.sched_setaffinity(task, {min(alone)})
            lpu.advance(1)
            for task in (0, worker):
                os.sched_setaffinity(task, alone)
            time.sleep(1e-2)  # then it sleeps, too
            lpu.advance(50)
            until = time.monotonic() + 1.0  # it may be on its way
            while os.sched_getaffinity(worker) != alone and time.monotonic() < until:
                time.sleep(1e-3)
            assert os.sched_getaffinity(worker) == alone
