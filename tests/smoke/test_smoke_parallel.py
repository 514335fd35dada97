"""Smoke test: two LPUs in one process, ports and patterns, an experiment file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from experiment_files import write
from launch import mpiexec
from support import DT, IAF, POWER, build, node

import neurodriver as nd

PORT = {"class": "Port", "port_type": "gpot"}


def test_two_lpus() -> None:
    """The potential of a neuron of one LPU drives a neuron of another."""
    left = build(
        {"n": node("LeakyIAF", IAF, initV=-65.0),
         "out": {**PORT, "selector": "/left/v/0", "port_io": "out"}},
        [("n", "out", {"variable": "V"})],
    )  # fmt: skip
    synapse = {**POWER, "threshold": -70.0, "reverse": -30.0}
    right = build(
        {"in": {**PORT, "selector": "/right/v/0", "port_io": "in"},
         "s": node("PowerGPotGPot", synapse), "m": node("LeakyIAF", IAF)},
        [("in", "s"), ("s", "m")],
    )  # fmt: skip
    pattern = nd.Pattern("/left/v[0:1]", "/right/v[0:1]")
    pattern["/left/v/0", "/right/v/0"] = 1
    recorder = nd.MemoryRecorder([("V", None)])
    manager = nd.Manager()
    manager.add(nd.LPU, "left", left, DT)
    manager.add(nd.LPU, "right", right, DT, [], [recorder])
    manager.connect("left", "right", pattern)
    manager.spawn()
    manager.start(steps=200)
    manager.wait()
    V = recorder.get("V")
    assert V.shape == (200, 1) and V[-1, 0] > -69.5


def test_selector() -> None:
    """A selector stands for its ports, in order."""
    chosen = nd.Selector("/left/v[0:3]")
    assert len(chosen) == 3 and list(chosen)[2] == (("left", "v", 2),)


def test_experiment(tmp_path: Path) -> None:
    """An experiment file runs, and its recording opens as one; two ranks give the same bits."""
    path = write(tmp_path)
    output = nd.load_experiment(path).run()
    with nd.open(output) as recording:
        assert sorted(recording.lpus) == ["left", "right"]
        V = recording["right/V"][:]
    assert np.ptp(V) > 0
    again = tmp_path / "again.h5"
    mpiexec(2, ["-m", "neurodriver", "run", str(path), "-o", str(again)])
    with nd.open(again) as recording:
        np.testing.assert_array_equal(recording["right/V"][:], V)
