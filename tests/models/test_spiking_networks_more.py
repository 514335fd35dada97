"""Adaptive, Izhikevich and Traub-Miles neurons; Poisson numbers and given spikes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.special import exprel
from scipy.stats import chisquare, kstest, poisson
from support import Recorded, alone, assert_same_bits, build, model, node, simulate, spike_rows

from neurodriver import LPU, ArrayInput, Circuit, Connections, MemoryRecorder, StepInput
from neurodriver.errors import CircuitError

Array = NDArray[np.float64]
Slope = Callable[[float, Array], list[float]]
BOTH = [("V", ["n"]), ("spike_state", ["n"])]
SIGMAS = 4.5
"""Standard deviations that a mean may be off; with a fixed seed a test passes always or never."""


def solution(slope: Slope, start: list[float], at: Array) -> Array:
    """Return the first state at some times in ms, from an accurate solver."""
    made = solve_ivp(slope, (0, at.max()), start, t_eval=at, rtol=1e-11, atol=1e-11)
    assert made.success
    return np.asarray(made.y[0])


def ratios(circuit: Circuit, current: float, exact: Array, at: Array, steps: list[int]) -> Array:
    """Return by how much the largest error falls from each number of steps a ms to the next."""
    errors = []
    for each in steps:
        n = round(at.max() * each) + 1
        inputs = [StepInput("I", ["n"], current)]
        v = simulate(circuit, 1e-3 / each, n, inputs, [("V", ["n"])])["V"][:, 0]
        errors.append(np.abs(v[np.rint(at * each).astype(int)] - exact).max())
    assert errors[0] < 0.1 * np.ptp(exact)
    return np.asarray(errors[:-1]) / errors[1:]


# ---- adaptive exponential ----------------------------------------------------------------------


def adaptive(current: float, conductance: bool, s: tuple[float, float] = (0.0, 0.0)) -> Slope:
    """Return the equations of 2005 with synapses that decay from ``s``, by hand."""

    def slope(t: float, y: Array) -> list[float]:
        v, w = y
        exc, inh = s[0] * math.exp(-t / 5.0), s[1] * math.exp(-t / 10.0)
        synaptic = exc * (0 - v) + inh * (-80 - v) if conductance else exc + inh
        ionic = -30.0 * (v + 70.6) + 30.0 * 2.0 * math.exp((v + 50.4) / 2.0)
        return [(ionic - w + synaptic + current) / 281.0, (4.0 * (v + 70.6) - w) / 144.0]

    return slope


@pytest.mark.parametrize(
    ("name", "synapses"),
    [("AdaptiveExpIAF", (600.0, -200.0)), ("AdaptiveExpIAFConductance", (12.0, 6.0))],
)
def test_adaptive_converges(name: str, synapses: tuple[float, float]) -> None:
    """First order in the step, into the upstroke, with both synapses open."""
    at = np.arange(2.0, 21.0, 2.0)
    exact = solution(adaptive(400.0, "Cond" in name, synapses), [-70.6, 0.0], at)
    circuit = alone(name, {}, inits_exc=synapses[0], inits_inh=synapses[1])
    found = ratios(circuit, 400.0, exact, at, [20, 40, 80, 160])
    assert np.all(np.abs(np.log2(found) - 1) < 0.1), found


def test_adaptive_fires_when_the_solver_does() -> None:
    """The first spikes under a strong current, each within a few steps of 0.01 ms."""
    slope, start, times, t = adaptive(1000.0, False), [-70.6, 0.0], [], 0.0
    peak: Any = lambda _, y: y[0] - 20.0  # noqa: E731
    peak.terminal = True
    for _ in range(6):
        made = solve_ivp(slope, (t, t + 200), start, events=peak, rtol=1e-11, atol=1e-9)
        t = made.t[-1]
        times.append(t)
        start = [-70.6, made.y[1, -1] + 80.5]
    inputs = StepInput("I", ["n"], 1000.0)
    found = spike_rows(simulate(alone("AdaptiveExpIAF", {}), 1e-5, 30000, inputs, BOTH))
    np.testing.assert_allclose(0.01 * np.asarray(found[:6]), times, atol=0.25, rtol=1e-3)
    assert np.all(np.diff(times, 2) > 0)  # it adapts


def test_adaptive_peak_may_be_steep(dtype: str) -> None:
    """An upstroke that overflows ends in a spike, and leaves no trace."""
    circuit = alone("AdaptiveExpIAF", {"slope_factor": 0.2, "refractory_period": 1.0})
    data = simulate(circuit, 1e-4, 3000, StepInput("I", ["n"], 1500.0), BOTH, dtype=dtype)
    assert len(spike_rows(data)) > 5
    assert np.isfinite(data["V"]).all() and data["V"].max() < 20.0


# ---- sub-steps and arrivals --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "weights"),
    [("AdaptiveExpIAF", (500.0, -100.0)), ("AdaptiveExpIAFConductance", (20.0, 5.0)),
     ("TraubMiles", (10.0, 5.0))],
)  # fmt: skip
def test_substeps_do_not_repeat_arrivals(name: str, weights: tuple[float, float]) -> None:
    """Steps of 0.5 ms give the rows of steps of 0.1 ms: what arrives does so once, at the end."""
    counts = np.random.default_rng(1).poisson(0.3, (200, 2)).astype(float)
    runs = []
    for each, steps in ((1, 200), (5, 1000)):
        rows = np.zeros((steps, 2))
        rows[each - 1 :: each] = counts  # a source sends at the end of the step of 0.5 ms
        dt = 5e-4 / each
        nodes = {"n": node(name, {}), "e": node("SpikeSource", {}), "i": node("SpikeSource", {})}
        edges = [
            ("e", "n", {"weight": weights[0], "receptor": "exc", "delay": 1e-3}),
            ("i", "n", {"weight": weights[1], "receptor": "inh", "delay": 1.5e-3}),
        ]
        given = ArrayInput({"spike_state": (["e", "i"], rows)})
        runs.append(simulate(build(nodes, edges), dt, steps, given, BOTH))
    coarse, fine = runs
    assert len(spike_rows(coarse)) >= 2
    np.testing.assert_allclose(coarse["V"][:, 0], fine["V"][::5, 0], rtol=1e-12)
    assert spike_rows(coarse) == sorted({math.ceil(row / 5) for row in spike_rows(fine)})


# ---- Izhikevich --------------------------------------------------------------------------------


def test_izhikevich_network_is_the_program_of_the_paper() -> None:
    """Every spike and potential of 100 neurons with random input, in the program's own order."""
    rng = np.random.default_rng(5)
    excitatory, inhibitory, steps = 80, 20, 400
    re, ri = rng.random(excitatory), rng.random(inhibitory)
    a = np.concatenate([0.02 * np.ones(excitatory), 0.02 + 0.08 * ri])
    b = np.concatenate([0.2 * np.ones(excitatory), 0.25 - 0.05 * ri])
    c = np.concatenate([-65 + 15 * re**2, -65 * np.ones(inhibitory)])
    d = np.concatenate([8 - 6 * re**2, 2 * np.ones(inhibitory)])
    n = excitatory + inhibitory
    weight = np.hstack([5 * rng.random((n, excitatory)), -10 * rng.random((n, inhibitory))])
    noise = rng.normal(size=(steps, n)) * np.repeat([5.0, 2.0], [excitatory, inhibitory])

    v = np.full(n, -65.0)
    u = b * v
    fired_rows = np.zeros((steps, n))
    for t in range(steps):
        fired = v >= 30
        fired_rows[t] = fired
        v[fired] = c[fired]
        u[fired] += d[fired]
        current = noise[t] + weight[:, fired].sum(axis=1)
        v += 0.5 * (0.04 * v**2 + 5 * v + 140 - u + current)
        v += 0.5 * (0.04 * v**2 + 5 * v + 140 - u + current)
        u += a * (b * v - u)
    params = {"a": a, "b": b, "c": c, "d": d, "initu": -65.0 * b}
    source, target = (x.ravel().astype(np.int32) for x in np.meshgrid(range(n), range(n)))
    links = Connections("spike_state", "spike_state", source, target,
                        data={"weight": weight[target, source]})  # fmt: skip
    circuit = Circuit.from_arrays([(model("Izhikevich"), n, params, None)], [links])
    inputs = ArrayInput({"I": (circuit.uids.tolist(), noise)})
    found = simulate(circuit, 1e-3, steps, inputs, [("spike_state", None)])["spike_state"]
    assert fired_rows.sum(axis=0).min() > 0
    np.testing.assert_array_equal(found, fired_rows)


