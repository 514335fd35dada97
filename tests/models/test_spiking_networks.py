"""Integrate-and-fire neurons with synapses of their own: exact solutions, solver, plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm
from scipy.special import exprel, gammainc
from support import assert_same_bits, build, model, node, simulate, spike_rows

from neurodriver import ArrayInput, Circuit, Connections, NDComponent, StepInput
from neurodriver.components.point_neurons.propagators import mean_of_decay, mean_of_ramp
from neurodriver.components.point_neurons.traub_miles import _quotient
from neurodriver.errors import CircuitError

Array = NDArray[np.float64]
BOTH = [("V", ["n"]), ("spike_state", ["n"])]
H = 0.1
"""Step of most tests in ms."""

LIF = {"resting_potential": -65.0, "threshold": 1e3, "reset_potential": -70.0,
       "time_constant": 10.0, "capacitance": 250.0}  # fmt: skip
COBA = {"resting_potential": -60.0, "threshold": 1e3, "reset_potential": -60.0,
        "capacitance": 200.0, "leak_conductance": 10.0,
        "tau_exc": 5.0, "tau_inh": 10.0}  # fmt: skip
WEIGHTS = {"exc": 700.0, "inh": -900.0}
"""pA."""


def driven(
    name: str,
    given: Mapping[str, float],
    arrivals: Mapping[str, Array],
    weights: Mapping[str, float],
    h: float = H,
    current: float = 0.0,
    delay: int = 3,
    **settings: Any,
) -> Any:
    """Return a run of neuron n; ``arrivals`` has for each receptor how many spikes reach each row.

    They come from a source over an edge of ``delay`` steps, and are sent as much earlier.
    """
    nodes = {"n": node(name, given)}
    edges = []
    inputs: list[Any] = [StepInput("I", ["n"], current)] if current else []
    for receptor, counts in arrivals.items():
        nodes[f"to_{receptor}"] = node("SpikeSource", {})
        how = {"weight": weights[receptor], "delay": delay * h / 1000}
        edges.append(
            (f"to_{receptor}", "n", {**how, "receptor": receptor} if receptor != "all" else how)
        )
        assert not counts[: delay + 1].any()
        rows = np.roll(counts, -delay - 1)[:, None]  # a step of the source, and the delay
        inputs.append(ArrayInput({"spike_state": ([f"to_{receptor}"], rows)}))
    steps = len(next(iter(arrivals.values())))
    return simulate(build(nodes, edges), h / 1000, steps, inputs, BOTH, **settings)


def some_arrivals(steps: int, seed: int, rate: float = 0.05) -> Array:
    """Return numbers of spikes for each row, some above 1; none in the first rows."""
    counts = np.random.default_rng(seed).poisson(rate, steps).astype(float)
    counts[:10] = 0.0
    return counts


# ---- linear neurons against the matrix exponential -------------------------------------------


def matrix(p: Mapping[str, float], alpha: bool) -> Array:
    """Return the linear system of V (from rest), then for each receptor I and, for alpha, y."""
    size = 5 if alpha else 3
    a = np.zeros((size, size))
    a[0, 0] = -1 / p["time_constant"]
    for x, tau in enumerate((p["tau_exc"], p["tau_inh"])):
        i = 1 + (1 + alpha) * x
        a[0, i] = 1 / p["capacitance"]
        a[i, i] = -1 / tau
        if alpha:
            a[i, i + 1] = 1.0
            a[i + 1, i + 1] = -1 / tau
    return a


def linear(
    p: Mapping[str, float], alpha: bool, arrivals: Mapping[str, Array], current: float
) -> Array:
    """Return V of every row from the matrix exponential of one step."""
    a = matrix(p, alpha)
    size = len(a)
    whole = np.zeros((size + 1, size + 1))
    whole[:size, :size] = a
    whole[0, size] = current / p["capacitance"]
    step = expm(whole * H)
    y = np.zeros(size + 1)
    y[size] = 1.0
    rows = []
    for exc, inh in zip(arrivals["exc"], arrivals["inh"], strict=True):
        if rows:
            y = step @ y
        for x, (count, tau) in enumerate(((exc, p["tau_exc"]), (inh, p["tau_inh"]))):
            jump = count * WEIGHTS["exc" if x == 0 else "inh"]
            y[(2 + 2 * x) if alpha else (1 + x)] += jump * (math.e / tau if alpha else 1.0)
        rows.append(p["resting_potential"] + y[0])
    return np.asarray(rows)


TAUS = [(2.0, 20.0), (10.0, 10.0), (10.0 * (1 + 1e-12), 10.0 * (1 - 1e-7)), (9.7, 0.02),
        (500.0, 0.2), (0.19, 0.17)]  # fmt: skip
"""Faster, slower, equal to the membrane and nearly so; and on both sides of a series' range."""


