"""Models that are written as equations: what they compute, what they say, what they refuse."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device_code import check_text
from equation_models import (
    AdExEquations,
    CobaEquations,
    CubaEquations,
    HodgkinHuxleyEquations,
)
from scipy.integrate import solve_ivp
from support import IAF, assert_same_bits, build, model, simulate

from neurodriver import Circuit, NDComponent, Parameter, State, StepInput, Weighted
from neurodriver.__main__ import main
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import Part, device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.compat.models.template_of import template_of
from neurodriver.errors import ModelError
from neurodriver.model.language import parse, tree
from neurodriver.model.page import source
from neurodriver.model.texts import texts_of
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA

Given = dict[str, Any]


def run(cls: type[NDComponent], dt_ms: float, time_ms: float, **given: Any) -> dict[str, float]:
    """Return the states of one component after a time, from V alone and hidden states."""
    steps = round(time_ms / dt_ms)
    circuit = build({"n": {"class": cls.__name__, **given}}, models=[cls])
    names = [name for name in cls.states if name != "refractory_left"]
    record = [(name, None) for name in names]
    drive = StepInput("I", ["n"], given.pop("drive", 0.0), 0.0, 1.0)
    inputs = drive if any(a.name == "I" for a in cls.accesses) else ()
    data = simulate(circuit, dt_ms * 1e-3, steps + 1, inputs, record)
    return {name: float(data[name][-1, 0]) for name in names}


def solved(slope: Callable[[float, Any], Any], start: list[float], time: float) -> np.ndarray:
    """Return the solution of an equation, by scipy."""
    found = solve_ivp(slope, (0, time), start, method="DOP853", rtol=1e-12, atol=1e-12)
    assert found.success
    return found.y[:, -1]


def order(errors: list[float]) -> float:
    """Return the order of convergence: errors of steps that are halved from one to the next."""
    assert min(errors) > 1e-12
    return float(np.mean(np.log2(np.array(errors[:-1]) / np.array(errors[1:]))))


# ---- methods --------------------------------------------------------------------------------


class Relaxation(NDComponent):
    """FitzHugh-Nagumo oscillator (doi:10.1016/S0006-3495(61)86902-6)."""

    updates = ("x",)
    states = {"x": State("1", -1.0), "w": State("1", 0.5)}
    equations = """
        cube = x**3 / 3 : 1
        dx/dt = (x - cube - w + 0.5)/ms : 1
        dw/dt = 0.08*(x + 0.7 - 0.8*w)/ms : 1
    """
    method = "rk4"


class Gated(NDComponent):
    """Two states, each linear in itself, with rates that depend on the other one."""

    updates = ("x",)
    states = {"x": State("1", 1.0), "y": State("1", 0.2)}
    equations = """
        dx/dt = (1 - x)*exp(-y)/ms - 2*x*y/ms : 1
        dy/dt = (x*x - y)/(3*ms) : 1
    """


@pytest.mark.parametrize(
    ("base", "method", "expected", "steps"),
    [
        (Relaxation, "euler", 1, (0.02, 0.01, 0.005)),
        (Relaxation, "rk2", 2, (0.08, 0.04, 0.02)),
        (Relaxation, "heun", 2, (0.08, 0.04, 0.02)),
        (Relaxation, "rk4", 4, (0.2, 0.1, 0.05)),
        (Gated, "euler", 1, (0.02, 0.01, 0.005)),
        (Gated, "exponential_euler", 1, (0.02, 0.01, 0.005)),
        (Gated, "rk2", 2, (0.08, 0.04, 0.02)),
        (Gated, "rk4", 4, (0.2, 0.1, 0.05)),
    ],
)
def test_order_of_each_method(
    base: type[NDComponent], method: str, expected: int, steps: tuple[float, ...]
) -> None:
    """Against scipy's solution of the same equations."""
    cls: Any = type(f"{base.__name__}_{method}", (base,), {"method": method})
    slopes = {
        "Relaxation": lambda t, s: [s[0] - s[0] ** 3 / 3 - s[1] + 0.5,
                                    0.08 * (s[0] + 0.7 - 0.8 * s[1])],
        "Gated": lambda t, s: [(1 - s[0]) * np.exp(-s[1]) - 2 * s[0] * s[1],
                               (s[0] ** 2 - s[1]) / 3],
    }  # fmt: skip
    start = [one.initial for one in base.states.values()]
    true = solved(slopes[base.__name__], start, 4.0)
    errors = [
        float(np.abs(np.array(list(run(cls, dt, 4.0).values())) - true).max()) for dt in steps
    ]
    assert order(errors) == pytest.approx(expected, abs=0.25)


