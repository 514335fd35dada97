"""Spikes delivered ahead and when due, on the multi-area model at several sizes.

The model of cost chooses one way, and is then made to choose the other one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import neurodriver as nd
from neurodriver.plan.spikes import due

from .measure import median
from .multi_area import NAME, model
from .papers import example
from .table import Row, StepTime, Table, one_run

DT, STEPS = 1e-4, 2_000

WHEN_DUE = re.compile("(?<!not )when due:")
"""In what the model of cost says."""

NETWORKS: tuple[dict[str, Any], ...] = (
    {"areas": ("MDP",)},
    {"areas": ("MDP", "V1")},
    *({"sizes": sizes} for sizes in (0.02, 0.05, 0.1, 0.2)),
)
"""Arguments of the example's ``network`` beside those of the whole model."""


def table(table: Table) -> Iterator[Row]:
    """Yield a row for each network: the way that is chosen, with the other one as its peer.

    Areas with names are those of the published model. A CPU delivers ahead only, so the other way
    is missing there.
    """
    for more in ({"sizes": 0.002, "indegrees": 0.1},) if table.small else NETWORKS:
        given = model() | more
        if "areas" in more and given["anatomy"] is None:
            continue
        circuit, inputs, _ = example(NAME).network(seed=1, **given)
        chosen, spikes, note = _run(table, circuit, inputs)
        barrier = due.BARRIER
        try:
            due.BARRIER = 1.0 if WHEN_DUE.search(note) else -1.0
            other, others, another = _run(table, circuit, inputs)
        finally:
            due.BARRIER = barrier
        if others != spikes:
            raise RuntimeError(f"{circuit.name}: {spikes} spikes, and {others} the other way")
        what = ", ".join(given.get("areas", ())) or f"sizes {given['sizes']:g}"
        size = f"{circuit.count:,} neurons, {circuit.edges:,} connections"
        row = table.row(
            f"spike delivery, multi-area model, {what}, {size}, float32", chosen, None, note
        )
        row["spikes a second"] = spikes / (STEPS * (table.rounds + 1) * DT)
        if note != another:
            way = "when due" if WHEN_DUE.search(another) else "ahead"
            said = f"{way} {other.wall * 1e6:.3g} us"
            row |= {"peer": said, "ratio": chosen.wall / other.wall}
        yield row


def _run(table: Table, circuit: nd.Circuit, inputs: Any) -> tuple[StepTime, int, str]:
    """Return the time of a step, the spikes, and what the model of cost says."""
    recorder = nd.MemoryRecorder([("spike_state", circuit.groups[0].uids)])
    with table.lpu(circuit, DT, inputs, [recorder], dtype="float32", seed=1) as lpu:
        found = [one_run(lpu, STEPS) for _ in range(table.rounds + 1)][1:]
        notes = dict.fromkeys(one.note for one in lpu.program.gathers.values() if one.note)
    spikes = len(recorder.get("spike_state")["index"])
    spent = StepTime(median([one.wall for one in found]), median([one.device for one in found]))
    return spent, spikes, "; ".join(notes)
