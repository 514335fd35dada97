"""A slow simulator in plain Python, written from the description of the models and of a step.

It shares no code with the package. Everything is a dictionary of lists of rows:
``history[variable, uid][k]`` is the value of step k, and before step 0 all is as in row 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models import MODELS, Attributes

Edge = tuple[str, str, Mapping[str, Any]]

REVERSAL = ("reverse", "Vr", "VR", "reverse_potential")


@dataclass
class Wire:
    """One connection: what a component reads, from where, and how many rows back."""

    source: str
    variable: str
    back: int
    weight: float = 1.0
    reverse: float = 0.0
    conductance: float = 0.0


class Naive:
    """Simulates nodes and edges, component by component.

    Parameters
    ----------
    edges : sequence of (source, target, attributes)
    dt : float
        Seconds.
    phase : mapping of uid to int, optional
        Which components are computed after others within a step; all at once when not given.
    """

    def __init__(
        self,
        nodes: Mapping[str, Attributes],
        edges: Sequence[Edge],
        dt: float,
        phase: Mapping[str, int] | None = None,
    ) -> None:
        self.dt = dt
        self.phase = dict.fromkeys(nodes, 0) | dict(phase or {})
        self.nodes: dict[str, Attributes] = dict(nodes)
        self.wires: dict[str, list[Wire]] = {uid: [] for uid in nodes}
        inserted: dict[tuple[str, str], str] = {}
        for source, target, data in edges:
            self.connect(source, target, data, inserted)
        for kind in ("Aggregator", "GapJunctions"):  # after all direct currents, in this order
            for (name, target), uid in inserted.items():
                if name == kind:
                    self.wires[target].append(Wire(uid, "I", 0))
        self.state = {uid: self.start(data) for uid, data in self.nodes.items()}
        self.history: dict[tuple[str, str], list[float]] = {}
        for uid, data in self.nodes.items():
            for variable in MODELS[data["class"]].updates:
                self.history[variable, uid] = [self.first(uid, variable)]

    def connect(
        self, source: str, target: str, data: Attributes, inserted: dict[tuple[str, str], str]
    ) -> None:
        """Add the connection of an edge; what is no current goes through a component between."""
        accesses = MODELS[self.nodes[target]["class"]].accesses
        shared = [v for v in accesses if v in MODELS[self.nodes[source]["class"]].updates]
        back, reverse = self.rows_back(data), self.reversal(data, self.nodes[source])
        if data.get("delay", 0.0) == 0 and self.phase[source] < self.phase[target]:
            back = -1
        wire = Wire(
            source, "", back, data.get("weight", 1.0), reverse, data.get("conductance", 0.0)
        )
        variable = data.get("variable")
        if shared and variable in (None, *shared):
            wire.variable = variable or shared[0]
            self.wires[target].append(wire)
            return
        wire.variable = variable or "g"
        kind, prefix, own = "Aggregator", "auto", "V"
        if wire.variable == "V":
            kind, prefix, own = "GapJunctions", "gap", "own"
        if (kind, target) not in inserted:
            uid = f"{prefix}_{sum(k == kind for k, _ in inserted)}"
            inserted[kind, target] = uid
            self.nodes[uid] = {"class": kind}
            self.phase[uid] = self.phase[target]
            self.wires[uid] = [Wire(target, own, 0)]
        self.wires[inserted[kind, target]].append(wire)

    def rows_back(self, data: Mapping[str, Any]) -> int:
        """Return the latency of an edge in steps, less the step that every edge takes."""
        return max(round(data.get("delay", 0.0) / self.dt), 1) - 1

    @staticmethod
    def reversal(edge: Mapping[str, Any], source: Attributes) -> float:
        """Return the reversal potential: of the edge, then of the synapse, then 0 mV."""
        for given in (edge, source):
            for name in REVERSAL:
                if name in given:
                    return float(given[name])
        return 0.0

    @staticmethod
    def start(p: Attributes) -> dict[str, float]:
        """Return the states of a component before step 0."""
        x = {}
        for name, value in MODELS[p["class"]].start.items():
            begin = p[value] if isinstance(value, str) else value
            x[name] = p.get(f"init{name}", begin)
        return {**x, "before": x["V"]} if "V" in x else x

    def first(self, uid: str, variable: str) -> float:
        """Return row 0: the potential and its rectified value start, all else is 0."""
        if variable == "V":
            return self.state[uid]["V"]
        return max(self.state[uid]["V"], 0.0) if variable == "r" else 0.0

    def at(self, variable: str, uid: str, row: int) -> float:
        """Return a row; those before row 0 are as row 0."""
        return self.history[variable, uid][max(row, 0)]

    def run(self, steps: int, injected: Mapping[tuple[str, str], Sequence[float]]) -> None:
        """Advance: every component reads rows up to k and writes row k + 1.

        Over an edge without a delay, it reads row k + 1 of components of an earlier phase.
        """
        for k in range(steps):
            for phase in sorted(set(self.phase.values())):
                self.advance_phase(k, phase, injected)

    def advance_phase(
        self, k: int, phase: int, injected: Mapping[tuple[str, str], Sequence[float]]
    ) -> None:
        """Advance the components of a phase."""
        new = {}
        for uid, p in self.nodes.items():
            if self.phase[uid] != phase:
                continue
            inputs = {v: self.total(uid, v, k) for v in MODELS[p["class"]].accesses}
            for variable in inputs:
                inputs[variable] += injected.get((variable, uid), [0.0] * (k + 1))[k]
            new[uid] = self.advance(uid, p, inputs)
        for uid, values in new.items():
            for variable, value in values.items():
                self.history[variable, uid].append(value)

    def total(self, uid: str, variable: str, k: int) -> float:
        """Return the sum of a variable over the connections of a component."""
        kind, total = self.nodes[uid]["class"], 0.0
        for wire in self.wires[uid]:
            if wire.variable != variable:
                continue
            value = self.at("V" if variable == "own" else variable, wire.source, k - wire.back)
            if kind == "Aggregator" and variable == "g":
                value *= self.total(uid, "V", k) - wire.reverse
            if kind == "GapJunctions" and variable == "V":
                value = wire.conductance * (value - self.total(uid, "own", k))
            if kind == "GradedNeuron" and variable == "r":
                value *= wire.weight
            total += value
        return total

    def substeps(self, kind: str) -> tuple[int, float]:
        """Return the number of sub-steps of a step and their length in ms."""
        longest = MODELS[kind].longest or self.dt
        ratio = self.dt / longest
        count = 1 if self.dt <= longest else math.ceil(ratio)
        if count > 1 and abs(ratio - round(ratio)) < 1e-5:
            count = round(ratio)
        return count, 1000.0 * self.dt / count

    def advance(self, uid: str, p: Attributes, inputs: dict[str, float]) -> dict[str, float]:
        """Return the new values of one component's variables."""
        model, x = MODELS[p["class"]], self.state[uid]
        count, h = self.substeps(p["class"])
        spiked = 0.0
        for number in range(count if model.substep else 0):
            assert model.substep is not None
            spiked = max(spiked, model.substep(x, p, inputs, h, number == 0))
        new = model.give(x, p, inputs)
        return {"spike_state": spiked, **new} if "spike_state" in model.updates else new
