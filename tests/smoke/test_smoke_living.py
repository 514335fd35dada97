"""Smoke test: populations, selections, sweeps; simulations that are changed, saved and resumed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import neurodriver as nd

CELL = {"resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0,
        "time_constant": 10.0, "capacitance": 250.0, "tau_exc": 2.0, "tau_inh": 2.0}  # fmt: skip


def network() -> nd.Circuit:
    """Two populations, one of which drives the other."""
    exc = nd.Population("LeakyIAFExpCurrent", 20, columns={"side": ["left", "right"] * 10}, **CELL)
    inh = nd.Population("LeakyIAFExpCurrent", 5, **CELL)
    links = nd.Projection(exc, inh, nd.FixedInDegree(4), receptor="exc", weight=300.0, name="drive")
    return nd.Circuit({"exc": exc, "inh": inh}, [links])


def driven(circuit: nd.Circuit) -> nd.StepInput:
    """A current that lets the first population spike."""
    return nd.StepInput("I", circuit.populations["exc"], 600.0)


def test_populations_and_selections() -> None:
    """They name components for recorders, and are parts of a circuit."""
    circuit = network()
    left = circuit.select(side="left")
    assert isinstance(left, nd.Selection) and len(left) == 10
    part = nd.Population("LeakyIAFExpCurrent", 3, name="three", **CELL)[:2]
    assert isinstance(part, nd.PopulationView) and part.uids.tolist() == ["three/0", "three/1"]
    again = nd.Circuit.from_columns("again", circuit.groups, circuit.connections)
    assert again.digest == circuit.digest


def test_a_living_simulation(tmp_path: Path) -> None:
    """It runs again, is read, changed, saved, restored, resumed and reset."""
    circuit = network()
    with nd.LPU(circuit, 1e-4, driven(circuit)) as lpu:
        lpu.run(300, record=["V", "spike_state", "I_exc"])
        lpu["exc"].threshold = -52.0
        lpu["inh"].set("V", -60.0)
        assert lpu["inh"].V.tolist() == [-60.0] * 5
        weights = lpu.connections["drive"]
        weights.set("weight", 2.0 * weights.get())
        lpu.save(tmp_path / "a.h5")
        state = lpu.state()
        lpu.run(300)
        end = lpu.get("V")
        assert lpu["exc"].events().dtype == np.int64
        assert lpu.recording.V.shape == (600, 25) and len(lpu.recording.spikes.time) > 20
        lpu.reset(keep=["parameters"])
        assert lpu.step == 0 and set(lpu["exc"].threshold) == {-52.0}
        shared = lpu["exc"].shared("V")
        assert len(shared) == 20
        lpu.restore_state(state)
        assert lpu.step == 300
    with nd.LPU(circuit, 1e-4, driven(circuit), keep="exc.V") as lpu:
        lpu.begin(1)
        lpu.wait()
    with nd.LPU.restore(tmp_path / "a.h5", driven(circuit)) as other:
        other.run(300, checkpoint=tmp_path / "b.h5")
        assert np.array_equal(other.get("V"), end)


def test_sweeps(tmp_path: Path) -> None:
    """Points of a sweep are stored, and read again."""
    pytest.importorskip("xarray")

    def build(current: float) -> dict[str, float]:
        circuit = network()
        drive = nd.StepInput("I", circuit.populations["exc"], current)
        with nd.LPU(circuit, 1e-4, drive) as lpu:
            lpu.run(200, record=["spike_state"])
            return {"spikes": float(len(lpu.recording.spikes.time))}

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        found = nd.sweep(build, {"current": [0.0, 900.0]}, executor=pool, path=tmp_path / "sweep")
    assert found["spikes"].values[0] == 0 and found["spikes"].values[1] > 0
    assert nd.open_sweep(tmp_path / "sweep").equals(found)


def test_a_batch() -> None:
    """Copies differ in what a batch gives them, and each has a recording."""
    circuit = network()
    batch = nd.Batch(3, seeds=range(3), parameters={("exc", "threshold"): [-50.0, -52.0, -54.0]})
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, 1e-4, driven(circuit), recorder, batch=batch) as lpu:
        lpu.run(300)
        assert isinstance(lpu.recording, nd.BatchRecording)
        counts = [len(one.spikes.time) for one in lpu.recording]
    assert counts == sorted(counts) and counts[0] < counts[2]
