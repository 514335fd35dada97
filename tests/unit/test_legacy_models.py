"""Every model of old files is read from a legacy GEXF file, and computes what it did."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from legacy_reference import LEAKY, MONOPOLAR, PHOTORECEPTOR, neuron, synapse
from numpy.testing import assert_allclose

from neurodriver import LPU, ArrayInput, Circuit, LegacyInput, MemoryRecorder
from neurodriver.errors import CircuitWarning
from neurodriver.io.legacy_models import NEURONS, SYNAPSES
from neurodriver.model.library import shipped

DT = 1e-4
BIAS = {**LEAKY, "Vr": -0.06, "Vt": -0.045, "b": 0.03}
EXP = {"tau": 0.005, "a": 900.0, "gmax": 0.3}
CHANNELS = {
    "V_l": -0.06, "V_ca": 0.11, "V_k": -0.08, "G_l": 0.45, "G_ca": 1.2, "G_k": 1.9,
}  # fmt: skip
SIGMOID = {"threshold": -0.05, "slope": 0.06, "saturation": 0.004, "power": 3.0}
NUMBERS = {
    "LeakyIAFwithRefactoryPeriod": {
        "resting_potential": -70.0, "threshold": -45.0, "reset_voltage": -65.0,
        "capacitance": 2.0, "refractory_period": 2.0, "time_constant": 20.0, "bias_current": 3.0,
    },
    "Rinzel": {"initV": -60.0},
    "Wilson": {"initV": -68.0, "tau_R": 2.0},
    "AlphaSynapse2": {"ar": 0.5, "ad": 0.2, "gmax": 0.02, "scale": 2.0},
    "exponential_with_stdp": {
        "tau_g": 5.0, "tau_plus": 20.0, "tau_minus": 20.0, "eta_plus": 0.1, "eta_minus": 0.1,
        "w_max": 2.0, "w_min": 0.0,
    },
}  # fmt: skip
"""Models of later branches: numbers of now."""


def read(tmp_path: Path, graph: nx.MultiDiGraph) -> Circuit:
    """Return the circuit of a graph that goes through a file."""
    nx.write_gexf(graph, tmp_path / "old.gexf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CircuitWarning)
        return Circuit.from_file(tmp_path / "old.gexf")


def run(circuit: Circuit, inputs: Any, steps: int, *record: str) -> dict[str, Any]:
    """Return all of some variables."""
    recorder = MemoryRecorder([(v, None) for v in record])
    with LPU(circuit, DT, inputs, [recorder]) as lpu:
        lpu.run(steps=steps)
    return {v: recorder.get(v) for v in record}


def test_every_model_of_old_files_has_its_place() -> None:
    """The table leads to shipped models and gives all numbers that these require."""
    known = shipped()
    old = {
        "LeakyIAF_bias", "LeakyIAFwithRefactoryPeriod", "MorrisLecar_a", "Rinzel", "Wilson",
        "AlphaSynapse2", "ExpSynapse", "exponential_with_stdp", "power_gpot_gpot_sig",
    }  # fmt: skip
    assert old <= {*NEURONS, *SYNAPSES}
    for rule in (*NEURONS.values(), *SYNAPSES.values()):
        made = {name for name, _ in rule.params.values()}
        made |= {*getattr(rule, "copies", ()), *getattr(rule, "fixed", ())}
        params = known[rule.model].params
        assert {n for n, one in params.items() if one.default is None} <= made, rule.model
        assert {n for n in made if not n.startswith("init")} <= set(params), rule.model


def test_biased_neurons_and_exponential_synapses(tmp_path: Path) -> None:
    """Against their equations in V and s: a neuron that its bias makes fire, and its target."""
    graph = nx.MultiDiGraph()
    graph.add_node(0, **{**neuron("LeakyIAF", BIAS), "model": "LeakyIAF_bias", "spiking": True})
    target = {**BIAS, "b": 0.0, "V": -0.055}
    graph.add_node(1, **{**neuron("LeakyIAF", target), "model": "LeakyIAF_bias", "extern": True})
    graph.nodes[1]["spiking"] = True
    graph.add_edge(0, 1, **synapse("ExpSynapse", EXP, 0.02))
    steps = 400
    outside = np.linspace(0.0, 0.012, steps)
    V, spikes, g, current = np.zeros((steps, 2)), np.zeros(steps), 0.0, 0.0
    V[0], s = (BIAS["V"], target["V"]), 0.0
    decay = np.exp(-DT / (BIAS["R"] * BIAS["C"]))
    for k in range(steps - 1):
        drive = np.array([BIAS["b"], current + outside[k]])
        V[k + 1] = V[k] * decay + (BIAS["R"] * drive + BIAS["Vr"]) * (1 - decay)
        current = -g * (V[k, 1] - 0.02)
        s += DT * (-s / EXP["tau"] + (EXP["a"] * (1 - s) if spikes[k] else 0.0))
        g = EXP["gmax"] * s
        spikes[k + 1] = V[k + 1, 0] >= BIAS["Vt"]
        V[k + 1][V[k + 1] >= BIAS["Vt"]] = BIAS["Vr"]
    assert spikes.sum() >= 3 and np.ptp(V[:, 1]) > 0.005
    given = ArrayInput({"I": (["1"], outside[:, None])})
    assert_allclose(run(read(tmp_path, graph), given, steps, "V")["V"] / 1e3, V, atol=1e-12)


def test_channels_and_sigmoids(tmp_path: Path) -> None:
    """Against their equations in V and s: channels as parameters, a sigmoid onto a neuron."""
    graph = nx.MultiDiGraph()
    for i, given in enumerate((PHOTORECEPTOR, MONOPOLAR)):
        graph.add_node(i, **{**neuron("MorrisLecar", {**given, **CHANNELS}), "extern": i == 0})
        graph.nodes[i]["model"] = "MorrisLecar_a"
    graph.add_edge(0, 1, **synapse("power_gpot_gpot_sig", SIGMOID, -0.08, delay=0.0))
    steps = 300
    outside = np.where(np.arange(steps) > 50, 0.016, 0.0)
    V, n = np.zeros((steps, 2)), np.array([PHOTORECEPTOR["initn"], MONOPOLAR["initn"]])
    V[0], g, current = (PHOTORECEPTOR["initV"], MONOPOLAR["initV"]), 0.0, 0.0
    p = {k: np.array([PHOTORECEPTOR[k], MONOPOLAR[k]]) for k in PHOTORECEPTOR}
    c = CHANNELS
    for k in range(steps - 1):
        v = V[k].copy()
        for _ in range(10):
            n_inf = 0.5 * (1 + np.tanh((v - p["V3"]) / p["V4"]))
            m_inf = 0.5 * (1 + np.tanh((v - p["V1"]) / p["V2"]))
            rate = p["phi"] * np.cosh((v - p["V3"]) / (2 * p["V4"]))
            leak = c["G_l"] * (v - c["V_l"]) + c["G_k"] * n * (v - c["V_k"])
            leak = leak + c["G_ca"] * m_inf * (v - c["V_ca"])
            drive = np.array([outside[k], current])
            v, n = v + 0.01 * (drive - leak + p["offset"]), n + 0.01 * rate * (n_inf - n)
        current = -g * (V[k, 1] + 0.08)
        above = (V[k, 0] - SIGMOID["threshold"]) / SIGMOID["saturation"]
        g = SIGMOID["slope"] * 0.5 * (1 + np.tanh(above))
        V[k + 1] = v
    assert np.ptp(V[:, 0]) > 0.01 and np.ptp(V[:, 1]) > 0.001
    circuit = read(tmp_path, graph)
    found = run(circuit, ArrayInput({"I": (["0"], outside[:, None] * 1e3)}), steps, "V")
    assert_allclose(found["V"] / 1e3, V, atol=1e-11)
    file = tmp_path / "in.h5"
    import h5py

    with h5py.File(file, "w") as out:
        out["array"] = outside[:, None]
    assert_allclose(run(circuit, LegacyInput(file, circuit), steps, "V")["V"] / 1e3, V, atol=1e-11)


@pytest.mark.parametrize("name", ["LeakyIAFwithRefactoryPeriod", "Rinzel", "Wilson"])
@pytest.mark.parametrize("onto", ["AlphaSynapse2", "exponential_with_stdp"])
def test_models_of_later_branches(name: str, onto: str, tmp_path: Path) -> None:
    """Their numbers mean what they mean now; the circuit is the one of today's form."""
    old, new = nx.MultiDiGraph(), nx.MultiDiGraph()
    for i in range(2):
        old.add_node(i, model=name, spiking=True, public=False, extern=i == 0, **NUMBERS[name])
        new.add_node(i, **{"class": name}, **NUMBERS[name])
    old.add_edge(0, 1, **synapse(onto, NUMBERS[onto], 10.0, delay=1.0))
    new.add_node(2, **{"class": onto}, **NUMBERS[onto], reverse=10.0)
    two = onto == "exponential_with_stdp"
    new.add_edge(0, 2, delay=1e-3, **({"receptor": "pre"} if two else {}))
    if two:
        new.add_edge(1, 2, receptor="post")
    new.add_edge(2, 1)
    current = ArrayInput({"I": (["0", "1"], np.full((600, 2), [40.0, 12.0]))})
    record = "V", "g"
    expected = run(Circuit.from_graph(new), current, 600, *record)
    assert np.ptp(expected["g"]) > 1e-3
    found = run(read(tmp_path, old), current, 600, *record)
    for variable in record:
        np.testing.assert_array_equal(found[variable], expected[variable])


def test_public_neurons_without_a_selector(tmp_path: Path) -> None:
    """They get no port, with a counted warning; the others keep theirs."""
    graph = nx.MultiDiGraph()
    for i in range(4):
        graph.add_node(i, **neuron("MorrisLecar", MONOPOLAR, public=True, selector=""))
    graph.nodes[1]["selector"] = "/lam/L1"
    del graph.nodes[2]["selector"]
    nx.write_gexf(graph, tmp_path / "old.gexf")
    with pytest.warns(CircuitWarning, match=r"without a 'selector' get no output port \(3 times\)"):
        circuit = Circuit.from_file(tmp_path / "old.gexf")
    assert circuit.group("Port").labels["selector"].tolist() == ["/lam/L1"]
    assert circuit.group("MorrisLecar").count == 4
