"""Layers of the striatum and their paths, against their equations in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device_code import check_text
from error_networks import (
    ACH,
    BURST,
    CREDIT,
    DIP,
    GAIN_D,
    calcium,
    four_units,
    opened,
    striatum,
)
from synapse_texts_on_cpu import WarpSynapses

import neurodriver as nd
from neurodriver.backends.cpu import live
from neurodriver.backends.cpu.synapse_place import HostSynapses
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import Part, device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.error_driven import Network, Trainer, circuit_of
from neurodriver.error_driven.striatum import (
    LEVELS,
    MATRIX_PARAMETERS,
    READ_BY_PATHS,
    AxonMatrixNeuron,
    AxonMatrixPoolNeuron,
)
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA

TAKEN = np.eye(2)
CUE = np.array([[1.0, 1, 0], [0, 1, 1]])
SHOWN = {"Cue": CUE, "Action": TAKEN}
LAYERS = {"Go": ("dopamine", 1), "NoGo": ("other", -1)}

TRIALS: list[dict[str, Any]] = [
    {**SHOWN, "dopamine": [2, -2]},  # without a reward, dopamine teaches nothing
    {**SHOWN, "acetylcholine": [0.5, 0.1]},
    {**SHOWN, "acetylcholine": [0.09, 0]},  # too little for a trace
    {"reward": [1, 1], "dopamine": [0.8, -0.6], "other": [-0.4, 0.9], "acetylcholine": [1, -0.3]},
    {**SHOWN, "reward": [0, 1], "dopamine": 1 + TAKEN[0]},
]
"""What two items are shown in five trials."""


def level(trial: dict[str, Any], name: str, usual: float, item: int) -> float:
    """Return the level of a modulator in a trial."""
    return float(np.broadcast_to(trial.get(name, usual), 2)[item])


def by_hand(
    trial: dict[str, Any], item: int, layer: str, s: dict[str, np.ndarray], trace: np.ndarray
) -> tuple[np.ndarray, np.ndarray | float]:
    """Return the new traces of a path, (receivers, senders), and the change per learning rate."""
    name, sign = LAYERS[layer]
    ach, dopamine = level(trial, "acetylcholine", 1, item), level(trial, name, 0, item)
    if level(trial, "reward", 0, item):
        gain = BURST if dopamine > 0 else DIP
        rate = (1 - ACH * (1 - min(abs(ach), 1))) * gain * dopamine * sign
        return np.zeros_like(trace), rate * trace
    if ach < 0.1:
        return trace, 0.0
    y = np.minimum(s["CaD"] / s["CaDBefore"].max(), 1)
    part = s["CaP"] - s["CaD"] + np.where(s["CaD"] > 0.1, CREDIT * s["CaD"], 0)
    return trace + np.outer(np.maximum(4 * y * (1 - y), 0.001) * ach * part, s["sender"]), 0.0


def test_traces_and_weights() -> None:
    """Of two items with dopamine of their own: traces, then changes, summed, at a reward."""
    seen = dict.fromkeys(("error below 0", "CaD below 0.1", "change up", "change down"), 0)
    with Trainer(striatum(), items=2) as sim:
        traces = {name: np.zeros((2, 6, 3)) for name in LAYERS}
        linear = {name: sim.path("Cue", name, "LWt") for name in LAYERS}
        total = {name: np.zeros((6, 3)) for name in LAYERS}
        for trial in TRIALS:
            sim.trial(trial)
            for name in LAYERS:
                change = np.zeros((6, 3))
                for item in range(2):
                    states = {n: sim.get(name, n)[item] for n in ("CaP", "CaD", "CaDBefore")}
                    states["sender"] = sim.get("Cue", "CaD")[item]
                    traces[name][item], one = by_hand(trial, item, name, states, traces[name][item])
                    change += one
                    seen["error below 0"] += int((states["CaP"] < states["CaD"]).sum())
                    seen["CaD below 0.1"] += int((states["CaD"] < 0.1).sum())
                seen["change up"] += int((change > 0).sum())
                seen["change down"] += int((change < 0).sum())
                total[name] += 2 * change
                linear[name] = np.clip(linear[name] + 2 * change, 0, 1)
                weight = 0.5 * 2 / (1 + ((1 - linear[name]) / linear[name]) ** 6)
                for number, expected in (
                    ("Tr", traces[name]), ("DSWt", total[name]), ("LWt", linear[name]),
                    ("Wt", weight), ("SWt", np.full((6, 3), 0.5)),
                ):  # fmt: skip
                    got = sim.path("Cue", name, number)
                    assert np.abs(got - expected).max() < 1e-10, (name, number)
    assert min(seen.values()) > 3, seen
    assert max(np.abs(one).max() for one in total.values()) > 1e-3


@pytest.mark.parametrize("pools", [False, True])
def test_dopamine_multiplies_conductances(pools: bool) -> None:
    """Excitation and inhibition, in opposite ways for both receptors, and not below 0."""
    names = "VmDend", "VgccM", "VgccH", "GeSyn", "GnmdaSyn", "PoolGi", "GiSyn", "Ge", "Gi"
    dopamine = np.array([0, 0.9, -1.2, 3])
    felt = dopamine * np.where(dopamine > 0, BURST, DIP)
    shown = {"Cue": np.tile(CUE[0], (4, 1)), "Action": np.tile(TAKEN[0], (4, 1))}
    with Trainer(striatum(pools), items=4) as sim:
        sim.begin({**shown, "dopamine": dopamine, "other": dopamine})
        sim.cycle(39)
        before = {layer: {n: sim.get(layer, n).reshape(4, 6) for n in names} for layer in LAYERS}
        sim.cycle()
        for layer, (_, sign) in LAYERS.items():
            old, new = before[layer], {n: sim.get(layer, n).reshape(4, 6) for n in names}
            d, gate = old["VmDend"], old["VgccM"] ** 3 * old["VgccH"]
            ge = new["GeSyn"] + 0.006 * new["GnmdaSyn"] * opened(d) + 0.02 * calcium(d) * gate
            effect = np.maximum(1 + sign * GAIN_D * felt, 0)[:, None]
            assert np.abs(new["Ge"] - effect * ge).max() < 1e-10
            assert np.abs(new["Gi"] - effect * (new["PoolGi"] + new["GiSyn"])).max() < 1e-10
            assert ge.max(axis=1).min() > 0.1 and new["PoolGi"].max() > 0.01
            assert (np.ptp(effect) > 0.5) and ((effect == 0).any() == (sign < 0))


@pytest.mark.parametrize(("dopamine", "grows", "shrinks"), [(1, "Go", "NoGo"), (-1, "NoGo", "Go")])
def test_the_action_that_was_taken_learns(dopamine: float, grows: str, shrinks: str) -> None:
    """Bursts after an action strengthen its Go units, and dips its NoGo units."""
    with Trainer(striatum()) as sim:
        before = {name: sim.path("Cue", name) for name in LAYERS}
        for _ in range(5):
            sim.trial({"Cue": CUE[0], "Action": TAKEN[0]})
            sim.trial({"reward": 1, "dopamine": dopamine, "other": dopamine})
        moved = {name: sim.path("Cue", name) - before[name] for name in LAYERS}
    taken = {name: change[:3, :2].mean() for name, change in moved.items()}
    assert taken[grows] > 0.03 > -0.03 > taken[shrinks]
    for name, change in moved.items():
        assert np.abs(change[3:]).mean() < 0.1 * abs(taken[name])
        assert not change[:, 2].any()  # the part of the cue that was not shown


def test_without_dopamine_nothing_drifts() -> None:
    """Units of the striatum have no target averages that slow changes approach."""
    net = Network()
    cue, go = net.layer("Cue", "input", 4, nominal=0.5), net.layer("Go", "matrix", 4)
    net.connect(cue, go, kind="striatal")
    with Trainer(net, slow_interval=2) as sim:
        before = sim.path("Cue", "Go"), sim.get("Go", "TrgAvg")
        for _ in range(4):
            sim.trial({"Cue": np.ones(4)})
        assert np.array_equal(sim.path("Cue", "Go"), before[0])
        assert np.array_equal(sim.get("Go", "TrgAvg"), before[1])
        assert sim.get("Go", "CaP").max() > 1e-3


def test_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread and trials one by one; two threads, a warp for each unit, and an environment."""
    shown = [{name: np.broadcast_to(one, (2, *np.shape(one)[1:])) for name, one in trial.items()}
             for trial in TRIALS]  # fmt: skip
    left = []
    for place, threads in ((HostSynapses, 1), (WarpSynapses, 2)):
        monkeypatch.setattr(live, "HostSynapses", place)
        with Trainer(striatum(), items=2, threads=threads) as sim:
            if threads == 1:
                for trial in shown:
                    sim.trial(trial)
            else:
                assert len(sim.train(shown, 1, 10).rows("trial")) == 10
            found = [sim.get("Go", "Vm"), *(sim.path("Cue", n) for n in LAYERS)]
            left.append([one.tobytes() for one in (*found, sim.path("Cue", "NoGo", "Tr"))])
    assert left[0] == left[1]


