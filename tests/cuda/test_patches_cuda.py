"""Patches of columns on a GPU: the bits of the CPU and of stored connections, however it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from columnar import MODELS, circuit, force

import neurodriver as nd
from neurodriver.backends.cuda import patches as cells
from neurodriver.circuits import optic_lobe
from neurodriver.plan.sums import patches


def bits(one: nd.Circuit, inputs: list[Any], runs: tuple[int, ...], **more: Any) -> Any:
    """Return all values at the end, what was recorded, and the forms of the sums."""
    recorder = nd.MemoryRecorder([("r", one.populations["a"])])
    with nd.LPU(one, 1e-3, inputs, [recorder], **more) as lpu:
        for steps in runs:
            lpu.run(steps)
        values = {name: np.array(lpu[name].get("r")).tobytes() for name in one.populations}
        forms = {gather.form for gather in lpu.program.gathers.values()}
    data = np.array(recorder.recording.data("r")[:])
    assert len(data) == sum(runs) and len(np.unique(data)) > 100
    return values, data.tobytes(), forms


def pulses(one: nd.Circuit) -> list[Any]:
    return [nd.StepInput("I", one.populations["b"], 0.3, 0.002, 0.006)]


@pytest.fixture(autouse=True)
def _forced(monkeypatch: pytest.MonkeyPatch) -> None:
    force(monkeypatch)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("flat", [True, False])
def test_bits_of_the_cpu(
    flat: bool, kept: bool, dtype: str, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two models, several accesses, delays, noise, inputs, recorded cells; runs of any length."""
    if not kept:
        monkeypatch.setattr(cells, "SHARED", 0)
    runs = (1, 6, 2, 9)
    one = circuit(flat, noise=True)
    *found, forms = bits(one, pulses(one), runs, dtype=dtype, backend="cuda", executor=executor)
    assert "patches" in forms
    for stored in (False, True):
        other = circuit(flat, stored, noise=True)
        assert bits(other, pulses(other), (18,), dtype=dtype)[:2] == tuple(found)


@pytest.mark.parametrize("own", [1, 2, 3, 4])
def test_several_patches_of_a_block(own: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More patches than multiprocessors; threads with one to four cells; changing delays."""
    monkeypatch.setattr(patches, "OWN", (own,))
    one = circuit(scale=6 + own, noise=True)
    with nd.LPU(one, dt=1e-3, dtype=dtype, backend="cuda", seed=1) as lpu:
        most = max(g.limits.get("patches", 0) for g in lpu.program.gathers.values())
        assert most > 132
    found = bits(one, [], (3, 8), dtype=dtype, backend="cuda")
    assert found[:2] == bits(one, [], (11,), dtype=dtype)[:2]


def test_states_that_are_set_read_and_stored(dtype: str, tmp_path: Path) -> None:
    one = circuit()
    rng = np.random.default_rng(3)
    values, found = rng.random(one.populations["a"].count), []
    for backend in ("cpu", "cuda"):
        with nd.LPU(one, dt=1e-3, dtype=dtype, backend=backend) as lpu:
            lpu.advance(4)
            lpu["a"].set("r", values)
            lpu["b"].set("gain", 0.25)
            lpu.advance(3)
            lpu.save(tmp_path / backend)
            lpu.advance(5)
            after = np.array(lpu["a"].get("r")).tobytes()
        with nd.LPU.restore(tmp_path / backend, models=MODELS, backend=backend) as lpu:
            lpu.advance(5)
            assert np.array(lpu["a"].get("r")).tobytes() == after
        found.append(after)
    assert found[0] == found[1]


def test_the_optic_lobe(dtype: str) -> None:
    found = []
    for backend in ("cpu", "cuda"):
        one = optic_lobe.from_rules(6, stored=False)
        with nd.LPU(one, dt=1e-3, dtype=dtype, backend=backend) as lpu:
            lpu["R1"].set("V", 0.7)
            lpu.advance(30)
            found.append({name: np.array(lpu[name].get("r")).tobytes() for name in one.populations})
    assert found[0] == found[1]


def test_copies_of_a_batch(dtype: str) -> None:
    """The blocks of each copy have several patches."""
    one = circuit(scale=3, noise=True)
    recorder = nd.MemoryRecorder([("r", None)])
    more: dict[str, Any] = {"backend": "cuda", "batch": 5, "seed": range(5), "dtype": dtype}
    with nd.LPU(one, 1e-3, recorders=[recorder], **more) as lpu:
        found: Any = lpu.run(12).recording
    for copy in range(5):
        lone = nd.MemoryRecorder([("r", None)])
        with nd.LPU(one, 1e-3, recorders=[lone], seed=copy, dtype=dtype) as lpu:
            want: Any = lpu.run(12).recording
        assert np.array_equal(want.data("r")[:], found[copy].data("r")[:])
