"""Izhikevich's network that learns from rewards: one minute of its hour."""

from __future__ import annotations

from collections.abc import Iterator

import neurodriver as nd

from .measure import median
from .papers import example
from .table import Row, StepTime, Table, one_run

SECONDS = 60.0

MOST_SECONDS = 20.0
"""Target for an hour."""


def table(table: Table) -> Iterator[Row]:
    """Yield the row of the case: eligibilities, dopamine, weights that change every 10 ms."""
    module = example("izhikevich_2007")
    circuit, steps = module.network(), round((1.0 if table.small else SECONDS) / module.DT)
    recorder = nd.MemoryRecorder([("spike_state", circuit.groups[0].uids)])
    given = {"dtype": "float32", "seed": 0}
    with table.lpu(circuit, module.DT, [], [recorder], **given) as lpu:
        lpu.start((table.rounds + 1) * steps)
        found = [one_run(lpu, steps) for _ in range(table.rounds + 1)][1:]
        lpu.finish()
    spent = StepTime(median([f.wall for f in found]), median([f.device for f in found]))
    spikes = len(recorder.get("spike_state")["time"]) / (table.rounds + 1)
    if not spikes:
        raise RuntimeError(f"{circuit.name}: no spikes")
    hour = spent.wall * 3600.0 / module.DT
    size = f"{circuit.groups[0].count:,} neurons, {circuit.edges:,} connections"
    what = f"izhikevich 2007, {steps * module.DT:g} s of an hour, {size}, float32"
    row = table.row(what, spent, None, f"{hour:.3g} s an hour; {spikes:,.0f} spikes")
    row["peer"] = "PyGeNN on a Titan RTX, published: 37.5 s an hour"
    yield row | table.judged(f"<= {MOST_SECONDS:g} s an hour", hour <= MOST_SECONDS)
