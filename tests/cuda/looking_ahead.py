"""A network whose neurons send spikes a step early."""

from __future__ import annotations

from functools import cache

import numpy as np
from support import DT, model

from neurodriver import Circuit, Connections


@cache
def network(neurons: int) -> Circuit:
    """Return neurons that fire by themselves, and reach others 1 to 20 steps later."""
    rng = np.random.default_rng(5)
    cell = {"threshold": -50.0, "resting_potential": -35.0, "reset_potential": -60.0,
            "capacitance": 200.0, "time_constant": 10.0, "tau_exc": 0.5, "tau_inh": 2.0,
            "refractory_period": 0.5, "initV": rng.uniform(-60.0, -50.0, neurons)}  # fmt: skip
    links = []
    for access, fan_in, mean in (("exc", 60, 40.0), ("inh", 20, -90.0)):
        target = np.repeat(np.arange(neurons, dtype=np.int32), fan_in)
        source = rng.integers(0, neurons, len(target)).astype(np.int32)
        data = {"weight": rng.normal(mean, 9.0, len(target))}
        late = rng.integers(1, 21, len(target)) * DT
        links.append(Connections("spike_state", access, source, target, late, data))
    return Circuit.from_arrays([(model("LeakyIAFExpCurrent"), neurons, cell, None)], links)
