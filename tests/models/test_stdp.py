"""Plasticity: a plain loop, the window of a pair, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support import DT, IAF, assert_same_bits, build, node, simulate

from neurodriver import StepInput
from neurodriver.errors import CircuitError

STDP = {"tau_g": 4.0, "tau_plus": 5.0, "tau_minus": 7.0, "eta_plus": 3.0, "eta_minus": 2.0,
        "w_max": 1.0, "w_min": 0.1}  # fmt: skip
Array = NDArray[np.float64]


def plain(pre: Array, post: Array, h: float) -> tuple[list[float], list[float]]:
    """Return conductance and weight of every row, from a plain loop; ``h`` in ms."""
    p, g, w, x, y = STDP, 0.0, 0.5, 0.0, 0.0
    rows, weights = [0.0], [0.5]
    for a, b in zip(pre[:-1], post[:-1], strict=True):
        change = (p["w_max"] - w) * p["eta_plus"] * x if b else 0.0
        change -= (w - p["w_min"]) * p["eta_minus"] * y if a else 0.0
        w = min(max(w + h * change, p["w_min"]), p["w_max"])
        x = x * math.exp(-h / p["tau_plus"]) + a
        y = y * math.exp(-h / p["tau_minus"]) + b
        g = g * math.exp(-h / p["tau_g"]) + (w / p["tau_g"] if a else 0.0)
        rows.append(g)
        weights.append(w)
    return rows, weights


def two_neurons(**delay: float) -> Any:
    """Return a synapse between two neurons that fire at different rates."""
    nodes = {
        "a": node("LeakyIAF", {**IAF, "capacitance": 0.4}),
        "b": node("LeakyIAF", {**IAF, "capacitance": 0.5}),
        "s": node("exponential_with_stdp", STDP, reverse=0.0),
    }
    edges = [("a", "s", {"receptor": "pre", **delay}), ("b", "s", {"receptor": "post"})]
    return build(nodes, [*edges, ("s", "b")])


@pytest.mark.parametrize("dt", [1e-4, 5e-5])
def test_stdp_follows_a_plain_loop(dt: float) -> None:
    """Every row of g, from the spikes of both neurons; the weight moves up and down."""
    record = [("spike_state", ["a", "b"]), ("g", ["s"])]
    data = simulate(two_neurons(), dt, 4000, StepInput("I", ["a", "b"], 8.0), record)
    rows, weights = plain(*data["spike_state"].T, 1000 * dt)
    assert data["spike_state"].sum(axis=0).min() > 10
    assert (np.diff(weights) > 0).any() and (np.diff(weights) < 0).any()
    np.testing.assert_allclose(data["g"][:, 0], rows, rtol=1e-11)


def test_stdp_gives_the_same_bits() -> None:
    """With and without plans (fused with the Aggregator or not), for any number of threads."""
    record = [("V", ["b"]), ("spike_state", ["a", "b"])]
    runs = [
        simulate(two_neurons(delay=7e-4), DT, 2000, StepInput("I", ["a", "b"], 8.0), record, **how)
        for how in ({}, {"plans": False}, {"threads": 2, "chunk": 5})
    ]
    assert_same_bits(runs[0], runs[1])
    assert_same_bits(runs[0], runs[2])


@pytest.mark.parametrize("apart", [-60, -15, -1, 1, 15, 60])
def test_the_window_of_a_pair(apart: int) -> None:
    """Pre before post strengthens, post before pre weakens, each by its exponential."""
    pulse = {"a": 100, "b": 100 + apart}
    nodes = {u: node("LeakyIAF", {**IAF, "threshold": -69.0}) for u in pulse}
    nodes["s"] = node("exponential_with_stdp", STDP)
    edges = [("a", "s", {"receptor": "pre"}), ("b", "s", {"receptor": "post"})]
    later = 300  # a second presynaptic spike shows the weight
    inputs = [StepInput("I", [u], 1e3, (k - 0.5) * DT, (k + 0.5) * DT) for u, k in pulse.items()]
    inputs.append(StepInput("I", ["a"], 1e3, (later - 0.5) * DT, (later + 0.5) * DT))
    g = simulate(build({k: nodes[k] for k in ("a", "b", "s")}, edges), DT, 400, inputs,
                 [("g", ["s"])])["g"][:, 0]  # fmt: skip
    ends = math.exp(-(later - 100) * 0.1 / 4.0)
    shown = later + 2
    if apart > 0:
        change = 0.1 * 3.0 * (1.0 - 0.5) * math.exp(-(apart - 1) * 0.1 / 5.0)
        first = 0.5
    else:
        change = -0.1 * 2.0 * (0.5 - 0.1) * math.exp(-(-apart - 1) * 0.1 / 7.0)
        first = 0.5 + change
    # the second presynaptic spike meets the trace of the postsynaptic one, too
    late = math.exp(-(later - 100 - apart - 1) * 0.1 / 7.0)
    weight = 0.5 + change
    weight -= 0.1 * 2.0 * (weight - 0.1) * late
    assert g[shown] == pytest.approx((first * ends + weight) / 4.0, rel=1e-11)
    assert change * apart > 0


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "s"), ("b", "s")], "'spike_state' into 'pre' \\(got 2\\)"),
        ([("a", "s", {"order": 0.0}), ("b", "s", {"order": 1.0})], "into 'post' \\(got 0\\)"),
        ([("a", "s", {"receptor": "pre"})], "into 'post' \\(got 0\\)"),
    ],
)
def test_inputs_that_are_not_told_apart_are_refused(edges: list[Any], message: str) -> None:
    """An old file's ``order`` is not read: that is told, not guessed."""
    nodes = {u: node("LeakyIAF", IAF) for u in "ab"}
    with pytest.raises(CircuitError, match=message):
        build({**nodes, "s": node("exponential_with_stdp", STDP)}, edges)