MATRICES = {
    "chain": [[-0.1, 0.5, 0.0], [0.0, -0.1, 1.0], [0.0, 0.0, -0.1]],
    "spiral": [[-0.2, 2.0, 0.0], [-2.0, -0.2, 0.3], [0.0, 0.0, -1.0]],
    "stiff": [[-40.0, 3.0, 1.0], [0.5, -0.3, 0.0], [0.0, 2.0, -7.0]],
    "growing": [[0.05, 0.0, 0.2], [0.1, -0.4, 0.0], [0.0, 0.0, 0.0]],
}


@pytest.mark.parametrize("name", list(MATRICES))
def test_linear_systems_are_exact(name: str, dtype: str) -> None:
    """Equal time constants, oscillations and stiff systems; one long step is as good as ten."""
    a, b = np.array(MATRICES[name]), [0.3, -0.1, 0.2]
    lines = [
        f"d{x}/dt = ({' + '.join(f'p{i}{j} * {y}' for j, y in enumerate('xyz'))} + {b[i]})/ms : 1"
        for i, x in enumerate("xyz")
    ]
    cls: Any = type("Linear", (NDComponent,), {
        "updates": ("x",),
        "params": {f"p{i}{j}": Parameter("1", a[i, j]) for i in range(3) for j in range(3)},
        "states": {"x": State("1", 1.0), "y": State("1", -0.5), "z": State("1", 0.25)},
        "equations": "\n".join(lines),
    })  # fmt: skip
    assert cls.method == "exact"
    true = solved(lambda t, s: a @ s + b, [1.0, -0.5, 0.25], 2.0)
    for dt in (2.0, 0.2):
        circuit = build({"n": {"class": "Linear"}}, models=[cls])
        data = simulate(circuit, dt * 1e-3, round(2 / dt) + 1, (), [(n, None) for n in "xyz"],
                        dtype=dtype)  # fmt: skip
        got = [data[n][-1, 0] for n in "xyz"]
        np.testing.assert_allclose(got, true, rtol=1e-9 if dtype == "float64" else 1e-4)


def test_the_method_follows_from_the_equations() -> None:
    """Linear, linear in their own state, neither; additive and multiplicative noise."""

    def method(text: str) -> str:
        return str(type("Derived", (NDComponent,), {"updates": ("x",), "equations": text}).method)

    assert method("dx/dt = -x/(5*ms) : 1") == "exact"
    assert method("dx/dt = -x*y/(5*ms) : 1\ndy/dt = (x - y)/ms : 1") == "exponential_euler"
    assert method("dx/dt = -x*x/(5*ms) : 1") == "rk2"
    assert method("dx/dt = -x/ms + xi/ms**0.5 : 1") == "euler_maruyama"
    assert method("dx/dt = -x/ms + x*xi/ms**0.5 : 1") == "heun"
    assert method("dx/dt = -x/ms + s*xi : 1\ns = x/ms**0.5 : 1/ms^0.5") == "heun"


# ---- noise ----------------------------------------------------------------------------------


class Ornstein(NDComponent):
    """Coloured noise, scaled as in Brian2."""

    updates = ("x",)
    params = {"tau": Parameter("ms", 5.0, above=0.0), "sigma": Parameter("mV", 2.0)}
    equations = "dx/dt = -x/tau + sigma*sqrt(2/tau)*xi : mV"


def test_white_noise_has_the_right_strength(dtype: str) -> None:
    """The variance of the discrete process is known: sigma^2 over (1 - dt / (2 tau))."""
    circuit = Circuit.from_arrays([(Ornstein, 4000, {}, None)])
    x = simulate(circuit, 1e-3, 101, (), [("x", None)], dtype=dtype)["x"][60:]
    expected = 4.0 / (1 - 1 / 10)
    assert abs(x.var() / expected - 1) < 5 * np.sqrt(2 / (4000 * 41 / 10))
    pair = x[1:] * x[:-1]
    assert pair.mean() / expected == pytest.approx(1 - 1 / 5, abs=0.03)


@pytest.mark.parametrize(("method", "drift"), [("euler_maruyama", -0.5), ("heun", 0.0)])
def test_multiplicative_noise(method: str, drift: float) -> None:
    """Euler and Maruyama give Ito's solution, Heun Stratonovich's: they differ in the drift."""
    body = {"updates": ("x",), "states": {"x": State("1", 1.0)}, "method": method,
            "equations": "dx/dt = 0.5*x*xi/ms**0.5 : 1"}  # fmt: skip
    cls: Any = type("Geometric", (NDComponent,), body)
    circuit = Circuit.from_arrays([(cls, 20_000, {}, None)])
    x = simulate(circuit, 1e-5, 401, (), [("x", None)])["x"][-1]
    log = np.log(x)
    assert log.mean() == pytest.approx(
        drift * 0.25 * 4, abs=5 * log.std() / np.sqrt(20_000) + 0.005
    )
    assert log.var() == pytest.approx(0.25 * 4, rel=0.05)