def izhikevich(preset: str, current: float, steps: int = 3000, start: float = -65.0) -> Recorded:
    """Return a run of one of the published parameter sets."""
    given = {**model("Izhikevich").presets[preset], "initV": start}  # type: ignore[attr-defined]
    return simulate(alone("Izhikevich", given), 1e-4, steps, StepInput("I", ["n"], current), BOTH)


def test_presets_fire_as_published() -> None:
    """The words of the figure: adapting, bursting, chattering, fast, low threshold."""
    assert set(model("Izhikevich").presets) == {"RS", "IB", "CH", "FS", "LTS", "TC", "RZ"}  # type: ignore[attr-defined]
    rows = {name: spike_rows(izhikevich(name, 10.0)) for name in ("RS", "IB", "CH", "FS", "LTS")}
    intervals = {name: np.diff(found) for name, found in rows.items()}
    rs, ib, ch, fs = (intervals[name] for name in ("RS", "IB", "CH", "FS"))
    assert rs[0] < 0.8 * rs[1] and np.ptp(rs[2:]) < 0.05 * rs[-1]  # slows down, then even
    assert ib[0] < 0.4 * ib[-1]  # a burst at first, then single spikes
    assert np.ptp(ib[3:]) < 0.05 * ib[-1]
    assert ch[5:].max() > 4 * ch[5:].min()  # bursts that repeat
    assert len(rows["FS"]) > 2 * len(rows["RS"]) and np.ptp(fs[2:]) <= 3
    assert len(rows["LTS"]) > len(rows["RS"])
    assert not spike_rows(izhikevich("RS", 2.0)) and spike_rows(izhikevich("LTS", 2.0))


