"""Smoke test: inputs of each kind, recorders, settings of a run, the GPU's backend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import networkx as nx
import numpy as np
import pytest
from emulated_gpu import emulated, random_circuit
from legacy_reference import LEAKY, neuron
from support import DT, IAF, chain, model, simulate

import neurodriver as nd
from neurodriver.errors import CircuitWarning

__all__ = ["emulated"]

STEPS = 100
UIDS = ["a", "b"]


class Constant(nd.UserInput):
    """Is asked at every step."""

    def update_input(self) -> None:
        self.variables["I"]["input"][:] = 2.0


def array(folder: Path) -> nd.Input:
    return nd.ArrayInput({"I": (UIDS, np.full((STEPS, 2), 2.0))})


def file(folder: Path) -> nd.Input:
    with h5py.File(folder / "in.h5", "w") as out:
        out["I/uids"], out["I/data"] = [b"a", b"b"], np.full((STEPS, 2), 2.0)
    return nd.FileInput(folder / "in.h5")


KINDS: dict[str, Callable[[Path], nd.Input]] = {
    "array": array,
    "file": file,
    "step": lambda folder: nd.StepInput("I", UIDS, 2.0),
    "pulse": lambda folder: nd.PulseInput("I", UIDS, [0.0, 0.005], [0.004, 0.01], [2.0, 2.0]),
    "ramp": lambda folder: nd.RampInput("I", UIDS, 0.0, 0.01, 0.0, 4.0),
    "noise": lambda folder: nd.NoiseInput("I", UIDS, mean=2.0, sigma=0.1, seed=1),
    "user": lambda folder: Constant([("I", UIDS)]),
    "recorded": lambda folder: nd.RecordedInput(nd.StepInput("I", UIDS, 2.0), folder / "given.h5"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_currents(kind: str, tmp_path: Path) -> None:
    """A current of about 2 charges the membranes as the closed form says, whatever brings it."""
    circuit = nd.Circuit.from_arrays([(model("LeakyIAF"), 2, {**IAF, "threshold": 0.0}, UIDS)])
    V = simulate(circuit, steps=STEPS, inputs=KINDS[kind](tmp_path))["V"]
    tau = IAF["capacitance"] * IAF["resistance"] * 1e-3
    expected = -70.0 + 2.0 * IAF["resistance"] * (1 - np.exp(-STEPS * DT / tau))
    assert V[-1] == pytest.approx([expected] * 2, abs=2.0)
    if kind == "recorded":
        again = simulate(circuit, steps=STEPS, inputs=nd.FileInput(tmp_path / "given.h5"))["V"]
        assert np.array_equal(again, V)


@pytest.mark.parametrize("kind", [nd.PoissonInput, nd.BernoulliInput])
def test_random_spikes(kind: Any) -> None:
    """Random trains have their rate, and the same bits for the same seed."""
    circuit = nd.Circuit.from_arrays([(model("SpikeSource"), 50, {}, None)])
    chance = {nd.PoissonInput: 1000.0, nd.BernoulliInput: 0.1}[kind]
    rows = [
        simulate(circuit, DT, STEPS, kind("spike_state", circuit.uids, chance, seed=seed),
                 [("spike_state", None)])["spike_state"]
        for seed in (1, 1, 2)
    ]  # fmt: skip
    assert 400 < rows[0].sum() < 600
    assert np.array_equal(rows[0], rows[1]) and not np.array_equal(rows[0], rows[2])


def test_legacy_input(tmp_path: Path) -> None:
    """A legacy circuit takes the columns of a legacy input file."""
    old = nx.MultiDiGraph()
    old.add_node(0, **neuron("LeakyIAF", LEAKY, extern=True))
    with pytest.warns(CircuitWarning, match="legacy"):
        circuit = nd.Circuit.from_graph(old)
    last = []
    for value in (0.0, 0.01):
        path = tmp_path / f"{value}.h5"
        with h5py.File(path, "w") as out:
            out["array"] = np.full((STEPS, 1), value)
        V = simulate(circuit, steps=STEPS, inputs=nd.LegacyInput(path, circuit))["V"]
        last.append(V[-1, 0])
    assert last[1] > last[0] + 1.0


def test_recorders(tmp_path: Path) -> None:
    """A recorder in memory and one of HDF5 hold the same; the second keeps every fifth row."""
    circuit, path = chain(), tmp_path / "out.h5"
    memory = nd.MemoryRecorder([("V", None), ("spike_state", ["a"])])
    recorders = [memory, nd.HDF5Recorder(path, [("V", ["a"])], sample_interval=5)]
    current = nd.StepInput("I", ["a"], 2.0)
    with nd.LPU(circuit, DT, [current], recorders, threads=2, seed=1) as lpu:
        lpu.run(steps=STEPS)
        assert lpu.step == STEPS and lpu.time == pytest.approx(STEPS * DT)
    with nd.open(path) as recording:
        np.testing.assert_array_equal(recording["V"]["a"][:], memory.get("V")[4::5, 0])
    assert len(memory.get("spike_state")["time"]) > 3


def test_profile() -> None:
    """A profile tells phases and kernels of what runs within it."""
    with nd.Profile() as profile:
        simulate(chain(), steps=STEPS)
    assert "step loop" in profile.report()
    assert {row.name for row in profile.measured[0].kernels} >= {"LeakyIAF"}


def test_single_precision() -> None:
    """float32 gives the numbers of float64 to six digits."""
    current = nd.StepInput("I", ["a"], 2.0)
    found = [simulate(chain(), steps=30, inputs=current, dtype=t)["V"]
             for t in ("float32", "float64")]  # fmt: skip
    assert found[0].dtype == np.float32 and np.ptp(found[0]) > 0
    np.testing.assert_allclose(*found, rtol=1e-5)


@pytest.mark.parametrize("executor", ["resident", "stepwise"])
def test_gpu(emulated: None, executor: str) -> None:
    """The backend of GPUs gives the bits of the CPU; the device is emulated."""
    circuit, inputs = random_circuit(20, seed=1)
    found = [
        simulate(circuit, DT, STEPS, inputs, backend=backend, executor=executor)["V"]
        for backend in ("cpu", "cuda")
    ]
    assert np.ptp(found[0]) > 0 and np.array_equal(*found)


def test_a_shadow(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A validated run compares every step with the CPU."""
    monkeypatch.setenv("NEURODRIVER_VALIDATE", "1")
    simulate(chain(), steps=STEPS, inputs=nd.StepInput("I", ["a"], 2.0))
    assert "all bits equal" in capsys.readouterr().err
