"""Weights that copies of a batch share, as no text of their rule changes them."""

from __future__ import annotations

from typing import Any

import numpy as np

import neurodriver as nd

DT, COUNT, COPIES = 1e-4, 40, 3
CELL = {
    "resting_potential": -70.0, "threshold": -50.0, "reset_potential": -65.0,
    "time_constant": 10.0, "capacitance": 250.0, "refractory_period": 1.0, "tau_exc": 0.5,
    "tau_inh": 2.0, "initV": -60.0,
}  # fmt: skip


class Scaled(nd.Plasticity):
    """A spike carries the weight times a number of the synapse; nothing changes either."""

    params = {"gain": nd.Parameter("1", default=1.0, doc="factor of the synapse")}
    on_arrival = "send(weight * gain);"


class Tired(Scaled):
    """The same, with a number that each arrival changes."""

    synapse = {"left": nd.State("1", 1.0, doc="what is left")}
    on_arrival = "send(weight * gain * left); left *= 0.9;"


def circuit(rule: nd.Plasticity, gain: Any = None) -> nd.Circuit:
    source = nd.Population("PoissonSource", 30, name="source", rate=400.0)
    cells = nd.Population("LeakyIAFExpCurrent", COUNT, name="cells", **CELL)
    rng = np.random.default_rng(3)
    pre, post = np.repeat(np.arange(30), 10), rng.integers(0, COUNT, 300)
    data = {"weight": rng.uniform(500.0, 900.0, 300)} | ({} if gain is None else {"gain": gain})
    links = nd.Connections("spike_state", "exc", pre, post + 30, 5e-4, data, rule, name="learning")
    return nd.Circuit([source, cells], [links], seed=1)


def spikes(lpu: nd.LPU, copy: int | None = None) -> np.ndarray:
    recording: Any = lpu.recording
    return np.asarray((recording if copy is None else recording[copy]).spikes.time)


def batched(made: nd.Circuit, **options: Any) -> nd.LPU:
    recorder = nd.MemoryRecorder([("spike_state", made.populations["cells"])])
    return nd.LPU(made, DT, recorders=[recorder], **options)


def memories(lpu: nd.LPU) -> set[int]:
    """Return the addresses of the weights of all copies."""
    backend: Any = lpu.backend
    arrays = backend.copies[0].program.arrays
    (key,) = [k for k in arrays if k.name == "weight" and "learning" in k.owner.access]
    return {one.live.address(key) for one in backend.copies}


def check_one_memory(**options: Any) -> None:
    """A copy that is set gets weights of its own; all have the bits of lone runs."""
    made = circuit(Scaled(), np.random.default_rng(4).uniform(0.5, 1.5, 300))
    seeds = [5, 6, 7]
    with batched(made, batch=COPIES, seed=seeds, **options) as lpu:
        lpu.run(200)
        assert len(memories(lpu)) == 1
        before = lpu["learning"].get("weight")
        assert before.shape == (COPIES, 300) and np.ptp(before[0]) > 100
        lpu.copies[1]["learning"].weight = 1500.0
        assert len(memories(lpu)) == 2
        after = lpu["learning"].get("weight")
        assert np.array_equal(after[[0, 2]], before[[0, 2]]) and (after[1] == 1500.0).all()
        lpu.run(200)
        found = [spikes(lpu, copy) for copy in range(COPIES)]
    for copy in range(COPIES):
        with batched(made, seed=seeds[copy], **options) as alone:
            alone.run(200)
            if copy == 1:
                alone["learning"].weight = 1500.0
            alone.run(200)
            want = spikes(alone)
        assert len(want) > 20 and np.array_equal(found[copy], want)