def test_thalamic_preset_rebounds() -> None:
    """TC bursts when it is released from hyperpolarisation; RS does not."""
    release = StepInput("I", ["n"], -10.0, 0.0, 0.15)
    for preset, least in (("TC", 2), ("RS", 0)):
        given = model("Izhikevich").presets[preset]  # type: ignore[attr-defined]
        rows = spike_rows(simulate(alone("Izhikevich", given), 1e-4, 3000, release, BOTH))
        assert (len(rows) >= least) if least else not rows
        assert all(row > 1500 for row in rows)
        if least:
            assert np.diff(rows).min() < 150


def test_resonator_oscillates_below_threshold() -> None:
    """RZ turns several times on its way to rest, RS does not."""
    given = model("Izhikevich").presets["RZ"]  # type: ignore[attr-defined]
    circuit = alone("Izhikevich", {**given, "initV": -63.0, "initu": -16.2})
    v = simulate(circuit, 1e-4, 1500, (), BOTH)["V"][:, 0]
    turns = np.flatnonzero(np.diff(np.sign(np.diff(v))))
    assert len(turns) >= 4 and v.max() < -50
    rs = simulate(alone("Izhikevich", model("Izhikevich").presets["RS"]), 1e-4, 1500, (), BOTH)  # type: ignore[attr-defined]
    assert len(np.flatnonzero(np.diff(np.sign(np.diff(rs["V"][:, 0]))))) <= 2


@pytest.mark.parametrize("name", ["Izhikevich", "IzhikevichEuler"])
def test_izhikevich_converges(name: str) -> None:
    """First order in the step, up to the first spike."""

    def slope(_: float, y: Array) -> list[float]:
        v, u = y
        return [0.04 * v * v + 5 * v + 140 - u + 10.0, 0.02 * (0.2 * v - u)]

    at = np.arange(0.5, 3.1, 0.5)
    exact = solution(slope, [-65.0, -13.0], at)
    assert exact.max() < 30
    found = ratios(alone(name, {}), 10.0, exact, at, [100, 200, 400, 800])
    assert np.all(np.abs(np.log2(found) - 1) < 0.1), found


