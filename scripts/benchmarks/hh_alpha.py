"""NeuroDriver's own benchmark: Hodgkin-Huxley neurons, all-to-all alpha synapses with states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.model.library import shipped

from .measure import barrier, median, peer, seconds_per_step, triad
from .table import Row, Table, accepts

DT = 1e-6
SYNAPSE_BYTES = 3 * 8 * 2 + 8
"""A synapse and step: three states read and written, the reversal potential read."""


def circuit(count: int) -> nd.Circuit:
    """Return ``count`` neurons with a synapse from each to each other one."""
    pre, post = (a.astype(np.int32) for a in np.nonzero(~np.eye(count, dtype=bool)))
    synapse = (count + np.arange(len(pre))).astype(np.int32)
    neuron = {"g_K": 36, "g_Na": 120, "g_L": 0.3, "E_K": -77, "E_Na": 50, "E_L": -54.387}
    start = {"initn": 0.32, "initm": 0.05, "inith": 0.6}
    start["initV"] = -65 + 10.0 * np.arange(count) / count  # type: ignore[assignment]
    groups = [
        (shipped()["HodgkinHuxley2"], count, {**neuron, **start}, None),
        (shipped()["AlphaSynapse"], len(pre), {"gmax": 0.05, "ar": 0.11, "ad": 0.19}, None),
    ]
    reverse = np.where(pre % 2 == 0, 0.0, -80.0)
    links = [
        nd.Connections("spike_state", "spike_state", pre, synapse),
        nd.Connections("g", "I", synapse, post, data={"reverse": reverse}),
    ]
    return nd.Circuit.from_arrays(groups, links, name=f"hh_alpha {count}")


def ours(made: nd.Circuit, threads: int, merge: bool) -> float:
    """Return the seconds of a step over 10 ms of simulated time, as the peers count."""
    current = nd.StepInput("I", made.groups[0].uids, 20.0)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(made, DT, [current], [recorder], threads=threads, merge=merge) as lpu:
        spent = min(seconds_per_step(lpu, 3))
        lpu.advance(max(0, 10_000 - lpu.step))
        lpu.finish()
    if not len(recorder.get("spike_state")["time"]):
        raise RuntimeError("hh_alpha: no neuron spiked")
    return spent


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return two rows for each size: a state for each synapse, and synapses merged."""
    rows = []
    for count, target, merged in (
        (128, ">= 2 x the best peer", ""),
        (512, ">= 1 x the best peer", ">= 20 x Brian2"),
    ):
        made = circuit(count)
        best: dict[bool, list[float]] = {False: [], True: []}
        theirs: dict[str, list[float]] = {}
        for _ in range(rounds):
            for merge, found in best.items():
                found.append(min(ours(made, threads, merge) for threads in (1, 2)))
            for script in ("hh_alpha_brian2.py", "hh_alpha_arbor.py") if peers else ():
                for threads in (1, 2):
                    told = peer(str(peers), script, "--n", str(count), "--repeat", "1",
                                "--threads", str(threads))  # fmt: skip
                    name = f"{told['peer']} {threads}"
                    theirs.setdefault(name, []).append(told["us_per_step"] * 1e-6)
        counted = SYNAPSE_BYTES * made.groups[1].count
        here, memory = triad(counted, "float64", 2), triad(3 * 64e6, "float64", 2)
        spent = median(best[False])
        floor = (
            f"{counted / 1e6:.1f} MB a step, {counted / spent / 1e9:.1f} GB/s; "
            f"triad {memory / 1e9:.1f}, of this size {here / 1e9:.1f} GB/s; "
            f"barrier {barrier(2) * 1e6:.2f} us"
        )
        case = f"hh_alpha, N = {count}, {made.groups[1].count:,} synapses, float64"
        rows.append(_row(case, spent, target, theirs) | {"floor": floor})
        brian2 = {name: times for name, times in theirs.items() if "brian" in name.lower()}
        rows.append(_row(f"{case}, merged", median(best[True]), merged, brian2))
    return rows


def _row(case: str, spent: float, target: str, theirs: dict[str, list[float]]) -> dict[str, Any]:
    """Return a row; its ratio is that of the fastest peer."""
    row = {"case": case, "us a step": spent * 1e6, "target": target}
    if not theirs:
        return {**row, "ratio": float("nan"), "peer": "not run (--peers)"}
    told = ", ".join(f"{name}: {median(times) * 1e6:.0f} us" for name, times in theirs.items())
    return {**row, "ratio": min(median(t) for t in theirs.values()) / spent, "peer": told}


def table(table: Table) -> list[Row]:
    """Return the rows without and with merged synapses, ten simulated milliseconds a run."""
    made = circuit(32 if table.small else 512)
    steps = 10_000 if table.backend == "cuda" else 500
    synapses = made.groups[1].count

    def current() -> list[nd.StepInput]:
        return [nd.StepInput("I", made.groups[0].uids, 20.0)]

    rate = table.rate(made, DT, current(), 10_000)
    case = f"hh_alpha, N = {made.groups[0].count}, {synapses:,} synapses, {rate:.0f} Hz, float64"
    rows: list[Row] = []
    for merge, target in ((False, 8.0), (True, 2.0)):
        name = f"{case}, {'merged' if merge else 'a state per synapse'}"
        if merge and not accepts("merge"):
            cannot = {"case": f"{name}: this version cannot", "us a step": math.nan}
            rows.append(cannot | table.judged(f"<= {target:g} us", met=False))
            continue
        options = {"merge": merge} if accepts("merge") else {}
        with table.lpu(made, DT, current(), **options) as lpu:
            spent = table.timed(lpu, steps)
            floor = table.floor(lpu, SYNAPSE_BYTES * (made.groups[0].count if merge else synapses))
        peers = "" if merge else "NeuroDriver 0.3.2 on one H200: 54 us, GeNN 5.4.0: 20.5 us"
        rows.append(table.row(name, spent, target, floor, peer=peers))
    return rows