@pytest.mark.parametrize("name", ["LeakyIAFExpCurrent", "LeakyIAFAlphaCurrent"])
@pytest.mark.parametrize(("tau_exc", "tau_inh"), TAUS)
def test_currents_are_exact(name: str, tau_exc: float, tau_inh: float) -> None:
    """Every row is that of the matrix exponential, for time constants that are equal, too."""
    p = {**LIF, "tau_exc": tau_exc, "tau_inh": tau_inh}
    arrivals = {"exc": some_arrivals(600, 1), "inh": some_arrivals(600, 2)}
    v = driven(name, p, arrivals, WEIGHTS, current=30.0)["V"][:, 0]
    exact = linear(p, "Alpha" in name, arrivals, 30.0)
    assert np.ptp(exact) > 0.5
    np.testing.assert_allclose(v, exact, rtol=0, atol=1e-12 * np.abs(exact).max())


@pytest.mark.parametrize("name", ["LeakyIAFExpCurrent", "LeakyIAFAlphaCurrent"])
@pytest.mark.parametrize(("tau_exc", "tau_inh"), TAUS)
def test_currents_in_single_precision(name: str, tau_exc: float, tau_inh: float) -> None:
    """No constant loses its digits: the error is that of V's own rounding."""
    p = {**LIF, "resting_potential": 0.0, "tau_exc": tau_exc, "tau_inh": tau_inh}
    arrivals = {"exc": some_arrivals(600, 1), "inh": some_arrivals(600, 2)}
    v = driven(name, p, arrivals, WEIGHTS, dtype="float32")["V"][:, 0]
    assert v.dtype == np.float32
    exact = linear(p, "Alpha" in name, arrivals, 0.0)
    assert np.abs(v - exact).max() < 1e-5 * np.abs(exact).max()


def test_alpha_current_peaks_at_its_weight() -> None:
    """V is the integral of ``weight (s / tau) exp(1 - s / tau)`` through the membrane."""
    p = {**LIF, "tau_exc": 3.0, "tau_inh": 3.0}
    arrivals = np.zeros(300)
    arrivals[50] = 1.0
    v = driven("LeakyIAFAlphaCurrent", p, {"exc": arrivals}, WEIGHTS)["V"][:, 0]

    def slope(s: float, t: float) -> float:
        current = WEIGHTS["exc"] * s / 3.0 * math.exp(1 - s / 3.0)
        return current / 250.0 * math.exp(-(t - s) / 10.0)

    for row in (51, 60, 80, 150, 299):
        t = (row - 50) * H
        expected = -65.0 + quad(slope, 0, t, args=(t,), epsabs=1e-13, epsrel=1e-13)[0]
        assert v[row] == pytest.approx(expected, abs=1e-11)
    assert np.all(v[:51] == -65.0)


