"""A circuit in two parts on two ranks with a GPU each, emulated: the bits of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_gpu import emulated, random_circuit
from support import DT

import neurodriver as nd

__all__ = ["emulated"]
STEPS = 60


@pytest.mark.parametrize("seed", [4, 5])
def test_bits_of_the_whole(emulated: None, seed: int) -> None:
    """No step is added, whatever computes the parts."""
    circuit, inputs = random_circuit(30, seed)
    record = [(v, None) for v in sorted({v for g in circuit.groups for v in g.model.updates})]
    given: list[dict[str, Any]] = [{"backend": "cpu"}, {"backend": "cuda", "parts": "auto"}]
    found = []
    for options in given:
        recorder = nd.MemoryRecorder(record)
        with nd.LPU(circuit, DT, inputs, recorder, **options) as lpu:
            lpu.run(steps=STEPS // 4)
            lpu.run(steps=STEPS - STEPS // 4)
        found.append(recorder)
    moved = 0
    for variable in found[0].output:
        a, b = (one.get(variable) for one in found)
        if isinstance(a, dict):
            assert all(np.array_equal(a[key], b[key]) for key in a)
            moved += len(a["time"])
        else:
            assert np.array_equal(a, b)
            moved += int((a[0] != a[-1]).sum())
    assert moved > 20
