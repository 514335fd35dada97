"""Spikes whose connections a GPU computes: the bits of the CPU and of stored connections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sheets import DT, uneven_networks

import neurodriver as nd


def run(one: nd.Circuit, calls: tuple[int, ...], **more: Any) -> Any:
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(one, DT, recorders=[recorder], seed=1, **more) as lpu:
        for steps in calls:
            lpu.run(steps)
        V = [np.asarray(lpu[name].get("V")).tobytes() for name in one.populations]
        forms = sorted(g.form for g in lpu.program.gathers.values())
    spikes = recorder.recording["spike_state"]
    assert len(spikes.time) > 1000
    return (np.asarray(spikes.time).tobytes(), V), forms


@pytest.mark.parametrize(("period", "least"), [(True, 5e-4), (False, 5e-5), (False, 2e-4)])
def test_bits_of_the_cpu(period: bool, least: float, dtype: str, executor: str) -> None:
    one, stored = (uneven_networks(how, period, least) for how in (False, True))
    found, forms = run(one, (1, 7, 392), dtype=dtype, backend="cuda", executor=executor)
    assert forms.count("stencil") == 4
    assert found == run(one, (400,), dtype=dtype)[0]
    found_stored, forms = run(stored, (400,), dtype=dtype, backend="cuda", executor=executor)
    assert found == found_stored and "stencil" not in forms


@pytest.mark.parametrize("ways", [("cpu", "cuda"), ("cuda", "cpu")])
@pytest.mark.parametrize("least", [5e-4, 5e-5])
def test_a_run_goes_on_elsewhere(
    ways: tuple[str, str], least: float, dtype: str, executor: str, tmp_path: Path
) -> None:
    """Spikes on their way go over to the other backend."""
    one = uneven_networks(False, True, least)
    found = []
    for backends in (ways, ways[:1] * 2):
        more: Any = {"dtype": dtype, "seed": 1, "executor": executor}
        with nd.LPU(one, DT, backend=backends[0], **more) as lpu:
            lpu.run(157)
            lpu.save(tmp_path / "a.h5")
        with nd.LPU(one, DT, backend=backends[1], **more) as lpu:
            lpu.resume(tmp_path / "a.h5")
            lpu.run(143)
            found.append([np.asarray(lpu[name].get("V")).tobytes() for name in one.populations])
    assert found[0] == found[1]
