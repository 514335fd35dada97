"""Models against exact solutions, and against an accurate solver with the order of convergence."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from support import (
    ALPHA,
    AMPA,
    DT,
    HH2,
    IAF,
    ML,
    alone,
    build,
    node,
    simulate,
    spike_rows,
)

from neurodriver import ArrayInput, Circuit, StepInput

EXACT = 1e-12
"""Relative. A thousand steps of exact arithmetic, each with a rounding of 1e-16 or two."""

POWER_ULPS = 4 * np.finfo(float).eps
"""Relative. Two libraries' pow, and a product, each within a unit of the last place."""

ORDER = (0.9, 1.1)
"""Explicit Euler is of first order; at these steps the second order is below a tenth."""

SOLVER = 1e-10
"""Relative tolerance of the solver: far below the errors that are measured."""

Array = NDArray[np.float64]


def spikes(steps: list[int], length: int) -> ArrayInput:
    """Return spikes into ``n`` at some steps."""
    rows = np.zeros((length, 1))
    rows[steps] = 1.0
    return ArrayInput({"spike_state": (["n"], rows)})


def trace(circuit: Circuit, dt: float, steps: int, current: float, variable: str = "V") -> Array:
    """Return the rows of ``n`` under a constant current."""
    inputs = [StepInput("I", ["n"], current)] if current else []
    return simulate(circuit, dt, steps, inputs, [(variable, ["n"])])[variable][:, 0]


def errors(run: Callable[[float, int], Array], exact: Callable[[Array], Array],
           duration: float, dts: list[float]) -> Array:  # fmt: skip
    """Return the largest error at eight common times, for each step."""
    times = duration * np.arange(1, 9) / 8
    expected = exact(times)
    assert np.ptp(expected) > 0.01 * np.abs(expected).max(), "the trace did not move"
    out = []
    for dt in dts:
        rows = np.rint(times / dt).astype(int)
        np.testing.assert_allclose(rows * dt, times, rtol=1e-9)
        out.append(np.abs(run(dt, rows[-1] + 1)[rows] - expected).max())
    return np.array(out)


def assert_first_order(found: Array, scale: float) -> None:
    """Halving the step halves the error."""
    order = np.log2(found[:-1] / found[1:])
    assert len(order) >= 2
    assert found[0] < 0.05 * scale
    assert found[-1] > 100 * SOLVER * scale
    assert np.all((order > ORDER[0]) & (order < ORDER[1])), f"orders {order}, errors {found}"


def halved(dt: float, times: int = 4) -> list[float]:
    """Return a step and its halves."""
    return [dt / 2**i for i in range(times)]


# ---- LeakyIAF -------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [2e-5, 1e-4, 2.5e-4])
def test_leaky_iaf_relaxes_exactly(dt: float) -> None:
    """Below threshold it is the exponential, whatever the step."""
    v = trace(alone("LeakyIAF", IAF, initV=-50.0), dt, 1000, 1.5)
    time = 1000 * dt * np.arange(1000)
    expected = -55.0 + 5.0 * np.exp(-time / 20.0)
    assert np.ptp(expected) > 3.0
    np.testing.assert_allclose(v, expected, rtol=EXACT)


@pytest.mark.parametrize("current", [2.6, 3.0, 5.0, 10.0, 40.0])
@pytest.mark.parametrize("dt", [2e-5, 1e-4])
def test_leaky_iaf_interval(current: float, dt: float) -> None:
    """Spikes come every ``tau log((V_inf - reset) / (V_inf - threshold))``, in whole steps."""
    data = simulate(
        alone("LeakyIAF", {**IAF, "reset_potential": -75.0}, initV=-75.0), dt, 5000,
        StepInput("I", ["n"], current), [("spike_state", None), ("V", None)],
    )  # fmt: skip
    limit = -70.0 + 10.0 * current
    interval = 20.0 * math.log((limit + 75.0) / (limit + 45.0))
    steps = math.ceil(interval / (1000 * dt))
    rows = spike_rows(data)
    assert rows == list(range(steps, 5000, steps))
    assert len(rows) >= 1
    assert np.all(data["V"][rows] == -75.0)


