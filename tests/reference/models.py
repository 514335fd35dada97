"""The models of the plain simulator: what each reads and writes, where it starts, one sub-step.

Written from the description of the models; a sub-step changes ``x``, the states of one component,
and returns 1.0 where it spiked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Attributes = Mapping[str, Any]
States = dict[str, float]
Inputs = Mapping[str, float]


@dataclass(frozen=True)
class Model:
    """What the plain simulator knows of a model.

    Attributes
    ----------
    accesses, updates : tuple of str
    longest : float or None
        Largest sub-step in seconds.
    start : mapping of str to number or str
        State -> value before step 0, or the attribute that tells it.
    substep : function of states, attributes, inputs, ms and whether it is the first one
    give : function of states, attributes and inputs
        The updated variables after the last sub-step, less ``spike_state``.
    """

    accesses: tuple[str, ...]
    updates: tuple[str, ...]
    give: Callable[[States, Attributes, Inputs], dict[str, float]]
    longest: float | None = None
    start: Mapping[str, float | str] = field(default_factory=dict)
    substep: Callable[[States, Attributes, Inputs, float, bool], float] | None = None


# ---- neurons --------------------------------------------------------------------------------


def leaky_iaf(x: States, p: Attributes, given: Inputs, h: float, _: bool) -> float:
    """Relax towards the potential that the current would reach; fire and reset at threshold."""
    b = math.exp(-h / (p["capacitance"] * p["resistance"]))
    current = given["I"] + p.get("bias_current", 0.0)
    x["V"] = x["V"] * b + (p["resistance"] * current + p["resting_potential"]) * (1 - b)
    if x["V"] < p["threshold"]:
        return 0.0
    x["V"] = p["reset_potential"]
    return 1.0


def refractory_iaf(x: States, p: Attributes, given: Inputs, h: float, _: bool) -> float:
    """Relax to rest while refractory; the period ends after the sub-step in which it runs out."""
    b = math.exp(-h / p["time_constant"])
    drive = p["time_constant"] / p["capacitance"] * (given["I"] + p["bias_current"])
    target = p["resting_potential"] + (drive if x["left"] == 0 else 0.0)
    x["V"] = x["V"] * b + target * (1 - b)
    x["left"] = max(x["left"] - h, 0.0)
    if x["V"] < p["threshold"]:
        return 0.0
    x["V"] = p["reset_potential"]
    x["left"] += p["refractory_period"]
    return 1.0


def quotient(u: float, limit: float, factor: float) -> float:
    """Return ``-factor u / (exp(-u / 10) - 1)``, and its limit where that is 0 / 0."""
    below = math.exp(-u / 10) - 1
    return limit if abs(below) <= 1e-7 else -factor * u / below


def squid_rates(v: float) -> dict[str, tuple[float, float]]:
    """Return the opening and closing rate of the gates of 1952."""
    return {
        "n": (quotient(v + 55, 0.1, 0.01), 0.125 * math.exp(-(v + 65) / 80)),
        "m": (quotient(v + 40, 1.0, 0.1), 4 * math.exp(-(v + 65) / 18)),
        "h": (0.07 * math.exp(-(v + 65) / 20), 1 / (math.exp(-(v + 35) / 10) + 1)),
    }


def local_maximum(x: States, new: float, above: float) -> float:
    """Put the potential one sub-step on; return whether the last one was a local maximum."""
    top = x["before"] <= x["V"] and x["V"] >= new and x["V"] > above
    x["before"], x["V"] = x["V"], new
    return float(top)


SQUID = {"g_Na": 120.0, "g_K": 36.0, "g_L": 0.3, "E_Na": 50.0, "E_K": -77.0, "E_L": -54.387}


def hodgkin_huxley(x: States, p: Attributes, given: Inputs, h: float, _: bool) -> float:
    """Take one explicit Euler step, with the conductances of the node or those of 1952."""
    p = {**SQUID, **p}
    v, n, m, gate = x["V"], x["n"], x["m"], x["h"]
    ionic = p["g_Na"] * m**3 * gate * (v - p["E_Na"]) + p["g_K"] * n**4 * (v - p["E_K"])
    new = v + h * (given["I"] - ionic - p["g_L"] * (v - p["E_L"]))
    for name, (up, down) in squid_rates(v).items():
        x[name] += h * ((1 - x[name]) * up - x[name] * down)
    return local_maximum(x, new, -30.0)


def rinzel(x: States, _p: Attributes, given: Inputs, h: float, _: bool) -> float:
    """Take one explicit Euler step of the reduced neuron."""

    def settled(v: float) -> tuple[float, float, float]:
        n, m, gate = (up / (up + down) for up, down in squid_rates(v).values())
        return n, m, gate

    v, w = x["V"], x["W"]
    n_rest, _m, h_rest = settled(-65.0)
    s = (1 - h_rest) / n_rest
    n, m, gate = settled(v)
    ionic = 120 * m**3 * (1 - w) * (v - 50) + 36 * (w / s) ** 4 * (v + 77) + 0.3 * (v + 54.387)
    tau = 1 + 5 * math.exp(-(((v + 75) / 55) ** 2))
    x["W"] = w + h * 3 * (s / (1 + s * s) * (n + s * (1 - gate)) - w) / tau
    return local_maximum(x, v + h * (given["I"] - ionic), -10.0)


def wilson(x: States, _p: Attributes, given: Inputs, h: float, _: bool) -> float:
    """Take one explicit Euler step with the default polynomials, in units of 100 mV."""
    u, r = x["V"] / 100, x["R"]
    sodium = (17.81 + 47.71 * u + 32.63 * u * u) * (u - 0.55)
    x["R"] = r + h / 1.9 * (1.35 * u + 1.03 - r)
    slope = (given["I"] / 100 - sodium - 26 * r * (u + 0.92)) / 0.8
    return local_maximum(x, x["V"] + h * 100 * slope, 20.0)


def connor_stevens(x: States, _p: Attributes, given: Inputs, h: float, _: bool) -> float:
    """Take one explicit Euler step, the gates written as a limit and a time constant."""
    v = x["V"]
    ms, hs, ns = -5.3, -12.0, -4.3
    rates = {
        "m": (quotient(v + 35 + ms, 1.0, 0.1), 4 * math.exp(-(v + 60 + ms) / 18), 1),
        "h": (0.07 * math.exp(-(v + 60 + hs) / 20), 1 / (1 + math.exp(-(v + 30 + hs) / 10)), 1),
        "n": (quotient(v + 50 + ns, 0.1, 0.01), 0.125 * math.exp(-(v + 60 + ns) / 80), 2),
    }
    goal = {g: (a / (a + b), slow / (3.8 * (a + b))) for g, (a, b, slow) in rates.items()}
    a_inf = 0.0761 * math.exp((v + 94.22) / 31.84) / (1 + math.exp((v + 1.17) / 28.93))
    goal["a"] = a_inf**0.3333, 0.3632 + 1.158 / (1 + math.exp((v + 55.96) / 20.12))
    b_inf = (1 / (1 + math.exp((v + 53.3) / 14.54))) ** 4
    goal["b"] = b_inf, 1.24 + 2.678 / (1 + math.exp((v + 50) / 16.027))
    ionic = 0.3 * (v + 17) + 120 * x["h"] * x["m"] ** 3 * (v - 55)
    ionic += 20 * x["n"] ** 4 * (v + 72) + 47.7 * x["b"] * x["a"] ** 3 * (v + 75)
    for gate, (limit, tau) in goal.items():
        x[gate] += h * (limit - x[gate]) / tau
    return local_maximum(x, v + h * (given["I"] - ionic), -30.0)


def morris_lecar(x: States, p: Attributes, given: Inputs, h: float, _: bool) -> float:
    """Take one explicit Euler step."""
    v, n = x["V"], x["n"]
    n_inf = 0.5 * (1 + math.tanh((v - p["V3"]) / p["V4"]))
    m_inf = 0.5 * (1 + math.tanh((v - p["V1"]) / p["V2"]))
    leak = p["g_L"] * (v - p["V_L"]) + p["g_K"] * n * (v - p["V_K"])
    calcium = p["g_Ca"] * m_inf * (v - p["V_Ca"])
    x["V"] = v + h * (given["I"] - leak - calcium + p["offset"])
    x["n"] = n + h * p["phi"] * math.cosh((v - p["V3"]) / (2 * p["V4"])) * (n_inf - n)
    return 0.0


def graded(x: States, p: Attributes, given: Inputs, h: float, _: bool) -> float:
    """Take one explicit Euler step; a time constant below it is taken as it."""
    rate = h / max(p["time_constant"], h)
    x["V"] += rate * (p["bias"] - x["V"] + given["r"] + given["I"])
    return 0.0


# ---- synapses -------------------------------------------------------------------------------


def alpha(x: States, p: Attributes, given: Inputs, h: float, first: bool) -> float:
    """Take one step with the lagging second derivative."""
    z, dz, d2z = x["z"], x["dz"], x["d2z"]
    fired = first and given["spike_state"] > 0
    x["z"] = max(0.0, z + h * dz)
    x["dz"] = dz + h * d2z + (p["ar"] * p["ad"] if fired else 0.0)
    x["d2z"] = -(p["ar"] + p["ad"]) * dz - p["ar"] * p["ad"] * z
    return 0.0


def exact_alpha(x: States, p: Attributes, given: Inputs, h: float, first: bool) -> float:
    """Let two exponentials decay; a spike adds to both what cancels at once."""
    if first and given["spike_state"] > 0:
        for name in ("slow", "fast"):
            x[name] += p["ar"] * p["ad"] / (p["ar"] - p["ad"])
    x["slow"] *= math.exp(-p["ad"] * h)
    x["fast"] *= math.exp(-p["ar"] * h)
    return 0.0


def exponential(x: States, p: Attributes, given: Inputs, h: float, first: bool) -> float:
    """Decay, then add 1 for a spike."""
    x["s"] = x["s"] * math.exp(-h / p["st"]) + float(first and given["spike_state"] > 0)
    return 0.0


def saturating(x: States, p: Attributes, given: Inputs, h: float, first: bool) -> float:
    """Bring closer to 1 for a spike, then decay."""
    if first and given["spike_state"] > 0:
        x["s"] = min(x["s"] + 0.63 * (1 - x["s"]), 1.0)
    x["s"] *= math.exp(-h / p["st"])
    return 0.0


def euler_exponential(x: States, p: Attributes, given: Inputs, h: float, _: bool) -> float:
    """Take one explicit Euler step; a spike opens what is closed."""
    rise = p["a"] * (1 - x["s"]) if given["spike_state"] > 0 else 0.0
    x["s"] += h * (rise - x["s"] / p["tau"])
    return 0.0


def magnesium(x: States, p: Attributes, given: Inputs) -> dict[str, float]:
    """Return the conductance that magnesium leaves open."""
    return {"g": p["gmax"] * x["s"] / (1 + p["Mg"] * math.exp(-0.062 * given["V"]) / 3.57)}


def power_law(_: States, p: Attributes, given: Inputs) -> dict[str, float]:
    """Return a rectified power, cut at the saturation."""
    drive = max(0.0, given["V"] - p["threshold"]) ** p["power"]
    return {"g": min(p["saturation"], p["slope"] * drive)}


def sigmoid(_: States, p: Attributes, given: Inputs) -> dict[str, float]:
    """Return a sigmoid, written as a logistic function."""
    u = 2 * (2 * p["slope"] * (given["V"] - p["threshold"]) - 1)
    return {"g": p["scale"] * p["gmax"] / (1 + math.exp(-u))}


def spiking(
    substep: Callable[[States, Attributes, Inputs, float, bool], float],
    longest: float,
    **start: float | str,
) -> Model:
    """Return a model of a neuron with spikes."""
    give = lambda x, p, i: {"V": x["V"]}  # noqa: E731
    return Model(("I",), ("spike_state", "V"), give, longest, start, substep)


MODELS = {
    "LeakyIAF": spiking(leaky_iaf, 1e-4, V="resting_potential"),
    "LeakyIAF_bias": spiking(leaky_iaf, 1e-4, V="resting_potential"),
    "LeakyIAFwithRefractoryPeriod": spiking(refractory_iaf, 1e-4, V="resting_potential", left=0.0),
    "HodgkinHuxley": spiking(hodgkin_huxley, 1e-5, V=-65.0, n="n", m="m", h="h"),
    "HodgkinHuxley2": spiking(hodgkin_huxley, 1e-5, V=-65.0, n=0.0, m=0.0, h=0.92),
    "ConnorStevens": spiking(connor_stevens, 1e-5, V=-65.0, **{x: x for x in "nmhab"}),
    "Rinzel": spiking(rinzel, 1e-5, V=-65.0, W=0.4),
    "Wilson": spiking(wilson, 1e-5, V=-70.0, R=0.088),
    "MorrisLecar": Model(
        ("I",), ("V",), lambda x, p, i: {"V": x["V"]}, 1e-5, {"V": -70.0, "n": 0.3525}, morris_lecar
    ),
    "GradedNeuron": Model(
        ("r", "I"), ("V", "r"), lambda x, p, i: {"V": x["V"], "r": max(x["V"], 0.0)},
        None, {"V": "bias"}, graded,
    ),
    "AlphaSynapse": Model(
        ("spike_state",), ("g",), lambda x, p, i: {"g": p["gmax"] * x["z"]},
        1e-4, {"z": 0.0, "dz": 0.0, "d2z": 0.0}, alpha,
    ),
    "AlphaSynapse2": Model(
        ("spike_state",), ("g",),
        lambda x, p, i: {"g": p.get("scale", 1.0) * p["gmax"] * (x["slow"] - x["fast"])},
        1e-4, {"slow": 0.0, "fast": 0.0}, exact_alpha,
    ),
    "SynapseAMPA": Model(
        ("spike_state",), ("g",), lambda x, p, i: {"g": p["gmax"] * x["s"]},
        1e-4, {"s": 0.0}, exponential,
    ),
    "SynapseGABA": Model(
        ("spike_state",), ("g",), lambda x, p, i: {"g": p["gmax"] * x["s"]},
        1e-4, {"s": 0.0}, exponential,
    ),
    "ExpSynapse": Model(
        ("spike_state",), ("g",), lambda x, p, i: {"g": p["gmax"] * x["s"]},
        None, {"s": 0.0}, euler_exponential,
    ),
    "SynapseNMDA": Model(
        ("spike_state", "V"), ("g",), magnesium, 1e-4, {"s": 0.0}, saturating
    ),
    "PowerGPotGPot": Model(("V",), ("g",), power_law),
    "SigmoidSynapse": Model(("V",), ("g",), sigmoid),
    "Aggregator": Model(("V", "g"), ("I",), lambda x, p, i: {"I": -i["g"]}),
    "GapJunctions": Model(("own", "V"), ("I",), lambda x, p, i: {"I": i["V"]}),
}  # fmt: skip
