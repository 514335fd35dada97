"""Models whose connection variable has any name, and what cells make of it."""

from __future__ import annotations

import numpy as np
from looped import DT, Tonic

import neurodriver as nd

NAMES = ["a", "depth", "event", "g", "k", "n", "now", "of", "one", "ring", "slots", "x"]


def reading(name: str, loop: bool) -> type[nd.NDComponent]:
    """Return a model that reads a connection variable, in a loop of its text or in a sum."""

    class Reading(nd.NDComponent):
        accesses = [
            nd.Access(
                "spike_state", "exc", connection={name: nd.Parameter("1", default=1.0)},
                each="" if loop else f"{name} * spike_state",
            )
        ]  # fmt: skip
        states = {"V": nd.State("1", 0.0)}
        updates = {"V": "1"}
        update = f"for (s : exc) V += s.{name} * s.spike_state;" if loop else "V += exc;"

    return Reading


def circuit(name: str, loop: bool, longest: int = 5) -> nd.Circuit:
    """Return cells with 0 to 9 connections of 1 to ``longest`` steps."""
    rng = np.random.default_rng(0)
    interval, m = rng.integers(2, 9, 23).astype(float), 150
    source = nd.Population(Tonic, 23, name="source", interval=interval, phase=interval % 3)
    cells = nd.Population(reading(name, loop), 37, name="cells")
    ends = rng.integers(0, 23, m).astype(np.int32), rng.integers(23, 60, m).astype(np.int32)
    data = {name: rng.uniform(0.1, 1, m)}
    links = nd.Connections("spike_state", "exc", *ends, rng.integers(1, longest + 1, m) * DT, data)
    return nd.Circuit([source, cells], [links])


def potentials(name: str, loop: bool, **options: str) -> np.ndarray:
    """Return what the cells make of 20 steps."""
    with nd.LPU(circuit(name, loop), DT, **options) as lpu:
        lpu.advance(20)
        return np.array(lpu["cells"].get("V"))