def test_noise_is_shared_by_name() -> None:
    """``xi_1`` in two equations is one noise; ``xi_2`` is another."""
    body = {"updates": ("x", "y", "z"), "equations": """
        dx/dt = xi_1/ms**0.5 : 1
        dy/dt = xi_1/ms**0.5 : 1
        dz/dt = xi_2/ms**0.5 : 1
    """}  # fmt: skip
    cls: Any = type("Shared", (NDComponent,), body)
    data = simulate(Circuit.from_arrays([(cls, 500, {}, None)]), 1e-3, 4,
                    (), [(n, None) for n in "xyz"])  # fmt: skip
    np.testing.assert_array_equal(data["x"], data["y"])
    assert abs(np.corrcoef(data["x"][-1], data["z"][-1])[0, 1]) < 0.25


# ---- Brian2's models beside the shipped ones ------------------------------------------------


@pytest.mark.parametrize(
    "cls", [CubaEquations, CobaEquations, HodgkinHuxleyEquations, AdExEquations]
)
def test_twelve_lines_are_enough(cls: Any) -> None:
    """Equations and the texts beside them."""
    lines = [line for line in cls.equations.splitlines() if line.strip()]
    texts = [cls.arrivals, cls.threshold, cls.reset, cls.refractory]
    assert len(lines) + len([text for text in texts if text]) <= 12
    assert texts_of(cls).faults == []


def test_cuba_is_as_exact_as_the_shipped_model() -> None:
    """Both have the error of rounding, at any step; the time constants may be equal."""
    names = {"resting_potential": -49.0, "time_constant": 20.0, "capacitance": 20.0,
             "threshold": 1e3, "reset_potential": -60.0}  # fmt: skip
    for tau_e in (5.0, 20.0):
        true = solved(lambda t, s, e=tau_e: [(s[1] + s[2] - s[0] - 49) / 20, -s[1] / e, -s[2] / 10],
                      [-60.0, 3.0, -7.0], 8.0)  # fmt: skip
        for dt in (0.1, 1.0):
            mine = run(CubaEquations, dt, 8.0, initV=-60.0, initg_e=3.0, initg_i=-7.0, V_t=1e3,
                       tau_e=tau_e)  # fmt: skip
            theirs = run(model("LeakyIAFExpCurrent"), dt, 8.0, **names, tau_exc=tau_e, tau_inh=10.0,
                         initV=-60.0, initI_exc=3.0, initI_inh=-7.0)  # fmt: skip
            assert abs(mine["V"] - true[0]) < 1e-9 > abs(theirs["V"] - true[0])
            assert abs(mine["V"] - theirs["V"]) < 1e-12


def test_cuba_spikes_with_the_shipped_model() -> None:
    """A network of both, side by side: the same spikes, refractory periods and arrivals."""
    rng = np.random.default_rng(4)
    count = 60
    own = Circuit.from_arrays(
        [(CubaEquations, count, {"initV": rng.uniform(-60, -50, count)}, None)]
    )
    start = own.groups[0].params["initV"]
    shipped: Given = {"resting_potential": -49.0, "time_constant": 20.0, "capacitance": 20.0,
                      "threshold": -50.0 + 1e-12, "reset_potential": -60.0, "tau_exc": 5.0,
                      "tau_inh": 10.0, "refractory_period": 5.0, "initV": start}  # fmt: skip
    pre, post = rng.integers(0, count, 400), rng.integers(0, count, 400)
    found = []
    for cls, given in ((CubaEquations, {"initV": start}), (model("LeakyIAFExpCurrent"), shipped)):
        links = [
            links_of(pre[side], post[side], receptor, weight)
            for side, receptor, weight in ((pre < 48, "exc", 1.62), (pre >= 48, "inh", -9.0))
        ]
        circuit = Circuit.from_arrays([(cls, count, given, None)], links)
        found.append(simulate(circuit, 1e-4, 2000, (), [("V", None), ("spike_state", None)]))
    assert np.count_nonzero(found[0]["spike_state"]) > 150
    np.testing.assert_array_equal(*(one["spike_state"] for one in found))
    np.testing.assert_allclose(found[0]["V"], found[1]["V"], atol=1e-9)


def links_of(pre: Any, post: Any, receptor: str, weight: float) -> Any:
    """Return connections of one receptor."""
    from neurodriver import Connections

    data = {"weight": np.full(len(pre), weight)}
    return Connections("spike_state", receptor, pre, post, 1e-4, data=data)