def test_leaky_iaf_substeps() -> None:
    """A step of 0.3 ms is three of 0.1 ms: a spike in any of them is told, V is the last one's."""
    circuit = alone("LeakyIAF", IAF)
    record = [("V", None), ("spike_state", None)]
    fine = simulate(circuit, 1e-4, 1500, StepInput("I", ["n"], 30.0), record)
    coarse = simulate(circuit, 3e-4, 500, StepInput("I", ["n"], 30.0), record)
    assert len(spike_rows(fine)) > 5
    np.testing.assert_allclose(coarse["V"], fine["V"][::3], rtol=EXACT)
    expected = [math.ceil(row / 3) for row in spike_rows(fine) if row <= 1497]
    assert spike_rows(coarse) == expected


# ---- synapses -------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [2e-5, 1e-4])
def test_ampa_decays_exactly(dt: float) -> None:
    """Each spike adds one exponential, which starts in the next row."""
    at = [3, 50, 51, 400]
    data = simulate(alone("SynapseAMPA", AMPA), dt, 1000, spikes(at, 1000), [("g", None)])
    since = (np.arange(1000)[:, None] - np.array(at) - 1) * dt * 1000.0
    expected = 0.003 * np.where(since >= 0, np.exp(-since / 20.0), 0.0).sum(axis=1)
    assert np.count_nonzero(expected) == 996
    np.testing.assert_allclose(data["g"][:, 0], expected, rtol=EXACT)


def test_ampa_substeps() -> None:
    """A spike enters at the first sub-step of a step and decays in the others."""
    data = simulate(alone("SynapseAMPA", AMPA), 4e-4, 20, spikes([2], 20), [("g", None)])
    since = np.arange(20) * 0.4 - 3 * 0.4 + 0.3
    expected = np.where(since >= 0, 0.003 * np.exp(-since / 20.0), 0.0)
    np.testing.assert_allclose(data["g"][:, 0], expected, rtol=EXACT)


def double_exponential(time_ms: Array) -> Array:
    """Return the conductance of an alpha synapse after one spike at time 0."""
    ar, ad = ALPHA["ar"], ALPHA["ad"]
    z = ar * ad / (ad - ar) * (np.exp(-ar * time_ms) - np.exp(-ad * time_ms))
    return ALPHA["gmax"] * np.where(time_ms > 0, z, 0.0)


def test_alpha_converges_to_the_double_exponential() -> None:
    """First order in the step, after one spike and after three."""
    circuit = alone("AlphaSynapse", ALPHA)
    for at in ([0.0], [0.0, 1e-3, 4e-3]):

        def run(dt: float, steps: int, at: list[float] = at) -> Array:
            given = spikes([round(t / dt) for t in at], steps)
            return simulate(circuit, dt, steps, given, [("g", None)])["g"][:, 0]

        def exact(time: Array, at: list[float] = at) -> Array:
            return sum(double_exponential(1000 * (time - t)) for t in at)

        found = errors(run, exact, 0.02, halved(1e-4))
        assert_first_order(found, exact(np.array([0.01]))[0])


def test_alpha_equals_its_solver() -> None:
    """The closed form is the solution of the equation that the model states."""
    ar, ad = ALPHA["ar"], ALPHA["ad"]
    times = np.linspace(0.5, 40, 9)
    solved = solve_ivp(
        lambda t, y: [y[1], -(ar + ad) * y[1] - ar * ad * y[0]], (0, 40), [0.0, ar * ad],
        t_eval=times, rtol=SOLVER, atol=1e-14,
    )  # fmt: skip
    np.testing.assert_allclose(0.003 * solved.y[0], double_exponential(times), rtol=1e-7)


