"""The cortical microcircuit by the recipe of the community: 10 s, 10 seeds, wall clock.

The real-time factor is wall clock over simulated time, after a first 0.1 s that does not count,
without and with recorded spikes (Kurth et al. 2022, Neuromorph Comput Eng 2:021001,
doi:10.1088/2634-4386/ac55fc). Rates, CV and correlations of different seeds are compared by their
Kolmogorov-Smirnov distances, on a CPU at a tenth of the size beside those of NEST.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import neurodriver as nd

from .distributions import Distributions, between, described, distributions, within
from .energy import EnergyCounter
from .measure import peer
from .papers import THREADS, example
from .table import Row, StepTime, Table

FIRST = 0.1
"""Simulated s that do not count."""

SECONDS, SEEDS = 10.0, 10
START = 1.0
"""s, from which on spikes are compared."""

TARGET = 0.040
"""Real-time factor."""

PEER = "FPGAs (35) 0.049, GPU 0.27"
"""Real-time factors that were published."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One simulation: wall clock in s, joules, synaptic events, and its spikes if recorded."""

    wall: float
    joules: float
    events: float
    found: Distributions | None


def run(rounds: int, python: str | None) -> Iterator[Row]:
    """Yield the row of the distances to NEST, at a tenth of the size on the CPU."""
    table = Table("cpu", rounds)
    seeds = range(1, min(rounds, SEEDS) + 1)
    ours = [simulated(table, 0.1, seed, SECONDS, True) for seed in seeds]
    mine = [one.found for one in ours if one.found]
    row = _row(table, "scale 0.1, spikes recorded", ours, SECONDS)
    row["floor"] += f"; distances between seeds: {described(within(mine))}"
    if python:
        theirs = [_of_nest(python, seed) for seed in seeds]
        row["peer"] = f"NEST between seeds: {described(within(theirs))}"
        row["floor"] += f"; to NEST: {described(between(mine, theirs))}"
    yield row


def table(table: Table) -> Iterator[Row]:
    """Yield a row without and one with recorded spikes."""
    scale, seconds, seeds = (0.02, 0.5, 2) if table.small else (1.0, SECONDS, SEEDS)
    for recorded in (False, True):
        ran = [simulated(table, scale, seed, seconds, recorded) for seed in range(1, seeds + 1)]
        row = _row(table, "spikes recorded" if recorded else "without recording", ran, seconds)
        if recorded:
            found = [one.found for one in ran if one.found]
            row["floor"] += f"; distances between seeds: {described(within(found))}"
        yield row


def simulated(table: Table, scale: float, seed: int, seconds: float, recorded: bool) -> Ran:
    """Simulate the network of a seed."""
    module = example("potjans_diesmann_2014")
    circuit, inputs, populations = module.network(scale, seed)
    recorders = [nd.MemoryRecorder([("spike_state", circuit.groups[0].uids)])] if recorded else []
    options: dict[str, Any] = {} if table.backend == "cuda" else {"threads": THREADS}
    options |= {"dtype": "float32", "seed": seed}
    energy = EnergyCounter()
    with table.lpu(circuit, module.DT, inputs, recorders, **options) as lpu:
        lpu.run(duration=FIRST)
        begin, joules = time.perf_counter(), energy.read()
        lpu.run(duration=seconds)
        wall, joules = time.perf_counter() - begin, energy.read() - joules
    if not recorders:
        return Ran(wall, joules, np.nan, None)
    spikes = recorders[0].get("spike_state")
    when, who = np.asarray(spikes["time"]), np.asarray(spikes["index"])
    start, stop = min(START, seconds / 2), FIRST + seconds
    found = distributions(when, who, populations, start, stop)
    return Ran(wall, joules, _events(module.scaled(scale), populations, who[when >= FIRST]), found)


def _events(at: Any, populations: dict[str, range], who: np.ndarray) -> float:
    """Return how many spikes arrived at synapses between neurons of the network."""
    targets = at.synapses.sum(axis=0) / at.sizes  # of a neuron of each population
    edges = [*(one.start for one in populations.values()), int(at.sizes.sum())]
    return float(np.histogram(who, edges)[0] @ targets)


def _row(table: Table, what: str, ran: list[Ran], seconds: float) -> Row:
    """Return the row of a way to simulate the network, with several seeds."""
    factors = np.array([one.wall for one in ran]) / seconds
    dt = example("potjans_diesmann_2014").DT
    case = f"microcircuit, {seconds:g} s, {len(ran)} seeds, float32, {what}"
    floor = f"real-time factor {factors.mean():.4f} +- {factors.std():.4f}"
    joules, events = sum(one.joules for one in ran), sum(one.events for one in ran)
    if np.isfinite(joules):
        floor += f"; {joules / (factors.sum() * seconds):.0f} W"
    if np.isfinite(joules) and np.isfinite(events):
        floor += f"; {joules / events * 1e9:.3g} nJ a synaptic event"
    row = table.row(case, StepTime(float(factors.mean()) * dt), None, floor)
    row |= {"seconds": float(factors.mean() * seconds)}
    return row | {"peer": PEER} | table.judged(f"real-time factor <= {TARGET:g}",
                                               factors.mean() <= TARGET)  # fmt: skip


def _of_nest(python: str, seed: int) -> Distributions:
    """Simulate the network in NEST at a tenth of the size."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "spikes.npz")
        given = {"scale": 0.1, "bio": FIRST + SECONDS, "threads": THREADS, "seed": seed}
        words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
        peer(python, "potjans_diesmann_nest.py", *words, "--repeat", "1", "--spikes", str(path))
        held = np.load(path)
        _, _, populations = example("potjans_diesmann_2014").network(0.1, seed)
        return distributions(held["time"], held["index"], populations, START, FIRST + SECONDS)
