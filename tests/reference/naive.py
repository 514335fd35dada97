"""A slow simulator in plain Python, written from the description of the models and of a step.

It shares no code with the package. Everything is a dictionary of lists of rows:
``history[variable, uid][k]`` is the value of step k, and before step 0 all is as in row 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Attributes = Mapping[str, Any]
Edge = tuple[str, str, Mapping[str, Any]]

ACCESSES = {
    "LeakyIAF": ("I",),
    "HodgkinHuxley2": ("I",),
    "MorrisLecar": ("I",),
    "GradedNeuron": ("r", "I"),
    "AlphaSynapse": ("spike_state",),
    "SynapseAMPA": ("spike_state",),
    "PowerGPotGPot": ("V",),
    "Aggregator": ("V", "g"),
}
UPDATES = {
    "LeakyIAF": ("spike_state", "V"),
    "HodgkinHuxley2": ("spike_state", "V"),
    "MorrisLecar": ("V",),
    "GradedNeuron": ("V", "r"),
    "AlphaSynapse": ("g",),
    "SynapseAMPA": ("g",),
    "PowerGPotGPot": ("g",),
    "Aggregator": ("I",),
}
LONGEST_SUBSTEP = {
    "LeakyIAF": 1e-4,
    "HodgkinHuxley2": 1e-5,
    "MorrisLecar": 1e-5,
    "AlphaSynapse": 1e-4,
    "SynapseAMPA": 1e-4,
}
REVERSAL = ("reverse", "Vr", "VR", "reverse_potential")


@dataclass
class Wire:
    """One connection: what a component reads, from where, and how many rows back."""

    source: str
    variable: str
    back: int
    weight: float
    reverse: float


class Naive:
    """Simulates nodes and edges, component by component.

    Parameters
    ----------
    nodes : mapping of uid to attributes
    edges : sequence of (source, target, attributes)
    dt : float
        Seconds.
    """

    def __init__(self, nodes: Mapping[str, Attributes], edges: Sequence[Edge], dt: float) -> None:
        self.dt = dt
        self.nodes: dict[str, Attributes] = dict(nodes)
        self.wires: dict[str, list[Wire]] = {uid: [] for uid in nodes}
        inserted: dict[str, str] = {}
        for source, target, data in edges:
            kind = nodes[target]["class"]
            shared = [v for v in ACCESSES[kind] if v in UPDATES[nodes[source]["class"]]]
            wire = Wire(source, "", self.rows_back(data), data.get("weight", 1.0),
                        self.reversal(data, nodes[source]))  # fmt: skip
            if shared:
                wire.variable = data.get("variable", shared[0])
                self.wires[target].append(wire)
                continue
            wire.variable = "g"
            if target not in inserted:
                inserted[target] = f"auto_{len(inserted)}"
                self.nodes[inserted[target]] = {"class": "Aggregator"}
                self.wires[inserted[target]] = [Wire(target, "V", 0, 1.0, 0.0)]
            self.wires[inserted[target]].append(wire)
        for target, uid in inserted.items():
            self.wires[target].append(Wire(uid, "I", 0, 1.0, 0.0))
        self.state = {uid: self.start(data) for uid, data in self.nodes.items()}
        self.history: dict[tuple[str, str], list[float]] = {}
        for uid, data in self.nodes.items():
            for variable in UPDATES[data["class"]]:
                self.history[variable, uid] = [self.first(uid, variable)]

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
        kind = p["class"]
        if kind == "LeakyIAF":
            return {"V": p.get("initV", p["resting_potential"])}
        if kind == "MorrisLecar":
            return {"V": p.get("initV", -70.0), "n": p.get("initn", 0.3525)}
        if kind == "HodgkinHuxley2":
            v = p.get("initV", -65.0)
            gates = {"n": 0.0, "m": 0.0, "h": 0.92}
            return {"V": v, "before": v, **{x: p.get(f"init{x}", gates[x]) for x in gates}}
        if kind == "GradedNeuron":
            return {"V": p.get("initV", p["bias"])}
        return dict.fromkeys(("z", "dz", "d2z", "s"), 0.0)

    def first(self, uid: str, variable: str) -> float:
        """Return row 0: the potential and its rectified value start, all else is 0."""
        if variable == "V":
            return self.state[uid]["V"]
        return max(self.state[uid]["V"], 0.0) if variable == "r" else 0.0

    def at(self, variable: str, uid: str, row: int) -> float:
        """Return a row; those before row 0 are as row 0."""
        return self.history[variable, uid][max(row, 0)]

    def run(self, steps: int, injected: Mapping[tuple[str, str], Sequence[float]]) -> None:
        """Advance: every component reads rows up to k and writes row k + 1."""
        for k in range(steps):
            new = {}
            for uid, p in self.nodes.items():
                inputs = {v: self.total(uid, v, k) for v in ACCESSES[p["class"]]}
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
            value = self.at(variable, wire.source, k - wire.back)
            if kind == "Aggregator" and variable == "g":
                value *= self.total(uid, "V", k) - wire.reverse
            if kind == "GradedNeuron" and variable == "r":
                value *= wire.weight
            total += value
        return total

    def substeps(self, kind: str) -> tuple[int, float]:
        """Return the number of sub-steps of a step and their length in ms."""
        longest = LONGEST_SUBSTEP.get(kind, self.dt)
        ratio = self.dt / longest
        count = 1 if self.dt <= longest else math.ceil(ratio)
        if count > 1 and abs(ratio - round(ratio)) < 1e-5:
            count = round(ratio)
        return count, 1000.0 * self.dt / count

    def advance(self, uid: str, p: Attributes, inputs: dict[str, float]) -> dict[str, float]:
        """Return the new values of one component's variables."""
        kind, x = p["class"], self.state[uid]
        count, h = self.substeps(kind)
        if kind == "Aggregator":
            return {"I": -inputs["g"]}
        if kind == "PowerGPotGPot":
            drive = max(0.0, inputs["V"] - p["threshold"]) ** p["power"]
            return {"g": min(p["saturation"], p["slope"] * drive)}
        if kind == "GradedNeuron":
            rate = h / max(p["time_constant"], h)
            x["V"] += rate * (p["bias"] - x["V"] + inputs["r"] + inputs["I"])
            return {"V": x["V"], "r": max(x["V"], 0.0)}
        spiked = 0.0
        for substep in range(count):
            fired = substep == 0 and inputs.get("spike_state", 0.0) > 0
            if kind == "LeakyIAF":
                spiked = max(spiked, leaky_iaf(x, p, inputs["I"], h))
            elif kind == "HodgkinHuxley2":
                spiked = max(spiked, hodgkin_huxley2(x, p, inputs["I"], h))
            elif kind == "MorrisLecar":
                morris_lecar(x, p, inputs["I"], h)
            elif kind == "AlphaSynapse":
                alpha(x, p, fired, h)
            else:
                x["s"] = x["s"] * math.exp(-h / p["st"]) + fired
        if kind == "AlphaSynapse":
            return {"g": p["gmax"] * x["z"]}
        if kind == "SynapseAMPA":
            return {"g": p["gmax"] * x["s"]}
        return {"V": x["V"], "spike_state": spiked} if kind != "MorrisLecar" else {"V": x["V"]}


