"""Circuits whose components draw random numbers, and random inputs for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from support import AMPA, IAF, build, model, node

from neurodriver import Circuit, Connections, Input, NoiseInput, PoissonInput

NEURONS = 12


def noisy_graph(neurons: int = NEURONS, seed: int = 3) -> Circuit:
    """Return LeakyIAF neurons with uids, each with a source of noise and one of spikes.

    ``n<i>`` gets a current from ``noise<i>`` and spikes of ``train<i>`` through ``into<i>``.
    The neurons excite each other through synapses.
    """
    rng = np.random.default_rng(seed)
    nodes: dict[str, Mapping[str, Any]] = {}
    edges: list[tuple[Any, ...]] = []
    synapse = {**AMPA, "gmax": 0.02, "st": 5.0, "reverse": 0.0}
    for i in range(neurons):
        nodes[f"n{i}"] = node("LeakyIAF", IAF, threshold=-60.0)
        nodes[f"noise{i}"] = node("NoisyCurrent", {"mean": 1.0, "sigma": 1.0})
        nodes[f"train{i}"] = node("PoissonSource", {"rate": 300.0})
        nodes[f"into{i}"] = node("SynapseAMPA", synapse)
        nodes[f"s{i}"] = node("SynapseAMPA", synapse)
        other = int(rng.integers(0, neurons))
        edges += [(f"noise{i}", f"n{i}"), (f"train{i}", f"into{i}"), (f"into{i}", f"n{i}")]
        edges += [(f"n{other}", f"s{i}"), (f"s{i}", f"n{i}")]
    return build(nodes, edges)


def noisy_arrays(neurons: int = NEURONS) -> Circuit:
    """Return LeakyIAF neurons without uids, each with a source of noise of its own."""
    number = np.arange(neurons, dtype=np.int32)
    groups = [
        (model("LeakyIAF"), neurons, {**IAF, "threshold": -60.0}, None),
        (model("NoisyCurrent"), neurons, {"mean": 1.0, "sigma": 1.0}, None),
        (model("PoissonSource"), neurons, {"rate": 300.0}, None),
    ]
    return Circuit.from_arrays(groups, [Connections("I", "I", neurons + number, number)])


def random_inputs(circuit: Circuit) -> list[Input]:
    """Return white noise, noise with a correlation time, and trains of rates, by uid."""
    neurons = [g for g in circuit.groups if g.name == "LeakyIAF"]
    sources = [g for g in circuit.groups if g.name == "PoissonSource"]
    out: list[Input] = []
    for group in neurons:
        out.append(NoiseInput("I", group.uids, 0.5, 0.5, seed=1))
        out.append(NoiseInput("I", group.uids, 0.0, 0.5, seed=2, tau=2e-3))
    for group in sources:
        out.append(PoissonInput("rate", group.uids, 1000.0, seed=3))
    return out


def digest(recorded: Mapping[str, Any]) -> str:
    """Return a hash of all that was recorded."""
    state = hashlib.sha256()
    for variable, rows in sorted(recorded.items()):
        state.update(variable.encode())
        state.update(np.ascontiguousarray(rows).tobytes())
    return state.hexdigest()
