"""A page follows the training of a network: activity and weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_networks import four_units, shown

import neurodriver as nd
from neurodriver.error_driven import Trainer

TRIALS = 6


@pytest.mark.parametrize("file", ["", "weights.h5"])
def test_a_page_follows_a_training(tmp_path: Path, file: str) -> None:
    """Spikes, activity and weights after each trial are those of the trainer."""
    activity = nd.MemoryRecorder([("Act", None), ("spike_state", None)])
    weights = nd.SynapseRecorder(tmp_path / file if file else None, "exc", interval=0.2)
    with Trainer(four_units(), recorders=[activity, weights], backend="cpu") as sim:
        view = sim.lpu.show()

        def asked(**question: Any) -> Any:
            return view._server.view.answer(question)

        sent = []
        for trial in range(TRIALS):
            sim.trial(shown(trial))
            lengths = [one["duration"] for one in asked(ask="about")["durations"]]
            assert lengths[0] == pytest.approx(0.2 * (trial + 1))
            sent.append(sim.path("Input", "Hidden").diagonal())
        parts = {one["name"]: one["variables"] for one in asked(ask="about")["parts"]}
        circuit, synapses = parts
        assert [one["name"] for one in parts[circuit]] == ["Act", "spike_state"]
        assert [(v["name"], v["columns"]) for v in parts[synapses]] == [("weight", 12)]
        window = {"start": 0.0, "stop": 0.2 * TRIALS}
        events = asked(ask="events", part=circuit, variable="spike_state", **window)
        assert events["total"] > 100 and events["uids"][:2] == ["Input/0", "Input/1"]
        rows = asked(ask="rows", part=synapses, variable="weight", **window)
        assert "error" not in rows, rows
        assert rows["columns"] == 12 and rows["uids"][0].startswith("Input/0 -> Hidden")
        row = weights.recording.data("weight")[:]
        assert len(row) == TRIALS and np.ptp(row, axis=0).max() > 1e-6
        # weights change when a trial has been recorded, so a row has those of the trial before
        scale = next(sim.network.scale(p) for p in sim.network.paths.values())
        assert np.allclose(row[1:, :4], scale * np.array(sent)[:-1], atol=1e-6)
        view.close()
