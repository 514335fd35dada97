"""The models that came later: closed forms, plain step loops, an accurate solver, single precision.

The loops and equations here are written from the description of the models, not from their files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from support import AMPA, DT, IAF, alone, build, node, simulate, spike_rows
from test_closed_form import EXACT, SOLVER, assert_first_order, errors, halved, trace

from neurodriver import ArrayInput, Circuit, NDComponent, Parameter, State, StepInput
from neurodriver.errors import CircuitError, ModelError
from neurodriver.model.library import shipped

FUNCTION_ULPS = 16 * np.finfo(float).eps
"""Relative. Two libraries' exp or tanh, each within a unit of the last place or two, and a few
products; where ``1 + tanh`` is small its rounding is magnified by at most 1 / 0.1."""

SINGLE = 1e-4
"""Relative to the largest value. A thousand sub-steps, each with a rounding of 6e-8; an upstroke
of hundreds of mV/ms turns a shift of its time by 10 ns into a few uV."""

Array = NDArray[np.float64]

REFRACTORY = {
    "resting_potential": -70.0,
    "threshold": -50.0,
    "reset_potential": -75.0,
    "capacitance": 2.0,
    "refractory_period": 1.95,
    "time_constant": 12.0,
    "bias_current": 0.5,
}
GATES = {"n": 0.1559, "m": 0.0101, "h": 0.9659, "a": 0.5404, "b": 0.2885}
NMDA = {"gmax": 0.0006, "st": 100.0, "Mg": 1.0}
SIGMOID = {"threshold": -50.0, "slope": 0.1, "gmax": 0.02, "scale": 1.5}
BOTH = [("V", None), ("spike_state", None)]


# ---- LeakyIAFwithRefractoryPeriod -----------------------------------------------------------


def refractory_rows(
    p: Mapping[str, float], current: Sequence[float], h: float, count: int
) -> tuple[list[float], list[int]]:
    """Return V of every row and the rows with a spike, from a plain loop; ``h`` in ms."""
    v, left = p["resting_potential"], 0.0
    decay = math.exp(-h / p["time_constant"])
    rows, spikes = [v], []
    for k, given in enumerate(current):
        for _ in range(count):
            drive = 0.0
            if left == 0:
                drive = p["time_constant"] / p["capacitance"] * (given + p["bias_current"])
            v = v * decay + (drive + p["resting_potential"]) * (1 - decay)
            left = max(left - h, 0.0)
            if v >= p["threshold"]:
                v = p["reset_potential"]
                left += p["refractory_period"]
                if not spikes or spikes[-1] != k + 1:
                    spikes.append(k + 1)
        rows.append(v)
    return rows, spikes


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"refractory_period": 0.0},
        {"refractory_period": 2.0, "bias_current": -1.0},
        {"refractory_period": 0.03},
        {"resting_potential": -49.9},  # it fires while refractory, too
        {"reset_potential": -40.0, "refractory_period": 0.25},  # at every sub-step
    ],
)
@pytest.mark.parametrize(("dt", "count"), [(2e-5, 1), (1e-4, 1), (2.5e-4, 3), (4e-4, 4)])
def test_refractory_neuron_follows_a_plain_loop(
    more: dict[str, float], dt: float, count: int
) -> None:
    """V of every row and every spike, under a current that changes at each step."""
    p = {**REFRACTORY, **more}
    rng = np.random.default_rng(11)
    current = rng.uniform(3.0, 12.0, 1500)
    inputs = ArrayInput({"I": (["n"], current[:, None])})
    circuit = alone("LeakyIAFwithRefractoryPeriod", p)
    data = simulate(circuit, dt, 1500, inputs, BOTH)
    v, spikes = refractory_rows(p, current[:-1].tolist(), 1000 * dt / count, count)
    assert len(spikes) >= 2
    assert spike_rows(data) == spikes
    np.testing.assert_allclose(data["V"][:, 0], v, rtol=EXACT)


@pytest.mark.parametrize("current", [3.2, 4.0, 8.0, 30.0])
@pytest.mark.parametrize(("dt", "period"), [(1e-4, 1.95), (1e-4, 0.04), (1e-4, 7.33), (2e-5, 1.95)])
def test_refractory_interval(current: float, dt: float, period: float) -> None:
    """Spikes come after the refractory steps and the rise from where the relaxation ended."""
    p = {**REFRACTORY, "refractory_period": period}
    h = 1000 * dt
    limit = -70.0 + 12.0 / 2.0 * (current + 0.5)

    def rise(start: float) -> int:
        return math.ceil(12.0 / h * math.log((limit - start) / (limit + 50.0)))

    idle = math.ceil(period / h)
    interval = idle + rise(-70.0 - 5.0 * math.exp(-idle * h / 12.0))
    first = rise(-70.0)
    circuit = alone("LeakyIAFwithRefractoryPeriod", p)
    data = simulate(circuit, dt, 5000, StepInput("I", ["n"], current), BOTH)
    rows = spike_rows(data)
    assert len(rows) >= 3
    assert rows == list(range(first, 5000, interval))
    assert np.all(data["V"][rows] == -75.0)


def test_refractory_neuron_without_a_period_is_a_leaky_one() -> None:
    """With the resistance as ``time_constant / capacitance`` and no bias the traces agree."""
    p = {**REFRACTORY, "refractory_period": 0.0, "bias_current": 0.0, "time_constant": 20.0}
    plain = {k: p[k] for k in ("resting_potential", "threshold", "reset_potential", "capacitance")}
    current = StepInput("I", ["n"], 5.0)
    one = simulate(alone("LeakyIAFwithRefractoryPeriod", p), inputs=current, record=BOTH)
    other = simulate(alone("LeakyIAF", plain, resistance=10.0), inputs=current, record=BOTH)
    assert len(spike_rows(one)) >= 3
    assert spike_rows(one) == spike_rows(other)
    np.testing.assert_allclose(one["V"], other["V"], rtol=EXACT)


# ---- ConnorStevens --------------------------------------------------------------------------


def connor_stevens(current: float) -> Callable[[Array], Array]:
    """Return the potential as a function of time in s, from an accurate solver."""
    ms, hs, ns = -5.3, -12.0, -4.3

    def quotient(u: float, scale: float) -> float:
        return scale * (10.0 if u == 0 else u / -math.expm1(-u / 10))

    def slope(_: float, y: Array) -> list[float]:
        v, n, m, h, a, b = y
        up = {
            "m": quotient(v + 35 + ms, 0.1),
            "h": 0.07 * math.exp(-(v + 60 + hs) / 20),
            "n": quotient(v + 50 + ns, 0.01),
        }
        down = {
            "m": 4 * math.exp(-(v + 60 + ms) / 18),
            "h": 1 / (1 + math.exp(-(v + 30 + hs) / 10)),
            "n": 0.125 * math.exp(-(v + 60 + ns) / 80),
        }
        inf = {x: up[x] / (up[x] + down[x]) for x in up}
        tau = {x: (2 if x == "n" else 1) / (3.8 * (up[x] + down[x])) for x in up}
        inf["a"] = (
            0.0761 * math.exp((v + 94.22) / 31.84) / (1 + math.exp((v + 1.17) / 28.93))
        ) ** 0.3333
        tau["a"] = 0.3632 + 1.158 / (1 + math.exp((v + 55.96) / 20.12))
        inf["b"] = (1 / (1 + math.exp((v + 53.3) / 14.54))) ** 4
        tau["b"] = 1.24 + 2.678 / (1 + math.exp((v + 50) / 16.027))
        ionic = 0.3 * (v + 17) + 120 * h * m**3 * (v - 55) + (67.7 - 47.7) * n**4 * (v + 72)
        gates = zip("nmhab", (n, m, h, a, b), strict=True)
        return [
            current - ionic - 47.7 * b * a**3 * (v + 75),
            *[(inf[x] - value) / tau[x] for x, value in gates],
        ]

    def potential(time: Array) -> Array:
        made = solve_ivp(slope, (0, 1000 * time.max()), [-68.0, *GATES.values()],
                         t_eval=1000 * time, rtol=SOLVER, atol=1e-10)  # fmt: skip
        assert made.success
        assert made.y[0].max() < -30.0
        return np.asarray(made.y[0])

    return potential


@pytest.mark.parametrize(
    ("current", "duration"),
    [(-20.0, 0.004), (5.0, 0.01), (30.0, 0.0016)],
    ids=["hyperpolarised", "below threshold", "before the first spike"],
)
def test_connor_stevens_converges(current: float, duration: float) -> None:
    """First order in the step, while no spike magnifies the errors."""
    circuit = alone("ConnorStevens", GATES, initV=-68.0)
    found = errors(
        lambda dt, steps: trace(circuit, dt, steps, current),
        connor_stevens(current),
        duration,
        halved(1e-5),
    )
    assert_first_order(found, 10.0)


def test_connor_stevens_tells_local_maxima() -> None:
    """A spike stands one sub-step after a local maximum above -30 mV; ten sub-steps change none."""
    circuit = alone("ConnorStevens", GATES, initV=-68.0)
    current = StepInput("I", ["n"], 20.0)
    fine = simulate(circuit, 1e-5, 8000, current, BOTH)
    v = fine["V"][:, 0]
    top = (v[:-2] <= v[1:-1]) & (v[1:-1] >= v[2:]) & (v[1:-1] > -30)
    rows = 2 + np.flatnonzero(top)
    assert len(rows) >= 3
    assert spike_rows(fine) == rows.tolist()
    coarse = simulate(circuit, 1e-4, 800, current, BOTH)
    assert spike_rows(coarse) == [math.ceil(row / 10) for row in rows if row <= 7990]


@pytest.mark.parametrize("singular", [-29.7, -45.7])
def test_connor_stevens_is_smooth_where_a_quotient_is_0_by_0(singular: float, dtype: str) -> None:
    """Starts at the singular point and beside it, down to the next number, stay together."""
    real = np.dtype(dtype).type
    at = real(singular)
    beside = [at, np.nextafter(at, real(0)), np.nextafter(at, real(-99))]
    beside += [at + real(d) for d in (-1e-3, -1e-4, -1e-5, 1e-5, 1e-4, 1e-3)]
    start = [float(v) for v in beside]
    nodes = {f"n{i}": node("ConnorStevens", GATES, initV=v) for i, v in enumerate(start)}
    v = simulate(build(nodes), 1e-5, 20, dtype=dtype)["V"].astype(float)
    assert np.isfinite(v).all()
    assert v[0].tolist() == start
    assert np.ptp(v[:, 0]) > 0.1
    distance = np.abs(np.array(start) - singular)
    # in 0.2 ms of the upstroke a difference grows to four times what it was
    assert np.all(np.abs(v - v[:, :1]) <= 8 * distance + 20 * float(np.spacing(real(99))))


@pytest.mark.parametrize("singular", [-29.7, -45.7])
def test_connor_stevens_passes_a_singular_point(singular: float) -> None:
    """A current that is chosen so takes V exactly there after one sub-step, and it goes on."""
    start = {"initV": singular - 1.0}
    aim = (singular - trace(alone("ConnorStevens", GATES, **start), 1e-5, 2, 0.0)[1]) / 0.01
    tries = aim + np.spacing(aim) * np.arange(-64, 65)  # one of them rounds to the point
    nodes = {f"n{i}": node("ConnorStevens", GATES, **start) for i in range(len(tries))}
    rows = np.zeros((10, len(tries)))
    rows[0] = tries
    inputs = ArrayInput({"I": (list(nodes), rows)})
    v = simulate(build(nodes), 1e-5, 10, inputs)["V"]
    hit = v[1] == singular
    assert hit.any()
    assert np.isfinite(v).all()
    assert np.abs(v[2:, hit] - singular).min() > 1e-3


# ---- synapses -------------------------------------------------------------------------------


@pytest.mark.parametrize(("dt", "count"), [(1e-4, 1), (4e-4, 4)])
def test_nmda_reads_the_potential_of_its_target(dt: float, count: int) -> None:
    """``g`` of a row follows from spikes and V of the row before, the synapse in a circuit."""
    circuit = build(
        {
            "a": node("LeakyIAF", IAF),
            "s": node("SynapseNMDA", {**NMDA, "gmax": 0.8, "st": 15.0}, reverse=0.0),
            "b": node("LeakyIAF", IAF),
        },
        [("a", "s", {"variable": "spike_state"}), ("b", "s", {"variable": "V"}), ("s", "b")],
    )
    record = [("spike_state", ["a", "b"]), ("V", ["b"]), ("g", None)]
    data = simulate(circuit, dt, 1000, StepInput("I", ["a"], 8.0), record)
    decay, s, expected = math.exp(-1000 * dt / count / 15.0), 0.0, [0.0]
    for spike, v in zip(data["spike_state"][:-1, 0], data["V"][:-1, 0], strict=True):
        if spike:
            s = min(s + 0.63 * (1 - s), 1.0)
        s *= decay**count
        expected.append(0.8 * s / (1 + 1.0 * math.exp(-0.062 * v) / 3.57))
    assert len(spike_rows(data)) > 5
    assert len(spike_rows(data, 1)) > 1
    assert np.ptp(data["V"]) > 5.0
    np.testing.assert_allclose(data["g"][:, 0], expected, rtol=EXACT)


def test_nmda_saturates() -> None:
    """A spike at every step brings s to the fixed point of both rules; no Mg, no block."""
    potential = np.linspace(-90.0, 50.0, 300)[:, None]
    held = ArrayInput({"spike_state": (["n"], np.ones((300, 1))), "V": (["n"], potential)})
    circuit = alone("SynapseNMDA", {"gmax": 2.0, "st": 5.0, "Mg": 0.0})
    g = simulate(circuit, DT, 300, held, [("g", None)])["g"][:, 0]
    decay = math.exp(-0.1 / 5.0)
    assert g[0] == 0.0
    assert g[1] == pytest.approx(2.0 * 0.63 * decay, rel=EXACT)
    np.testing.assert_allclose(g[60:], 2.0 * 0.63 * decay / (1 - 0.37 * decay), rtol=EXACT)


def test_gaba_decays_exactly() -> None:
    """Each spike adds one exponential, which starts in the next row."""
    at = [3, 50, 51, 400]
    rows = np.zeros((1000, 1))
    rows[at] = 1.0
    inputs = ArrayInput({"spike_state": (["n"], rows)})
    g = simulate(alone("SynapseGABA", AMPA), DT, 1000, inputs, [("g", None)])["g"][:, 0]
    since = (np.arange(1000)[:, None] - np.array(at) - 1) * 0.1
    expected = 0.003 * np.where(since >= 0, np.exp(-since / 20.0), 0.0).sum(axis=1)
    assert np.count_nonzero(expected) == 996
    np.testing.assert_allclose(g, expected, rtol=EXACT)


@pytest.mark.parametrize("dt", [1e-4, 3e-3])
def test_sigmoid_synapse(dt: float) -> None:
    """A logistic function of V: half of the conductance 5 mV above the threshold."""
    v = np.concatenate([[-50.0, -45.0, -1e3, 1e3], np.linspace(-50.0, 0.0, 211)])
    inputs = ArrayInput({"V": (["n"], v[:, None])})
    circuit = alone("SigmoidSynapse", SIGMOID)
    g = simulate(circuit, dt, len(v) + 1, inputs, [("g", None)])["g"][1:, 0]
    expected = 0.03 / (1 + np.exp(2 - 0.4 * (np.maximum(v, -900) + 50)))
    assert g[0] == pytest.approx(0.03 / (1 + math.exp(2.0)), rel=FUNCTION_ULPS)
    assert g[1] == 0.015
    assert (g[2], g[3]) == (0.0, 0.03)
    assert np.all(np.diff(g[4:]) >= 0)
    np.testing.assert_allclose(g[3:], expected[3:], rtol=FUNCTION_ULPS)


# ---- single precision -----------------------------------------------------------------------


def driven() -> dict[str, tuple[dict[str, Any], dict[str, float]]]:
    """Return model -> its parameters and what is put into it."""
    gates = {x: GATES[x] for x in "nmh"}
    return {
        "LeakyIAFwithRefractoryPeriod": (REFRACTORY, {"I": 5.0}),
        "HodgkinHuxley": (gates, {"I": 10.0}),
        "ConnorStevens": ({**GATES, "initV": -68.0}, {"I": 20.0}),
        "SynapseGABA": (AMPA, {"spike_state": 1.0}),
        "SynapseNMDA": (NMDA, {"spike_state": 1.0, "V": -40.0}),
        "SigmoidSynapse": (SIGMOID, {"V": -42.0}),
        "Rinzel": ({}, {"I": 12.0}),
        "Wilson": ({}, {"I": 60.0}),
        "ExpSynapse": ({"gmax": 0.1, "tau": 4.0, "a": 0.5}, {"spike_state": 1.0}),
        "AlphaSynapse2": ({"gmax": 0.1, "ar": 0.9, "ad": 0.2}, {"spike_state": 1.0}),
        "power_gpot_gpot_sig": (
            {"threshold": -45.0, "slope": 0.1, "saturation": 9.0},
            {"V": -42.0},
        ),
    }


@pytest.mark.parametrize("name", driven())
def test_single_precision(name: str) -> None:
    """A hundred steps in single precision stay beside those in double precision."""
    given, inputs = driven()[name]
    put = [StepInput(variable, ["n"], value, 5e-4) for variable, value in inputs.items()]
    record = [(v, None) for v in shipped()[name].updates]
    found = [simulate(alone(name, given), DT, 100, put, record, dtype=t)
             for t in ("float32", "float64")]  # fmt: skip
    first = "V" if "V" in found[0] else "g"
    one, other = (data[first] for data in found)
    assert (one.dtype, other.dtype) == (np.float32, np.float64)
    assert np.ptp(other) > 0.1 * np.abs(other).max()
    np.testing.assert_allclose(one, other, rtol=0, atol=SINGLE * np.abs(other).max())
    if "spike_state" in found[0]:
        assert spike_rows(found[0]) == spike_rows(found[1])


# ---- parameters that are named like a state -------------------------------------------------


class Growing(NDComponent):
    """Grows at a rate of its own from where a parameter of its name says."""

    updates = ("V",)
    params = {"x": Parameter("1", doc="where x starts"), "rate": Parameter("1", default=2.0)}
    states = {"x": State("1", "x"), "twin": State("1", "x")}
    update = "x *= rate; V = x + twin;"


def grown(nodes: Mapping[str, Mapping[str, float]]) -> list[list[float]]:
    """Return V of three rows of components of ``Growing``."""
    made: Circuit = build({u: node("Growing", given) for u, given in nodes.items()}, (), [Growing])
    return simulate(made, steps=3)["V"].tolist()


def test_a_parameter_named_like_a_state_is_its_start() -> None:
    """It differs between components; ``init<state>`` comes first, where a component has one."""
    same = grown({"a": {"x": 1.0}, "b": {"x": 1.0}})
    assert same == [[0.0, 0.0], [3.0, 3.0], [5.0, 5.0]]
    varied = grown({"a": {"x": 1.0}, "b": {"x": 10.0}, "c": {"x": 1.0, "initx": 100.0}})
    assert varied == [[0.0, 0.0, 0.0], [3.0, 30.0, 300.0], [5.0, 50.0, 500.0]]


@pytest.mark.parametrize("name", ["HodgkinHuxley", "ConnorStevens"])
def test_gates_start_at_the_parameters(name: str) -> None:
    """A gate that starts elsewhere changes the trace; ``init`` and the parameter mean the same."""
    given = {x: GATES[x] for x in shipped()[name].params}
    nodes = {"n": node(name, given)}
    for x in given:
        nodes[f"{x} given"] = node(name, {**given, x: 0.3})
        nodes[f"{x} init"] = node(name, given, **{f"init{x}": 0.3})
    v = simulate(build(nodes), DT, 20)["V"]
    assert v[0].tolist() == [-65.0] * len(nodes)
    assert np.array_equal(v[:, 1::2], v[:, 2::2])
    ends = [v[-1, 0], *v[-1, 1::2]]
    assert len(set(ends)) == len(given) + 1


def test_a_gate_that_is_not_given_is_told() -> None:
    """The parameters are required."""
    with pytest.raises(CircuitError, match=r"parameter 'h' \[1\] is missing"):
        alone("HodgkinHuxley", {"n": 0.3, "m": 0.05})


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"params": {"x": Parameter(default=1.0)}}, "the name 'x' is declared twice"),
        ({"params": {"x": "1"}, "states": {"x": State("1", 1.0)}}, "'x' is declared twice"),
        ({"params": {"x": "1"}, "constants": {"x": "1"}}, "the name 'x' is declared twice"),
    ],
)
def test_a_start_is_required_and_named(parts: dict[str, Any], message: str) -> None:
    """An optional parameter, or one that the state does not start from, is a name used twice."""
    with pytest.raises(ModelError, match=message):
        type("Broken", (NDComponent,), {"states": {"x": State("1", "x")}, **parts})


def test_a_start_is_not_a_constant() -> None:
    """Constants do not know it."""

    class Broken(Growing):
        constants = {"twice": "2 * x"}
        update = "x *= twice; V = x;"

    with pytest.raises(ModelError, match="unknown name 'x'"):
        simulate(build({"n": {"class": "Broken", "x": 1.0}}, (), [Broken]), steps=2)
