"""Recording: into memory, into HDF5 against h5py alone, and what the steps lose by it."""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import neurodriver as nd
from neurodriver import system
from neurodriver.model.library import shipped

from . import lif_ampa
from .measure import median, seconds_per_step
from .table import Row, StepTime, Table, one_run

LIF = {"resting_potential": -70.0, "threshold": -45.0, "reset_potential": -70.0,
       "capacitance": 2.0, "resistance": 10.0}  # fmt: skip
HH = {"g_K": 36.0, "g_Na": 120.0, "g_L": 0.3, "E_K": -77.0, "E_Na": 50.0, "E_L": -54.387}
DT = 1e-4
CORES = system.cores()


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
            recorder = nd.HDF5Recorder(path, [("V", None)], overwrite=True)
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


def table(table: Table) -> list[Row]:
    """Return the rows: a sampled recording that barely costs, and one as fast as the file takes."""
    return [sampled(table), full_rate(table)]


def sampled(table: Table) -> Row:
    """Compare steps with V of 1,000 neurons every 10th step to steps without, in turn."""
    count, interval = (100 if table.small else 1_000), 10
    made = lif_ampa.circuit(count * (1 + lif_ampa.INPUTS))
    with table.lpu(made, DT, lif_ampa.current(made)) as lpu:
        plain = table.timed(lpu)
    steps = max(1_000, int(0.5 / plain.wall) // interval * interval)
    without, kept, ratios = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "v.h5")
        for _ in range(table.rounds + 1):
            with table.lpu(made, DT, lif_ampa.current(made)) as lpu:
                lpu.advance(steps // 4)
                without.append(one_run(lpu, steps, finish=True))
            recorder = nd.HDF5Recorder(path, [("V", None)], interval, overwrite=True)
            with table.lpu(made, DT, lif_ampa.current(made), [recorder]) as lpu:
                lpu.start(steps // 4 + steps)
                lpu.advance(steps // 4)
                kept.append(one_run(lpu, steps, finish=True))
            ratios.append(kept[-1].wall / without[-1].wall)
            rows = complete(path, (steps // 4 + steps) // interval, interval)
    ratio, ours = median(ratios[1:]), StepTime(median([k.wall for k in kept[1:]]))
    row = table.row(f"recording V of {count:,} neurons every {interval}th step", ours, None, "")
    row["peer"] = f"without a recorder {median([w.wall for w in without[1:]]) * 1e6:.3g} us"
    row["floor"] = f"{rows:,} rows, none lost; {8 * count / interval / ours.wall / 1e6:.0f} MB/s"
    return row | {"ratio": ratio} | table.judged("<= 1.2 of without", ratio <= 1.2)


def full_rate(table: Table) -> Row:
    """V of every step of 20,000 neurons, which fills the file as fast as it goes; h5py beside."""
    count, steps = (2_000, 2_000) if table.small else (20_000, 8_000)
    lif = circuit("LeakyIAF", LIF, count)
    nbytes = 8 * steps * count
    ours, alone = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ours.h5")
        for _ in range(table.rounds + 1):
            recorder = nd.HDF5Recorder(path, [("V", None)], overwrite=True)
            with table.lpu(lif, DT, [nd.StepInput("I", lif.uids, 3.0)], [recorder]) as lpu:
                lpu.start(steps)
                ours.append(one_run(lpu, steps, finish=True).wall * steps)
            rows = complete(path, steps, 1)
            with h5py.File(path, "r") as file:
                part = file["V/data"][: steps // 10]
                in_order(file["V/data"][:, : count : count // 20])
            path.unlink()
            alone.append(h5py_alone(Path(folder, "peer.h5"), part, steps))
    share = median([b / a for a, b in zip(ours[1:], alone[1:], strict=True)])
    row = table.row(f"recording V of {count:,} neurons, every step, {nbytes / 1e6:.0f} MB",
                    StepTime(median(ours[1:]) / steps), None, "")  # fmt: skip
    row["peer"] = f"h5py alone, chunked: {nbytes / median(alone[1:]) / 1e9:.2f} GB/s"
    row["floor"] = f"{rows:,} rows, none lost; ours {nbytes / median(ours[1:]) / 1e9:.2f} GB/s"
    return row | {"ratio": share} | table.judged(">= 0.90 of h5py's speed", share >= 0.9)


def complete(path: Path, rows: int, interval: int) -> int:
    """Return the number of rows of V in a file, or tell which are missing."""
    with h5py.File(path, "r") as file:
        valid, shape = int(file["V/valid_rows"][()]), file["V/data"].shape
        time = file["V/time"][:valid]
    if (valid, shape[0], len(time)) != (rows, rows, rows):
        raise RuntimeError(f"{rows} rows were to be recorded; {valid} of {shape[0]} are valid")
    gaps = np.diff(time) / (DT * interval)
    if not np.allclose(gaps, 1.0):
        raise RuntimeError(f"the rows are not one interval apart: {gaps.min()} to {gaps.max()}")
    return rows


def in_order(potential: np.ndarray) -> None:
    """Check that each row of LeakyIAF follows from the one before: none lost, none twice."""
    decay = math.exp(-DT * 1e3 / (LIF["capacitance"] * LIF["resistance"]))
    end = LIF["resting_potential"] + LIF["resistance"] * 3.0
    after = potential[:-1] * decay + end * (1.0 - decay)
    after[after >= LIF["threshold"]] = LIF["reset_potential"]
    wrong = np.flatnonzero(~np.isclose(after, potential[1:], rtol=1e-9).all(axis=1))
    if wrong.size > len(potential) // 1000:  # at the threshold itself rounding decides
        raise RuntimeError(f"{wrong.size} rows do not follow from the row before: {wrong[:5]}")