def test_delta_is_exact() -> None:
    """Each arrival adds its weight; between them V decays."""
    counts = some_arrivals(500, 3, 0.1)
    v = driven("LeakyIAFDelta", LIF, {"all": counts}, {"all": 1.5}, current=20.0)["V"][:, 0]
    t = H * np.arange(500)
    expected = -65.0 + 20.0 * 10.0 / 250.0 * -np.expm1(-t / 10.0)
    for row in np.flatnonzero(counts):
        expected[row:] += 1.5 * counts[row] * np.exp(-(t[row:] - t[row]) / 10.0)
    assert counts.max() >= 2
    np.testing.assert_allclose(v, expected, rtol=1e-13)


def test_shiu_is_exact() -> None:
    """A synapse of the fly model is an exponential in mV, a kick a jump of V."""
    syn, kick = some_arrivals(500, 4), some_arrivals(500, 5, 0.01)
    given = {"threshold": 1e3}
    weights = {"syn": 0.275 * 8, "kick": 3.0}
    v = driven("LeakyIAFShiu", given, {"syn": syn, "kick": kick}, weights)["V"][:, 0]
    expected, t = np.full(500, -52.0), H * np.arange(500)
    for row in np.flatnonzero(syn):
        s = t[row:] - t[row]
        # of two time constants, 20 and 5 ms
        psp = 5.0 / (20.0 - 5.0) * (np.exp(-s / 20.0) - np.exp(-s / 5.0))
        expected[row:] += weights["syn"] * syn[row] * psp
    for row in np.flatnonzero(kick):
        expected[row:] += weights["kick"] * kick[row] * np.exp(-(t[row:] - t[row]) / 20.0)
    assert syn.sum() > 10 and kick.sum() > 2
    np.testing.assert_allclose(v, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        (mean_of_ramp("x"), lambda x: gammainc(2, x) / x**2 if x > 0 else of_ramp(x)),
        (mean_of_decay("x"), lambda x: gammainc(1, x) / x if x > 0 else math.nan),
        (" / ".join(_quotient("x", "1", "exp(x) - 1")), lambda x: 1 / exprel(x)),
        (" / ".join(_quotient("x", "exp(-x)", "1 - exp(-x)")), lambda x: 1 / exprel(x)),
    ],
    ids=["ramp", "decay", "quotient", "quotient by its inverse"],
)
def test_texts_that_must_not_cancel(text: str, exact: Callable[[float], float], dtype: str) -> None:
    """Within a few units of the last place, for tiny numbers and where a series ends."""
    probe = type("Probe", (NDComponent,), {
        "updates": ["V"], "params": {"x": "1"}, "update": f"V = {text};"})  # fmt: skip
    x = np.concatenate([np.geomspace(1e-9, 20, 60), [0.2499, 0.2501, 0.4999, 0.5001]])
    x = np.concatenate([x, -x]).astype(dtype).astype(float)
    expected = np.asarray([exact(float(one)) for one in x])
    here = np.isfinite(expected)
    assert here.sum() >= 64
    circuit = Circuit.from_arrays([(probe, int(here.sum()), {"x": x[here]}, None)])
    found = simulate(circuit, 1e-4, 2, dtype=dtype)["V"][1]
    units = np.abs(found / expected[here] - 1) / np.finfo(dtype).eps
    assert units.max() < 200


def of_ramp(x: float) -> float:
    """Return the mean of u exp(-x u) over u in (0, 1) for a negative x."""
    return quad(lambda u: u * math.exp(-x * u), 0, 1, epsabs=0, epsrel=2e-14)[0]


# ---- conductances against a solver -----------------------------------------------------------

TIMES = {"exc": (2.0, 3.0, 3.0, 6.0), "inh": (4.0, 5.0)}
"""Arrivals in ms."""

GS = {"exc": 30.0, "inh": 60.0}


