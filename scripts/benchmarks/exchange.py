"""Two LPUs: between ranks against a bare Sendrecv, in one process against one LPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver import Connections, Manager
from neurodriver.backends.cuda.device import device_count
from neurodriver.circuits import optic_lobe
from neurodriver.model.library import shipped

from .measure import median, on_ranks, seconds_per_step
from .table import Row, Table

COUNTS = (1_000, 10_000, 100_000, 1_000_000)
EXTENT = 10
DT = 1e-4

IAF = {"resting_potential": -70.0, "threshold": -45.0, "reset_potential": -70.0,
       "capacitance": 2.0, "resistance": 10.0}  # fmt: skip
POWER = {"threshold": -55.0, "slope": 0.02, "power": 1.0, "saturation": 0.4}


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return a row for each number of ports, and one for the optic lobe as four LPUs."""
    rows = []
    for count in COUNTS:
        found = _ranks(count, rounds)
        target = "<= 1.3 of Sendrecv" if count >= 10_000 else ""
        rows.append(
            {
                "case": f"exchange, {count:,} values each way, 2 ranks",
                "us a step": found["ours"] * 1e6,
                "peer": f"bare Sendrecv {found['sendrecv'] * 1e6:.3g} us",
                "ratio": found["ours"] / found["sendrecv"],
                "target": target,
                "floor": f"{16 * count / 1e6:g} MB a step in and out",
            }
        )
    return [*rows, _one_process(rounds)]


def table(asked: Table) -> Iterator[Row]:
    """Yield the rows of 16 KB each way between two GPUs, none where there are fewer."""
    if asked.backend != "cuda" or device_count() < 2:
        return
    yield _halves(asked)
    count = 2_048
    found = _ranks(count, asked.rounds, "cuda")
    us = {what: seconds * 1e6 for what, seconds in found.items()}
    yield {
        "case": f"exchange, {8 * count / 1024:g} KB each way, 2 ranks, 2 GPUs",
        "us a step": us["ours"],
        "peer": f"bare Sendrecv, page-locked, {us['sendrecv']:.3g} us",
        "ratio": found["ours"] / found["sendrecv"],
        "target": "<= 25 us",
        "met": "yes" if us["ours"] <= 25 else "no",
        "floor": f"calls of 2 steps that exchange nothing {us['alone']:.3g} us a step",
    }


def halves(count: int, parts: int = 2) -> tuple[nd.Circuit, NDArray[np.int64]]:
    """Return neurons whose potential sets conductances in the next part, and the part of each."""
    models = shipped()
    uids = np.arange(parts * count).astype("U")
    groups = [
        (models["LeakyIAF"], parts * count, IAF, np.strings.add("neuron ", uids)),
        (models["PowerGPotGPot"], parts * count, POWER, np.strings.add("synapse ", uids)),
    ]
    source = np.arange(parts * count, dtype=np.int32)
    target = (source + count) % (parts * count) + parts * count
    links = [Connections("V", "V", source, target.astype(np.int32), np.full(len(source), DT))]
    return nd.Circuit.from_arrays(groups, links), np.tile(source // count, 2).astype(np.int64)


def _halves(asked: Table) -> Row:
    """Return the row of one circuit in two parts that exchange potentials at each step."""
    count = 4_096
    spent: list[list[float]] = [[], []]
    for _ in range(asked.rounds):
        for place, (circuit, part) in enumerate((halves(count), halves(count, 1))):
            given = {"parts": part, "devices": 2} if place == 0 else {}
            with asked.lpu(circuit, DT, (), dtype="float32", **given) as lpu:
                spent[place].append(min(seconds_per_step(lpu, 3)) * 1e6)
    two, one = median(spent[0]), median(spent[1])
    return {
        "case": f"one circuit in two halves, {4 * count / 1024:g} KB each way, 2 GPUs, 1 process",
        "us a step": two,
        "peer": f"half of it on one GPU {one:.3g} us",
        "ratio": two / one,
        "target": "<= a step of a half + 4 us",
        "met": "yes" if two <= one + 4 else "no",
    }


def _ranks(count: int, rounds: int, *more: str) -> dict[str, float]:
    """Run the worker on two ranks; return medians in seconds."""
    return on_ranks(2, "benchmarks.exchange_worker", str(count), str(rounds), *more)


def _one_process(rounds: int) -> dict[str, Any]:
    """Compare the optic lobe as four LPUs in one process with the same circuit as one LPU.

    The same means with the step that every crossing takes; the circuit without it, where all
    delays are equal, runs from the lattice plan and is told beside.
    """
    whole = optic_lobe.circuit(EXTENT)
    parts = optic_lobe.parts(EXTENT)
    part = np.empty(whole.count, dtype=np.int64)
    for number, circuit in enumerate(parts.circuits.values()):
        part[whole.find(circuit.group("GradedNeuron").uids)] = number
    links = [
        replace(one, delay=np.where(part[one.source] != part[one.target], 2e-3, 1e-3))
        for one in whole.connections
    ]
    same = whole.with_parts(whole.groups, links)
    man = Manager(quiet=True)
    for name, circuit in parts.circuits.items():
        man.add(nd.LPU, name, circuit, 1e-3)
    for (source, target), pattern in parts.patterns().items():
        man.connect(source, target, pattern)
    man.spawn()
    four: Any = next(iter(man.lpus.values()))
    ours, one, plain = [], [], []
    with nd.LPU(same, 1e-3) as lpu, nd.LPU(whole, 1e-3) as lattice:
        for _ in range(rounds):
            ours.append(min(seconds_per_step(four, 3)))
            one.append(min(seconds_per_step(lpu, 3)))
            plain.append(min(seconds_per_step(lattice, 3)))
    return {
        "case": f"optic lobe, extent {EXTENT}, four LPUs in one process",
        "us a step": median(ours) * 1e6,
        "peer": f"one LPU {median(one) * 1e6:.3g} us",
        "ratio": median(ours) / median(one),
        "target": "<= 1.1 of one LPU",
        "floor": f"without the extra steps, by the lattice plan, {median(plain) * 1e6:.3g} us",
    }
