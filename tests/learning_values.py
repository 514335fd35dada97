"""Circuits whose synapses read values of neurons, with signals that are given."""

from __future__ import annotations

from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver import ArrayInput, Circuit, Connections


class Potentials(nd.NDComponent):
    """Has the potentials that it is told, and spikes where V is above 0."""

    accesses = (nd.Weighted("spike_state", "learned"), "V_told", "plus", "minus")
    updates = {"spike_state": "1", "V": "mV", "u_plus": "mV", "u_minus": "mV", "sent": "1"}
    states = {"V": nd.State("mV", -70.6), "u_plus": nd.State("mV", -70.6),
              "u_minus": nd.State("mV", -70.6)}  # fmt: skip
    update = """
        V = V_told; u_plus = plus; u_minus = minus; sent = learned;
        spike_state = V > 0 ? 1 : 0;
    """


class Everything(nd.Plasticity):
    """Events, traces of both ends, and values, in one rule."""

    params = {"tau": nd.Parameter("ms", default=7.0), "lag": nd.Parameter("ms", default=2.0)}
    synapse = {"seen": nd.State("1", 0.0)}
    pre = {"x": nd.Trace("tau")}
    post = {"y": nd.Trace("tau")}
    late = {"post.u_plus": "lag", "pre.count": "lag"}
    bounds = (-2.0, 2.0)
    on_arrival = "weight = clip(weight - 0.1 * y + 0.01 * post.u_minus); send(weight);"
    on_spike = "weight = clip(weight + 0.2 * x);"
    on_step = """
        weight = clip(weight + 0.01 * x * post.V - 0.02 * y * post.u_plus);
        seen = 0.5 * seen + pre.count + 0.1 * pre.value;
    """


class Sampled(Everything):
    """A text of an interval reads values of both neurons, some of them late."""

    params = {"often": nd.Parameter("ms", default=4.0)}
    every = {
        "often": """
            weight = clip(weight + 0.02 * pre.count * post.u_plus - 0.03 * pre.value);
            seen += 0.1 * post.V;
        """
    }


class Modulated(Everything):
    """What happens between events, doses, and texts of intervals, beside the text of each step."""

    params = {
        "often": nd.Parameter("ms", default=4.0),
        "rarely": nd.Parameter("ms", default=6.0),
        "tau_n": nd.Parameter("ms", default=9.0),
    }
    modulators = {"level": nd.Doses("tau_n", 0.5), "gate": nd.Level("count")}
    between = "weight = clip(weight + 0.05 * level * (1 - exp(-since_event / tau)));"
    on_step = Everything.on_step + "weight = clip(weight + 0.01 * level - 0.002 * gate);"
    every = {
        "often": "total = sum(weight); weight = clip(weight + 0.01 * level - 0.001 * total);",
        "rarely": "weight = clip(weight + 0.03 * gate + 0.02 * pre.count - 0.01 * post.u_minus);",
    }


class Counter(nd.NDComponent):
    """Spikes when told to, and counts its steps."""

    accesses = ("go",)
    updates = {"spike_state": "1", "count": "1"}
    states = {"count": nd.State("1", 0.0)}
    update = "spike_state = go > 0.5 ? 1 : 0; count = 0.9 * count + go;"


SOURCES, TARGETS, SYNAPSES, STEPS, DT = 6, 30, 120, 80, 1e-3


def everything(
    rule: type[nd.Plasticity] = Everything,
) -> tuple[Circuit, ArrayInput, dict[str, Any]]:
    """Return a circuit of a rule, its input, and what they are made of."""
    rng = np.random.default_rng(3)
    ends = rng.integers(0, SOURCES, SYNAPSES), rng.integers(0, TARGETS, SYNAPSES)
    order = np.lexsort(ends[::-1])
    late = rng.integers(1, 5, SYNAPSES)
    way = {"source": ends[0][order], "target": ends[1][order], "late": late,
           "forward": rng.integers(0, 4, SYNAPSES) % late, "back": rng.integers(0, 3, SYNAPSES),
           "weight": rng.uniform(-1, 1, SYNAPSES)}  # fmt: skip
    go = (rng.random((STEPS, SOURCES)) < 0.2).astype(float)
    told = rng.normal(0.0, 1.0, (3, STEPS, TARGETS))
    told[0] -= 1.0
    data = {"weight": way["weight"], "dendritic": way["forward"] * DT, "back": way["back"] * DT}
    targets, sources = [f"t{i}" for i in range(TARGETS)], [f"s{i}" for i in range(SOURCES)]
    released = {name: np.array(sources[:2]) for name in rule.doses()}
    released |= {name: np.array(sources[:1]) for name in rule.levels()}
    links = Connections("spike_state", "learned", way["source"] + TARGETS, way["target"],
                        way["late"] * DT, data, rule(**released), "learning")  # fmt: skip
    groups: list[Any] = [(Potentials, TARGETS, {}, targets), (Counter, SOURCES, {}, sources)]
    given = {name: (targets, told[i]) for i, name in enumerate(("V_told", "plus", "minus"))}
    given["go"] = sources, go
    return Circuit.from_arrays(groups, [links]), ArrayInput(given), way | {"go": go, "told": told}