def solved_conductances(p: Mapping[str, float], alpha: bool, at: Array) -> Array:
    """Return V at some times from an accurate solver, piece by piece between the arrivals."""

    def g(x: str, t: float) -> float:
        total = 0.0
        for arrival in TIMES[x]:
            s = (t - arrival) / p[f"tau_{x}"]
            if s >= 0:
                total += GS[x] * (s * math.exp(1 - s) if alpha else math.exp(-s))
        return total

    def slope(t: float, y: Array) -> list[float]:
        current = p["leak_conductance"] * (p["resting_potential"] - y[0]) + 50.0
        current += g("exc", t) * (0.0 - y[0]) + g("inh", t) * (-80.0 - y[0])
        return [current / p["capacitance"]]

    cuts = sorted({0.0, *TIMES["exc"], *TIMES["inh"], 9.0})
    v, out = p["resting_potential"], []
    for begin, end in pairwise(cuts):
        asked = at[(at > begin) & (at <= end)]
        made = solve_ivp(slope, (begin, end - 1e-12), [v], t_eval=np.minimum(asked, end - 1e-12),
                         rtol=1e-11, atol=1e-11)  # fmt: skip
        out += made.y[0].tolist()
        v = out[-1]
    return np.asarray(out)


@pytest.mark.parametrize(
    ("name", "order", "largest"),
    [
        ("LeakyIAFExpConductance", 2, 0.02),
        ("LeakyIAFAlphaConductance", 2, 0.02),
        ("LeakyIAFExpConductanceEuler", 1, 1.0),
    ],
)
def test_conductances_converge(name: str, order: int, largest: float) -> None:
    """The order of the integrator, over arrivals of both kinds."""
    at = np.arange(1.0, 10.0)
    exact = solved_conductances(COBA, "Alpha" in name, at)
    assert np.ptp(exact) > 5.0
    errors = []
    for each in (10, 20, 40, 80):
        h = 1.0 / each
        arrivals = {x: np.zeros(9 * each + 1) for x in TIMES}
        for x, times in TIMES.items():
            np.add.at(arrivals[x], [round(t * each) for t in times], 1.0)
        v = driven(name, COBA, arrivals, GS, h, current=50.0)["V"][:, 0]
        errors.append(np.abs(v[(at * each).astype(int)] - exact).max())
    orders = np.log2(np.asarray(errors[:-1]) / errors[1:])
    assert errors[0] < largest
    assert np.all(np.abs(orders - order) < 0.12), (errors, orders)


@pytest.mark.parametrize("alpha", [False, True])
def test_conductances_shunt_exactly(alpha: bool) -> None:
    """With all reversals at rest V falls by the integral of the conductances, at any step."""
    name = "LeakyIAFAlphaConductance" if alpha else "LeakyIAFExpConductance"
    p = {**COBA, "E_exc": -60.0, "E_inh": -60.0, "initV": -70.0}
    times = {"exc": np.zeros(40), "inh": np.zeros(40)}
    times["exc"][[10, 12]], times["inh"][20] = 1.0, 2.0
    v = driven(name, p, times, GS, h=1.0)["V"][:, 0]
    t = np.arange(40.0)
    area = 10.0 * t
    for receptor, tau in (("exc", 5.0), ("inh", 10.0)):
        for row in np.flatnonzero(times[receptor]):
            s = np.maximum(t - row, 0) / tau
            one = math.e * (1 - (1 + s) * np.exp(-s)) if alpha else 1 - np.exp(-s)
            area += GS[receptor] * times[receptor][row] * tau * one
    np.testing.assert_allclose(v, -60.0 - 10.0 * np.exp(-area / 200.0), rtol=1e-14)
    assert v[-1] - v[10] > 4.0


