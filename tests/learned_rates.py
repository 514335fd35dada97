"""Graded neurons whose synapses learn, with rates that are given, and a plain solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurodriver import ArrayInput, Circuit, Connections, NDComponent, Parameter, State, Weighted
from neurodriver.model.plasticity import Plasticity

DT = 1e-3


class Rate(NDComponent):
    """Has the rate that it is told; V keeps what its synapses carry, h what it had before."""

    accesses = (Weighted("r", "learned"), "told")
    updates = {"r": "1", "V": "1", "h": "1"}
    params = {"first": Parameter("1", default=0.0)}
    states = {"r": State("1", "first"), "h": State("1", 0.0)}
    update = "h = 0.5 * h + r; r = told; V = learned;"


class Mixed(Plasticity):
    """Reads other variables than the one that is carried, and keeps a trace of its own."""

    params = {"eta": Parameter("1/ms", default=0.01), "w_max": Parameter("", default=1.5)}
    synapse = {"seen": State("1", 0.0), "kept": State("1", "eta")}
    bounds = (-1.0, "w_max")
    on_step = """
        weight = clip(weight + dt_ms * eta * pre.value * (post.V - pre.h) + 0.1 * kept * post.r);
        seen = 0.9 * seen + pre.r;
        kept += 0.001 * (post.value - weight);
    """


@dataclass(frozen=True)
class Rates:
    """Rates of all neurons and the synapses between them, some of which do not learn.

    Attributes
    ----------
    told : (steps, neurons) float
        Row n is the rate of step n.
    source, target, late : (m,) int
        Of all synapses; latency in steps.
    weight : (m,) float
    learns : (m,) int
        Number of the set that a synapse belongs to, -1 where it does not learn.
    """

    told: NDArray[np.float64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    late: NDArray[np.int64]
    weight: NDArray[np.float64]
    learns: NDArray[np.int64]

    @classmethod
    def drawn(cls, neurons: int, synapses: int, steps: int, late: int = 1, seed: int = 0) -> Rates:
        """Return random rates and synapses; one neuron has many more inputs than its neighbours."""
        rng = np.random.default_rng(seed)
        target = rng.integers(0, neurons, synapses)
        target[: synapses // 4] = 5
        ends = rng.integers(0, neurons, synapses), target
        order = np.lexsort(ends[::-1])
        return cls(
            np.abs(np.cumsum(rng.normal(0.0, 0.1, (steps, neurons)), axis=0) + 0.5),
            ends[0][order], ends[1][order], rng.integers(1, late + 1, synapses),
            rng.uniform(-0.5, 1.0, synapses), rng.integers(-1, 2, synapses),
        )  # fmt: skip

    def circuit(self, *rules: Plasticity) -> Circuit:
        """Return the circuit, with a set of synapses for each rule: ``set 0``, ``set 1``."""
        links = []
        for number, rule in enumerate((None, *rules), -1):
            mine = self.learns == number
            ends = self.source[mine], self.target[mine], self.late[mine] * DT
            data = {"weight": self.weight[mine]}
            learning = () if rule is None else (rule, f"set {number}")
            if mine.any():
                links.append(Connections("r", "learned", *ends, data, *learning))
        first = {"first": self.told[0]}
        return Circuit.from_arrays([(Rate, self.told.shape[1], first, self.uids)], links)

    @property
    def uids(self) -> list[str]:
        """The uids of the neurons."""
        return [f"n{i}" for i in range(self.told.shape[1])]

    def input(self) -> ArrayInput:
        """Return what tells the rates: values of a step act one row later."""
        table = np.vstack([self.told[1:], np.zeros((1, self.told.shape[1]))])
        return ArrayInput({"told": (self.uids, table)})

    def by_loops(self, steps: int) -> tuple[dict[str, Any], NDArray[np.float64]]:
        """Return what synapses learn by `Mixed`, and V of each row, in plain Python."""
        weight = self.weight.copy()
        seen, kept = np.zeros_like(weight), np.full_like(weight, 0.01)
        h, v = np.zeros_like(self.told), np.zeros_like(self.told)
        for n in range(steps):
            row = np.maximum(n + 1 - self.late, 0)
            pre, post = self.told[row, self.source], self.told[n, self.target]
            if n + 1 < len(self.told):
                h[n + 1] = 0.5 * h[n] + self.told[n]
                np.add.at(v[n + 1], self.target, weight * pre)
            mine = self.learns >= 0
            change = 0.01 * pre * (v[n, self.target] - h[row, self.source]) + 0.1 * kept * post
            new = np.clip(weight + change, -1.0, 1.5)
            weight = np.where(mine, new, weight)
            seen = 0.9 * seen + pre
            kept += 0.001 * (post - weight)
        return {"weight": weight, "seen": seen, "kept": kept}, v