@pytest.mark.needs("NVRTC")
def test_sub_pools_have_the_same_equations() -> None:
    """Both models add the same parameters, states and text to units, and compile for a GPU."""
    made = generate(compile_circuit(circuit_of(striatum(True)), 1e-3, "float32", target=CUDA))
    kernels = {unit.kernel.name: unit.kernel.text for unit in made.tasks}
    check_text(device_text([Part(unit.kernel) for unit in made.tasks], "float32", Shape(128)))
    for name in ("AxonMatrixNeuron", "AxonMatrixPoolNeuron"):
        assert "da_gain" in kernels[name] and "da_gain" not in kernels["AxonNeuron"]
    for name in MATRIX_PARAMETERS:
        assert AxonMatrixPoolNeuron.params[name] is AxonMatrixNeuron.params[name]
    texts = {one.parts["modulated"] for one in (AxonMatrixNeuron, AxonMatrixPoolNeuron)}
    assert len(texts) == 1 and "Gi *= effect" in texts.pop()
    assert all(state in AxonMatrixPoolNeuron.states for state, _ in LEVELS.values())


FAULTS: dict[str, Callable[[Any], Any]] = {
    "path 'HiddenToOutput': it needs a layer of kind 'matrix' (got 'target')": lambda n: n.connect(
        "Hidden", "Output", kind="striatal"
    ),
    "layer 'b', modulators: only matrix layers have them (got kind 'super')": lambda n: n.layer(
        "b", "super", 2, modulators={}
    ),
    "layer 'b', modulators: no 'dopamin' (did you mean 'dopamine'?)": lambda n: n.layer(
        "b", "matrix", 2, modulators={"dopamin": "x"}
    ),
    "layer 'b', modulators, dopamine: a name is needed (got 1)": lambda n: n.layer(
        "b", "matrix", 2, modulators={"dopamine": 1}
    ),
    "layer 'b', modulators: 'Input' would name a layer and a modulator": lambda n: n.layer(
        "b", "matrix", 2, modulators={"dopamine": "Input"}
    ),
    "layer 'b', modulators: 'reward' would be the name of dopamine and reward": lambda n: n.layer(
        "b", "matrix", 2, modulators={"dopamine": "reward"}
    ),
    "layer 'b', modulators: 'VTA' would be the name of acetylcholine and dopamine": lambda n: (
        n.layer("a", "matrix", 2, modulators={"dopamine": "VTA"}),
        n.layer("b", "matrix", 2, modulators={"acetylcholine": "VTA"}),
    ),
    "layer 'reward', modulators: 'reward' would name a layer and a modulator": lambda n: (
        n.layer("b", "matrix", 2),
        n.layer("reward", "input", 2),
    ),
}


