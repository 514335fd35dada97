"""Two LPUs on two ranks give the bits of one LPU in one process."""

from __future__ import annotations

import numpy as np
import pytest
from cutting import assert_equal_bits, managed, network, random_parts, whole, with_crossings
from support import spiking_network, weighted_network

from neurodriver import Input, StepInput
from neurodriver.circuit.cut import cut

STEPS = 400


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("more", [0, 1, 4])
@pytest.mark.parametrize("large", [1, 12, 4096])
def test_same_bits(seed: int, more: int, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows of several steps, too, and blocks that go row by row, from ring to ring."""
    monkeypatch.setattr("neurodriver.parallel.buffers.LARGE", large)
    circuit, inputs = network(50, seed)
    part = random_parts(circuit, 2, seed)
    expected = whole(with_crossings(circuit, part, more=more), inputs, STEPS)
    man, found = managed(
        cut(circuit, part, ["a", "b"]), inputs, STEPS, more * 1e-4, ranks={"a": 0, "b": 1}
    )
    assert list(man.lpus) == [["a", "b"][man.rank]]
    assert assert_equal_bits(expected, found, all_of=False) > 100


@pytest.mark.parametrize("more", [0, 4])
@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("listed", [1, 1 << 30])
def test_weighted_spikes(
    more: int, least: int, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spikes that come from elsewhere are dealt out when they are due, by their own latencies.

    They come as lists or as rows.
    """
    monkeypatch.setattr("neurodriver.parallel.routes.LISTED", listed)
    circuit = weighted_network(60, least)
    inputs: list[Input] = [StepInput("I", circuit.uids[:60], np.linspace(5.0, 30.0, 60))]
    part = random_parts(circuit, 2, 7)
    expected = whole(with_crossings(circuit, part, more=more), inputs, STEPS, plans=False)
    man, found = managed(
        cut(circuit, part, ["a", "b"]), inputs, STEPS, more * 1e-4, ranks={"a": 0, "b": 1}
    )
    (lpu,) = man.lpus.values()
    if lpu.program.layout.target.events:
        gather = lpu.program.gathers[0, "spike_state"]
        assert gather.form == "fanout"
        if not lpu.program.target.threads:
            assert len(gather.arrays["block"]) == 2  # own neurons, and those of the other rank
            assert lpu.program.window == (least if more else 1 if least == 1 else 2)
    assert sum(len(times) for times in found["spike_state"].values()) > 100
    assert assert_equal_bits(expected, found, all_of=False) > 50


def test_lpus_are_dealt_by_cost() -> None:
    """Each rank gets one of the two, and between them they record everything."""
    circuit, inputs = network(50, 5)
    part = random_parts(circuit, 2, 5)
    man, found = managed(cut(circuit, part, ["a", "b"]), inputs, STEPS)
    assert len(man.lpus) == 1
    expected = whole(with_crossings(circuit, part), inputs, STEPS)
    assert_equal_bits(expected, found, all_of=False)


def test_synapses_are_merged_alike() -> None:
    """Where a target has many synapses, each rank computes them as one LPU does."""
    circuit = spiking_network(30, 25, 4)
    inputs: list[Input] = [StepInput("I", circuit.uids[:30], np.linspace(0.5, 3.0, 30))]
    part = random_parts(circuit, 2, 4)
    expected = whole(with_crossings(circuit, part), inputs, STEPS)
    man, found = managed(cut(circuit, part, ["a", "b"]), inputs, STEPS, ranks={"a": 0, "b": 1})
    (lpu,) = man.lpus.values()
    assert lpu.program.merged is not None
    assert len(lpu.program.merged.groups) == 2
    assert assert_equal_bits(expected, found, all_of=False) > 100