@pytest.mark.parametrize("keep", [1.0, 0.0])
def test_euler_is_the_plain_formula(keep: float) -> None:
    """Every row of explicit Euler for V and both conductances, as the benchmark has it."""
    p = {**COBA, "threshold": -50.0, "refractory_period": 5.0, "keep_input": keep}
    arrivals = {"exc": some_arrivals(3000, 6, 0.2), "inh": some_arrivals(3000, 7, 0.02)}
    data = driven("LeakyIAFExpConductanceEuler", p, arrivals, {"exc": 6.0, "inh": 67.0})
    v, ge, gi, last, expected, fired = -60.0, 0.0, 0.0, -1000, [-60.0], []
    for row in range(1, 3000):
        new = v + H / 200.0 * (10.0 * (-60.0 - v) + ge * (0.0 - v) + gi * (-80.0 - v))
        resting = row - last <= 50
        taken = keep if resting else 1.0
        ge = ge - H * ge / 5.0 + taken * 6.0 * arrivals["exc"][row]
        gi = gi - H * gi / 10.0 + taken * 67.0 * arrivals["inh"][row]
        v = -60.0 if resting else new
        if v >= -50.0:
            v, last = -60.0, row
            fired.append(row)
        expected.append(v)
    assert len(fired) > 5
    assert spike_rows(data) == fired
    np.testing.assert_allclose(data["V"][:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("keep", [1.0, 0.0])
def test_adaptive_is_the_plain_formula(keep: float) -> None:
    """Every row of explicit Euler, with arrivals that a resting neuron keeps or drops."""
    arrivals = {"exc": some_arrivals(3000, 3, 0.3), "inh": some_arrivals(3000, 4, 0.05)}
    given = {"refractory_period": 3.0, "keep_input": keep}
    data = driven("AdaptiveExpIAF", given, arrivals, {"exc": 400.0, "inh": -150.0})
    v, w, exc, inh, last, expected, fired = -70.6, 0.0, 0.0, 0.0, -1000, [-70.6], []
    for row in range(1, 3000):
        resting = row - last <= 30
        upstroke = 2.0 * math.exp((v + 50.4) / 2.0)
        free = v + H / 281.0 * (30.0 * (-70.6 - v + upstroke) - w + exc + inh)
        w += H / 144.0 * (4.0 * (v + 70.6) - w)
        v = -70.6 if resting else free
        taken = keep if resting else 1.0
        exc = exc * math.exp(-H / 5.0) + taken * 400.0 * arrivals["exc"][row]
        inh = inh * math.exp(-H / 10.0) - taken * 150.0 * arrivals["inh"][row]
        if not resting and v >= 20.0:
            v, w, last = -70.6, w + 80.5, row
            fired.append(row)
        expected.append(v)
    assert len(fired) > 5
    assert spike_rows(data) == fired
    np.testing.assert_allclose(data["V"][:, 0], expected, rtol=1e-9)


# ---- refractory period ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("period", "steps"),
    [(0.0, 0), (0.04, 0), (0.06, 1), (0.1, 1), (0.14, 1), (0.3, 3), (2.0, 20), (2.2, 22)],
)
@pytest.mark.parametrize(
    "name",
    ["LeakyIAFDelta", "LeakyIAFExpCurrent", "LeakyIAFAlphaCurrent", "LeakyIAFExpConductance",
     "AdaptiveExpIAF", "LeakyIAFShiu"],
)  # fmt: skip
def test_refractory_steps(name: str, period: float, steps: int, dtype: str) -> None:
    """A neuron that always fires at once fires every ``steps + 1`` steps, and V rests between.

    LeakyIAFShiu counts the row of the spike, and its synapses need a row to act.
    """
    given: dict[str, float] = {"refractory_period": period, "threshold": -50.0}
    nodes = {"n": node(name, given)}
    edges: list[Any] = []
    inputs: list[Any] = [StepInput("I", ["n"], 1e6)]
    if name == "LeakyIAFShiu":
        nodes["s"] = node("SpikeSource", {})
        edges = [("s", "n", {"receptor": "syn", "weight": 1e5})]
        inputs = [StepInput("spike_state", ["s"], 1.0)]
    elif "Conductance" in name:
        nodes["n"].update({**COBA, **given})
    elif "Leaky" in name:
        nodes["n"].update({**LIF, "tau_exc": 2.0, "tau_inh": 3.0, **given})
        if name == "LeakyIAFDelta":
            del nodes["n"]["tau_exc"], nodes["n"]["tau_inh"]
    record = [("V", ["n"]), ("spike_state", ["n"])]
    data = simulate(build(nodes, edges), H / 1000, 120, inputs, record, dtype=dtype)
    rows = spike_rows(data)
    assert len(rows) >= 5
    assert set(np.diff(rows)) == {(max(steps, 1) if name == "LeakyIAFShiu" else steps) + 1}
    reset = data["V"][rows[0], 0]
    assert np.all(data["V"][rows[0] :, 0] == reset)  # in the rows of spikes and between


def plain(
    name: str, p: Mapping[str, float], arrivals: Mapping[str, Array], weights: Mapping[str, float]
) -> tuple[list[float], list[int]]:
    """Return V and spikes from a plain loop that remembers when the neuron fired last."""
    steps = len(next(iter(arrivals.values())))
    tau_m = p["time_constant"]
    rest, reset = p["resting_potential"], p["reset_potential"]
    period = round(p["refractory_period"] / H)
    taus = {x: p.get("tau" if name == "LeakyIAFShiu" else f"tau_{x}", 0.0) for x in weights}
    fly = name == "LeakyIAFShiu"
    gain = 1.0 if fly else tau_m / p.get("capacitance", 1.0)
    s = dict.fromkeys(weights, 0.0)
    v, last, rows, fired = rest, -1000, [rest], []
    for row in range(1, steps):
        resting = row - last <= period - fly
        moved = rest + (v - rest) * math.exp(-H / tau_m)
        for x, tau in taus.items():
            if x == "all":
                moved += weights[x] * arrivals[x][row]
            elif x != "kick":
                # the response of two time constants
                both = math.exp(-H / tau_m) - math.exp(-H / tau)
                moved += gain * s[x] * tau / (tau_m - tau) * both
        keep = not resting or bool(p.get("keep_input", 1.0))
        for x, tau in taus.items():
            if x not in ("all", "kick"):
                s[x] = s[x] * math.exp(-H / tau) + keep * weights[x] * arrivals[x][row]
        v = reset if resting else moved
        if not resting and v >= p["threshold"]:
            v, last = reset, row
            fired.append(row)
        elif fly and not resting:
            v += weights["kick"] * arrivals["kick"][row]
        if fly and (resting or row == last):
            s = dict.fromkeys(s, 0.0)
        rows.append(v)
    return rows, fired


FIRING = {**LIF, "threshold": -64.0, "tau_exc": 2.0, "tau_inh": 4.0}
CASES: dict[str, tuple[str, dict[str, float], dict[str, float]]] = {
    "delta": ("LeakyIAFDelta", {k: v for k, v in FIRING.items() if "tau_" not in k}, {"all": 0.6}),
    "kept": ("LeakyIAFExpCurrent", {**FIRING, "keep_input": 1.0}, {"exc": 300.0, "inh": -90.0}),
    "dropped": ("LeakyIAFExpCurrent", {**FIRING, "keep_input": 0.0}, {"exc": 300.0, "inh": -90.0}),
    "fly": ("LeakyIAFShiu",
            {"resting_potential": -52.0, "reset_potential": -52.0, "threshold": -51.0,
             "time_constant": 20.0, "tau": 5.0},
            {"syn": 2.0, "kick": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("period", [0.0, 0.1, 0.7, 2.2])
def test_input_while_refractory(case: str, period: float) -> None:
    """V of every row and every spike, with arrivals in every phase of the refractory period."""
    name, given, weights = CASES[case]
    p = {**given, "refractory_period": period}
    arrivals = {x: some_arrivals(4000, 8 + i, 0.3) for i, x in enumerate(weights)}
    data = driven(name, p, arrivals, weights)
    rows, fired = plain(name, p, arrivals, weights)
    assert len(fired) > 30
    assert spike_rows(data) == fired
    np.testing.assert_allclose(data["V"][:, 0], rows, rtol=1e-11)
    steps = round(period / H)
    met = {int(k - f) for f in fired for k in np.flatnonzero(arrivals[next(iter(weights))])
           if 0 <= k - f <= steps + 1}  # fmt: skip
    assert met >= {0, steps, steps + 1}  # in the row of the spike, the last that rests, the next


def test_last_refractory_row_and_the_next() -> None:
    """What arrives in the last refractory row is lost; one row later it acts, and may fire."""
    p = {**CASES["delta"][1], "refractory_period": 2.0}
    for late, second in ((20, []), (21, [71])):
        counts = np.zeros(100)
        counts[50] = counts[50 + late] = 1.0
        data = driven("LeakyIAFDelta", p, {"all": counts}, {"all": 10.0})
        assert spike_rows(data) == [50, *second]


def test_dropping_makes_a_difference() -> None:
    """A current that arrived during the period acts after it, unless it is dropped."""
    _, given, weights = CASES["kept"]
    arrivals = {"exc": np.zeros(200), "inh": np.zeros(200)}
    arrivals["exc"][[20, 45]] = 10.0, 1.0
    potentials = []
    for keep in (1.0, 0.0):
        p = {**given, "keep_input": keep, "refractory_period": 4.0}
        data = driven("LeakyIAFExpCurrent", p, arrivals, weights)
        assert spike_rows(data) == [21]
        potentials.append(data["V"][:, 0])
    assert np.array_equal(potentials[0][:62], potentials[1][:62])
    assert np.all(potentials[0][62:] > potentials[1][62:])


def test_keep_input_is_yes_or_no() -> None:
    """A share of the input is refused, with the node and what is allowed."""
    _, given, _ = CASES["kept"]
    with pytest.raises(CircuitError, match=r"'keep_input': .*whole number"):
        build({"n": node("LeakyIAFExpCurrent", {**given, "keep_input": 0.5})})


# ---- edges -------------------------------------------------------------------------------------


def test_edges_have_delays_weights_and_receptors() -> None:
    """Two edges of one pair, of different delay, weight and receptor, act each in its own row."""
    p = {**LIF, "tau_exc": 2.0, "tau_inh": 4.0}
    nodes = {"s": node("SpikeSource", {}), "n": node("LeakyIAFExpCurrent", p)}
    edges = [
        ("s", "n", {"weight": 500.0, "delay": 5 * H / 1000}),  # the first receptor that fits
        ("s", "n", {"weight": -300.0, "delay": 9 * H / 1000, "receptor": "inh"}),
    ]
    rows = np.zeros((60, 1))
    rows[10] = 2.0  # shows in row 11 of the source
    inputs = ArrayInput({"spike_state": (["s"], rows)})
    v = simulate(build(nodes, edges), H / 1000, 60, inputs, BOTH)["V"][:, 0]
    arrivals = {"exc": np.zeros(60), "inh": np.zeros(60)}
    arrivals["exc"][16] = 2.0 * 500.0 / WEIGHTS["exc"]
    arrivals["inh"][20] = 2.0 * -300.0 / WEIGHTS["inh"]
    np.testing.assert_allclose(v, linear(p, False, arrivals, 0.0), rtol=1e-13)
    assert v[16] == -65.0 < v[17]


def test_an_unknown_receptor_is_told() -> None:
    """With what the model has."""
    nodes = {"s": node("SpikeSource", {}), "n": node("LeakyIAFShiu", {})}
    with pytest.raises(CircuitError, match="'receptor' is 'sin', but LeakyIAFShiu has syn, kick"):
        build(nodes, [("s", "n", {"receptor": "sin"})])


# ---- all, in one network -----------------------------------------------------------------------

NETWORK: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "LeakyIAFDelta": ({**CASES["delta"][1], "refractory_period": 1.0}, {"spike_state": 0.1}),
    "LeakyIAFDeltaDriven": (
        {**CASES["delta"][1], "drive_rate": 9e3, "drive_weight": 0.1}, {"spike_state": 0.1}),
    "LeakyIAFExpCurrent": (FIRING, {"exc": 30.0, "inh": -30.0}),
    "LeakyIAFExpCurrentDriven": (
        {**FIRING, "drive_rate": 8e3, "drive_weight": 30.0}, {"exc": 30.0, "inh": -30.0}),
    "LeakyIAFAlphaCurrent": (FIRING, {"exc": 30.0, "inh": -30.0}),
    "LeakyIAFExpConductance": ({**COBA, "threshold": -58.0}, {"exc": 1.0, "inh": 2.0}),
    "LeakyIAFExpConductanceEuler": ({**COBA, "threshold": -58.0}, {"exc": 1.0, "inh": 2.0}),
    "LeakyIAFAlphaConductance": ({**COBA, "threshold": -58.0}, {"exc": 1.0, "inh": 2.0}),
    "LeakyIAFShiu": ({"threshold": -51.0}, {"syn": 0.3, "kick": 0.1}),
    "AdaptiveExpIAF": ({"initV": -55.0}, {"exc": 100.0, "inh": -50.0}),
    "AdaptiveExpIAFConductance": ({"initV": -55.0}, {"exc": 5.0, "inh": 2.0}),
    "Izhikevich": ({}, {"spike_state": 2.0}),
    "IzhikevichEuler": ({}, {"spike_state": 2.0}),
    "IzhikevichNoisy": ({"noise": 5.0}, {"spike_state": 2.0}),
    "TraubMiles": ({}, {"exc": 5.0, "inh": 5.0}),
    "PoissonCounts": ({"rate": 4e3}, {}),
}  # fmt: skip
"""Parameters, and for each receptor the largest weight."""


def network(seed: int = 3) -> Circuit:
    """Return groups of odd sizes of every model, connected at random, delays of 1 to 20 steps."""
    rng = np.random.default_rng(seed)
    sizes = {name: 131 + 2 * i for i, name in enumerate(NETWORK)}
    groups = [(model(n), sizes[n], given, None) for n, (given, _) in NETWORK.items()]
    total, first, links = sum(sizes.values()), 0, []
    for name, (_, weights) in NETWORK.items():
        for receptor, weight in weights.items():
            target = np.repeat(np.arange(first, first + sizes[name], dtype=np.int32), 9)
            source = rng.integers(0, total, len(target)).astype(np.int32)
            delay = rng.integers(1, 21, len(target)) * 1e-4
            data = {"weight": weight * rng.random(len(target))}
            links.append(Connections("spike_state", receptor, source, target, delay, data))
        first += sizes[name]
    return Circuit.from_arrays(groups, links)


def test_network_gives_the_same_bits(dtype: str) -> None:
    """For any number of threads, chunks and plans; every model spikes."""
    circuit = network()
    record = [("spike_state", None), ("V", None)]
    made: list[Any] = []
    settings: list[dict[str, Any]] = [{}, {"threads": 2, "chunk": 7}, {"threads": 3},
                                      {"plans": False}]  # fmt: skip
    for how in settings:
        made.append(simulate(circuit, 1e-4, 400, (), record, dtype=dtype, **how))
    spikes = made[0]["spike_state"].sum(axis=0)
    ends = np.cumsum([group.count for group in circuit.groups])
    for group, end in zip(circuit.groups, ends, strict=True):
        assert spikes[end - group.count : end].sum() > 0, group.model.__name__
    for other in made[1:]:
        assert_same_bits(made[0], other)
