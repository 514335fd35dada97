"""Spikes along stencils on a GPU: the bits of the CPU and of stored connections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sheets import DT, million, networks, none_stored

import neurodriver as nd
from neurodriver.plan.spikes import due

STEPS = 300


def kick() -> nd.ArrayInput:
    """Return spikes into a cell of each sheet."""
    return nd.ArrayInput({"spike_state": (["a/7", "b/9", "c/3"], np.ones((STEPS, 3)))})


def potentials(lpu: nd.LPU) -> dict[str, bytes]:
    return {name: np.asarray(lpu[name].get("V")).tobytes() for name in lpu.circuit.populations}


def run(one: nd.Circuit, **more: Any) -> tuple[list[Any], set[str]]:
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(one, dt=DT, seed=1, inputs=[kick()], recorders=[recorder], **more) as lpu:
        lpu.run(steps=STEPS)
        forms = {gather.form for gather in lpu.program.gathers.values()}
        V = potentials(lpu)
    spikes = recorder.recording["spike_state"]
    assert len(spikes.time) > 1000
    return [np.asarray(spikes.time).tobytes(), V], forms


@pytest.mark.parametrize(
    ("period", "dtype", "least"),
    [(True, "float32", 5e-4), (False, "float64", 5e-5), (False, "float32", 5e-4)],
)
def test_bits_of_the_cpu(period: bool, dtype: str, least: float, executor: str) -> None:
    """In windows and without; at the borders, where units differ; beside stored connections."""
    one = networks(False, period, least)
    found, forms = run(one, dtype=dtype, backend="cuda", executor=executor)
    assert "stencil" in forms
    assert found == run(one, dtype=dtype)[0]
    stored, forms = run(networks(True, period, least), dtype=dtype, backend="cuda")
    assert found == stored and "stencil" not in forms


@pytest.mark.parametrize(
    ("period", "dtype", "least"),
    [(True, "float32", 5e-4), (False, "float64", 5e-5), (False, "float32", 5e-4)],
)
def test_bits_when_due(
    period: bool, dtype: str, least: float, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no connection is stored, spikes may be delivered when due."""
    one = none_stored(networks(False, period, least))
    expected = run(one, dtype=dtype)[0]
    assert run(one, dtype=dtype, backend="cuda", executor=executor)[0] == expected
    monkeypatch.setattr(due, "BARRIER", -1.0)
    with nd.LPU(one, dt=DT, dtype=dtype, backend="cuda") as lpu:
        assert sum(map(due.is_due, lpu.program.gathers.values())) == 4
    assert run(one, dtype=dtype, backend="cuda", executor=executor)[0] == expected


@pytest.mark.parametrize("ways", [("cuda", "cpu"), ("cpu", "cuda"), ("cuda", "cuda")])
@pytest.mark.parametrize("when_due", [False, True])
def test_a_run_goes_on_elsewhere(
    tmp_path: Path, ways: tuple[str, str], when_due: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spikes on their way go over to another backend: those in lists, and those in histories."""
    one = networks(False, False, 5e-5)
    if when_due:
        one = none_stored(one)
        monkeypatch.setattr(due, "BARRIER", -1.0)
    whole = run(one)[0][1]
    with nd.LPU(one, dt=DT, seed=1, inputs=[kick()], backend=ways[0]) as lpu:
        lpu.run(steps=157)
        lpu.save(tmp_path / "a.h5")
    with nd.LPU(one, dt=DT, seed=1, inputs=[kick()], backend=ways[1]) as lpu:
        lpu.resume(tmp_path / "a.h5")
        lpu.run(steps=STEPS - 157)
        assert potentials(lpu) == whole


def test_a_sheet_of_a_million_cells() -> None:
    """440 million connections, with many spikes in each step: the bits of the CPU."""
    found = []
    for backend in ("cuda", "cpu"):
        with nd.LPU(million(), dt=DT, seed=1, dtype="float32", backend=backend) as lpu:
            lpu.advance(150)
            found.append(potentials(lpu))
    assert found[0] == found[1]
