"""What edges, delays, inputs and initial values mean, seen in recorded rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from support import (
    ALPHA,
    AMPA,
    DT,
    HH2,
    IAF,
    ML,
    POWER,
    Recorded,
    alone,
    build,
    every_feature,
    model,
    node,
    simulate,
    spike_rows,
    started,
)

from neurodriver import (
    Access,
    ArrayInput,
    Circuit,
    FileInput,
    NDComponent,
    Parameter,
    RampInput,
    State,
    StepInput,
    UserInput,
    Weighted,
)
from neurodriver.errors import CircuitError, CircuitWarning, InputError

ROUNDING = 1e-13
"""Relative. The same few operations in NumPy, maybe in another order."""

EAGER = {**IAF, "threshold": -69.9999}


class Echo(NDComponent):
    """Repeats its inputs one row later."""

    accesses = ("I", "spike_state")
    updates = ("V", "g")
    update = "V = I; g = spike_state;"


class Receptors(NDComponent):
    """Receives one variable at two receptors, and a plain one."""

    accesses = (Weighted("r", receptor="exc"), Weighted("r", receptor="inh"), "I")
    updates = ("V",)
    update = "V = 1000 * exc + inh + I;"


class Scaled(NDComponent):
    """Weighs its inputs by a number of the connection, of the component and an earlier input."""

    accesses = (
        "I",
        Access("r", each="factor * r * scale + I", connection={"factor": Parameter(default=2.0)}),
    )
    updates = ("V",)
    params = {"scale": Parameter()}
    update = "V = r;"


class Constant(NDComponent):
    """Holds a rate and a current."""

    updates = {"r": "1", "I": "uA/cm^2"}
    params = {"value": Parameter()}
    states = {"r": "1", "I": "uA/cm^2"}
    update = "r = value; I = value;"


class Either(NDComponent):
    """Could be reached by spikes or by a potential."""

    accesses = ("spike_state", "V")
    updates = ("g",)
    update = "g = 1000 * spike_state + V;"


class Starter(NDComponent):
    """Spikes before the first step, and never again."""

    updates = ("spike_state",)
    states = {"spike_state": State("1", 1.0)}
    update = "spike_state = 0;"


OWN = (Echo, Receptors, Scaled, Constant, Either, Starter)
echo = {"class": "Echo"}


def constant_g(conductance: float, **more: Any) -> dict[str, Any]:
    """Return a synapse that is open at ``conductance`` from row 1 on."""
    given = {"threshold": 0.0, "slope": conductance, "power": 0.0, "saturation": 1e3}
    return node("PowerGPotGPot", given, **more)


def currents(steps: dict[int, float], uid: str = "n", length: int = 20) -> ArrayInput:
    """Return a current that is not zero at some steps."""
    rows = np.zeros((length, 1))
    for step, value in steps.items():
        rows[step] = value
    return ArrayInput({"I": ([uid], rows)})


def changes(data: Recorded, variable: str, column: int = 0) -> int:
    """Return the first row that differs from row 0."""
    differs = data[variable][:, column] != data[variable][0, column]
    assert differs.any(), f"{variable} never moved"
    return int(np.argmax(differs))


# ---- delays and latencies -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delay", "steps"),
    [(None, 1), (0.0, 1), (4e-5, 1), (1e-4, 1), (0.00015, 1), (0.00025, 2), (0.0003, 3),
     (0.00035, 4), (0.001, 10), (0.0015, 15)],
)  # fmt: skip
def test_delay_is_the_whole_latency(delay: float | None, steps: int) -> None:
    """``round(delay / dt)`` steps, at least one, pass from a row to the row that it changes."""
    edge = {} if delay is None else {"delay": delay}
    nodes = {"n": node("LeakyIAF", EAGER), "s": node("SynapseAMPA", AMPA)}
    circuit = build(nodes, [("n", "s", edge)])
    record = [("spike_state", None), ("g", None)]
    data = simulate(circuit, steps=30, inputs=currents({1: 100.0}), record=record)
    assert spike_rows(data) == [2]
    assert changes(data, "g") == 2 + steps


@pytest.mark.parametrize(
    ("ratio", "steps"), [(0.5, 1), (1.0, 1), (1.25, 1), (1.5, 2), (2.5, 2), (3.5, 4), (4.5, 4)]
)
def test_halves_of_a_step_go_to_the_even_one(ratio: float, steps: int) -> None:
    """With a step that is a power of two the ratios are exact."""
    dt = 2.0**-14
    nodes = {"n": node("LeakyIAF", EAGER), "s": node("SynapseAMPA", AMPA)}
    circuit = build(nodes, [("n", "s", {"delay": ratio * dt})])
    record = [("spike_state", None), ("g", None)]
    data = simulate(circuit, dt, 20, currents({1: 100.0}), record)
    assert spike_rows(data) == [2]
    assert changes(data, "g") == 2 + steps


@pytest.mark.parametrize("chunk", [1, 1000])
@pytest.mark.parametrize(("name", "lag"), [("SynapseAMPA", 1), ("AlphaSynapse", 2)])
def test_latencies_from_spike_to_potential(name: str, lag: int, chunk: int) -> None:
    """A spike in row k shows in g of row k + 1 (Alpha: k + 2), in I one and in V two rows later."""
    given = AMPA if name == "SynapseAMPA" else ALPHA
    nodes = {
        "n": node("LeakyIAF", EAGER),
        "s": node(name, given, reverse=0.0),
        "b": node("LeakyIAF", IAF),
    }
    circuit = build(nodes, [("n", "s"), ("s", "b")])
    record = [("spike_state", ["n"]), ("g", ["s"]), ("I", ["auto_0"]), ("V", ["b"])]
    data = simulate(circuit, steps=20, inputs=currents({1: 100.0}), record=record, chunk=chunk)
    assert spike_rows(data) == [2]
    rows = [changes(data, variable) for variable in ("g", "I", "V")]
    assert rows == [2 + lag, 3 + lag, 4 + lag]


def test_each_connection_has_its_own_delay() -> None:
    """A synapse sums all its inputs, each delayed by its own edge."""
    low = {**IAF, "threshold": 1e3}
    nodes = {
        "a": node("LeakyIAF", low, initV=-60.0),
        "b": node("LeakyIAF", low, initV=-40.0, resistance=3.0),
        "s": node("PowerGPotGPot", POWER, threshold=-120.0, slope=0.001),
    }
    circuit = build(nodes, [("a", "s"), ("b", "s", {"delay": 4 * DT})])
    data = simulate(circuit, steps=50, record=[("V", ["a", "b"]), ("g", None)])
    a, b = data["V"].T
    late = np.concatenate([np.full(3, b[0]), b[:-3]])
    expected = 0.001 * (a + late + 120.0)
    assert np.ptp(expected) > 1e-3
    np.testing.assert_allclose(data["g"][1:, 0], expected[:-1], rtol=ROUNDING)


def test_simultaneous_spikes_count_once() -> None:
    """A synapse asks whether its summed spikes are positive."""
    events = ArrayInput({"spike_state": (["n"], (np.array([2e-4, 2e-4]), np.array([0, 0])))})
    data = simulate(alone("SynapseAMPA", AMPA), steps=5, inputs=events, record=[("g", None)])
    assert data["g"][3, 0] == AMPA["gmax"]


# ---- initial values -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("LeakyIAF", IAF, -70.0),
        ("LeakyIAF", {**IAF, "initV": -61.5}, -61.5),
        ("HodgkinHuxley2", HH2, -65.0),
        ("HodgkinHuxley2", {**HH2, "initV": -60}, -60.0),
        ("MorrisLecar", ML, -70.0),
        ("GradedNeuron", {"time_constant": 10.0, "bias": 0.25}, 0.25),
    ],
)
def test_row_0_is_the_initial_state(name: str, given: dict[str, float], expected: float) -> None:
    """What is published before the first step is what the model starts from."""
    data = simulate(alone(name, given), steps=2)
    assert data["V"][0, 0] == expected


def test_outputs_of_the_initial_state_are_published() -> None:
    """``r = max(V, 0)`` holds in row 0, too."""
    graded = {"time_constant": 10.0}
    nodes = {
        "a": node("GradedNeuron", graded, bias=0.5),
        "b": node("GradedNeuron", graded, initV=-1),
    }
    data = simulate(build(nodes), steps=3, record=[("r", None)])
    assert data["r"][0].tolist() == [0.5, 0.0]


def test_initial_value_on_some_nodes() -> None:
    """The others start where the model says."""
    nodes = {
        "a": node("LeakyIAF", IAF, initV=-50.0),
        "b": node("LeakyIAF", IAF, resting_potential=-66.0),
        "c": node("LeakyIAF", IAF),
    }
    data = simulate(build(nodes), steps=2)
    assert data["V"][0].tolist() == [-50.0, -66.0, -70.0]


def test_before_the_first_step_all_is_as_in_row_0() -> None:
    """A delayed reader sees the initial potential until the first row has reached it."""
    nodes = {
        "n": node("MorrisLecar", ML, initV=-46.08, initn=0.3),
        "s": node("PowerGPotGPot", POWER),
    }
    circuit = build(nodes, [("n", "s", {"delay": 5 * DT})])
    data = simulate(circuit, steps=30, record=[("V", None), ("g", None)])
    first = 0.02 * (-46.08 + 55.0)
    np.testing.assert_allclose(data["g"][1:6, 0], first, rtol=ROUNDING)
    assert changes({"g": data["g"][1:]}, "g") == 5
    assert data["g"][0, 0] == 0.0
    np.testing.assert_allclose(data["g"][5:, 0], 0.02 * (data["V"][:-5, 0] + 55.0), rtol=1e-12)


def test_spikes_before_the_first_step() -> None:
    """A spike in row 0 was there in all rows before, too: the delay of three steps sees three."""
    nodes = {
        "n": {"class": "Starter"},
        "s": node("SynapseAMPA", AMPA),
        "t": node("SynapseAMPA", AMPA),
    }
    circuit = build(nodes, [("n", "s"), ("n", "t", {"delay": 3 * DT})], OWN)
    record = [("g", None), ("spike_state", None)]
    data = simulate(circuit, steps=10, record=record)
    assert spike_rows(data) == [0]
    gained = np.diff(data["g"], axis=0) > 0
    assert np.flatnonzero(gained[:, 0]).tolist() == [0]
    assert np.flatnonzero(gained[:, 1]).tolist() == [0, 1, 2]


def test_rare_spikes_reach_every_synapse() -> None:
    """Between spikes there are long pauses, longer than any delay; none is lost or repeated."""
    count, length = 40, 400
    at = np.array([3, 90, 91, 200, 313])
    nodes = {f"n{i}": node("LeakyIAF", EAGER) for i in range(count)}
    nodes |= {f"s{i}": node("SynapseAMPA", AMPA) for i in range(count)}
    edges = [(f"n{i}", f"s{i}", {"delay": (1 + i % 7) * DT}) for i in range(count)]
    rows = np.zeros((length, count))
    rows[at[:, None], [5, 21, 39]] = 100.0
    inputs = ArrayInput({"I": ([f"n{i}" for i in range(count)], rows)})
    record = [("spike_state", None), ("g", None)]
    data = simulate(build(nodes, edges), DT, length, inputs, record)
    gained = np.diff(data["g"], axis=0) > 0
    for i in range(count):
        expected = at if i in (5, 21, 39) else at[:0]
        assert spike_rows(data, i) == (expected + 1).tolist()
        assert np.flatnonzero(gained[:, i]).tolist() == (expected + 1 + i % 7).tolist()


# ---- conductances ---------------------------------------------------------------------------


def aggregated(edge: dict[str, float], attributes: dict[str, float]) -> tuple[float, float]:
    """Return V in row 1 and the current in row 2 of a neuron with one open synapse."""
    nodes = {"n": node("LeakyIAF", IAF, initV=-60.0), "s": constant_g(0.5, **attributes)}
    data = simulate(
        build(nodes, [("s", "n", edge)]), steps=4, record=[("V", None), ("I", ["auto_0"])]
    )
    assert data["I"][1, 0] == 0.0
    return data["V"][1, 0], data["I"][2, 0]


@pytest.mark.parametrize(
    ("edge", "attributes", "reversal"),
    [
        ({"reverse": 1.0, "Vr": 2.0, "VR": 3.0, "reverse_potential": 4.0}, {"reverse": 5.0}, 1.0),
        ({"Vr": 2.0, "VR": 3.0, "reverse_potential": 4.0}, {"reverse": 5.0}, 2.0),
        ({"VR": 3.0, "reverse_potential": 4.0}, {"reverse": 5.0}, 3.0),
        ({"reverse_potential": 4.0}, {"reverse": 5.0}, 4.0),
        ({}, {"reverse": 5.0}, 5.0),
        ({}, {"Vr": 6.0}, 6.0),
        ({}, {"VR": 7.0}, 7.0),
        ({}, {"reverse_potential": 8.0}, 8.0),
    ],
)
def test_reversal_potential(
    edge: dict[str, float], attributes: dict[str, float], reversal: float
) -> None:
    """It is looked up on the edge first, then on the synapse."""
    potential, current = aggregated(edge, attributes)
    assert current == pytest.approx(-0.5 * (potential - reversal), rel=ROUNDING)


def test_missing_reversal_potential() -> None:
    """Without one it is 0 mV, and a warning says so."""
    with pytest.warns(CircuitWarning, match="without a reversal potential: 0 mV"):
        potential, current = aggregated({}, {})
    assert current == pytest.approx(-0.5 * potential, rel=ROUNDING)


def test_conductances_that_are_taken_as_they_are() -> None:
    """A model that reads conductances itself needs no reversal potential, and no warning."""

    class Reader(NDComponent):
        accesses, updates = ("g",), {"sum": ""}
        states = {"sum": State("1", 0.0)}
        update = "sum += g;"

    nodes = {"s": constant_g(0.5), "r": {"class": "Reader"}}
    with warnings.catch_warnings():
        warnings.simplefilter("error", CircuitWarning)
        circuit = build(nodes, [("s", "r")], models=[Reader])
    data = simulate(circuit, steps=4, record=[("sum", None)])
    assert data["sum"][:, 0].tolist() == [0.0, 0.0, 0.5, 1.0]


def test_conductances_of_a_target_share_an_aggregator() -> None:
    """One ``auto_<n>`` a target, numbered in the order of the edges; taken names are left out."""
    nodes = {
        "auto_1": node("LeakyIAF", IAF),
        "m": node("LeakyIAF", IAF, initV=-60.0),
        "s0": constant_g(0.1, reverse=0.0),
        "s1": constant_g(0.2, reverse=-80.0),
        "s2": constant_g(0.4, reverse=20.0),
    }
    edges = [("s0", "m"), ("s2", "auto_1"), ("s1", "m", {"delay": 3 * DT})]
    lpu = started(build(nodes, edges), record=[("V", None), ("I", ["auto_0", "auto_2"])])
    with lpu:
        assert set(lpu.uids("I").tolist()) == {"auto_0", "auto_2"}
        lpu.run(steps=6)
        recorder: Any = lpu.recorders[0]
        current, potential = recorder.get("I"), recorder.get("V")
        assert recorder.uids("V") == ["auto_1", "m"]
    expected = np.zeros((6, 2))
    for k in range(5):
        v0, v1 = potential[k]
        if k >= 1:
            expected[k + 1] = -0.1 * v1, -0.4 * (v0 - 20.0)
        if k - 2 >= 1:
            expected[k + 1, 0] -= 0.2 * (v1 + 80.0)
    assert np.abs(expected[-1]).min() > 1.0
    np.testing.assert_allclose(current, expected, rtol=ROUNDING)


def test_aggregator_placed_by_the_user() -> None:
    """It behaves as one that is inserted."""
    nodes = {"n": node("LeakyIAF", IAF, initV=-60.0), "s": constant_g(0.5)}
    edge = {"reverse": -20.0}
    inserted = simulate(build(nodes, [("s", "n", edge)]), steps=50)
    nodes["sum"] = {"class": "Aggregator"}
    edges = [("s", "sum", edge), ("n", "sum"), ("sum", "n")]
    placed = simulate(build(nodes, edges), steps=50, record=[("V", None), ("I", None)])
    assert np.ptp(placed["V"]) > 5.0
    assert np.array_equal(placed["V"], inserted["V"])
    assert placed["I"].shape == (50, 1)


def test_direct_currents_add_to_conductances() -> None:
    """A neuron sums currents from components, conductances and inputs."""
    iaf = {**IAF, "threshold": 1e3}
    nodes = {
        "n": node("LeakyIAF", iaf),
        "s": constant_g(0.01, reverse=0.0),
        "c": {"class": "Constant", "value": 1.5, "initI": 1.5},
    }
    both = build(nodes, [("c", "n"), ("s", "n")], OWN)
    record = [("V", ["n"]), ("I", ["auto_0"])]
    data = simulate(both, steps=60, inputs=StepInput("I", ["n"], 0.25), record=record)
    decay = math.exp(-0.1 / 20.0)
    v = data["V"][:, 0]
    drive = 10.0 * (1.75 + data["I"][:-1, 0]) - 70.0
    assert np.abs(data["I"]).max() > 0.1
    np.testing.assert_allclose(v[1:], v[:-1] * decay + drive * (1 - decay), rtol=1e-12)


def test_conductance_into_a_model_without_potential() -> None:
    """It cannot drive a current, and the message says why."""

    class Blind(NDComponent):
        accesses = ("I",)
        updates = ("r",)
        update = "r = I;"

    nodes = {"n": {"class": "Blind"}, "s": constant_g(0.5, reverse=0.0)}
    with pytest.raises(CircuitError, match="Blind, which does not update V"):
        started(build(nodes, [("s", "n")], [Blind]))


# ---- weights, receptors, parallel edges -----------------------------------------------------


def test_weight_only_where_it_is_declared() -> None:
    """Spikes, conductances and currents of the older models do not know weights."""
    nodes = {
        "n": node("LeakyIAF", EAGER),
        "s": node("SynapseAMPA", AMPA, reverse=0.0),
        "b": node("LeakyIAF", IAF),
    }
    plain = build(nodes, [("n", "s"), ("s", "b")])
    heavy = build(nodes, [("n", "s", {"weight": 7.0}), ("s", "b", {"weight": -3.0})])
    record = [("V", None), ("g", None), ("I", ["auto_0"])]
    one = simulate(plain, steps=30, inputs=currents({1: 100.0}), record=record)
    other = simulate(heavy, steps=30, inputs=currents({1: 100.0}), record=record)
    for variable, rows in one.items():
        assert np.ptp(rows) > 0
        assert np.array_equal(rows, other[variable])


def test_weight_where_it_is_declared() -> None:
    """A graded neuron multiplies, and an edge without a weight has 1."""
    fast = {"time_constant": 0.0, "bias": 0.0}
    nodes = {
        "a": node("GradedNeuron", fast, bias=2.0),
        "b": node("GradedNeuron", fast, bias=3.0),
        "c": node("GradedNeuron", fast),
    }
    circuit = build(nodes, [("a", "c", {"weight": -4.0}), ("b", "c")])
    data = simulate(circuit, steps=4, record=[("V", ["c"])])
    assert data["V"][:, 0].tolist() == [0.0, -5.0, -5.0, -5.0]


def test_parallel_edges_are_connections_of_their_own() -> None:
    """Three edges between the same two neurons, with their own weights and delays."""
    fast = {"time_constant": 0.0, "bias": 0.0}
    nodes = {"a": node("GradedNeuron", fast, initV=0.0), "b": node("GradedNeuron", fast)}
    edges = [
        ("a", "b", {"weight": 2.0}),
        ("a", "b", {"weight": 3.0}),
        ("a", "b", {"weight": 10.0, "delay": 3 * DT}),
    ]
    data = simulate(
        build(nodes, edges), steps=9, inputs=currents({2: 1.0}, "a"), record=[("V", ["b"])]
    )
    assert data["V"][:, 0].tolist() == [0, 0, 0, 0, 5, 0, 10, 0, 0]


def test_receptors() -> None:
    """An edge picks an access by its receptor, otherwise the first that fits."""
    nodes = {
        "a": {"class": "Constant", "value": 2.0, "initr": 2.0},
        "b": {"class": "Constant", "value": 3.0, "initr": 3.0},
        "n": {"class": "Receptors"},
    }
    edges = [
        ("a", "n", {"receptor": "inh", "weight": -1.0}),
        ("b", "n", {"receptor": "exc", "weight": 5.0}),
        ("b", "n", {"variable": "r"}),
    ]
    data = simulate(build(nodes, edges, OWN), steps=3, record=[("V", ["n"])])
    assert data["V"][1:, 0].tolist() == [17998.0, 17998.0]


def test_data_of_a_connection() -> None:
    """``each`` may use connection data (given or default), parameters and earlier inputs."""
    nodes = {
        "a": {"class": "Constant", "value": 2.0, "initr": 2.0},
        "n": {"class": "Scaled", "scale": 10.0},
        "m": {"class": "Scaled", "scale": 100.0},
    }
    edges = [("a", "n", {"factor": 3.0, "variable": "r"}), ("a", "n", {"variable": "r"}),
             ("a", "m", {"variable": "r"})]  # fmt: skip
    data = simulate(
        build(nodes, edges, OWN),
        steps=3,
        inputs=StepInput("I", ["n"], 0.5),
        record=[("V", ["n", "m"])],
    )
    assert data["V"][1].tolist() == [3 * 2 * 10 + 0.5 + 2 * 2 * 10 + 0.5, 2 * 2 * 100]


def test_ambiguous_variable() -> None:
    """The first of the target's accesses that the source updates is taken, with a warning."""
    nodes = {"n": node("LeakyIAF", EAGER), "s": {"class": "Either"}}
    with pytest.warns(CircuitWarning, match="'spike_state' is taken"):
        first = build(nodes, [("n", "s")], OWN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = build(nodes, [("n", "s", {"variable": "V"})], OWN)
    record = [("g", None)]
    spikes = simulate(first, steps=6, inputs=currents({1: 100.0}), record=record)
    assert spikes["g"][:, 0].tolist() == [0, 0, 0, 1000, 0, 0]
    potential = simulate(named, steps=6, inputs=currents({1: 100.0}), record=record)
    assert potential["g"][1, 0] == -70.0


# ---- injection ------------------------------------------------------------------------------


def test_injected_spikes_stay_at_their_target() -> None:
    """Spikes into one synapse of a neuron reach neither its sister nor the neuron's record."""
    nodes = {
        "n": node("LeakyIAF", EAGER),
        "s": node("SynapseAMPA", AMPA),
        "t": node("SynapseAMPA", AMPA),
    }
    circuit = build(nodes, [("n", "s", {"delay": 5 * DT}), ("n", "t")])
    events = ArrayInput({"spike_state": (["s"], (np.array([4e-4]), np.array([0])))})
    record = [("spike_state", ["n"]), ("g", ["s", "t"])]
    data = simulate(circuit, steps=20, inputs=[currents({1: 100.0}), events], record=record)
    assert spike_rows(data) == [2]
    gained = np.diff(data["g"], axis=0) > 0
    assert np.flatnonzero(gained[:, 0]).tolist() == [4, 6]  # injected: undelayed; then the neuron's
    assert np.flatnonzero(gained[:, 1]).tolist() == [2]


def test_injected_currents_stay_at_their_target() -> None:
    """The recorded current of an Aggregator does not hold what is injected beside it."""
    nodes = {"n": node("LeakyIAF", IAF, initV=-60.0), "s": constant_g(0.5, reverse=-60.0)}
    circuit = build(nodes, [("s", "n")])
    record = [("V", None), ("I", ["auto_0"])]
    data = simulate(circuit, steps=10, inputs=StepInput("I", ["n"], 5.0), record=record)
    np.testing.assert_allclose(data["I"][2:, 0], -0.5 * (data["V"][1:-1, 0] + 60.0), rtol=ROUNDING)
    assert np.ptp(data["V"]) > 0


def test_inputs_add_up() -> None:
    """Several inputs, and one input with one uid twice, add into one component."""
    nodes = {"n": echo, "m": echo}
    inputs = [
        StepInput("I", ["n"], 1.0),
        StepInput("I", ["m", "n"], [10.0, 20.0], 2 * DT, 4 * DT),
        ArrayInput({"I": (["n", "n"], np.full((3, 2), [100.0, 200.0]))}),
    ]
    data = simulate(build(nodes, models=OWN), steps=6, inputs=inputs)
    assert data["V"][1:, 0].tolist() == [301, 301, 321, 21, 1]
    assert data["V"][1:, 1].tolist() == [0, 0, 10, 10, 0]


def test_input_port() -> None:
    """A value at an input port goes wherever the port's edges lead, with their delays."""
    port = {"class": "Port", "selector": "/a/in/spk/0", "port_type": "spike", "port_io": "in"}
    nodes = {
        "p": port,
        "s": node("SynapseAMPA", AMPA),
        "t": node("SynapseAMPA", AMPA),
        "u": node("SynapseAMPA", AMPA),
    }
    circuit = build(nodes, [("p", "s"), ("p", "t", {"delay": 4 * DT})])
    events = ArrayInput({"spike_state": (["p"], (np.array([3e-4]), np.array([0])))})
    data = simulate(circuit, steps=12, inputs=events, record=[("g", None)])
    assert changes(data, "g", 0) == 4
    assert changes(data, "g", 1) == 7
    assert not data["g"][:, 2].any()


def test_faulty_targets_of_inputs() -> None:
    """An unknown uid and a variable that is not accessed are told together."""
    inputs = [StepInput("I", ["n"], 1.0), StepInput("spike_state", ["m"], 1.0)]
    with pytest.raises(InputError) as caught:
        started(alone("SynapseAMPA", AMPA), inputs=inputs)
    assert "'I' cannot be injected into 'n': SynapseAMPA accesses spike_state" in str(caught.value)
    assert "'spike_state': no component 'm'" in str(caught.value)


def test_what_a_message_can_say_of_receptors_and_states() -> None:
    """Each variable once, and how a receptor is reached; how a state begins."""
    circuit = alone("LeakyIAFShiu", {})
    with pytest.raises(InputError) as caught:
        started(circuit, inputs=StepInput("kick", ["n"], 1.0))
    said = "LeakyIAFShiu accesses spike_state; into a receptor by a SpikeSource and an edge"
    assert f"'kick' cannot be injected into 'n': {said}" in str(caught.value)
    with pytest.raises(CircuitError, match=r"no parameter 'V'; the first value .* is 'initV'"):
        Circuit.from_arrays([(model("LeakyIAFShiu"), 2, {"V": -50.0}, None)])


def test_every_feature_of_the_format() -> None:
    """The minimal circuit of the format: rings, Aggregator, and what the port's spike does."""
    events = ArrayInput({"spike_state": (["pi"], (np.array([1e-3]), np.array([0])))})
    record = [("V", None), ("spike_state", None), ("g", None), ("I", ["auto_0"])]
    lpu = started(every_feature(), inputs=[events, StepInput("I", ["n0"], 10.0)], record=record)
    with lpu:
        rings = lpu.program.layout.rings
        depths = {"spike_state": 16, "g": 3, "I": 2, "V": 2}
        more = lpu.program.layout.target.depth  # a backend may round up
        found = {variable: ring.depth for variable, ring in rings.items()}
        assert found == {variable: more(rows) for variable, rows in depths.items()}
        sums = lpu.program.gathers[3, "g"]
        assert sums.edges == 2
        assert sums.arrays["reverse"].tolist() == [65.0, 0.0]
        assert sums.arrays["back"].tolist() == [0, 1]
        lpu.run(steps=1000)
        recorder: Any = lpu.recorders[0]
        v, g, current = recorder.get("V"), recorder.get("g"), recorder.get("I")[:, 0]
        spikes = recorder.get("spike_state")
    assert v[0].tolist() == [-65.0, -65.0]
    assert set(spikes["index"]) == {0}  # the synapses are too weak for n1
    first = round(float(spikes["time"][0]) / DT)
    assert np.argmax(g[:, 0] > 0) == first + 15 + 1
    assert np.argmax(g[:, 1] > 0) == 10 + 2
    late = np.concatenate([[0.0], g[:-1, 1]])
    expected = -(g[:, 0] * (v[:, 1] - 65.0) + late * v[:, 1])
    assert np.abs(expected).max() > 0.05
    np.testing.assert_allclose(current[1:], expected[:-1], rtol=1e-12, atol=1e-18)


# ---- inputs ---------------------------------------------------------------------------------


def echoed(inputs: Any, steps: int = 10, variable: str = "V", **settings: Any) -> list[float]:
    """Return what an ``Echo`` received at each step."""
    circuit = build({"n": echo}, models=OWN)
    data = simulate(circuit, DT, steps + 1, inputs, [(variable, None)], **settings)
    return data[variable][1:, 0].tolist()


@pytest.mark.parametrize("chunk", [1, 4, 1000])
def test_step_input(chunk: int) -> None:
    """It is on where ``start <= k dt < stop``."""
    pulse = StepInput("I", ["n"], 2.0, 1e-4, 3e-4)
    assert echoed(pulse, chunk=chunk) == [0, 2, 2, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("edge", range(1, 40))
def test_step_input_compares_times_as_they_are(edge: int) -> None:
    """The first step is the first whose float64 time ``k * dt`` reaches the start."""
    start = edge / 10000
    expected = [2.0 if k * DT >= start else 0.0 for k in range(45)]
    assert echoed(StepInput("I", ["n"], 2.0, start), 45) == expected


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_ramp_input(chunk: int) -> None:
    """Constant, linear, constant."""
    ramp = RampInput("I", ["n"], 2 * DT, 4 * DT, -1.0, 3.0)
    expected = [-1, -1, -1, 0, 1, 2, 3, 3, 3, 3]
    np.testing.assert_allclose(echoed(ramp, chunk=chunk), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("chunk", [1, 3, 1000])
@pytest.mark.parametrize(("mode", "after"), [(0, [0, 0, 0, 0, 0, 0]), (1, [8, 8, 8, 8, 8, 8])])
def test_array_input(mode: int, after: list[int], chunk: int) -> None:
    """Row r enters at step r; after the last row nothing, or the last row again."""
    rows = np.array([[5.0], [6.0], [7.0], [8.0]])
    given = ArrayInput({"I": (["n"], rows)}, mode)
    assert echoed(given, chunk=chunk) == [5, 6, 7, 8, *after]


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_event_input(chunk: int) -> None:
    """An event enters at ``floor(t / dt)``; events of one step add up; order does not matter."""
    time = np.array([8.5e-4, 2e-4, 3e-4, 3.9e-4, 0.0])
    given = ArrayInput({"spike_state": (["n"], (time, np.zeros(5, dtype=int)))})
    assert echoed(given, variable="g", chunk=chunk) == [1, 0, 1, 2, 0, 0, 0, 0, 1, 0]


def test_events_at_step_times_enter_at_their_step() -> None:
    """``k * dt`` and the decimal ``k / 10000`` are both step k, however they are rounded."""
    steps = np.arange(0, 200, 2)
    for time in (steps * DT, steps / 10000, np.cumsum(np.full(100, 2 * DT)) - 2 * DT):
        given = ArrayInput({"spike_state": (["n"], (time, np.zeros(100, dtype=int)))})
        assert echoed(given, 200, "g") == [1.0, 0.0] * 100


def test_no_events() -> None:
    """An empty list of events is legal."""
    given = ArrayInput({"spike_state": (["n"], (np.zeros(0), np.zeros(0, dtype=int)))})
    assert echoed(given, variable="g") == [0.0] * 10


def test_columns_go_to_their_uids(tmp_path: Path) -> None:
    """Arrays and files name the uid of each column, in any order."""
    nodes = {"a": echo, "b": echo, "c": echo}
    rows = np.arange(15.0).reshape(5, 3)
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["metadata"] = 0
        file["I/uids"] = np.array([b"c", b"a", b"b"])
        file["I/data"] = rows
        file["spike_state/uids"] = np.array([b"b", b"a"])
        file["spike_state/data/time"] = np.array([1e-4, 3e-4, 3e-4])
        file["spike_state/data/index"] = np.array([0, 1, 0], dtype=np.int32)
    circuit = build(nodes, models=OWN)
    record = [("V", None), ("g", None)]
    data = simulate(circuit, steps=8, inputs=FileInput(tmp_path / "in.h5"), record=record)
    assert data["V"][1:6, [2, 0, 1]].tolist() == rows.tolist()
    assert not data["V"][6:].any()
    assert data["g"][1:].T.tolist() == [[0, 0, 0, 1, 0, 0, 0], [0, 1, 0, 1, 0, 0, 0], [0] * 7]
    held = simulate(circuit, steps=8, inputs=FileInput(tmp_path / "in.h5", mode=1), record=record)
    assert held["V"][7, [2, 0, 1]].tolist() == rows[-1].tolist()


class Counting(UserInput):
    """Injects the step's number, and is available at even steps only."""

    def __init__(self, mode: int, uids: Sequence[str] = ("n",)) -> None:
        super().__init__([("I", uids)], mode)
        self.asked = 0
        self.seen: list[float] = []

    def is_input_available(self) -> bool:
        self.asked += 1
        return self.lpu.step % 2 == 0

    def update_input(self) -> None:
        self.variables["I"]["input"][:] = 10 + self.lpu.step
        self.seen.append(self.lpu.get("V")[0])


@pytest.mark.parametrize(
    ("mode", "expected"), [(0, [10, 0, 12, 0, 14, 0, 16]), (1, [10, 10, 12, 12, 14, 14, 16])]
)
def test_user_input(mode: int, expected: list[float]) -> None:
    """It is asked before every step, sees the current row, and its mode fills the gaps."""
    given = Counting(mode)
    assert echoed(given, 7) == expected
    assert given.asked == 8
    assert given.seen == [0.0, expected[1], expected[3], expected[5]]


def test_sample_interval() -> None:
    """Row j is the value at step ``(j + 1) s - 1``; spikes are told at every step."""
    circuit = alone("LeakyIAF", EAGER)
    record = [("V", None), ("spike_state", None)]
    pulse = currents({1: 100.0, 5: 100.0})
    dense = simulate(circuit, steps=20, inputs=pulse, record=record)
    for chunk in (1, 2, 7, 1000):
        sparse = simulate(circuit, DT, 20, pulse, record, interval=3, chunk=chunk)
        assert np.array_equal(sparse["V"], dense["V"][2::3])
        assert spike_rows(sparse) == spike_rows(dense) == [2, 6]


def test_current_row() -> None:
    """``get`` returns the values of the current step in the order of ``uids``."""
    names = ["b", "a"]
    circuit = build({n: node("LeakyIAF", IAF, initV=-60.0 - i) for i, n in enumerate(names)})
    with started(circuit, record=()) as lpu:
        assert lpu.uids("V").tolist() == names
        assert lpu.get("V").tolist() == [-60.0, -61.0]
        lpu.advance(3)
        assert lpu.time == 3 * DT
        decay = math.exp(-0.3 / 20.0)
        np.testing.assert_allclose(lpu.get("V"), -70 + np.array([10, 9]) * decay, rtol=ROUNDING)
    assert model("LeakyIAF").updates[0] == "spike_state"


def test_what_decays(dtype: str) -> None:
    """It never comes to numbers below the least normal one, on which each operation takes long.

    They stay numbers for whoever calls.
    """
    rest = {"resting_potential": 0.0, "threshold": 50.0, "reset_potential": 0.0,
            "time_constant": 1.0, "refractory_period": 0.0, "initV": 1.0}  # fmt: skip
    circuit = build({"n": node("LeakyIAFDelta", rest)})
    steps = 120 if dtype == "float32" else 800
    backend = "cpu" if dtype == "float64" else None  # a GPU keeps them in double precision
    v = simulate(circuit, 1e-3, steps, (), dtype=dtype, threads=2, backend=backend)["V"][:, 0]
    least = np.finfo(dtype).tiny
    assert v[0] == 1 and v[-1] < 3 * least
    assert (np.abs(v[v != 0]) >= least).all()
    assert 0 < np.asarray(0.5, dtype) * np.asarray(least, dtype) < least
