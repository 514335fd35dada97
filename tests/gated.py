"""Graded neurons whose synapses learn from a level, in each step and at intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import neurodriver as nd

DT = 1e-3


class Wave(nd.NDComponent):
    """Has a rate that follows from the step alone; V is what its synapses carry."""

    accesses = (nd.Weighted("r", "learned"),)
    updates = {"r": "1", "V": "1"}
    params = {"speed": nd.Parameter("1", default=0.1)}
    states = {"angle": nd.State("1", 0.0)}
    update = "angle += speed; r = 1 + sin(angle); V = learned;"


class Dial(nd.NDComponent):
    """Has a level."""

    updates = {"level": "1"}
    states = {"angle": nd.State("1", 0.4)}
    update = "angle += 0.3; level = sin(angle);"


class Gated(nd.Plasticity):
    """Texts of each step and of two intervals, which read sums, a level, and values of neurons."""

    params = {"often": nd.Parameter("ms", default=5.0), "rarely": nd.Parameter("ms", default=7.0)}
    synapse = {"used": nd.State("1", 0.0)}
    modulators = {"gain": nd.Level("level")}
    bounds = (-2.0, 2.0)
    on_step = "weight = clip(weight + 0.05 * gain * pre.value * post.r); used += gain;"
    every = {
        "often": """
            total = sum(weight); uses = sum(used);
            weight = clip(weight * 3 / (abs(total) + 1) + 0.001 * uses);
        """,
        "rarely": """
            weight = clip(weight + 0.1 * gain + 0.02 * pre.value * post.V - 0.01 * pre.V);
            used = 0.5 * used;
        """,
    }


NEURONS = 40


def gated(late: int, synapses: int = 300) -> tuple[nd.Circuit, dict[str, NDArray[Any]]]:
    """Return graded neurons whose synapses learn, and what they are made of.

    Parameters
    ----------
    late : int
        Steps of a delay at most.
    synapses : int
    """
    rng = np.random.default_rng(late)
    target = rng.integers(0, NEURONS, synapses)
    target[:60] = 5  # many more inputs than others
    ends = rng.integers(0, NEURONS, synapses), target
    order = np.lexsort(ends[::-1])
    way = {
        "source": ends[0][order],
        "target": ends[1][order],
        "late": rng.integers(1, late + 1, synapses),
        "weight": rng.uniform(-0.5, 1.0, synapses),
    }
    given = way["source"], way["target"], way["late"] * DT, {"weight": way["weight"]}
    rule = Gated(gain=np.array(["dial"]))
    learning = nd.Connections("r", "learned", *given, rule, "learning")
    uids = [f"n{i}" for i in range(NEURONS)]
    speed = {"speed": rng.uniform(0.05, 0.5, NEURONS)}
    groups: list[Any] = [(Wave, NEURONS, speed, uids), (Dial, 1, {}, ["dial"])]
    return nd.Circuit.from_arrays(groups, [learning]), way
