"""The five GLIF neurons against an independent solution: the matrix exponential of a step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.linalg import expm
from support import build, node, simulate

from neurodriver import LPU, ArrayInput, Circuit, StepInput

Array = NDArray[np.float64]

COMMON = {
    "resting_potential": -78.85, "threshold": -51.68, "leak_conductance": 9.43,
    "capacitance": 58.72, "refractory_period": 3.75, "tau_syn1": 5.5, "tau_syn2": 8.5,
    "tau_syn3": 2.8, "tau_syn4": 5.8,
}  # fmt: skip
RESET = {"reset_potential": -70.0}
RULES = {"reset_fraction": 0.2, "reset_add": 18.51, "threshold_add": 0.37, "tau_threshold": 111.0}
CURRENTS = {
    "tau_asc1": 333.0, "tau_asc2": 10.0, "asc1_add": -9.18, "asc2_add": -198.94,
    "asc1_fraction": 1.0, "asc2_fraction": 0.8,
}  # fmt: skip
VOLTAGE = {"voltage_coupling": 0.005, "tau_voltage": 11.1}
GIVEN: dict[str, dict[str, float]] = {
    "GLIF1": {**COMMON, **RESET},
    "GLIF2": {**COMMON, **RULES},
    "GLIF3": {**COMMON, **RESET, **CURRENTS},
    "GLIF4": {**COMMON, **RULES, **CURRENTS},
    "GLIF5": {**COMMON, **RULES, **CURRENTS, **VOLTAGE},
}
"""The defaults of a cell of the Allen Cell Types Database, rounded."""
WEIGHTS = (120.0, -60.0, 150.0, -40.0)


def solved(p: Mapping[str, float], counts: Array, current: float, h: float) -> Any:
    """Return V and spikes of every row, and the part of the threshold that follows V at the end.

    The state is U = V - E, both after-spike currents, I and y of each receptor, the part of the
    threshold that follows V, and 1.
    """
    m = np.zeros((13, 13))
    m[0, 0] = -p["leak_conductance"] / p["capacitance"]
    m[0, [1, 2, 3, 5, 7, 9]] = 1 / p["capacitance"]
    m[0, 12] = current / p["capacitance"]
    for j in (1, 2):
        m[j, j] = -1 / p.get(f"tau_asc{j}", 1.0)
    for j in range(4):
        tau, i = p[f"tau_syn{j + 1}"], 3 + 2 * j
        m[i, i], m[i, i + 1], m[i + 1, i + 1] = -1 / tau, 1.0, -1 / tau
    m[11, 0], m[11, 11] = p.get("voltage_coupling", 0.0), -1 / p.get("tau_voltage", 1.0)
    step, rest = expm(m * h), round(p["refractory_period"] / h)
    state, theta, left = np.zeros(13), 0.0, 0
    state[12] = 1.0
    V, fired = [p["resting_potential"]], [0.0]
    for row in range(1, len(counts)):
        new = step @ state
        spike = False
        if left:
            new[[0, 1, 2, 11]] = state[[0, 1, 2, 11]]
            left -= 1
        else:
            theta *= math.exp(-h / p.get("tau_threshold", 1.0))
            level = p["threshold"] - p["resting_potential"] + theta + new[11]
            spike = bool(new[0] > level)
        if spike:
            left = rest
            if "reset_potential" in p:
                new[0] = p["reset_potential"] - p["resting_potential"]
            else:
                new[0] = p["reset_fraction"] * state[0] + p["reset_add"]
                theta = theta * math.exp(-p["refractory_period"] / p["tau_threshold"])
                theta += p["threshold_add"]
            for j in (1, 2):
                if f"tau_asc{j}" in p:
                    kept = p[f"asc{j}_fraction"] * new[j]
                    new[j] = kept * math.exp(-p["refractory_period"] / p[f"tau_asc{j}"])
                    new[j] += p[f"asc{j}_add"]
        for j in range(4):
            new[4 + 2 * j] += counts[row, j] * WEIGHTS[j] * math.e / p[f"tau_syn{j + 1}"]
        state = new
        V.append(state[0] + p["resting_potential"])
        fired.append(float(spike))
    return np.array(V), np.array(fired), state[11]


def network(name: str, p: Mapping[str, float], h: float) -> Circuit:
    """Return the neuron n with a source for each receptor."""
    nodes = {"n": node(name, p)}
    edges = []
    for j, weight in enumerate(WEIGHTS):
        nodes[f"s{j}"] = node("SpikeSource", {})
        more = {"weight": weight, "delay": h / 1000, "receptor": f"syn{j + 1}"}
        edges.append((f"s{j}", "n", more))
    return build(nodes, edges)


def driving(counts: Array, current: float) -> list[Any]:
    """Return inputs with which ``counts`` spikes arrive at the receptors, row by row."""
    sent = np.vstack([counts[2:], np.zeros((2, 4))])  # a step of the source, and the delay
    spikes = ArrayInput({"spike_state": ([f"s{j}" for j in range(4)], sent)})
    return [spikes, StepInput("I", ["n"], current)]


def simulated(name: str, p: Mapping[str, float], counts: Array, current: float, h: float) -> Any:
    """Return V and spikes of every row."""
    record = [("V", ["n"]), ("spike_state", ["n"])]
    given = driving(counts, current)
    found = simulate(network(name, p, h), h / 1000, len(counts), given, record)
    return found["V"][:, 0], found["spike_state"][:, 0]


def arrivals(rows: int) -> Array:
    """Return numbers of spikes, (rows, 4), none in the first rows."""
    counts = np.random.default_rng(6).poisson(0.03, (rows, 4)).astype(float)
    counts[:3] = 0.0
    return counts


@pytest.mark.parametrize("name", ["GLIF1", "GLIF2", "GLIF3", "GLIF4"])
def test_exact(name: str) -> None:
    """Potentials and spikes are those of the equations, row by row."""
    counts = arrivals(3000)
    want, spikes, _ = solved(GIVEN[name], counts, 400.0, 0.1)
    V, fired = simulated(name, GIVEN[name], counts, 400.0, 0.1)
    assert fired.sum() > 10
    np.testing.assert_array_equal(fired, spikes)
    assert_allclose(V, want, rtol=0, atol=1e-6)  # a weight is kept with 30 bits


def test_the_threshold_that_follows() -> None:
    """GLIF5 fires as the equations say, and its potential between spikes is of second order."""
    errors = []
    for h in (0.4, 0.2):
        rows = round(40.0 / h)
        counts = np.zeros((rows, 4))
        counts[round(8.0 / h)] = 3.0, 0.0, 2.0, 1.0
        p = {**GIVEN["GLIF5"], "refractory_period": 4.0}
        want, spikes, _ = solved(p, counts, 330.0, h)
        V, fired = simulated("GLIF5", p, counts, 330.0, h)
        np.testing.assert_array_equal(fired, spikes)
        assert_allclose(V, want, rtol=0, atol=1e-6)
        errors.append(followed(p, counts, h))
    assert errors[0] > 1e-6 and 3.0 < errors[0] / errors[1] < 5.0, errors
    counts = arrivals(3000)
    want, spikes, _ = solved(GIVEN["GLIF5"], counts, 500.0, 0.1)
    V, fired = simulated("GLIF5", GIVEN["GLIF5"], counts, 500.0, 0.1)
    assert fired.sum() > 10
    np.testing.assert_array_equal(fired, spikes)


def followed(p: Mapping[str, float], counts: Array, h: float) -> float:
    """Return the error of the part of the threshold that follows V, after all rows."""
    circuit = network("GLIF5", p, h)
    with LPU(circuit, h / 1000, inputs=driving(counts, 330.0)) as lpu:
        lpu.advance(len(counts) - 1)
        found = float(lpu.get("theta_v")[0])
    return abs(found - solved(p, counts, 330.0, h)[2])
