"""Sources with one connection each that acts at once: their spikes need no search for a place."""

from __future__ import annotations

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.native.buffers import LANES
from neurodriver.plan.spikes.thread_ranges import ThreadRanges

DT = 1e-4
COUNT, STEPS = 5 * LANES + 5, 40
"""The last slots of an input belong to no component."""


def ranges(degree: list[int], code: list[int], width: int = 64) -> ThreadRanges:
    first = np.concatenate([[0], np.cumsum(degree)])
    blocks = np.array([[0, 32, 32 + len(degree), 0]])
    return ThreadRanges(first, np.array(code, np.int32), width, blocks)


@pytest.mark.parametrize(
    ("degree", "code", "single"),
    [
        ([1, 1, 1, 0], [3, 4, 9], True),
        ([1, 0, 1, 1], [3, 4, 9], False),  # connection n is not that of source n
        ([1, 2, 1, 0], [3, 4, 5, 9], False),
        ([1, 1, 1, 0], [3, 4, 64], False),  # a step later
        ([0, 0, 0, 0], [], False),
    ],
)
def test_which_blocks_are_of_single_connections(
    degree: list[int], code: list[int], single: bool
) -> None:
    assert ranges(degree, code).singles().tolist() == [single]


class Tally(nd.NDComponent):
    """Adds up the weights of the spikes that have arrived."""

    accesses = (nd.Weighted("spike_state"),)
    updates = {"total": "1"}
    states = {"total": nd.State("1", 0.0)}
    update = "total = total + spike_state;"


@pytest.mark.parametrize("threads", [1, 3])
def test_spikes_enter_at_their_own_targets_alone(threads: int) -> None:
    """Their sum, against NumPy: some components, one spike or several at once."""
    rng = np.random.default_rng(5)
    circuit = nd.Circuit.from_arrays([(Tally, COUNT, {}, [f"c{i}" for i in range(COUNT)])])
    some = np.sort(rng.choice(COUNT, COUNT - 9, replace=False))
    spikes = rng.poisson(0.05, (STEPS, len(some))) + (rng.random((STEPS, len(some))) < 0.02)
    spikes[:20] = spikes[:20] > 0
    given = nd.ArrayInput({"spike_state": ([f"c{i}" for i in some], spikes.astype(float))})
    recorder = nd.MemoryRecorder([("total", None)])
    with nd.LPU(circuit, DT, [given], [recorder], threads=threads) as lpu:
        lpu.run(steps=STEPS)
        plans = lpu.simulation.program.gathers.values()
        assert [plan.limits["singles"] for plan in plans] == [1]
    total = np.zeros((STEPS, COUNT))
    total[1:, some] = np.cumsum(spikes, axis=0)[:-1]  # what enters in a step shows after it
    np.testing.assert_array_equal(recorder.get("total"), total)
