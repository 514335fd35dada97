"""Pools on a GPU: the bits of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pooled import CIRCUITS

import neurodriver as nd


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CIRCUITS)
def test_bits_of_the_cpu(name: str, dtype: str, executor: str) -> None:
    """After steps in calls of several lengths, and what the host makes of the members."""
    circuit = CIRCUITS[name]()
    found = []
    ways: list[dict[str, Any]] = [{"backend": "cpu"}, {"backend": "cuda", "executor": executor}]
    for more in ways:
        with nd.LPU(circuit, dt=1e-3, dtype=dtype, **more) as lpu:
            values = []
            for steps in (1, 3):
                lpu.advance(steps)
                for population, members in circuit.populations.items():
                    cells = lpu[population]
                    names = (*members.model.updates, *members.model.pools)
                    values += [np.array(cells.get(one)) for one in names]
            found.append(values)
    assert len(np.unique(np.concatenate([np.ravel(one) for one in found[0]]))) > 10
    for mine, other in zip(*found, strict=True):
        assert mine.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", CIRCUITS)
def test_recorded_pools(name: str, executor: str) -> None:
    """The rows of the CPU, from row 0 on, after a value was set, and in calls of odd lengths."""
    circuit = CIRCUITS[name]()
    names = sorted({n for group in circuit.groups for n in group.model.pools})
    first = next(iter(circuit.populations))
    found = []
    for more in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        recorder = nd.MemoryRecorder([(one, None) for one in names])
        with nd.LPU(circuit, dt=1e-3, recorders=[recorder], **more) as lpu:  # type: ignore[arg-type]
            lpu.run(3)
            lpu[first].set("V", 0.75)
            lpu.run(4)
        found.append([np.asarray(recorder.recording[one][:]) for one in names])
    for mine, other in zip(*found, strict=True):
        assert len(mine) == 7 and mine.tobytes() == other.tobytes()
