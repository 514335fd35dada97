"""Trials of Axon's random associator: cycles, and the changes of weights after each trial."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from neurodriver.error_driven import Table, Trainer

from .measure import median
from .papers import example

TRIALS = 32
"""Trials of an epoch, as in the example."""

TARGET = 2.0
"""Milliseconds of a trial of 200 cycles on two cores."""


CASES = (
    (None, 1, "float32"),
    (None, 2, "float32"),
    (None, 1, "float64"),
    (None, 2, "float64"),
    (8, 2, "float64"),
    (8, 2, "float32"),
)
"""Items side by side, threads, precision."""


def milliseconds(epoch: Callable[[], object]) -> float:
    """Return the time of a trial of an epoch, for each item."""
    begin = time.perf_counter()
    epoch()
    return (time.perf_counter() - begin) / TRIALS * 1e3


def times(sim: Trainer, pairs: Table, rounds: int) -> tuple[list[float], list[float]]:
    """Return times of trials and of cycles without learning; the first round does not count."""

    def cycles() -> None:
        for _ in range(TRIALS // sim.count):
            sim.cycle(sim.network.cycles)

    def epoch() -> None:
        sim.train(pairs, epochs=1, trials=TRIALS)

    found = [(milliseconds(epoch), milliseconds(cycles)) for _ in range(rounds + 1)]
    return [one[0] for one in found[1:]], [one[1] for one in found[1:]]


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return a row for each case."""
    ra25, rng = example("../11_random_associator"), np.random.default_rng(0)
    pairs = Table(Input=ra25.patterns(25, rng), Output=ra25.patterns(25, rng))
    rows = []
    for items, threads, dtype in CASES:
        with Trainer(ra25.network(), items, threads=threads, dtype=dtype) as sim:
            trials, cycles = times(sim, pairs, rounds)
            trial, said = median(trials), "one item" if items is None else f"{items} items, each"
            rows.append({
                "case": f"ra25, 250 neurons, a training trial of 200 cycles, {said}, {dtype}, "
                f"threads {threads}",
                "us a step": trial / sim.network.cycles * 1e3, "seconds": trial / 1e3,
                "target": f"<= {TARGET:g} ms a trial",
                "floor": f"cycles alone {median(cycles):.2f} ms; then weights, statistics",
            })  # fmt: skip
    return rows
