"""Recording: into memory, into HDF5 against h5py alone, and what the steps lose by it."""

from __future__ import annotations

import math
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import neurodriver as nd
from neurodriver.library import shipped

from .measure import median, seconds_per_step

LIF = {"resting_potential": -70.0, "threshold": -45.0, "reset_potential": -70.0,
       "capacitance": 2.0, "resistance": 10.0}  # fmt: skip
HH = {"g_K": 36.0, "g_Na": 120.0, "g_L": 0.3, "E_K": -77.0, "E_Na": 50.0, "E_L": -54.387}
DT = 1e-4
CORES = len(os.sched_getaffinity(0))


def circuit(name: str, params: dict[str, float], count: int) -> nd.Circuit:
    """Return unconnected neurons with spread initial potentials."""
    spread: dict[str, Any] = {"initV": np.random.default_rng(1).uniform(-70.0, -50.0, count)}
    return nd.Circuit.from_arrays([(shipped()[name], count, params | spread, None)], name=name)


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return the rows: memory, file, loss."""
    return [in_memory(rounds), in_file(rounds), *losses(rounds)]


def in_memory(rounds: int) -> dict[str, Any]:
    """1,024 LeakyIAF, 10,000 steps, V and spikes of all kept in memory."""
    count, steps = 1024, 10_000
    lif = circuit("LeakyIAF", LIF, count)
    ours, bare, spikes = [], [], 0
    for _ in range(2 * rounds):
        recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
        with nd.LPU(lif, DT, [nd.StepInput("I", lif.uids, 3.0)], [recorder]) as lpu:
            begin = time.perf_counter()
            lpu.run(steps=steps)
            ours.append(time.perf_counter() - begin)
        spikes = len(recorder.get("spike_state")["time"])
        del recorder
        begin = time.perf_counter()
        rows = np.empty((steps, count))
        rows[:] = 1.0
        bare.append(time.perf_counter() - begin)
        del rows
    nbytes = 8 * steps * count
    return {
        "case": f"lif_test: {count:,} LeakyIAF, {steps:,} steps, V and {spikes:,} spikes in memory",
        "us a step": median(ours) / steps * 1e6,
        "seconds": median(ours),
        "peer": f"np.empty and a fill of as many bytes {median(bare):.3f} s",
        "ratio": median([a / b for a, b in zip(ours, bare, strict=True)]),
        "target": "<= 0.15 s",
        "floor": f"{nbytes / 1e6:.0f} MB of new memory: {median(bare):.3f} s",
    }


def in_file(rounds: int) -> dict[str, Any]:
    """20,000 LeakyIAF whose V fills a file as fast as it goes; h5py alone writes the same rows."""
    count, steps = 20_000, 4_000
    lif = circuit("LeakyIAF", LIF, count)
    ours, alone, copies = [], [], []
    nbytes = 8 * steps * count
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            path = Path(folder, "ours.h5")
            recorder = nd.HDF5Recorder(path, [("V", None)])
            with nd.LPU(lif, DT, [nd.StepInput("I", lif.uids, 3.0)], [recorder]) as lpu:
                begin = time.perf_counter()
                lpu.run(steps=steps)
                ours.append(time.perf_counter() - begin)
            with h5py.File(path, "r") as file:
                rows = file["V/data"][:400]
            path.unlink()
            alone.append(h5py_alone(Path(folder, "peer.h5"), rows, steps))
            copies.append(written(Path(folder, "raw"), rows, steps))
    return {
        "case": f"HDF5: {count:,} LeakyIAF, V of every step, {nbytes / 1e6:.0f} MB, {CORES} cores",
        "us a step": median(ours) / steps * 1e6,
        "seconds": median(ours),
        "peer": f"h5py alone, chunked: {nbytes / median(alone) / 1e9:.2f} GB/s",
        "ratio": median([b / a for a, b in zip(ours, alone, strict=True)]),
        "target": ">= 0.80 of h5py's speed",
        "floor": f"write() of the bytes alone: {nbytes / median(copies) / 1e9:.2f} GB/s, "
                 f"ours {nbytes / median(ours) / 1e9:.2f} GB/s",
    }  # fmt: skip


def h5py_alone(path: Path, rows: np.ndarray, steps: int) -> float:
    """Return the seconds that h5py takes for a data set of known length, chunk by chunk."""
    chunk = max(1, 2**20 // rows[0].nbytes)
    begin = time.perf_counter()
    with h5py.File(path, "w") as file:
        shape = (steps, rows.shape[1])
        data = file.create_dataset("V/data", shape, rows.dtype, chunks=(chunk, rows.shape[1]))
        for first in range(0, steps, len(rows)):
            data[first : first + len(rows)] = rows[: steps - first]
    spent = time.perf_counter() - begin
    path.unlink()
    return spent


def written(path: Path, rows: np.ndarray, steps: int) -> float:
    """Return the seconds that the system takes for the bytes."""
    begin = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in range(0, steps, len(rows)):
            file.write(rows.data)
    spent = time.perf_counter() - begin
    path.unlink()
    return spent


def losses(rounds: int) -> list[dict[str, Any]]:
    """What the steps lose while a writer that keeps up has its share of the cores."""
    count, interval = 4_000, 1
    neurons = circuit("HodgkinHuxley2", HH, count)
    out = []
    for threads in sorted({1, CORES}):
        ratios, ours, plain, rate = [], [], [], 0.0
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                recorder = nd.HDF5Recorder(
                    Path(folder, "v.h5"), [("V", None), ("spike_state", None)], interval
                )
                found = []
                for recorders in ([], [recorder]):
                    current = nd.StepInput("I", neurons.uids, 10.0)
                    with nd.LPU(neurons, DT, [current], recorders, threads=threads) as lpu:
                        found.append(median(seconds_per_step(lpu, 3)))
            plain.append(found[0])
            ours.append(found[1])
            ratios.append(found[1] / found[0])
            rate = 8 * count / interval / found[1]
        out.append(
            {
                "case": f"HDF5: {count:,} HodgkinHuxley2, V and spikes of every step, "
                        f"{threads} thread{'s' * (threads > 1)} of {CORES} cores",
                "us a step": median(ours) * 1e6,
                "seconds": math.nan,
                "peer": f"without a recorder {median(plain) * 1e6:.0f} us",
                "ratio": median(ratios),
                "target": "<= 1.15",
                "floor": f"{rate / 1e6:.0f} MB/s are recorded",
            }
        )  # fmt: skip
    return out