def leaky_iaf(x: dict[str, float], p: Attributes, current: float, h: float) -> float:
    """Relax towards the potential that the current would reach; fire and reset at threshold."""
    b = math.exp(-h / (p["capacitance"] * p["resistance"]))
    x["V"] = x["V"] * b + (p["resistance"] * current + p["resting_potential"]) * (1 - b)
    if x["V"] < p["threshold"]:
        return 0.0
    x["V"] = p["reset_potential"]
    return 1.0


def quotient(u: float, limit: float, factor: float) -> float:
    """Return ``-factor u / (exp(-u / 10) - 1)``, and its limit where that is 0 / 0."""
    below = math.exp(-u / 10) - 1
    return limit if abs(below) <= 1e-7 else -factor * u / below


def hodgkin_huxley2(x: dict[str, float], p: Attributes, current: float, h: float) -> float:
    """Take one explicit Euler step; tell a local maximum above -30 mV."""
    v, n, m, gate = x["V"], x["n"], x["m"], x["h"]
    rates = {
        "n": (quotient(v + 55, 0.1, 0.01), 0.125 * math.exp(-(v + 65) / 80)),
        "m": (quotient(v + 40, 1.0, 0.1), 4 * math.exp(-(v + 65) / 18)),
        "h": (0.07 * math.exp(-(v + 65) / 20), 1 / (math.exp(-(v + 35) / 10) + 1)),
    }
    ionic = p["g_Na"] * m**3 * gate * (v - p["E_Na"]) + p["g_K"] * n**4 * (v - p["E_K"])
    x["V"] = v + h * (current - ionic - p["g_L"] * (v - p["E_L"]))
    for name, (up, down) in rates.items():
        x[name] += h * ((1 - x[name]) * up - x[name] * down)
    top = x["before"] <= v and v >= x["V"] and v > -30
    x["before"] = v
    return float(top)


def morris_lecar(x: dict[str, float], p: Attributes, current: float, h: float) -> None:
    """Take one explicit Euler step."""
    v, n = x["V"], x["n"]
    n_inf = 0.5 * (1 + math.tanh((v - p["V3"]) / p["V4"]))
    m_inf = 0.5 * (1 + math.tanh((v - p["V1"]) / p["V2"]))
    leak = p["g_L"] * (v - p["V_L"]) + p["g_K"] * n * (v - p["V_K"])
    x["V"] = v + h * (current - leak - p["g_Ca"] * m_inf * (v - p["V_Ca"]) + p["offset"])
    x["n"] = n + h * p["phi"] * math.cosh((v - p["V3"]) / (2 * p["V4"])) * (n_inf - n)


def alpha(x: dict[str, float], p: Attributes, fired: bool, h: float) -> None:
    """Take one step with the lagging second derivative."""
    z, dz, d2z = x["z"], x["dz"], x["d2z"]
    x["z"] = max(0.0, z + h * dz)
    x["dz"] = dz + h * d2z + (p["ar"] * p["ad"] if fired else 0.0)
    x["d2z"] = -(p["ar"] + p["ad"]) * dz - p["ar"] * p["ad"] * z
