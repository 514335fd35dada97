"""Weights that are scaled by the rate of their target."""

from __future__ import annotations

import math

import numpy as np
from learning import Trains, learned

import neurodriver as nd

STEPS, EVERY = 600, 50
RULE = {"rate_0": 20.0, "tau_rate": 200.0, "tau_scaling": 400.0, "interval": float(EVERY),
        "w_max": 2.0, "A_plus": 0.01}  # fmt: skip


def test_weights_are_those_of_a_plain_loop(dtype: str) -> None:
    """Targets that fire too often, too rarely and not at all; pairs change the weights as well."""
    rng = np.random.default_rng(2)
    chances = (0.03, 0.05, 0.06, 0.005, 0.0)
    pre, post = (
        [np.flatnonzero(rng.random(STEPS) < p) + 1 for p in some]
        for some in (chances[:2], chances[2:])
    )
    ends = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    ones, none = np.ones(6, int), np.zeros(6, int)
    given = Trains(pre, post, *ends, np.linspace(0.5, 1.5, 6), ones, none, none, STEPS)
    expected = []
    for i, j, w in zip(*ends, given.weight, strict=True):
        x = y = count = 0.0
        rate, decay, kept = 20.0, math.exp(-1 / 20.0), math.exp(-EVERY / 200.0)
        for n in range(STEPS):
            if n and n % EVERY == 0:
                rate = kept * rate + (1 - kept) * 1000 * count / EVERY
                w = min(max(w * (1 + EVERY / 400.0 * (1 - rate / 20.0)), 0.0), 2.0)
                count = 0.0
            x, y = x * decay, y * decay
            arrives, spike = n in pre[i], n in post[j]
            if arrives:
                w = min(max(w - 1.05 * 0.01 * 2.0 * y, 0.0), 2.0)
            if spike:
                w = min(max(w + 0.01 * 2.0 * x, 0.0), 2.0)
                count += 1
            x, y = x + arrives, y + spike
        expected.append(w)
    with given.lpu(nd.HomeostaticSTDP(**RULE), dtype=dtype) as lpu:
        lpu.run(steps=STEPS)
        tolerance = {"float64": 1e-12, "float32": 1e-5}[dtype]
        got = given.unsorted(learned(lpu))
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)
    assert got[0] < 0.5 * given.weight[0] and got[2] > 1.5 * given.weight[2]


def test_the_rate_of_a_neuron_is_kept() -> None:
    """Whether its weights are too small or too large at first."""
    found = []
    for weight in (0.2, 1.0):
        inputs = nd.Population("PoissonSource", 100, rate=20.0, name="inputs")
        cell = nd.Population(
            "LeakyIAFDelta", 1, name="cell", resting_potential=-70.0, threshold=-54.0,
            reset_potential=-60.0, time_constant=20.0,
        )  # fmt: skip
        rule = nd.HomeostaticSTDP(
            A_plus=1e-4, w_max=6.0, tau_rate=500.0, tau_scaling=1000.0, interval=100.0
        )
        learning = nd.Projection(inputs, cell, nd.AllToAll(), weight=weight, plasticity=rule)
        circuit = nd.Circuit([inputs, cell], [learning], seed=1)
        recorder = nd.MemoryRecorder([("spike_state", ["cell/0"])])
        with nd.LPU(circuit, 1e-3, recorders=[recorder], seed=1) as lpu:
            lpu.run(duration=30.0)
        times = np.asarray(recorder.get("spike_state")["time"])
        found.append([(times < 0.4).sum() / 0.4, (times > 20.0).sum() / 10.0])
    (few, kept), (many, also_kept) = found
    assert few < 1.0 and many > 30.0
    assert abs(kept - 10.0) < 2.0 and abs(also_kept - 10.0) < 2.0