def conductances(t: float, s: Any) -> list[float]:
    """Return the slopes of COBA."""
    v, e, i = s
    return [(10 * (-60 - v) - e * v + i * (-80 - v)) / 200, -e / 5, -i / 10]


def test_coba_converges_as_the_shipped_model() -> None:
    """Both are of second order; neither reaches the threshold here."""
    true = solved(conductances, [-60.0, 6.0, 30.0], 6.0)
    names = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
             "capacitance": 200.0, "leak_conductance": 10.0, "tau_exc": 5.0,
             "tau_inh": 10.0}  # fmt: skip
    steps = (0.2, 0.1, 0.05)
    mine = [
        abs(run(CobaEquations, dt, 6.0, initg_e=6.0, initg_i=30.0)["V"] - true[0]) for dt in steps
    ]
    shipped = model("LeakyIAFExpConductance")
    theirs = [
        abs(run(shipped, dt, 6.0, **names, initg_exc=6.0, initg_inh=30.0)["V"] - true[0])
        for dt in steps
    ]
    assert order(mine) == pytest.approx(2, abs=0.2) == pytest.approx(order(theirs), abs=0.2)


def channels(t: float, s: Any) -> list[float]:
    """Return the slopes of the neuron after Traub and Miles, from the paper's rates."""
    v, m, h, n, e, i = s
    u = v + 63
    am, bm = 0.32 * (13 - u) / np.expm1((13 - u) / 4), 0.28 * (u - 40) / np.expm1((u - 40) / 5)
    ah, bh = 0.128 * np.exp((17 - u) / 18), 4 / (1 + np.exp((40 - u) / 5))
    an, bn = 0.032 * (15 - u) / np.expm1((15 - u) / 5), 0.5 * np.exp((10 - u) / 40)
    ionic = 20000 * m**3 * h * (v - 50) + 6000 * n**4 * (v + 90)
    dv = (10 * (-60 - v) - e * v + i * (-80 - v) - ionic) / 200
    return [
        dv,
        am * (1 - m) - bm * m,
        ah * (1 - h) - bh * h,
        an * (1 - n) - bn * n,
        -e / 5,
        -i / 10,
    ]


def test_hodgkin_huxley_converges_as_the_shipped_model() -> None:
    """Exponential Euler, of first order, over a spike; single steps are the same formula."""
    start = {"initV": -60.0, "initg_e": 40.0, "initg_i": 1.0}
    true = solved(channels, [-60.0, 0.02686, 0.99131, 0.06043, 40.0, 1.0], 6.0)
    steps = (0.02, 0.01, 0.005)
    mine = [abs(run(HodgkinHuxleyEquations, dt, 6.0, **start)["V"] - true[0]) for dt in steps]
    theirs = [
        abs(run(model("TraubMiles"), dt, 6.0, initg_exc=40.0, initg_inh=1.0)["V"] - true[0])
        for dt in steps
    ]
    assert order(mine) == pytest.approx(1, abs=0.25)
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_hodgkin_huxley_spikes_once_a_crossing() -> None:
    """``refractory`` as a condition holds until it fails: one event for each action potential."""
    circuit = build({"n": {"class": "HodgkinHuxleyEquations", "initg_e": 0.0}},
                    models=[HodgkinHuxleyEquations])  # fmt: skip
    current = StepInput("I", ["n"], 500.0, 0.0, 1.0)
    data = simulate(circuit, 2e-5, 5000, current, [("V", None), ("spike_state", None)])
    above = data["V"][:, 0] > -20
    crossings = int(np.sum(above[1:] & ~above[:-1]))
    assert crossings == np.count_nonzero(data["spike_state"]) > 3


def test_adex_converges_as_the_shipped_model() -> None:
    """Explicit Euler, of first order, below the threshold; the same bits need the same text."""

    def slope(t: float, s: Any) -> list[float]:
        v, w = s
        current = 30 * (-70.6 - v) + 60 * np.exp((v + 50.4) / 2) - w
        return [current / 281, (4 * (v + 70.6) - w) / 144]

    true = solved(slope, [-51.0, 10.0], 5.0)
    steps = (0.08, 0.04, 0.02)
    mine = [
        abs(run(AdExEquations, dt, 5.0, initV=-51.0, initw=10.0)["V"] - true[0]) for dt in steps
    ]
    shipped = model("AdaptiveExpIAF")
    theirs = [abs(run(shipped, dt, 5.0, initV=-51.0, initw=10.0)["V"] - true[0]) for dt in steps]
    assert order(mine) == pytest.approx(1, abs=0.2)
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)


# ---- the same bits --------------------------------------------------------------------------


