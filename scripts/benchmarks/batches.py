"""Copies of a network in one batch, beside lone runs that keep all cores busy."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import neurodriver as nd
from neurodriver import system

from .fly import NETWORK
from .measure import median
from .papers import example
from .table import Row, Table

COPIES, NEURONS = 100, 1_000

MOST = 1.1
"""Time of a batch, in units of the copies' own times at full load divided by the cores."""


def run(rounds: int, python: str | None) -> Iterator[Row]:
    """Yield the row on the CPU."""
    return table(Table("cpu", rounds))


def table(table: Table) -> Iterator[Row]:
    """Yield the rows: copies of a network of Vogels and Abbott, and trials of the fly's brain."""
    if table.backend == "cpu":
        yield _batch(table)
        return
    yield _on_device(table)
    yield _trials(table)


def _step(table: Table, circuit: nd.Circuit, dt: float, inputs: Any, **options: Any) -> float:
    """Return the wall clock of a step with all spikes recorded, in single precision."""
    steps = 200 if table.small else 20_000
    with table.lpu(circuit, dt, inputs, [_recorder()], dtype="float32", **options) as lpu:
        lpu.run(steps)
        return median([_seconds(lpu, steps) / steps for _ in range(table.rounds)])


def _on_device(table: Table) -> Row:
    copies = 8 if table.small else 128
    circuit, inputs, dt = _network()
    one = _step(table, circuit, dt, inputs)
    all_ = _step(table, circuit, dt, inputs, batch=copies, seed=range(copies))
    return {
        "case": f"batches: {copies} copies of {NEURONS:,} neurons, a step of all",
        "seconds": all_,
        "peer": f"one of them: {1e6 * one:.2f} us",
        "ratio": all_ / one,
        "target": "<= 2 times",
        "met": "yes" if all_ <= 2 * one else "no",
    }


def _trials(table: Table) -> Row:
    """Return the row of trials of the fly's brain in one launch."""
    trials, size = (2, {"neurons": 2_000, "kicked": 50}) if table.small else (30, NETWORK)
    module = example("shiu_2024")
    circuit, inputs, _ = module.network(**size)
    with table.lpu(
        circuit, module.DT, inputs, dtype="float32", batch=trials, seed=range(trials)
    ) as lpu:
        steps = 200 if table.small else 2_000
        lpu.run(steps)
        spent = median([_seconds(lpu, steps) for _ in range(table.rounds)])
    second = spent / (steps * module.DT * trials)
    return {
        "case": f"batches: {trials} trials of the fly's brain, a trial and biological second",
        "seconds": second,
        "target": "<= 3 ms",
        "met": "yes" if second <= 3e-3 else "no",
    }


def _network() -> tuple[nd.Circuit, Any, float]:
    module = example("vogels_abbott_2005")
    circuit, inputs, _ = module.network(neurons=NEURONS)
    return circuit, inputs, module.DT


def _recorder() -> nd.MemoryRecorder:
    return nd.MemoryRecorder([("spike_state", None)])


def _batch(table: Table) -> Row:
    copies, steps = (8, 200) if table.small else (COPIES, 2_000)
    circuit, inputs, dt = _network()
    cores = system.cores()
    lone = [table.lpu(circuit, dt, inputs, [_recorder()], threads=1, seed=i) for i in range(cores)]
    batch = table.lpu(circuit, dt, inputs, [_recorder()], batch=copies, seed=range(copies))
    ratios, times, work = [], [], []
    for round_ in range(table.rounds + 1):  # the first one does not count
        own, own_work = _together(lone, steps)
        begin = time.process_time()
        together = _seconds(batch, steps)
        if round_:
            ratios.append(together / (copies * own / cores))
            work.append((time.process_time() - begin) / (copies * own_work))
            times.append(together / (copies * steps))
    for one in (*lone, batch):
        one.close()
    ratio = median(ratios)
    return {
        "case": f"batches: {copies} copies of {NEURONS:,} neurons, a step of a copy",
        "seconds": median(times),
        "peer": f"lone runs on {cores} cores: {ratio:.2f} times their own times, "
        f"{median(work):.2f} times their processor time",
        "target": f"<= {MOST} times",
        "met": "yes" if ratio <= MOST else "no",
    }


def _seconds(lpu: nd.LPU, steps: int) -> float:
    begin = time.perf_counter()
    lpu.run(steps)
    return time.perf_counter() - begin


def _together(lpus: list[nd.LPU], steps: int) -> tuple[float, float]:
    """Return the mean time of lone runs, one on each core, and their mean processor time."""
    found: list[float] = []
    threads = [
        threading.Thread(target=lambda one=one: found.append(_seconds(one, 5 * steps)))  # type: ignore[misc]
        for one in lpus
    ]
    begin = time.process_time()
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    work = time.process_time() - begin
    return sum(found) / len(found) / 5, work / len(found) / 5