def test_alpha_never_falls_below_zero() -> None:
    """Rates far too fast for the step would overshoot; g stays at zero or above."""
    circuit = alone("AlphaSynapse", {"gmax": 1.0, "ar": 6.0, "ad": 9.0})
    data = simulate(circuit, 1e-4, 100, spikes([0, 20], 100), [("g", None)])
    assert data["g"].max() > 0.1
    assert data["g"].min() == 0.0


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0, 3.7])
def test_power_gpot_gpot(power: float) -> None:
    """``min(saturation, slope max(0, V - threshold)^power)``, with 0^0 = 1."""
    v = np.concatenate([[-55.0, -55.0 + 1e-9, -200.0], np.linspace(-70.0, -20.0, 211)])
    given = {"threshold": -55.0, "slope": 0.02, "power": power, "saturation": 2.0}
    inputs = ArrayInput({"V": (["n"], v[:, None])})
    g = simulate(alone("PowerGPotGPot", given), DT, len(v) + 1, inputs, [("g", None)])["g"][1:, 0]
    expected = np.minimum(2.0, 0.02 * np.maximum(0.0, v + 55.0) ** power)
    assert g[0] == (0.02 if power == 0 else 0.0)
    assert (g == 2.0).any() == (power > 1)
    assert np.ptp(g) > 0 or power == 0
    np.testing.assert_allclose(g, expected, rtol=POWER_ULPS)


# ---- Aggregator -----------------------------------------------------------------------------


def test_aggregator(dtype: str) -> None:
    """``-sum_j g_j (V - E_j)``, bit for bit: products of the type, summed in double, in order."""
    rng = np.random.default_rng(5)
    reverse = rng.uniform(-100.0, 60.0, 75)
    conductance = rng.lognormal(-2.0, 2.0, 75)
    nodes = {"n": node("LeakyIAF", IAF, initV=-52.3), "sum": {"class": "Aggregator"}}
    edges = [("n", "sum")]
    for j, g in enumerate(conductance):
        given = {"threshold": 0.0, "slope": g, "power": 0.0, "saturation": 1e3}
        nodes[f"s{j}"] = node("PowerGPotGPot", given)
        edges.append((f"s{j}", "sum", {"reverse": reverse[j]}))
    record = [("V", None), ("g", None), ("I", None)]
    data = simulate(build(nodes, edges), DT, 50, (), record, dtype=dtype)
    v, g = data["V"], data["g"]
    assert v.dtype == dtype
    assert np.ptp(v) > 0.1
    assert g.shape == (50, 75)
    each = g * (v - reverse.astype(dtype))
    total = np.cumsum(each.astype(np.float64), axis=1)[:, -1]
    assert data["I"][0, 0] == 0.0
    assert np.array_equal(data["I"][1:, 0], -total.astype(dtype)[:-1])
    assert np.abs(total[1:]).min() > 1.0


# ---- HodgkinHuxley2 -------------------------------------------------------------------------

REST = {"initV": -65.0, "initn": 0.3177, "initm": 0.0529, "inith": 0.5961}


def hodgkin_huxley(current: float, start: list[float]) -> Callable[[Array], Array]:
    """Return the potential as a function of time in s, from an accurate solver."""

    def slope(_: float, y: Array) -> list[float]:
        v, n, m, h = y
        a_n = 0.01 * (v + 55) / -math.expm1(-(v + 55) / 10)
        a_m = 0.1 * (v + 40) / -math.expm1(-(v + 40) / 10)
        a_h, b_h = 0.07 * math.exp(-(v + 65) / 20), 1 / (math.exp(-(v + 35) / 10) + 1)
        b_n, b_m = 0.125 * math.exp(-(v + 65) / 80), 4 * math.exp(-(v + 65) / 18)
        dv = current - 120 * m**3 * h * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54.387)
        gates = [a * (1 - x) - b * x for x, a, b in ((n, a_n, b_n), (m, a_m, b_m), (h, a_h, b_h))]
        return [dv, *gates]

    def potential(time: Array) -> Array:
        end = 1000 * time.max()
        made = solve_ivp(slope, (0, end), start, t_eval=1000 * time, rtol=SOLVER, atol=1e-10)
        assert made.success
        return np.asarray(made.y[0])

    return potential