@pytest.mark.parametrize("message", FAULTS)
def test_faults_are_named(message: str) -> None:
    """Each says what was given and what is allowed."""
    with pytest.raises(nd.NeurodriverError) as error:
        FAULTS[message](four_units())
    assert message in str(error.value)


def test_levels_within_a_trial() -> None:
    """They may follow from what the network does; those that do not fit are told."""
    with Trainer(striatum()) as sim:
        sim.trial({"Cue": CUE[0], "Action": TAKEN[0]})
        trace, linear = sim.path("Cue", "Go", "Tr"), sim.path("Cue", "Go", "LWt")
        sim.begin({"Cue": CUE[0]})
        sim.cycle(200)
        sim.set("Go", "DA", 0.5 + sim.get("Go", "Act").max())
        sim.set("Go", "HasRew", 1)
        dopamine = sim.get("Go", "DA")[0]
        sim.end()
        change = sim.path("Cue", "Go", "LWt") - linear
        assert np.abs(change - 2 * BURST * dopamine * trace).max() < 1e-12 < change.max()
        with pytest.raises(nd.NeurodriverError, match="'dopamine': 1 finite number is needed, got"):
            sim.begin({"dopamine": [1, 2]})
        with pytest.raises(nd.NeurodriverError, match=r"'rewards' \(did you mean 'reward'\?\)"):
            sim.begin({"rewards": 1})


def test_a_layer_without_activity_before_the_last_cycle() -> None:
    """Its traces have no factor of the receiver's activity, as it has no greatest CaD."""
    with Trainer(striatum()) as sim:
        for name in LAYERS:
            sim.set(name, "threshold", 1)
        sim.begin({"Cue": CUE[0]})
        sim.cycle(199)
        for name in LAYERS:
            sim.set(name, "threshold", -100)
        sim.cycle()
        sim.end()
        for name in LAYERS:
            rise = sim.get(name, "CaP") - sim.get(name, "CaD")
            expected = np.outer(rise, sim.get("Cue", "CaD"))
            assert np.allclose(sim.path("Cue", name, "Tr"), expected, rtol=1e-5)
            assert expected.max() > 0.001
        for name in READ_BY_PATHS:
            with pytest.raises(nd.NeurodriverError, match=f"{name} is read by paths"):
                sim.set("Go", name, 1)
