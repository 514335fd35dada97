"""One circuit of every shipped model, with an input into each access."""

from __future__ import annotations

from typing import Any

import numpy as np
from support import ALPHA, AMPA, HH2, IAF, ML, model

from neurodriver import ArrayInput, Circuit, Input
from neurodriver.model.library import shipped

COUNT, STEPS = 77, 90
KNOWN = {
    **IAF, **HH2, **ML, **ALPHA, **AMPA, "Mg": 1.0, "power": 2.0, "slope": 0.05, "rate": 300.0,
    "saturation": 0.4, "scale": 1.0, "n": 0.3, "m": 0.05, "h": 0.6, "a": 0.5, "b": 0.1,
    "time_constant": 20.0, "refractory_period": 2.0, "bias_current": 0.1, "num_microvilli": 60,
    "sigma": 1.0, "tau": 4.0, "conductance": 0.1,
}  # fmt: skip
EASY = ("threshold", "resistance", "gmax", "rate", "sigma")
"""Parameters that may be a tenth larger or smaller."""


def names() -> list[str]:
    """Return the models that can stand alone in a circuit."""
    return [n for n in shipped() if n not in ("Aggregator", "GapJunctions", "GapJunction")]


def alone(name: str) -> Circuit:
    """Return a group of one model whose parameters differ."""
    cls = model(name)
    rng = np.random.default_rng(len(name))
    given: dict[str, Any] = {}
    for parameter, rule in cls.params.items():
        if rule.default is None:
            given[parameter] = KNOWN.get(parameter, 1.0)
            if parameter in EASY:
                given[parameter] = given[parameter] * rng.uniform(0.9, 1.1, COUNT)
    uids = [f"{name}_{i}" for i in range(COUNT)]
    return Circuit.from_arrays([(cls, COUNT, given, uids)])


def driven(circuit: Circuit) -> list[Input]:
    """Return values for every access of the only group."""
    group = circuit.groups[0]
    rng = np.random.default_rng(2)
    rows: dict[str, Any] = {}
    for access in group.model.accesses:
        low, high = {"V": (-80.0, 0.0), "photon": (0.0, 3e4)}.get(access.variable, (0.0, 20.0))
        values = rng.uniform(low, high, (STEPS, COUNT))
        if access.variable == "spike_state":
            values = (values > 17.0).astype(float)
        rows[access.variable] = (group.uids.tolist(), values)
    return [ArrayInput(rows)] if rows else []
