"""Small circuits whose connections are drawn by every rule and law that a GPU draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from support import model

from neurodriver import (
    AllToAll,
    Circuit,
    Exponential,
    FixedInDegree,
    FixedOutDegree,
    FixedProbability,
    FixedTotal,
    LogNormal,
    Normal,
    OneToOne,
    Projection,
    Uniform,
)

DT = 1e-4
SPIKE = "spike_state"
LIF = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
       "time_constant": 20.0}  # fmt: skip
WEIGHT = Normal(0.8, 0.08, low=0.0)
DELAY = Normal(1.5e-3, 0.75e-3, DT, np.inf)


def circuit(*links: Projection, sizes: Sequence[int] = (83, 50)) -> Circuit:
    """Return groups of neurons that projections connect."""
    groups = [(model("LeakyIAFDelta"), size, LIF, None) for size in sizes]
    return Circuit.from_arrays(groups, links, seed=7)


def link(source: Any, target: Any, rule: Any, weight: Any = WEIGHT, delay: Any = DELAY) -> Any:
    """Return a projection."""
    name = f"{source} {target}"
    return Projection(SPIKE, SPIKE, source, target, rule, weight, delay, name=name)


RULES = [
    FixedTotal(2100),
    FixedOutDegree(37),
    FixedOutDegree(70, autapses=False),
    FixedInDegree(29),
    FixedInDegree(40, autapses=False),
    FixedProbability(0.4),
    FixedProbability(0.03, autapses=False),
    FixedProbability(1.0),
    AllToAll(),
    AllToAll(autapses=False),
    OneToOne(),
]


LAWS = [
    (0.25, DT),
    (Normal(-4.0, 1.0, high=0.0), Normal(3e-4, 3e-4, DT, np.inf)),
    (Normal(0.1, 0.3, -0.1, 0.2, outside="clip"), Uniform(DT, 9e-4)),
    (LogNormal(0.0, 1.5, factor=-2.0), Exponential(4e-4, low=1e-4)),
    (Uniform(-1.0, 1.0), LogNormal(-8.0, 0.5)),
    (Exponential(0.5, high=0.7), 5e-4),
    (0.0, DELAY),
]