@pytest.mark.parametrize("each", [1, 10])
def test_izhikevich_arrivals_do_not_depend_on_the_step(each: int) -> None:
    """At any step an arrival is the charge of its weight; at 1 ms it is the paper's current."""
    nodes = {"n": node("Izhikevich", {}), "s": node("SpikeSource", {})}
    circuit = build(nodes, [("s", "n", {"weight": 3.0})])
    rows = np.zeros((5 * each, 1))
    rows[each] = 1.0
    inputs = ArrayInput({"spike_state": (["s"], rows)})
    v = simulate(circuit, 1e-3 / each, 5 * each, inputs, [("V", ["n"])])["V"][:, 0]
    quiet = simulate(alone("Izhikevich", {}), 1e-3 / each, 5 * each, (), [("V", ["n"])])["V"][:, 0]
    at = each + 1  # the row in which the source shows the spike
    assert np.array_equal(v[: at + 1], quiet[: at + 1])
    x = quiet[at]
    jump = v[at + 1] - quiet[at + 1]
    assert jump == pytest.approx(3.0 * (1 + (0.08 * x + 5) / each / 4), abs=0.1)


@pytest.mark.parametrize("dt", [1e-3, 2.5e-4])
def test_izhikevich_noise_is_white(dt: float) -> None:
    """The current that explains the first step is normal, of variance ``noise^2 / dt``."""
    count, h = 4000, 1000 * dt
    circuit = Circuit.from_arrays([(model("IzhikevichNoisy"), count, {"noise": 5.0}, None)])
    v = simulate(circuit, dt, 2)["V"]
    # two half steps of a parabola, undone by Newton's method
    current = np.zeros(count)
    for _ in range(30):
        v1 = -65.0 + h / 2 * (0.04 * 65**2 - 5 * 65 + 140 + 13 + current)
        v2 = v1 + h / 2 * (0.04 * v1**2 + 5 * v1 + 140 + 13 + current)
        current -= (v2 - v[1]) / (h / 2 * (1 + h / 2 * (0.08 * v1 + 5)) + h / 2)
    assert np.abs(v2 - v[1]).max() < 1e-9
    assert kstest(current / (5.0 / math.sqrt(h)), "norm").pvalue > 1e-3
    silent = Circuit.from_arrays([(model("IzhikevichNoisy"), 3, {"noise": 0.0}, None)])
    plain = Circuit.from_arrays([(model("Izhikevich"), 3, {}, None)])
    assert_same_bits(simulate(silent, dt, 100), simulate(plain, dt, 100))


# ---- Traub-Miles -------------------------------------------------------------------------------


def rates(v: float | Array) -> tuple[Any, ...]:
    """Return a and b of m, h and n as the benchmark writes them."""
    u = np.asarray(v) + 63.0
    return (
        0.32 * 4 / exprel((13 - u) / 4), 0.28 * 5 / exprel((u - 40) / 5),
        0.128 * np.exp((17 - u) / 18), 4 / (1 + np.exp((40 - u) / 5)),
        0.032 * 5 / exprel((15 - u) / 5), 0.5 * np.exp((10 - u) / 40),
    )  # fmt: skip


def currents(v: float, m: float, h: float, n: float, ge: float, gi: float) -> tuple[float, float]:
    """Return total conductance, and the sum of conductances times reversal potentials."""
    na, k = 20000.0 * m**3 * h, 6000.0 * n**4
    return 10.0 + na + k + ge + gi, 10.0 * -60 + na * 50 + k * -90 + ge * 0 + gi * -80


