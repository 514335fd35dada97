"""The examples of published networks fire as Brian2 and NEST fire: five seeds of each.

``data/reference/activity.json`` was written by ``scripts/make_activity_reference.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
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
    """Rate and CV of each population, mean of five seeds, lie in the peer's range, 5 % wider.

    The mean, as single networks differ by more: the rate of 4,000 Hodgkin-Huxley neurons by 8 %.
    """
    entry = REFERENCE[name]
    runs = [fired(entry, seed) for seed in entry["seeds"]]
    populations = entry["peers"][PEER]["populations"]
    assert [a.population for a in runs[0]] == list(populations)
    outside = []
    for i, (population, quantities) in enumerate(populations.items()):
        for quantity in ("rate", "cv"):
            theirs = quantities[quantity]
            low, high = (1 - WIDER) * min(theirs), (1 + WIDER) * max(theirs)
            ours = [getattr(run[i], quantity) for run in runs]
            mean = sum(ours) / len(ours)
            if not low <= mean <= high:
                told = f"{mean:.4g}, not in {low:.4g} to {high:.4g}; seeds {np.round(ours, 3)}"
                outside.append(f"{population}, {quantity}: {told}")
    assert not outside, outside


def test_each_brain_answers_kicks_as_in_the_peer() -> None:
    """Seed by seed, as both read one table: the rate that kicks cause is the same within 8 %."""
    entry = REFERENCE["fly"]
    theirs = entry["peers"][PEER]["populations"]["others"]["rate"]
    ours = [fired(entry, seed)[1].rate for seed in entry["seeds"]]
    np.testing.assert_allclose(ours, theirs, rtol=0.08)
    assert max(theirs) > 1.5 * min(theirs)