class LeakyEquations(NDComponent):
    """LeakyIAF as an equation."""

    accesses = ("I",)
    updates = ("spike_state", "V")
    params = model("LeakyIAF").params
    states = model("LeakyIAF").states
    maximum_dt = 1e-4
    equations = """
        dV/dt = (resting_potential - V + resistance*I) / (resistance*capacitance) : mV
        I : uA/cm^2
    """
    threshold = "V >= threshold"
    reset = "V = reset_potential"


def as_text(cls: type[NDComponent]) -> type[NDComponent]:
    """Return a model that is written with the text that equations became."""
    names: dict[str, Any] = {}
    exec("\n".join(source(cls)), names)
    found: type[NDComponent] = names[cls.__name__]
    assert not found.equations
    return found


@pytest.mark.parametrize("dt", [1e-4, 3e-4])
def test_all_ways_have_the_same_bits(dt: float, dtype: str) -> None:
    """Equations, their text, the old template, and the shipped model that says the same thing."""

    class LeakyTemplate(LeakyEquations):
        def get_update_template(self) -> str:
            return template_of(LeakyEquations)

    found = []
    for cls in (LeakyEquations, as_text(LeakyEquations), LeakyTemplate, model("LeakyIAF")):
        nodes = {f"n{i}": {"class": cls.__name__, **IAF, "initV": -60.0 - i} for i in range(40)}
        drive = StepInput("I", list(nodes), 4.0, 0.0, 1.0)
        circuit = build(nodes, models=[cls])
        found.append(simulate(circuit, dt, 600, drive, [("V", None), ("spike_state", None)],
                              dtype=dtype))  # fmt: skip
    assert np.count_nonzero(found[0]["spike_state"]) > 40
    for other in found[1:]:
        assert_same_bits(found[0], other)


@pytest.mark.parametrize(
    "cls", [CubaEquations, CobaEquations, HodgkinHuxleyEquations, AdExEquations, Ornstein]
)
def test_the_printed_text_has_the_same_bits(cls: type[NDComponent], dtype: str) -> None:
    """For any number of threads and lengths of call."""
    variable = cls.updates[-1]
    given = {f"init{variable}": np.linspace(-62, -51, 300)}
    runs = []
    for one, how in ((cls, {}), (cls, {"threads": 2, "chunk": 7}), (as_text(cls), {"threads": 1})):
        circuit = Circuit.from_arrays([(one, 300, given, [f"n{i}" for i in range(300)])])
        runs.append(simulate(circuit, 1e-4, 60, (), [(variable, None)], dtype=dtype, **how))
    assert np.ptp(runs[0][variable][-1]) > 0
    for other in runs[1:]:
        assert_same_bits(runs[0], other)


def test_euler_has_the_bits_of_the_shipped_model() -> None:
    """HodgkinHuxley2 as equations, with the rates as functions that its terms are."""

    class Squid(NDComponent):
        accesses = ("I",)
        updates = ("V",)
        params = model("HodgkinHuxley2").params
        states = {n: s for n, s in model("HodgkinHuxley2").states.items() if n != "V_before"}
        maximum_dt = 1e-5
        functions = """
            real near(real d, real limit, real other) { return fabs(d) <= 1e-7 ? limit : other; }
        """
        equations = """
            V_ = V / mV : 1
            d_n = exp(-(V_ + 55.0) / 10.0) - 1 : 1
            d_m = exp(-(V_ + 40.0) / 10.0) - 1 : 1
            a_n = near(d_n, 0.1, -0.01 * (V_ + 55.0) / d_n) / ms : 1/ms
            a_m = near(d_m, 1.0, -0.1 * (V_ + 40.0) / d_m) / ms : 1/ms
            b_n = 0.125 * exp(-(V_ + 65.0) / 80.0) / ms : 1/ms
            b_m = 4.0 * exp(-(V_ + 65.0) / 18.0) / ms : 1/ms
            a_h = 0.07 * exp(-(V_ + 65.0) / 20.0) / ms : 1/ms
            b_h = 1 / (exp(-(V_ + 35.0) / 10.0) + 1) / ms : 1/ms
            dV/dt = (I - g_Na*m*m*m*h*(V - E_Na) - g_K*(n*n)*(n*n)*(V - E_K)
                     - g_L*(V - E_L)) / (uF/cm**2) : mV
            dn/dt = (1 - n) * a_n - n * b_n : 1
            dm/dt = (1 - m) * a_m - m * b_m : 1
            dh/dt = (1 - h) * a_h - h * b_h : 1
            I : uA/cm^2
        """
        method = "euler"

    given = {"g_K": 36.0, "g_Na": 120.0, "g_L": 0.3, "E_K": -77.0, "E_Na": 50.0, "E_L": -54.387}
    found = []
    for cls in (Squid, model("HodgkinHuxley2")):
        circuit = build({"n": {"class": cls.__name__, **given}}, models=[cls])
        drive = StepInput("I", ["n"], 10.0, 0.0, 1.0)
        found.append(simulate(circuit, 1e-5, 2000, drive, [("V", None)])["V"])
    np.testing.assert_array_equal(*found)
    assert found[0].max() > 20