@pytest.mark.parametrize(
    ("current", "duration"),
    [(-3.0, 0.01), (2.0, 0.01), (20.0, 0.0008)],
    ids=["hyperpolarised", "below threshold", "before the first spike"],
)
def test_hodgkin_huxley2_converges(current: float, duration: float) -> None:
    """First order in the step, while no spike magnifies the errors."""
    circuit = alone("HodgkinHuxley2", {**HH2, **REST})
    found = errors(
        lambda dt, steps: trace(circuit, dt, steps, current),
        hodgkin_huxley(current, list(REST.values())),
        duration,
        halved(1e-5),
    )
    assert_first_order(found, 10.0)


def test_hodgkin_huxley2_substeps() -> None:
    """Ten sub-steps of a step give what ten steps of a tenth give."""
    circuit = alone("HodgkinHuxley2", {**HH2, **REST})
    record = [("V", None), ("spike_state", None)]
    fine = simulate(circuit, 1e-5, 5000, StepInput("I", ["n"], 15.0), record)
    coarse = simulate(circuit, 1e-4, 500, StepInput("I", ["n"], 15.0), record)
    assert len(spike_rows(coarse)) >= 3
    assert spike_rows(coarse) == [math.ceil(row / 10) for row in spike_rows(fine)]
    # 1e-4 / 10 is not 1e-5 to the last place
    np.testing.assert_allclose(coarse["V"], fine["V"][::10], rtol=1e-9)


def test_hodgkin_huxley2_tells_local_maxima() -> None:
    """A spike stands one sub-step after a local maximum above -30 mV, nowhere else."""
    circuit = alone("HodgkinHuxley2", {**HH2, **REST})
    record = [("V", None), ("spike_state", None)]
    inputs = [StepInput("I", ["n"], 5.0, 0.0, 5e-4), StepInput("I", ["n"], 15.0, 0.02)]
    data = simulate(circuit, 1e-5, 8000, inputs, record)
    v = data["V"][:, 0]
    top = (v[:-2] <= v[1:-1]) & (v[1:-1] >= v[2:])
    assert np.count_nonzero(top & (v[1:-1] <= -30)) > 0
    rows = 2 + np.flatnonzero(top & (v[1:-1] > -30))
    assert len(rows) >= 3
    assert spike_rows(data) == rows.tolist()


@pytest.mark.parametrize("v", [-55.0, -40.0])
def test_hodgkin_huxley2_is_smooth_where_a_quotient_is_0_by_0(v: float) -> None:
    """The rates have removable singularities at -55 and -40 mV."""
    at, near = (
        trace(alone("HodgkinHuxley2", {**HH2, **REST, "initV": start}), 1e-5, 20, 0.0)
        for start in (v, v + 1e-6)
    )
    assert np.ptp(at) > 0.1
    assert 0 < np.abs(at - near).max() < 1e-5


# ---- MorrisLecar ----------------------------------------------------------------------------


def test_morris_lecar_converges() -> None:
    """First order in the step."""

    def slope(_: float, y: Array) -> list[float]:
        v, n = y
        n_inf, m_inf = (
            0.5 * (1 + math.tanh((v - a) / b)) for a, b in ((-40.0, 20.0), (-20.0, 50.0))
        )
        dv = 25.0 - 3 * (v + 40) - 16 * n * (v + 80) - 4 * m_inf * (v - 120)
        return [dv, 0.01 * math.cosh((v + 40) / 40) * (n_inf - n)]

    def exact(time: Array) -> Array:
        made = solve_ivp(slope, (0, 1000 * time.max()), [-60.0, 0.3], t_eval=1000 * time,
                         rtol=SOLVER, atol=1e-10)  # fmt: skip
        return np.asarray(made.y[0])

    circuit = alone("MorrisLecar", {**ML, "phi": 0.01}, initV=-60.0, initn=0.3)
    found = errors(lambda dt, steps: trace(circuit, dt, steps, 25.0), exact, 0.008, halved(1e-5))
    assert_first_order(found, 10.0)


