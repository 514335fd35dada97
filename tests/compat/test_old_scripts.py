"""Scripts in the old style run unchanged, and give the numbers of the native interface."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from support import HH2, graph, node

from neurodriver import (
    LPU,
    Circuit,
    FileInput,
    MemoryRecorder,
    NDComponent,
    Parameter,
    State,
    StepInput,
)

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "examples" / "old_style"


class QuadraticIAF(NDComponent):
    """The neuron of ``custom_model.py`` as a declaration."""

    accesses = ["I"]
    updates = ["spike_state", "V"]
    params = {
        name: Parameter()
        for name in ("rest", "critical", "threshold", "reset_potential", "gain", "capacitance")
    }
    states = {"V": State("mV", -65.0)}
    maximum_dt = 5e-5
    update = """
        V = V + dt_ms * (gain * (V - rest) * (V - critical) + I) / capacitance;
        if (V >= threshold) { V = reset_potential; spike_state = 1; }
    """


def run(name: str, *arguments: str | Path) -> str:
    """Run one of the scripts through the runner; return what it prints."""
    command = [sys.executable, "-m", "neurodriver.compat", str(SCRIPTS / name)]
    done = subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def native(
    circuit: Any, dt: float, inputs: Any, record: list[tuple[str, Any]], steps: int
) -> MemoryRecorder:
    """Run a circuit with the native interface."""
    recorder = MemoryRecorder(record)
    with LPU(circuit, dt, inputs, [recorder]) as lpu:
        lpu.run(steps=steps)
    return recorder


def spikes_of(uids: list[str], data: Any) -> dict[str, list[float]]:
    """Return spike times by uid."""
    return {u: data["time"][data["index"] == i].tolist() for i, u in enumerate(uids)}


def compare(path: Path, expected: MemoryRecorder) -> None:
    """Assert that a file holds the numbers of a recorder, whatever the order of its columns."""
    v = expected.get("V")
    assert np.isfinite(v).all() and np.ptp(v) > 10
    with h5py.File(path) as file:
        uids = [u.decode() for u in file["V/uids"][()]]
        data = file["V/data"][()]
        spike_uids = [u.decode() for u in file["spike_state/uids"][()]]
        times, index = (file[f"spike_state/data/{n}"][()] for n in ("time", "index"))
    assert sorted(uids) == sorted(expected.uids("V"))
    np.testing.assert_array_equal(data[:, np.argsort(uids)], v[:, np.argsort(expected.uids("V"))])
    wanted = spikes_of(expected.uids("spike_state"), expected.get("spike_state"))
    assert sum(map(len, wanted.values())) > 20
    assert spikes_of(spike_uids, {"time": times, "index": index}) == wanted


def test_generic(tmp_path: Path) -> None:
    """A circuit in a GEXF file, its input and its output in HDF5 files."""
    out = run("generic.py", "--folder", tmp_path, "-g", "1")
    assert "lpu_0: Number of MorrisLecar: 8" in out
    circuit = Circuit.from_file(tmp_path / "generic_lpu.gexf.gz")
    assert {g.name for g in circuit.groups} == {
        "LeakyIAF", "MorrisLecar", "AlphaSynapse", "PowerGPotGPot", "Port",
    }  # fmt: skip
    current = FileInput(tmp_path / "generic_input.h5")
    record = [("V", None), ("spike_state", None)]
    compare(tmp_path / "generic_output.h5", native(circuit, 1e-4, [current], record, 2000))


def test_hh_alpha(tmp_path: Path) -> None:
    """A pickled graph, results in memory."""
    run("hh_alpha.py", "-n", "5", "-s", "2000", "-o", tmp_path / "hh.npz")
    neurons = [f"neuron_{i}" for i in range(5)]
    nodes = {u: node("HodgkinHuxley2", HH2, initV=-60.0 - i) for i, u in enumerate(neurons)}
    edges = []
    alpha = {"ar": 0.5, "ad": 0.25, "gmax": 0.1, "reverse": -70.0}
    for pre in neurons:
        for post in neurons:
            name = f"synapse_{pre}_{post}"
            nodes[name] = node("AlphaSynapse", alpha)
            edges += [(pre, name, {"delay": 0.002}), (name, post)]
    current = StepInput("I", neurons, 20.0, 0.0, 1.0)
    record = [("V", neurons), ("spike_state", neurons)]
    expected = native(graph(nodes, edges), 1e-5, [current], record, 2000)
    with np.load(tmp_path / "hh.npz") as found:
        assert found["uids"].tolist() == neurons == found["spike_uids"].tolist()
        assert np.ptp(found["V"]) > 80
        np.testing.assert_array_equal(found["V"], expected.get("V"))
        spikes = expected.get("spike_state")
        assert len(spikes["time"]) >= 5
        np.testing.assert_array_equal(found["time"], spikes["time"])
        np.testing.assert_array_equal(found["index"], spikes["index"])


def test_custom_model(tmp_path: Path) -> None:
    """A model given as the text of a CUDA kernel gives the numbers of its declaration."""
    run("custom_model.py", tmp_path / "custom.h5")
    uids = [f"neuron{i}" for i in range(20)]
    fixed = {
        "rest": -65.0, "critical": -50.0, "threshold": 20.0, "reset_potential": -70.0, "gain": 0.04,
    }  # fmt: skip
    own = {"initV": -65.0 + np.arange(20), "capacitance": 1.0 + 0.1 * np.arange(20)}
    circuit = Circuit.from_arrays([(QuadraticIAF, 20, {**fixed, **own}, uids)])
    current = StepInput("I", uids, 5.0, 0.02, 0.15)
    record = [("V", uids), ("spike_state", uids)]
    compare(tmp_path / "custom.h5", native(circuit, 1e-4, [current], record, 2000))


def test_every_script_is_tested() -> None:
    """Each script of the folder has its test."""
    tested = {name.removeprefix("test_") + ".py" for name in globals() if name.startswith("test_")}
    tested.add("two_lpus.py")  # tests/distributed/test_old_manager.py
    scripts = {path.name for path in SCRIPTS.glob("*.py")}
    assert len(scripts) >= 4 and scripts <= tested