@pytest.mark.needs("NVRTC")
@pytest.mark.parametrize("cls", [CubaEquations, HodgkinHuxleyEquations, Ornstein])
def test_text_for_a_gpu_compiles(cls: type[NDComponent]) -> None:
    """It is the text of any other model."""
    program = compile_circuit(Circuit.from_arrays([(cls, 40, {}, None)]), 1e-4, target=CUDA)
    parts = [Part(task.kernel) for task in generate(program).tasks]
    text = device_text(parts, "float64", Shape(128))
    check_text(text)


# ---- classes --------------------------------------------------------------------------------


def test_subclasses_change_a_part() -> None:
    """Another method, threshold or reset makes the whole text anew; a text replaces it."""

    class Finer(AdExEquations):
        method = "rk4"

    class Other(AdExEquations):
        equations = "dV/dt = (E_L - V) / tau_w : mV"
        reset = ""

    class Text(AdExEquations):
        update = "V = w;"

    assert "V_slope4" in Finer.update and "V_slope4" not in AdExEquations.update
    assert "exp" not in Other.update and "w +=" not in Other.update
    assert Other.constants == {} and Text.update == "V = w;"

    class Decays(CubaEquations):
        method = "rk2"

    assert "V_from_V" in CubaEquations.constants and "V_from_V" not in Decays.constants


def test_a_method_that_follows_is_found_anew() -> None:
    """A subclass with other equations has the method of these; one that is named is inherited."""
    linear, curved = "dV/dt = -V/tau : mV", "dV/dt = -V*V/E/tau : mV"
    noisy = "dV/dt = -V/tau + E*sqrt(2/tau)*xi : mV"

    def methods(*texts: str, **parts: Any) -> list[str]:
        found, base = [], NDComponent
        for text in texts:
            body = {**(GOOD if base is NDComponent else {}), "equations": text, **parts}
            base, parts = type("Made", (base,), body), {}
            found.append(base.method)
        return found

    assert methods(linear, curved, noisy, linear) == ["exact", "rk2", "euler_maruyama", "exact"]
    assert methods(linear, curved, linear, method="euler") == ["euler"] * 3


def test_expressions_can_be_published() -> None:
    """Those of states are outputs; those of inputs are set in each step."""

    class Synapse(NDComponent):
        accesses = ("spike_state", "V")
        updates = ("g", "I")
        params = {"gmax": "mS/cm^2", "tau": Parameter("ms", 5.0)}
        equations = """
            ds/dt = -s / tau : 1
            shape = s*s : 1
            g = gmax*shape : mS/cm^2
            I = g*(V - 20*mV) : uA/cm^2
            V : mV
        """
        arrivals = "s += spike_state"

    assert Synapse.outputs == {"g": "gmax * (s * s)"} and Synapse.units["I"] == "uA/cm^2"
    circuit = build({"n": {"class": "Synapse", "gmax": 2.0, "inits": 1.0}}, models=[Synapse])
    drive = StepInput("V", ["n"], 30.0, 0.0, 1.0)
    data = simulate(circuit, 1e-3, 4, drive, [("g", None), ("I", None)])
    g = 2 * np.exp(-2 * np.arange(4) / 5)
    np.testing.assert_allclose(data["g"][:, 0], g, rtol=1e-13)
    np.testing.assert_allclose(data["I"][1:, 0], 10 * g[1:], rtol=1e-13)


def test_what_rests_and_what_goes_on() -> None:
    """A state that does not rest sees the resting one stand still; arrivals do not move it."""

    class Resting(NDComponent):
        accesses = (Weighted("spike_state", "kick"),)
        updates = ("spike_state", "V")
        states = {"V": State("mV", 10.0), "w": State("mV", 0.0)}
        equations = """
            dV/dt = -V/(10*ms) : mV (unless refractory)
            dw/dt = (V - w)/(5*ms) : mV
        """
        arrivals = "V += kick"
        threshold = "V > 8*mV"
        reset = "V = 2*mV"
        refractory = "3*ms"

    circuit = build({"n": {"class": "Resting"}}, models=[Resting])
    push = StepInput("spike_state", ["n"], 1.0, 0.0, 1.0)
    data = simulate(circuit, 1e-3, 6, push, [("V", None), ("w", None), ("spike_state", None)])
    v, w = data["V"][:, 0], data["w"][:, 0]
    assert v[1:5].tolist() == [2.0, 2.0, 2.0, 2.0] and v[5] > 2.0
    kept = np.exp(-1 / 5)
    for k in range(2, 4):
        assert w[k + 1] == pytest.approx(w[k] * kept + 2.0 * (1 - kept), rel=1e-13)


