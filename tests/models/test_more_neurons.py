"""Neurons of the old library's branches and old spellings: solver, plain loops, equal bits."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from support import DT, IAF, ML, alone, assert_same_bits, build, node, simulate, spike_rows
from test_closed_form import EXACT, SOLVER, assert_first_order, errors, halved, trace
from test_closed_form_more import REFRACTORY

from neurodriver import ArrayInput, StepInput
from neurodriver.model.library import shipped

Array = NDArray[np.float64]
BOTH = [("V", None), ("spike_state", None)]
Slope = Callable[[float, Array], list[float]]


def solved(slope: Slope, start: list[float]) -> Callable[[Array], Array]:
    """Return the potential as a function of time in s, from an accurate solver."""

    def potential(time: Array) -> Array:
        made = solve_ivp(slope, (0, 1000 * time.max()), start, t_eval=1000 * time,
                         rtol=SOLVER, atol=1e-10)  # fmt: skip
        assert made.success
        return np.asarray(made.y[0])

    return potential


def rinzel(current: float) -> Slope:
    """Return the equations of the reduced Hodgkin-Huxley neuron, by hand."""

    def settled(v: float) -> tuple[float, float, float]:
        a_n, b_n = 0.01 * (v + 55) / -math.expm1(-(v + 55) / 10), 0.125 * math.exp(-(v + 65) / 80)
        a_m, b_m = 0.1 * (v + 40) / -math.expm1(-(v + 40) / 10), 4 * math.exp(-(v + 65) / 18)
        a_h, b_h = 0.07 * math.exp(-(v + 65) / 20), 1 / (math.exp(-(v + 35) / 10) + 1)
        return a_n / (a_n + b_n), a_m / (a_m + b_m), a_h / (a_h + b_h)

    n_rest, _, h_rest = settled(-65.0)
    s = (1 - h_rest) / n_rest
    assert s == pytest.approx(1.2714, abs=1e-4)  # the number of 1985

    def slope(_: float, y: Array) -> list[float]:
        v, w = y
        n, m, h = settled(v)
        goal = s / (1 + s**2) * (n + s * (1 - h))
        tau = 5 * math.exp(-((v + 65 + 10) ** 2) / 55**2) + 1
        ionic = 120 * m**3 * (1 - w) * (v - 50) + 36 * (w / s) ** 4 * (v + 77) + 0.3 * (v + 54.387)
        return [current - ionic, 3 * (goal - w) / tau]

    return slope


def wilson(current: float) -> Slope:
    """Return the equations of the neocortical neuron, the potential in units of 100 mV inside."""

    def slope(_: float, y: Array) -> list[float]:
        u, r = y[0] / 100, y[1]
        du = -(17.81 + 47.71 * u + 32.63 * u**2) * (u - 0.55) - 26 * r * (u + 0.92) + current / 100
        return [100 * du / 0.8, (1.35 * u + 1.03 - r) / 1.9]

    return slope


@pytest.mark.parametrize(
    ("model", "equations", "start", "current", "duration"),
    [
        ("Rinzel", rinzel, [-65.0, 0.4], -10.0, 0.01),
        ("Rinzel", rinzel, [-65.0, 0.4], 2.0, 0.01),
        ("Rinzel", rinzel, [-65.0, 0.4], 20.0, 0.0004),
        ("Wilson", wilson, [-70.0, 0.088], -20.0, 0.004),
        ("Wilson", wilson, [-70.0, 0.088], 2.0, 0.008),
        ("Wilson", wilson, [-70.0, 0.088], 30.0, 0.00024),
    ],
)
def test_models_converge(
    model: str,
    equations: Callable[[float], Slope],
    start: list[float],
    current: float,
    duration: float,
) -> None:
    """First order in the step: hyperpolarised, below threshold, and before the first spike."""
    circuit, exact = alone(model, {}), solved(equations(current), start)
    found = errors(lambda dt, n: trace(circuit, dt, n, current), exact, duration, halved(1e-5))
    assert_first_order(found, 10.0)


def test_rinzel_rests_where_hodgkin_huxley_does() -> None:
    """S is chosen so that both rest at -65 mV."""
    v = trace(alone("Rinzel", {}), 1e-4, 2000, 0.0)
    assert v[-1] == pytest.approx(-65.0, abs=0.01)


@pytest.mark.parametrize(("name", "above", "current"), [("Rinzel", -10.0, 20.0),
                                                         ("Wilson", 20.0, 60.0)])  # fmt: skip
def test_spikes_are_local_maxima(name: str, above: float, current: float) -> None:
    """A spike stands one sub-step after a local maximum; ten sub-steps change none."""
    inputs = StepInput("I", ["n"], current)
    fine = simulate(alone(name, {}), 1e-5, 8000, inputs, BOTH)
    v = fine["V"][:, 0]
    rows = 2 + np.flatnonzero((v[:-2] <= v[1:-1]) & (v[1:-1] >= v[2:]) & (v[1:-1] > above))
    assert len(rows) >= 3
    assert spike_rows(fine) == rows.tolist()
    coarse = simulate(alone(name, {}), 1e-4, 800, inputs, BOTH)
    assert spike_rows(coarse) == [math.ceil(row / 10) for row in rows if row <= 7990]


@pytest.mark.parametrize("singular", [-55.0, -40.0])
def test_rinzel_is_smooth_where_a_quotient_is_0_by_0(singular: float) -> None:
    """The rates have removable singularities at -55 and -40 mV."""
    at, near = (trace(alone("Rinzel", {}, initV=v), 1e-5, 20, 0.0) for v in
                (singular, singular + 1e-6))  # fmt: skip
    assert np.ptp(at) > 0.1
    assert 0 < np.abs(at - near).max() < 1e-3  # the upstroke magnifies a hundred times


def test_wilson_takes_the_polynomials_of_the_paper() -> None:
    """With a quadratic recovery it is another neuron, and still converges."""
    paper = {"capacitance": 1.0, "m_0": 17.8, "m_1": 0.476, "m_2": 33.8e-4, "R_0": 1.24,
             "R_1": 0.037, "R_2": 3.2e-4, "tau_R": 4.2}  # fmt: skip

    def slope(_: float, y: Array) -> list[float]:
        v, r = y
        dv = -150.0 - (17.8 + 0.476 * v + 33.8e-4 * v**2) * (v - 55) - 26 * r * (v + 92)
        return [dv, (1.24 + 0.037 * v + 3.2e-4 * v**2 - r) / 4.2]

    circuit = alone("Wilson", paper, initR=0.25, initV=-72.0)
    exact = solved(slope, [-72.0, 0.25])
    found = errors(lambda dt, n: trace(circuit, dt, n, -150.0), exact, 0.0004, halved(1e-5))
    assert_first_order(found, 10.0)


def test_bias_is_a_current() -> None:
    """A bias of 3 beside an input of 7 gives the bits of an input of 10."""
    one = simulate(alone("LeakyIAF", IAF), inputs=StepInput("I", ["n"], 10.0), record=BOTH)
    biased = alone("LeakyIAF_bias", IAF, bias_current=3.0)
    other = simulate(biased, inputs=StepInput("I", ["n"], 7.0), record=BOTH)
    assert len(spike_rows(one)) > 10
    assert_same_bits(one, other)


def test_morris_lecar_a_is_morris_lecar() -> None:
    """The parameters have other names, the bits are the same."""
    names = {"V_L": "V_l", "V_Ca": "V_ca", "V_K": "V_k", "g_L": "G_l", "g_Ca": "G_ca", "g_K": "G_k"}
    given = {names.get(k, k): v for k, v in ML.items()}
    current = StepInput("I", ["n"], 5.0, 0.02, 0.04)
    one = simulate(alone("MorrisLecar", ML, initV=-46.0), inputs=current)
    other = simulate(alone("MorrisLecar_a", given, initV=-46.0), inputs=current)
    assert_same_bits(one, other)


@pytest.mark.parametrize("period", [0.0, 0.25, 1.95])
@pytest.mark.parametrize(("dt", "count"), [(1e-4, 1), (2.5e-4, 3)])
def test_refactory_neuron_follows_a_plain_loop(period: float, dt: float, count: int) -> None:
    """The old spelling counts down before it gates: V of every row and every spike."""
    p = {**REFRACTORY, "refractory_period": period}
    p["reset_voltage"] = p.pop("reset_potential")
    current = np.random.default_rng(12).uniform(3.0, 12.0, 1000)
    h = 1000 * dt / count
    v, left, decay = -70.0, 0.0, math.exp(-h / p["time_constant"])
    rows, fired = [v], set()
    for k, given in enumerate(current[:-1]):
        for _ in range(count):
            left = max(left - h, 0.0)
            drive = 6.0 * (given + p["bias_current"]) if left == 0 else 0.0
            v = v * decay + (drive - 70.0) * (1 - decay)
            if v >= p["threshold"]:
                v, left = p["reset_voltage"], left + period
                fired.add(k + 1)
        rows.append(v)
    inputs = ArrayInput({"I": (["n"], current[:, None])})
    data = simulate(alone("LeakyIAFwithRefactoryPeriod", p), dt, 1000, inputs, BOTH)
    assert len(fired) >= 2
    assert spike_rows(data) == sorted(fired)
    np.testing.assert_allclose(data["V"][:, 0], rows, rtol=EXACT)


def test_a_model_without_parameters_may_differ_in_its_start() -> None:
    """``initV`` of some nodes alone; the others start where the model says."""
    v = simulate(build({"a": node("Rinzel", {}), "b": node("Rinzel", {}, initV=-60.0)}), DT, 50)[
        "V"
    ]
    assert v[0].tolist() == [-65.0, -60.0]
    assert np.ptp(v[:, 1]) > 1.0


def test_every_model_states_its_source() -> None:
    """A reference with a DOI, or with the words that it has none."""
    for name, model in shipped().items():
        assert "doi:10." in model.reference or "(no DOI)" in model.reference, name
