"""A million LeakyIAF neurons without synapses, against the memory's bandwidth."""

from __future__ import annotations

from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver import system
from neurodriver.model.library import shipped

from .measure import median, seconds_per_step, triad
from .table import Row, Table, ceilings

COUNT = 1_000_000
LARGE = 10_000_000
CURRENT = 3.0
"""uA/cm^2: 28 spikes a second, spread evenly over time by the initial potentials."""

BYTES = {"float64": 4 * 8, "float32": 4 * 4}
"""A neuron and step: V read and written, I read, spike written; uniform parameters are free."""


def neurons(count: int) -> nd.Circuit:
    """Return unconnected neurons, each at a random time between two of its spikes."""
    params: dict[str, Any] = {
        "resting_potential": -70.0,
        "threshold": -45.0,
        "reset_potential": -70.0,
    }
    params |= {"capacitance": 2.0, "resistance": 10.0}
    phase = np.random.default_rng(1).random(count)
    params["initV"] = -40.0 - 30.0 * (1.0 / 6.0) ** phase
    return nd.Circuit.from_arrays([(shipped()["LeakyIAF"], count, params, None)], name="lif")


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return one row for each type."""
    threads = system.cores()
    rows = []
    for dtype in ("float64", "float32"):
        circuit = neurons(COUNT)
        current = nd.StepInput("I", circuit.uids, CURRENT)
        with nd.LPU(circuit, 1e-4, [current], dtype=dtype, threads=threads) as lpu:
            counted = BYTES[dtype] * COUNT
            ratios, ours, triads, here = [], [], [], []
            for _ in range(rounds):
                ours.append(min(seconds_per_step(lpu, 3)))
                triads.append(triad(3 * 150e6, dtype, threads))
                here.append(triad(1.5 * counted, dtype, threads))
                ratios.append(counted / ours[-1] / triads[-1])
            rows.append(
                {
                    "case": f"lif, 1,000,000 neurons, {dtype}",
                    "us a step": median(ours) * 1e6,
                    "peer": f"triad {median(triads) / 1e9:.1f} GB/s",
                    "ratio": median(ratios),
                    "target": ">= 0.80 of the triad",
                    "floor": (
                        f"{counted / 1e6:.0f} MB a step: {counted / median(triads) * 1e6:.0f} us; "
                        f"triad over as many bytes as ours, partly in cache: "
                        f"{median(here) / 1e9:.1f} GB/s"
                    ),
                }
            )
    return rows


def table(table: Table) -> list[Row]:
    """Return the row of as many neurons as only the memory can hold."""
    count = 100_000 if table.small else LARGE
    circuit = neurons(count)
    with table.lpu(circuit, 1e-4, [nd.StepInput("I", circuit.uids, CURRENT)],
                   dtype="float32") as lpu:  # fmt: skip
        spent = table.timed(lpu)
        alive = float(np.std(lpu.get("V")))
    copy, counted = ceilings(table.backend).copy, BYTES["float32"] * count
    share = counted / spent.seconds / copy
    row = table.row(f"lif, {count:,} neurons, float32 (V spread {alive:.2g} mV)", spent, None, "")
    row |= {"peer": f"copy {copy / 1e9:.0f} GB/s", "ratio": share}
    row["floor"] = f"{counted / 1e6:.0f} MB a step: {counted / copy * 1e6:.0f} us by copy"
    return [row | table.judged(">= 0.85 of the copy", share >= 0.85)]
