"""Several LPUs in one process give the bits of one."""

from __future__ import annotations

import numpy as np
import pytest
from cutting import assert_equal_bits, cut, managed, network, random_parts, whole, with_crossings
from hypothesis import given, settings
from hypothesis import strategies as st

STEPS = 300


@settings(max_examples=15, deadline=None)
@given(
    neurons=st.integers(4, 60),
    parts=st.integers(2, 5),
    seed=st.integers(0, 10_000),
    more=st.integers(0, 3),
)
def test_cut_circuit_has_the_bits_of_the_whole(
    neurons: int, parts: int, seed: int, more: int
) -> None:
    """A random circuit, cut at random, equals the whole with the extra steps as delay."""
    circuit, inputs = network(neurons, seed)
    part = random_parts(circuit, parts, seed)
    part[:parts] = np.arange(parts)  # no part is empty
    for links in circuit.connections:
        if links.variable == "g":
            part[links.source] = part[links.target]
    expected = whole(with_crossings(circuit, part, more=more), inputs, STEPS)
    pieces = cut(circuit, part, [f"p{i}" for i in range(parts)])
    _, found = managed(pieces, inputs, STEPS, delay=more * 1e-4)
    assert_equal_bits(expected, found, all_of=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_spikes_cross(dtype: str) -> None:
    """Neurons of one LPU make those of another fire; with the crossings taken away they do not."""
    circuit, inputs = network(40, 7)
    part = random_parts(circuit, 3, 7)
    pieces = cut(circuit, part, ["a", "b", "c"])
    _, found = managed(pieces, inputs, STEPS, dtype=dtype)
    expected = whole(with_crossings(circuit, part), inputs, STEPS, dtype=dtype)
    assert_equal_bits(expected, found, all_of=True)
    pieces.crossings.clear()
    _, alone = managed(pieces, inputs, STEPS, dtype=dtype)
    spikes = [sum(map(len, data["spike_state"].values())) for data in (found, alone)]
    assert spikes[0] > spikes[1] > 0