def test_the_command_prints_equations_and_text(tmp_path: Any, capsys: Any) -> None:
    """``neurodriver models NAME`` shows both, ``--text`` a class that can be run."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from neurodriver import NDComponent\n"
        "class Decay(NDComponent):\n"
        "    'Decays.'\n"
        "    updates = ('x',)\n"
        "    equations = 'dx/dt = -x/(5*ms) : 1'\n"
    )
    assert main(["models", "Decay", "--models", str(file)]) == 0
    assert "dx/dt = -x/(5*ms) : 1" in capsys.readouterr().out
    assert main(["models", "Decay", "--models", str(file), "--text"]) == 0
    said = capsys.readouterr().out
    names: dict[str, Any] = {}
    exec(said, names)
    assert names["Decay"].constants == {"decay_x": "exp(-dt_ms / 5)"}
    assert main(["models", "PhotoreceptorModel", "--text"]) == 1


# ---- faults ---------------------------------------------------------------------------------

GOOD: Given = {
    "accesses": ("I",),
    "updates": ("spike_state", "V"),
    "params": {"tau": "ms", "E": "mV", "R": "kOhm cm^2", "rate": "Hz"},
    "equations": "dV/dt = (E - V) / tau : mV",
    "threshold": "V > E",
    "reset": "V = E",
}


@pytest.mark.parametrize(
    ("parts", "place", "message"),
    [
        ({"equations": "dV/dt = (E - V) / tau"}, "equations, line 1, column 21",
         "the unit is missing; write : mV"),
        ({"equations": "dV/dt = (E - V) / tau : mVolts"}, "equations, line 1, column 25",
         "'mVolts' is not a unit; write 1 for a plain number"),
        ({"equations": "dV/dt = (E - V) / (0*ms) : mV"}, "equations, line 1, column 20",
         "this is a division by 0"),
        ({"equations": "dV/dt = (E - V) / (tau - tau) : mV"}, "equations, line 1, column 2",
         "'dV/dt' is infinite or has no value; is something divided by 0?"),
        ({"equations": f"dV/dt = ({'(' * 999}E{')' * 999} - V) / tau : mV"}, "equations, line 1",
         "are nested too deeply; 100 levels are always possible"),
        ({"equations": f"dV/dt = ({'E + ' * 3000}V) / tau : mV"}, "equations, line 1",
         "are nested too deeply; 100 levels are always possible"),
        ({"functions": "real f(real x) { return f(x); }"}, "functions, line 1, column 25",
         "'f' calls itself, which a function cannot; write a loop"),
        ({"equations": "dV/dt = (E - V / tau : mV"}, "equations, line 1, column 9",
         "the '(' that stands here is not closed"),
        ({"equations": "\n  dV/dt = (E - U) / tau : mV"}, "equations, line 2, column 16",
         "unknown name 'U'"),
        ({"equations": "dV/dt = (E - V) / tua : mV"}, "equations, line 1, column 19",
         "unknown name 'tua'"),
        ({"equations": "dV/dt = (E - V) : mV"}, "equations, line 1, column 2",
         "'dV/dt' is in mV/ms, and its right side in mV"),
        ({"equations": "dV/dt = (tau - V) / tau : mV"}, "equations, line 1, column 14",
         "'tau - V': '-' between ms and mV"),
        ({"equations": "dV/dt = (5 - V) / tau : mV"}, "equations, line 1, column 12",
         "write a number with its unit, such as 5*mV"),
        ({"equations": "dV/dt = (E - V) * rate : mV"}, "equations, line 1, column 2",
         "1 mV Hz is 0.001 mV/ms"),
        ({"equations": "dV/dt = E * exp(V) / tau : mV"}, "equations, line 1, column 17",
         "exp() takes a number without unit, 'V' is in mV"),
        ({"equations": "dV/dt = (E - V) / tau : mV\ndV/dt = V / tau : mV"},
         "equations, line 2, column 2", "'V' has two lines"),
        ({"equations": "dV/dt = x / tau : mV\nx = y : mV\ny = x : mV"},
         "equations, line 2, column 1", "stand for each other in a circle: x -> y -> x"),
        ({"equations": "tau = E : mV\ndV/dt = E / (5*ms) : mV"}, "equations, line 1, column 1",
         "'tau' stands in 'params' already"),
        ({"equations": "dV/dt = (E - V) / tau : mV (unless refractry)"},
         "equations, line 1, column 29", "is no flag (did you mean 'unless refractory'?)"),
        ({"equations": "dV/dt = (E - V) / tau : mV (unless refractory)"},
         "equations, line 1, column 2", "'unless refractory' needs the attribute 'refractory'"),
        ({"equations": "V' = (E - V) / tau : mV"}, "equations, line 1, column 2",
         "'=' is expected after 'V'"),
        ({"equations": "x = E : mV", "threshold": "", "reset": ""}, "equations, line 1, column 1",
         "no line is a differential equation"),
        ({"equations": "dV/dt = (E - V) / tau + E*xi*xi : mV"}, "equations, line 1, column 2",
         "noise has to enter 'dV/dt' as a sum of terms like sigma * xi"),
        ({"equations": "dV/dt = E*sin(t/tau)/tau : mV"}, "equations, line 1, column 15",
         "unknown name 't'"),
        ({"equations": "dV/dt = -V*V/E/tau : mV", "method": "exact"}, "equations, line 1, column 2",
         "exact needs what is linear in V; take exponential_euler, rk2 or rk4"),
        ({"equations": "dV/dt = -V*V/E/tau : mV", "method": "exponential_euler"},
         "equations, line 1, column 2", "exponential_euler needs what is linear in V"),
        ({"equations": "dV/dt = -V/tau + E*sqrt(2/tau)*xi : mV", "method": "rk4"},
         "equations, line 1, column 2", "rk4 takes no noise; take euler_maruyama or heun"),
        ({"method": "eulr"}, "method", "'eulr' is no method (did you mean 'euler'?)"),
        ({"threshold": "V"}, "threshold, line 1, column 1", "a threshold is a condition"),
        ({"threshold": "V > tau"}, "threshold, line 1, column 3", "'V > tau' compares mV and ms"),
        ({"threshold": "V > -50"}, "threshold, line 1, column 3", "write a number with its unit"),
        ({"threshold": "V >> E and"}, "threshold, line 1, column 11", "a value is missing"),
        ({"reset": "V = tau"}, "reset, line 1, column 1", "takes mV, and is given ms"),
        ({"reset": "tau = 3*ms"}, "reset, line 1, column 1", "'tau' is a parameter, which"),
        ({"reset": "V == E"}, "reset, line 1, column 1", "nothing takes the value of this"),
        ({"refractory": "E"}, "refractory, line 1, column 1", "a time in ms or a condition"),
        ({"arrivals": "V += exc"}, "arrivals, line 1, column 6", "unknown name 'exc'"),
        ({"updates": ("V",)}, "threshold", "add 'spike_state' to 'updates'"),
        ({"threshold": ""}, "reset", "needs a 'threshold', too"),
        ({"update": "V = 1;"}, "", "'equations' and 'update' exclude each other"),
        ({"states": {"V": "pA"}}, "equations, line 1, column 2",
         "'V' is declared in pA, and here in mV"),
    ],
)  # fmt: skip
def test_faults(parts: Given, place: str, message: str) -> None:
    """Told where the class is made, with class, attribute, line, column and a caret."""
    with pytest.raises(ModelError) as caught:
        type("Broken", (NDComponent,), {**GOOD, **parts})
    said = str(caught.value)
    assert message in said
    assert any(one.startswith(f"Broken.{place}".rstrip(".")) for one in said.splitlines())
    if "column" in place:
        column = int(re.findall(r"column (\d+)", place)[0])
        lines = said.splitlines()
        at = next(i for i, one in enumerate(lines) if one.startswith(f"Broken.{place}"))
        assert lines[at + 2].index("^") >= 4 and column >= 1


def test_all_faults_are_told_at_once() -> None:
    """Those of equations, threshold and reset together."""
    with pytest.raises(ModelError) as caught:
        body = {
            "equations": "dV/dt = a : mV\ndw/dt = b : mV",
            "threshold": "V > c",
            "reset": "V = d",
        }
        type("Broken", (NDComponent,), {**GOOD, **body})
    assert str(caught.value).count("unknown name") == 4


def test_powers_and_units_leave_the_text() -> None:
    """Units are 1, small powers products."""

    class Powers(NDComponent):
        updates = ("x",)
        equations = "dx/dt = (x**4 - 3*mV/(2*mV) * x**2) / (2*ms) + (x*mV)**0.5 / mV**0.5 / ms : 1"
        method = "euler"

    assert "x * x * (x * x) - 3 / 2 * (x * x)" in Powers.update
    assert "pow(x * 1, 0.5) * 1 * 1" in Powers.update
    assert isinstance(parse(Powers.update), tree.Body)
