"""Values read and set between runs, and a checkpoint of the cortical microcircuit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import neurodriver as nd

from .measure import median
from .papers import example
from .table import Row, Table

COUNT = 100_000
"""Components whose values are read and set."""

STEPPED = 1000
"""Neurons that are advanced step by step."""

CELL = {
    "resting_potential": -70.0,
    "threshold": -45.0,
    "reset_potential": -70.0,
    "capacitance": 2.0,
}


def run(rounds: int, python: str | None) -> Iterator[Row]:
    """Yield the rows on the CPU."""
    return table(Table("cpu", rounds))


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of reading, of setting, and of a checkpoint; floors are plain copies."""
    yield from _values(table)
    yield _single_steps(table)
    yield _checkpoint(table)


def _seconds(action: Callable[[], object], rounds: int) -> float:
    """Return the median time of an action, after a first one that does not count."""
    action()
    times = []
    for _ in range(10 * rounds):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return median(times)


def _values(table: Table) -> Iterator[Row]:
    values = np.random.default_rng(1).uniform(-70.0, -50.0, COUNT)
    resistance = np.linspace(9.0, 11.0, COUNT)
    cells = nd.Population("LeakyIAF", COUNT, name="cells", resistance=resistance, **CELL)
    with table.lpu(nd.Circuit([cells]), 1e-4, nd.StepInput("I", cells, 5.0)) as lpu:
        lpu.run(10)
        view, copy = lpu["cells"], np.empty(COUNT)
        floor = _seconds(lambda: np.copyto(copy, values), table.rounds)
        most = 1e-3 if table.backend == "cpu" else 2e-4 + floor
        for name, action in {
            "get V": lambda: view.get("V"),
            "set V": lambda: view.set("V", values),
            "get a parameter": lambda: view.get("resistance"),
            "set a parameter": lambda: view.set("resistance", resistance),
        }.items():
            spent = _seconds(action, table.rounds)
            yield {
                "case": f"living: {name} of {COUNT:,}",
                "seconds": spent,
                "floor": f"copy in the host's memory: {1e3 * floor:.3f} ms",
                "target": f"<= {1e3 * most:.3f} ms",
                "met": "yes" if spent <= most else "no",
            }


def _single_steps(table: Table) -> Row:
    """Return the row of steps that are called one by one, each with a view of a state."""
    given = {"noise": 5.0, "a": 0.02, "b": 0.2, "c": -60.0, "d": 5.0}
    cells = nd.Population("IzhikevichNoisy", STEPPED, name="cells", **given)
    fan, late = nd.FixedOutDegree(100), nd.Uniform(1e-3, 10e-3)
    links = [nd.Projection(cells, cells, fan, weight=nd.Uniform(0, 1), delay=late, name="e")]
    with table.lpu(nd.Circuit([cells], links, seed=1), 1e-3, []) as lpu:
        view, lengths = lpu["cells"], []
        lpu.advance(20)
        for shared in (False, True):
            times = []
            for _ in range(table.rounds):
                begin = time.perf_counter()
                for _ in range(1000):
                    lpu.advance(1)
                    if shared:
                        view.shared("u")
                times.append((time.perf_counter() - begin) * 1e3)
            lengths.append(median(times))
        begin = time.perf_counter()
        lpu.advance(10_000)
        alone = (time.perf_counter() - begin) * 1e2
    return {
        "case": f"living: {STEPPED:,} neurons, a call for each step, with a view of a state",
        "us a step": lengths[1],
        "floor": f"without a view {lengths[0]:.1f} us, in one call {alone:.1f} us",
        **table.judged("<= 60 us", lengths[1] <= 60.0),
    }


def _checkpoint(table: Table) -> Row:
    scale = 0.02 if table.small else 1.0
    module = example("potjans_diesmann_2014")
    circuit, inputs, _ = module.network(scale)
    with TemporaryDirectory() as folder, table.lpu(circuit, module.DT, inputs) as lpu:
        path, plain = Path(folder) / "state.h5", Path(folder) / "plain"
        lpu.run(100)
        spent = _seconds(lambda: lpu.save(path), 1)
        data = path.read_bytes()

        def write() -> None:
            with open(plain, "wb") as file:
                file.write(data)
                os.fsync(file.fileno())

        floor = _seconds(write, 1)
    return {
        "case": f"living: checkpoint of potjans_diesmann at {scale:g}, {len(data) / 1e6:.1f} MB",
        "seconds": spent,
        "floor": f"writing so many bytes: {floor:.3f} s",
        "target": "<= 3 s",
        "met": "yes" if spent <= 3.0 else "no",
    }