def test_traub_miles_converges() -> None:
    """First order in the step, over synaptic input, against the equations of the benchmark."""

    def slope(t: float, y: Array) -> list[float]:
        v, m, h, n = y
        total, drive = currents(v, m, h, n, 30 * math.exp(-t / 5), 20 * math.exp(-t / 10))
        am, bm, ah, bh, an, bn = rates(v)
        return [(drive - total * v + 100.0) / 200.0, am * (1 - m) - bm * m,
                ah * (1 - h) - bh * h, an * (1 - n) - bn * n]  # fmt: skip

    at = np.arange(0.25, 2.1, 0.25)
    exact = solution(slope, [-65.0, 0.02, 0.99, 0.05], at)
    circuit = alone("TraubMiles", {}, initV=-65.0, initm=0.02, inith=0.99, initn=0.05,
                    initg_exc=30.0, initg_inh=20.0)  # fmt: skip
    found = ratios(circuit, 100.0, exact, at, [80, 160, 320, 640])
    assert np.all(np.abs(np.log2(found) - 1) < 0.1), found


@pytest.mark.parametrize("dt", [1e-4, 2e-5])
def test_traub_miles_is_the_plain_formula(dt: float) -> None:
    """Exponential Euler with the rates as published, through spikes and over all potentials."""
    h, steps = 1000 * dt, 2000
    drive = 600.0 * np.sin(np.arange(steps) * h / 8.0)
    inputs = ArrayInput({"I": (["n"], drive[:, None])})
    circuit = alone("TraubMiles", {}, initV=-60.0, initm=0.0, inith=0.9, initn=0.1)
    data = simulate(circuit, dt, steps, inputs, BOTH)
    y = [-60.0, 0.0, 0.9, 0.1]
    rows, fired = [-60.0], []
    for k in range(steps - 1):
        v, m, hh, n = y
        total, driven = currents(v, m, hh, n, 0.0, 0.0)
        goal = (driven + drive[k]) / total
        new = goal + (v - goal) * math.exp(-h * total / 200.0)
        am, bm, ah, bh, an, bn = rates(v)
        gates = [
            a / (a + b) + (x - a / (a + b)) * math.exp(-h * (a + b))
            for x, a, b in ((m, am, bm), (hh, ah, bh), (n, an, bn))
        ]
        if v < -20 <= new:
            fired.append(k + 1)
        y = [new, *gates]
        rows.append(new)
    assert len(fired) >= 1 and min(rows) < -75 and max(rows) > 20
    assert spike_rows(data) == fired
    np.testing.assert_allclose(data["V"][:, 0], rows, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("v", [-50.0, -48.0, -23.0, -51.0, -49.0, -49.25, -46.75, -24.25, -21.75])
def test_traub_miles_rates_are_smooth(v: float, dtype: str) -> None:
    """At the three quotients of 0 by 0, and where their series take over."""
    total, drive = currents(v, 0.0, 0.5, 0.0, 0.0, 0.0)
    values = []
    for shift in (-1e-4, 0.0, 1e-4):
        circuit = alone("TraubMiles", {}, initV=v + shift, initm=0.0, inith=0.5, initn=0.0)
        values.append(simulate(circuit, 1e-4, 4, (), BOTH, dtype=dtype)["V"][:, 0])
    am, bm, ah, bh, an, bn = rates(v)
    goal = drive / total
    v1 = goal + (v - goal) * math.exp(-0.1 * total / 200.0)
    m = am / (am + bm) * -math.expm1(-0.1 * (am + bm))
    n = an / (an + bn) * -math.expm1(-0.1 * (an + bn))
    h = ah / (ah + bh) + (0.5 - ah / (ah + bh)) * math.exp(-0.1 * (ah + bh))
    total, drive = currents(v1, m, h, n, 0.0, 0.0)
    v2 = drive / total + (v1 - drive / total) * math.exp(-0.1 * total / 200.0)
    exact = 1e-12 if dtype == "float64" else 2e-6
    assert values[1][2] == pytest.approx(v2, rel=exact)
    spread = np.abs(np.diff(values, axis=0)).max()
    assert 0 < spread < 1e-2


def test_traub_miles_rests_and_spikes() -> None:
    """The first gates are at rest; it is silent with a lower leak, and a current makes it fire."""
    start = simulate(alone("TraubMiles", {}), 1e-4, 20, (), BOTH)["V"][:, 0]
    assert 0 < np.abs(np.diff(start)).max() < 0.05
    quiet = simulate(alone("TraubMiles", {"E_L": -65.0}), 1e-4, 5000, (), BOTH)
    assert not spike_rows(quiet) and np.ptp(quiet["V"][-100:, 0]) < 0.01
    data = simulate(alone("TraubMiles", {}), 1e-4, 5000, StepInput("I", ["n"], 600.0), BOTH)
    v, rows = data["V"][:, 0], spike_rows(data)
    assert len(rows) > 10
    assert rows == (1 + np.flatnonzero((v[:-1] < -20) & (v[1:] >= -20))).tolist()


# ---- Poisson numbers ---------------------------------------------------------------------------


def counts_of(mean: float, count: int, steps: int, dtype: str = "float64", **how: Any) -> Array:
    """Return the numbers of PoissonCounts sources, (steps, count), seen through their targets."""
    rate = mean * 1e4
    sources = (model("PoissonCounts"), count, {"rate": rate}, None)
    lif = {"resting_potential": 0.0, "threshold": 1e9, "reset_potential": 0.0,
           "time_constant": 1e-4}  # fmt: skip
    targets = (model("LeakyIAFDelta"), count, lif, None)  # forgets within a step
    at = np.arange(count, dtype=np.int32)
    links = Connections("spike_state", "spike_state", at, at + count)
    circuit = Circuit.from_arrays([sources, targets], [links])
    uids = circuit.uids[count:].tolist()
    found = simulate(circuit, 1e-4, steps + 2, (), [("V", uids)], dtype=dtype, **how)["V"]
    return np.asarray(found[2:])


@pytest.mark.parametrize("mean", [1e-4, 0.003, 0.3, 2.0, 10.0, 15.9, 16.1, 40.0, 900.0])
def test_poisson_counts(mean: float, dtype: str) -> None:
    """Whole numbers with the probabilities of the distribution, by a chi-squared test."""
    found = counts_of(mean, 300, 400, dtype)
    assert np.array_equal(found, np.rint(found))
    low, high = int(poisson.ppf(1e-4, mean)), int(poisson.isf(1e-4, mean)) + 1
    edges = np.arange(low, high + 1)
    seen = np.bincount(np.clip(found, low, high).astype(int).ravel() - low, minlength=len(edges))
    share = poisson.pmf(edges, mean)
    share[0] = poisson.cdf(low, mean)
    share[-1] = poisson.sf(high - 1, mean)
    many = share * found.size >= 5
    seen = np.append(seen[many], seen[~many].sum())
    share = np.append(share[many], share[~many].sum() + 1e-12)
    assert chisquare(seen, share / share.sum() * found.size).pvalue > 1e-4
    assert abs(found.mean() - mean) < SIGMAS * math.sqrt(mean / found.size)
    spread = mean * math.sqrt((2 + 1 / mean) / found.size)
    assert abs(found.var() - mean) < SIGMAS * spread


def test_poisson_counts_are_independent() -> None:
    """From step to step, and from source to source."""
    found = counts_of(2.0, 100, 2000) - 2.0
    for lag in (1, 2, 9):
        assert abs((found[lag:] * found[:-lag]).mean() / 2.0) < SIGMAS / math.sqrt(found.size)
    for apart in (1, 16):
        product = (found * np.roll(found, apart, axis=1)).mean() / 2.0
        assert abs(product) < SIGMAS / math.sqrt(found.size)


def test_poisson_counts_same_bits(dtype: str) -> None:
    """For any number of threads and any chunks; another seed gives other numbers."""
    one = counts_of(3.0, 701, 50, dtype)
    assert np.array_equal(one, counts_of(3.0, 701, 50, dtype, threads=3, chunk=7))
    assert not np.array_equal(one, counts_of(3.0, 701, 50, dtype, seed=1))


def test_poisson_counts_limits() -> None:
    """A rate of 0, or one that an input makes negative, gives nothing; below 0 it is refused."""
    circuit = build({"n": node("PoissonCounts", {"rate": 5e4})})
    record = [("spike_state", None)]
    rows = simulate(circuit, 1e-4, 50, StepInput("rate", ["n"], -1e6), record)["spike_state"]
    assert not rows.any()
    assert simulate(circuit, 1e-4, 50, (), record)["spike_state"].sum() > 40
    silent = build({"n": node("PoissonCounts", {"rate": 0.0})})
    assert not simulate(silent, 1e-4, 50, (), record)["spike_state"].any()
    with pytest.raises(CircuitError, match="'rate': must be finite and at least 0"):
        build({"n": node("PoissonCounts", {"rate": -1.0})})


@pytest.mark.parametrize("rate", [300.0, 2e4, 3e5])
def test_background_of_delta_synapses(rate: float) -> None:
    """Mean and variance of V under a Poisson background, after many time constants."""
    count, mean = 4000, rate * 1e-4
    given = {"resting_potential": -65.0, "threshold": 1e9, "reset_potential": -65.0,
             "time_constant": 5.0, "drive_rate": rate, "drive_weight": 0.1}  # fmt: skip
    circuit = Circuit.from_arrays([(model("LeakyIAFDeltaDriven"), count, given, None)])
    v = simulate(circuit, 1e-4, 600)["V"][-1]
    decay = math.exp(-0.1 / 5.0)
    variance = 0.1**2 * mean / (1 - decay**2)
    middle = -65.0 + 0.1 * mean / (1 - decay)
    assert abs(v.mean() - middle) < SIGMAS * math.sqrt(variance / count)
    assert abs(v.var() - variance) < SIGMAS * variance * math.sqrt(2.5 / count)


def test_background_of_exponential_currents() -> None:
    """The mean of V is weight x rate x both time constants over the capacitance."""
    count, rate = 3000, 8000.0
    given = {"resting_potential": -65.0, "threshold": 1e9, "reset_potential": -65.0,
             "time_constant": 10.0, "capacitance": 250.0, "tau_exc": 0.5, "tau_inh": 0.5,
             "drive_rate": rate, "drive_weight": 87.8}  # fmt: skip
    circuit = Circuit.from_arrays([(model("LeakyIAFExpCurrentDriven"), count, given, None)])
    v = simulate(circuit, 1e-4, 1500)["V"][-1]
    # what arrives at the end of a step decays by whole steps: the sum is geometric
    current = 87.8 * rate * 1e-4 / -math.expm1(-0.1 / 0.5)
    per_step = current * (0.5 * -math.expm1(-0.1 / 0.5)) / 0.1
    assert abs(v.mean() - (-65.0 + per_step * 10.0 / 250.0)) < SIGMAS * v.std() / math.sqrt(count)
    assert 0.8 < v.var() / (87.8**2 * rate * 1e-3 * (0.5 / 250) ** 2 * 10**2 / 2 / 10.5) < 1.25


def test_background_belongs_to_the_uid() -> None:
    """The order of the neurons and their number change nothing."""
    given = {"resting_potential": -65.0, "threshold": -60.0, "reset_potential": -65.0,
             "time_constant": 10.0, "drive_rate": 2e4, "drive_weight": 0.3}  # fmt: skip

    def potentials(uids: list[str]) -> dict[str, Array]:
        circuit = build({uid: node("LeakyIAFDeltaDriven", given) for uid in uids})
        recorder = MemoryRecorder([("V", uids)])
        with LPU(circuit, 1e-4, (), [recorder]) as lpu:
            lpu.run(steps=100)
        return dict(zip(uids, recorder.output["V"]["data"].T, strict=True))

    some, more = potentials(["a", "b"]), potentials([*[f"x{i}" for i in range(40)], "b", "a"])
    assert all(np.array_equal(v, more[uid]) for uid, v in some.items())
    assert not np.array_equal(some["a"], some["b"])


# ---- given spikes ------------------------------------------------------------------------------


def test_spike_source_sends_given_times() -> None:
    """Events of an array come out one step later."""
    events = np.array([0.5e-3, 0.5e-3, 2e-3]), np.array([0, 2, 1])
    uids = ["a", "b", "c"]
    circuit = build({u: node("SpikeSource", {}) for u in uids})
    inputs = ArrayInput({"spike_state": (uids, events)})
    rows = simulate(circuit, 1e-4, 40, inputs, [("spike_state", uids)])["spike_state"]
    assert np.argwhere(rows).tolist() == [[6, 0], [6, 2], [21, 1]]
