"""A legacy circuit, and its equations as they were: in volts, with rates per second."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

PHOTORECEPTOR = {
    "V1": 0.03, "V2": 0.015, "V3": 0.0, "V4": 0.03, "phi": 0.025, "offset": 0.0,
    "initV": -0.05214, "initn": 0.03,
}  # fmt: skip
MONOPOLAR = {
    "V1": -0.001, "V2": 0.015, "V3": -0.05, "V4": 0.001, "phi": 0.0025, "offset": 0.02,
    "initV": -0.05, "initn": 0.5,
}  # fmt: skip
LEAKY = {"V": -0.05, "Vr": -0.0675489770451, "Vt": 0.0251355161007, "R": 1.02, "C": 0.0067}
ALPHA = {"ar": 110.0, "ad": 190.0, "gmax": 0.003}
POWER = {"threshold": -0.05214, "slope": 0.8, "power": 1.0, "saturation": 0.032}


def neuron(model: str, params: dict[str, float], **more: Any) -> dict[str, Any]:
    """Return a legacy node."""
    spiking = model == "LeakyIAF"
    flags = {"model": model, "spiking": spiking, "public": False, "extern": False}
    return {**flags, **params, **more}


def synapse(model: str, params: dict[str, float], reverse: float, **more: Any) -> dict[str, Any]:
    """Return a legacy edge."""
    return {"model": model, "conductance": True, "reverse": reverse, **params, **more}


def mixed() -> nx.MultiDiGraph:
    """Return graded and spiking neurons, all pairs of models, and two parallel edges."""
    graph = nx.MultiDiGraph()
    graph.add_node(7, **neuron("LeakyIAF", LEAKY | {"Vt": 0.02}))
    graph.add_node(0, **neuron("MorrisLecar", PHOTORECEPTOR, extern=True, name="R1"))
    graph.add_node(1, **neuron("MorrisLecar", MONOPOLAR, public=True, selector="/lam/L1"))
    graph.add_node(2, **neuron("LeakyIAF", LEAKY, extern=True, public=True, selector="/lam/s"))
    graph.add_node(3, **neuron("MorrisLecar", MONOPOLAR))
    histamine = synapse("power_gpot_gpot", POWER, -0.08, **{"class": 3}, delay=1.0, id=0)
    graph.add_edge(0, 1, **histamine)
    graph.add_edge(0, 1, **{**histamine, "slope": 9.0, "power": 1.5, "delay": 0.5, "id": 1})
    back = {**POWER, "threshold": -0.0505, "slope": 300.0, "power": 2.0, "saturation": 0.2}
    graph.add_edge(1, 0, **synapse("power_gpot_gpot", back, 0.0, delay=0.0))
    onto = {**POWER, "slope": 40.0, "saturation": 1.1}
    graph.add_edge(0, 7, **synapse("power_gpot_gpot", onto, 0.05, delay=0.7))
    graph.add_edge(2, 7, **synapse("AlphaSynapse", ALPHA, 0.065, delay=1.0))
    graph.add_edge(2, 3, **synapse("AlphaSynapse", {**ALPHA, "gmax": 0.002}, -0.08))
    return graph


class Legacy:
    """The legacy equations of a graph, integrated in V, s and the currents of then.

    Parameters
    ----------
    graph : networkx.MultiDiGraph
    dt : float
        Seconds, at most 1e-4.
    """

    def __init__(self, graph: nx.MultiDiGraph, dt: float) -> None:
        self.dt = dt
        self.ids = sorted(graph)
        self.nodes = [graph.nodes[i] for i in self.ids]
        at = {uid: i for i, uid in enumerate(self.ids)}
        self.synapses = [(at[a], at[b], d) for a, b, d in graph.edges(data=True)]
        self.back = [round(d.get("delay", 0.0) * 1e-3 / dt) for _, _, d in self.synapses]
        initial = [d["V"] if d["spiking"] else d["initV"] for d in self.nodes]
        self.V = [np.array(initial)]
        self.spikes = [np.zeros(len(self.nodes))]
        self.n = [d.get("initn", 0.0) for d in self.nodes]
        self.alpha = [np.zeros(3) for _ in self.synapses]
        self.g = np.zeros(len(self.synapses))

    def current(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the synaptic current of each neuron."""
        total = np.zeros(len(self.nodes))
        for g, (_, post, data) in zip(self.g, self.synapses, strict=True):
            total[post] -= g * (V[post] - data["reverse"])
        return total

    def neurons(self, I: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # noqa: E741
        """Return potentials and spikes after one step."""
        V, spikes = self.V[-1].copy(), np.zeros(len(self.nodes))
        for i, data in enumerate(self.nodes):
            if data["spiking"]:
                decay = np.exp(-self.dt / (data["R"] * data["C"]))
                V[i] = V[i] * decay + data["R"] * I[i] * (1 - decay)
                if V[i] >= data["Vt"]:
                    V[i], spikes[i] = data["Vr"], 1.0
                continue
            parts = max(round(self.dt / 1e-5), 1)
            step_ms = self.dt / parts * 1000
            for _ in range(parts):
                v, n = V[i], self.n[i]
                n_inf = 0.5 * (1 + np.tanh((v - data["V3"]) / data["V4"]))
                m_inf = 0.5 * (1 + np.tanh((v - data["V1"]) / data["V2"]))
                rate = data["phi"] * np.cosh((v - data["V3"]) / (2 * data["V4"]))
                leak = 0.5 * (v + 0.05) + 2.0 * n * (v + 0.07) + 1.1 * m_inf * (v - 0.1)
                V[i] = v + step_ms * (I[i] - leak + data["offset"])
                self.n[i] = n + step_ms * rate * (n_inf - n)
        return V, spikes

    def conductances(self, delay: list[int]) -> NDArray[np.float64]:
        """Return the conductances after one step; sources are read ``delay`` rows back."""
        out = self.g.copy()
        for j, (pre, _, data) in enumerate(self.synapses):
            row = max(len(self.V) - 1 - delay[j], 0)
            if data["model"] == "AlphaSynapse":
                a, da, dda = self.alpha[j]
                ar, ad = data["ar"], data["ad"]
                kick = ar * ad * (self.spikes[row][pre] > 0)
                new = [max(0.0, a + self.dt * da), da + self.dt * dda + kick]
                self.alpha[j] = np.array([*new, -(ar + ad) * da - ar * ad * a])
                out[j] = data["gmax"] * self.alpha[j][0]
            else:
                above = max(0.0, self.V[row][pre] - data["threshold"])
                out[j] = min(data["saturation"], data["slope"] * above ** data["power"])
        return out

    def today(self, outside: NDArray[np.float64]) -> Legacy:
        """Integrate as today, g, I and V a step each; ``outside`` is (steps, neurons)."""
        delay = [max(back, 1) - 1 for back in self.back]
        pending = np.zeros(len(self.nodes))
        for row in outside:
            V, spikes = self.neurons(row + pending)
            pending = self.current(self.V[-1])
            self.g = self.conductances(delay)
            self.V.append(V)
            self.spikes.append(spikes)
        return self

    def then(self, outside: NDArray[np.float64]) -> Legacy:
        """Integrate as the old library did: the neurons of a step first, then the synapses."""
        for row in outside[1:]:
            V, spikes = self.neurons(row + self.current(self.V[-1]))
            self.V.append(V)
            self.spikes.append(spikes)
            self.g = self.conductances(self.back)
        return self