# ---- GradedNeuron ---------------------------------------------------------------------------


def test_graded_neuron_follows_euler_exactly() -> None:
    """The distance to the fixed point shrinks by ``1 - dt / tau`` at each step."""
    circuit = alone("GradedNeuron", {"time_constant": 20.0, "bias": -0.5}, initV=2.0)
    v = trace(circuit, 1e-3, 300, 1.25)
    expected = 0.75 + 1.25 * (1 - 1 / 20.0) ** np.arange(300)
    assert np.ptp(expected) > 1.0
    np.testing.assert_allclose(v, expected, rtol=EXACT)


def test_graded_neuron_rests_where_its_inputs_balance() -> None:
    """``V = bias + sum weight max(V, 0) + I``, solved for a small network."""
    rng = np.random.default_rng(6)
    count = 9
    weight = rng.normal(0.0, 0.15, (count, count))
    bias = rng.normal(0.3, 0.3, count)
    nodes = {
        f"n{i}": node("GradedNeuron", {"time_constant": 5.0 + i, "bias": bias[i]})
        for i in range(count)
    }
    edges = [
        (f"n{j}", f"n{i}", {"weight": weight[i, j]}) for i in range(count) for j in range(count)
    ]
    data = simulate(build(nodes, edges), 1e-3, 1000, record=[("V", None), ("r", None)])
    v = data["V"][-1]
    fixed = bias.copy()
    for _ in range(500):
        fixed = bias + weight @ np.maximum(fixed, 0.0)
    assert 0 < np.count_nonzero(fixed > 0) <= count
    assert np.abs(fixed - bias).max() > 0.05
    np.testing.assert_allclose(v, fixed, rtol=0, atol=1e-12)
    assert np.array_equal(data["r"], np.maximum(data["V"], 0.0))


def test_graded_neuron_time_constant_below_the_step() -> None:
    """It is taken as the step: the neuron jumps to its fixed point."""
    v = trace(alone("GradedNeuron", {"time_constant": 0.01, "bias": 1.0}, initV=0.0), 1e-3, 4, 2.0)
    assert v.tolist() == [0.0, 3.0, 3.0, 3.0]


def test_graded_neurons_converge() -> None:
    """A loop of two neurons, first order in the step, against an accurate solver."""
    nodes = {
        "n": node("GradedNeuron", {"bias": 1.5}, time_constant=10.0, initV=2.0),
        "m": node("GradedNeuron", {"bias": 0.5}, time_constant=15.0, initV=0.2),
    }
    edges = [("n", "m", {"weight": 0.9}), ("m", "n", {"weight": -0.8})]
    circuit = build(nodes, edges)

    def slope(_: float, y: Array) -> list[float]:
        r = np.maximum(y, 0.0)
        return [(1.5 - y[0] - 0.8 * r[1]) / 10, (0.5 - y[1] + 0.9 * r[0]) / 15]

    def exact(time: Array) -> Array:
        made = solve_ivp(slope, (0, 1000 * time.max()), [2.0, 0.2], t_eval=1000 * time,
                         rtol=SOLVER, atol=1e-12)  # fmt: skip
        assert made.y.min() > 0  # never rectified: smooth
        return np.asarray(made.y[0])

    found = errors(lambda dt, steps: trace(circuit, dt, steps, 0.0), exact, 0.024, halved(5e-4))
    assert_first_order(found, 1.0)
