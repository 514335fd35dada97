"""The examples of published networks fire as Brian2 and NEST fire: five seeds of each.

``data/reference/activity.json`` was written by ``scripts/make_activity_reference.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import example

from neurodriver import LPU, MemoryRecorder
from neurodriver.results import Activity, activity

REFERENCE = json.loads(
    (Path(__file__).parents[2] / "data" / "reference" / "activity.json").read_text()
)
WIDER = 0.05
"""Share by which the range of the peer's seeds is widened on both sides."""

PEER = "brian2"
"""Integrates all models as ours do."""


def fired(entry: dict[str, Any], seed: int, **settings: Any) -> list[Activity]:
    """Return how the populations of an example fire."""
    module = example(entry["example"])
    circuit, inputs, populations = module.network(seed=seed, **entry["network"])
    recorder = MemoryRecorder([("spike_state", circuit.groups[0].uids)])
    with LPU(circuit, module.DT, inputs, [recorder], seed=seed, threads=1, **settings) as lpu:
        lpu.run(duration=entry["seconds"])
    spikes = recorder.get("spike_state")
    return activity(**spikes, populations=populations, stop=entry["seconds"], start=module.START)


@pytest.mark.parametrize("name", REFERENCE)
def test_rates_and_irregularity_are_those_of_the_peer(name: str) -> None:
    """Each seed's rate and CV of each population lies in the peer's range, 5 % wider."""
    entry = REFERENCE[name]
    populations = entry["peers"][PEER]["populations"]
    outside = []
    for seed in entry["seeds"]:
        found = fired(entry, seed)
        assert [a.population for a in found] == list(populations)
        for one in found:
            for quantity in ("rate", "cv"):
                theirs = populations[one.population][quantity]
                low, high = (1 - WIDER) * min(theirs), (1 + WIDER) * max(theirs)
                value = getattr(one, quantity)
                if not low <= value <= high:
                    where = f"{one.population}, seed {seed}, {quantity}"
                    outside.append(f"{where}: {value:.4g}, not in {low:.4g} to {high:.4g}")
    assert not outside, outside
