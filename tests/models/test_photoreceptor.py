"""The photoreceptor against a simulation of its own kind and an ODE solver; buffers before it."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from support import DT, Recorded, assert_same_bits, build, model, node, simulate, started

from neurodriver import ArrayInput, Circuit, StepInput
from neurodriver.errors import CircuitError

CHANCE = 5.0
"""Standard errors: seeds are fixed, so this holds or does not; by chance it fails once in 10^6."""

CELL = {"num_microvilli": 300, "init_V": -81.99}
SPECIES = ("M", "G", "G_on", "PLC", "DAG", "CaM", "TRP")
Floats = NDArray[np.float64]

# ---- an independent simulation --------------------------------------------------------------

JUMPS = np.array(
    # M, G, G*, PLC*, D*, C*, T*
    [[-1, 0, 0, 0, 0, 0, 0], [0, -1, 1, 0, 0, 0, 0], [0, 0, -1, 1, 0, 0, 0],
     [0, 0, -1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0],
     [0, 0, 0, -1, 0, 0, 0], [0, 0, 0, 0, -1, 0, 0], [0, 0, 0, 0, -2, 0, 1],
     [0, 0, 0, 0, 0, 0, -1], [0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, -1, 0],
     [1, 0, 0, 0, 0, 0, 0]]
)  # fmt: skip
"""Reactions 1 to 13 of the literature's list."""


def propensities(x: NDArray[np.int64], volts: Floats, ns: Floats, photons: float) -> Floats:
    """Return the thirteen rates of each microvillus, (13, n)."""
    m, g, ga, p, d, c, t = x.T.astype(float)
    mm = c * 5.5353e-4
    current = 8 * t * np.maximum(-volts, 0)
    ca = (690.9537 * current + 0.0795979 + 22 * mm) / (
        1060 - 120 * mm + 179.0952 * np.exp(-39.60793 * volts)
    )
    ca = np.maximum(ca, 1.6e-4)
    fp = (ca / 0.3) ** 2 / (1 + (ca / 0.3) ** 2)
    fn = ns * (mm / 0.18) ** 3 / (1 + (mm / 0.18) ** 3)
    rates = [
        3.7 * (1 + 40 * fn) * m, 7.05 * g * m, 15.6 * ga * (100 - p), 3 * ga * p,
        3.5 * (50 - ga - g - p), 1300 * p, 144 * (1 + 11.1 * fn) * p, 4 * (1 + 37.8 * fn) * d,
        0.015 * (1 + 11.5 * fp) * d * (d - 1) * (25 - t) / 2, 25 * (1 + 10 * fn) * t,
        54198 * ca * (0.5 - mm), 5.5 * c, np.full(len(m), photons),
    ]  # fmt: skip
    return np.maximum(np.array(rates), 0)


def transduce(
    x: NDArray[np.int64], volts: Floats, ns: Floats, photons: float, rng: np.random.Generator
) -> None:
    """Advance the counts (n, 7) by 0.1 ms: direct method, waiting times drawn anew."""
    here = np.arange(len(x))
    left = np.full(len(x), 1e-4)
    while len(here):
        rates = propensities(x[here], volts[here], ns[here], photons)
        wait = rng.exponential(size=len(here)) / rates.sum(axis=0)
        now = wait < left
        here, left, rates = here[now], (left - wait)[now], rates[:, now]
        steps = np.cumsum(rates, axis=0)
        chosen = (rng.random(len(here)) * steps[-1] < steps).argmax(axis=0)
        x[here] += JUMPS[chosen]


def gates(v: Floats) -> list[tuple[Floats, Floats]]:
    """Return steady state and time constant (ms) of sa, si, dra, dri, nov."""

    def sigmoid(u: Floats) -> Floats:
        return 1 / (1 + np.exp(u))

    return [
        (sigmoid((-23.7 - v) / 12.8) ** (1 / 3), 0.13 + 3.39 * np.exp(-((73 + v) ** 2) / 400)),
        (0.9 * sigmoid((55 + v) / 3.9) + 0.1 * sigmoid((74.8 + v) / 10.7),
         113 * np.exp(-((71 + v) ** 2) / 841)),
        (np.sqrt(sigmoid((-1 - v) / 9.1)), 0.5 + 5.75 * np.exp(-((25 + v) ** 2) / 1024)),
        (sigmoid((25.7 + v) / 6.4), np.full_like(v, 890)),
        (sigmoid((-12 - v) / 11), 3 + 166 * np.exp(-((20 + v) ** 2) / 484)),
    ]  # fmt: skip


def slope(v: Floats, gate: Floats, current: Floats | float) -> Floats:
    """Return dV/dt in mV/ms."""
    sa, si, dra, dri, nov = gate
    potassium = 0.082 + 1.6 * sa**3 * si + 3.5 * dra**2 * dri + 3 * nov
    return (current - potassium * (v + 85) - 0.006 * (v + 30)) / 4


START = np.array([0.2184, 0.9653, 0.0117, 0.9998, 0.0017])


def reference(
    cells: int, each: int, photons: float, steps: int, clamp: float | None, seed: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Return V and ns, (steps, 2, cells), and the counts at each step, (steps, cells * each, 7)."""
    rng = np.random.default_rng(seed)
    x = np.zeros((cells * each, 7), dtype=np.int64)
    x[:, 1] = 50
    v = np.full(cells, -81.99 if clamp is None else clamp)
    ns = np.ones(cells)
    gate = np.repeat(START[:, None], cells, axis=1)
    cells_seen, counts_seen = np.empty((steps, 2, cells)), np.empty((steps, *x.shape), np.int64)
    for k in range(steps):
        cells_seen[k], counts_seen[k] = (v, ns), x
        transduce(x, np.repeat(v, each) / 1000, np.repeat(ns, each), photons / each, rng)
        if clamp is not None:
            continue
        opened = x[:, 6].reshape(cells, each).sum(axis=1)
        current = opened * 8 * np.maximum(-v / 1000, 0) / 15.7
        for _ in range(10):
            for i in range(5):
                inf, tau = gates(v)[i]
                gate[i] += 0.01 * (inf - gate[i]) / tau
            v = v + 0.01 * slope(v, gate, current)
        low = np.maximum(1, 0.2354 * (v + 70) + 1)
        ns = ns + 1e-4 * (np.where(v >= -53, 8.5652 * (v + 53) + 5, low) - ns)
    return cells_seen, counts_seen


def assert_same_law(one: Floats, other: Floats, what: str) -> None:
    """Fail unless two samples agree in mean and variance, within their standard errors."""
    moments = []
    for sample in (one.astype(float), other.astype(float)):
        n, variance = len(sample), sample.var()
        fourth = ((sample - sample.mean()) ** 4).mean()
        moments.append((sample.mean(), variance / n, variance, (fourth - variance**2) / n))
    (m1, e1, v1, f1), (m2, e2, v2, f2) = moments
    assert abs(m1 - m2) <= CHANCE * math.sqrt(e1 + e2), f"{what}: means {m1} and {m2}"
    assert abs(v1 - v2) <= CHANCE * math.sqrt(f1 + f2), f"{what}: variances {v1} and {v2}"


@cache
def clamped() -> Any:
    """Return the model with V and ns held, which publishes the totals of all species."""
    parent = model("PhotoreceptorModel")
    units = replace(parent.sub_units, totals={f"sum_{s}": s for s in SPECIES})
    body = {
        "updates": tuple(f"out_{s}" for s in SPECIES),
        "update": " ".join(f"out_{s} = sum_{s};" for s in SPECIES),
        "sub_units": units,
    }
    return type("Clamped", (parent,), body)


@pytest.mark.parametrize(
    ("photons", "held", "dtype"), [(10.0, -60.0, "float64"), (300.0, -30.0, "float32")]
)
def test_clamped_microvilli(photons: float, held: float, dtype: str) -> None:
    """Mean and variance of every species of 10,000 microvilli, at several times.

    Each microvillus is a cell of its own, so that variances are seen; light of 10 and 300 photons
    a second and microvillus (3e5 and 9e6 a second on a whole cell).
    """
    count, steps = 10_000, 400
    circuit = Circuit.from_arrays([(clamped(), count, {"num_microvilli": 1, "init_V": held}, None)])
    light = StepInput("photon", circuit.uids, photons)
    record = [(f"out_{s}", None) for s in SPECIES]
    ours = simulate(circuit, DT, steps, light, record, dtype=dtype)
    theirs = _reference_clamped(photons, held, steps)
    assert theirs[-1, :, 6].mean() > 0.05  # channels do open
    for k in (20, 60, 120, 250, 399):
        for i, species in enumerate(SPECIES):
            assert_same_law(ours[f"out_{species}"][k], theirs[k, :, i], f"{species} at {k}")


@cache
def _reference_clamped(photons: float, held: float, steps: int) -> NDArray[np.int64]:
    x = np.zeros((6000, 7), dtype=np.int64)
    assert x.size
    return reference(6000, 1, photons, steps, held, seed=5)[1]


def test_one_large_cell_is_the_sum_of_its_microvilli() -> None:
    """The current of a cell with 20,000 microvilli agrees with 6,000 simulated on their own."""
    photons, held, steps = 10.0, -60.0, 400
    cell = {"num_microvilli": 20_000, "init_V": held}
    circuit = Circuit.from_arrays([(clamped(), 1, cell, None)])
    light = StepInput("photon", circuit.uids, photons * 20_000)
    ours = simulate(circuit, DT, steps, light, [("out_TRP", None)])["out_TRP"][:, 0]
    theirs = _reference_clamped(photons, held, steps)[:, :, 6]
    for k in (150, 200, 250, 399):
        error = math.sqrt(theirs[k].var() * (1 / 20_000 + 1 / 6_000))
        assert abs(ours[k] / 20_000 - theirs[k].mean()) < CHANCE * error


@pytest.mark.parametrize("rate", [3e5, 1e6])
def test_free_potential(rate: float) -> None:
    """Mean and variance of V over cells that are lit, at several times: 20 reference cells.

    The rates are those of a cell of 30,000 microvilli; here are 500 in each.
    """
    each, steps = 500, 350
    rate *= each / 30_000
    theirs = reference(20, each, rate, steps, None, seed=6)[0][:, 0]
    cell = {**CELL, "num_microvilli": each}
    circuit = Circuit.from_arrays([(model("PhotoreceptorModel"), 150, cell, None)])
    v = simulate(circuit, DT, steps, StepInput("photon", circuit.uids, rate))["V"]
    assert theirs[-1].mean() > -60
    for k in (60, 100, 150, 250, 349):
        assert_same_law(v[k], theirs[k], f"V at {k}")


# ---- the membrane ---------------------------------------------------------------------------


def test_membrane_against_an_ode_solver() -> None:
    """Without channels V follows its differential equations, with an error that halves with dt."""
    current = 6.0

    def rhs(t: float, y: Floats) -> Floats:
        v = np.array([y[0]])
        change = [float(slope(v, y[1:, None], current)[0])]
        pairs = zip(gates(v), y[1:], strict=True)
        change += [float((inf[0] - x) / tau[0]) for (inf, tau), x in pairs]
        return np.array(change)

    times = np.linspace(10.0, 50.0, 5)
    exact = solve_ivp(
        rhs, (0, 50.0), [-81.99, *START], method="LSODA", t_eval=times, rtol=1e-10, atol=1e-11
    ).y[0]
    assert np.ptp(np.append(exact, -81.99)) > 15
    errors = []
    for dt in (1e-4, 5e-5, 2.5e-5):
        circuit = build({"n": node("PhotoreceptorModel", CELL, num_microvilli=1)})
        steps = round(0.05 / dt) + 1
        v = simulate(circuit, dt, steps, StepInput("I", ["n"], current))["V"][:, 0]
        errors.append(np.abs(v[np.rint(times / 1000 / dt).astype(int)] - exact).max())
    assert errors[0] < 0.05
    for coarse, fine in pairwise(errors):
        assert 1.8 < coarse / fine < 2.2


def test_long_steps_are_divided() -> None:
    """0.2 ms are two sub-steps of 0.1 ms, 0.05 ms are one."""
    parts = [model("PhotoreceptorModel").substeps(dt) for dt in (5e-5, 1e-4, 2e-4, 1e-3)]
    assert parts == [1, 1, 2, 10]
    circuit = build({"n": node("PhotoreceptorModel", CELL, num_microvilli=1)})
    current = StepInput("I", ["n"], 3.0)
    fine = simulate(circuit, 1e-4, 201, current)["V"][::2]
    coarse = simulate(circuit, 2e-4, 101, current)["V"]
    assert np.ptp(fine) > 5
    np.testing.assert_allclose(coarse, fine, rtol=1e-12)


def test_light_depolarises(dtype: str) -> None:
    """A whole cell rests near -82 mV; light moves it within 20 ms, darkness lets it fall."""
    circuit = build({"n": node("PhotoreceptorModel", CELL, num_microvilli=30_000)})
    light = StepInput("photon", ["n"], 1e6, 0.02, 0.06)
    v = simulate(circuit, DT, 1600, light, dtype=dtype)["V"][:, 0]
    assert v[0] == pytest.approx(-81.99)
    assert np.abs(v[:200] + 82).max() < 0.5
    assert v[400:600].mean() > -50
    assert v[-1] < v[500:620].max() - 10


def test_glaring_light() -> None:
    """The equations overshoot at 0.1 ms, but V stays a number; at 20 us all is well."""
    circuit = build({"n": node("PhotoreceptorModel", CELL, num_microvilli=30_000)})
    light = StepInput("photon", ["n"], 1e7)
    coarse = simulate(circuit, 1e-4, 600, light)["V"]
    assert np.isfinite(coarse).all()
    assert coarse.max() > 30
    fine = simulate(circuit, 2e-5, 1500, light)["V"]
    assert -10 < fine.max() < 0


def test_negative_light_is_darkness() -> None:
    """A negative photon rate counts as 0."""
    circuit = build({"n": node("PhotoreceptorModel", CELL)})
    dark, negative = (
        simulate(circuit, DT, 300, StepInput("photon", ["n"], rate))["V"] for rate in (0.0, -1e6)
    )
    assert_same_bits({"V": dark}, {"V": negative})


def test_starting_values_of_old_graphs() -> None:
    """They are accepted without a word and not used; ``init_V`` is."""
    old = {"init_sa": 0.9, "init_si": 0.1, "init_dra": 0.5, "init_dri": 0.5, "init_nov": 0.5}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = build({"n": node("PhotoreceptorModel", CELL, **old)})
    plain = build({"n": node("PhotoreceptorModel", CELL)})
    light = StepInput("photon", ["n"], 1e4)
    one, other = (simulate(c, DT, 300, light) for c in (given, plain))
    assert_same_bits(one, other)
    moved = simulate(build({"n": node("PhotoreceptorModel", CELL, init_V=-70.0)}), steps=2)
    assert moved["V"][0, 0] == -70.0


# ---- the same bits --------------------------------------------------------------------------

UIDS = [f"R{i % 6 + 1}_{i // 6}" for i in range(37)]
SIZES = [100 + 37 * i for i in range(37)]


def retina(uids: list[str]) -> Circuit:
    """Return photoreceptors of different sizes, in an order."""
    nodes = {
        uid: node("PhotoreceptorModel", CELL, num_microvilli=SIZES[UIDS.index(uid)]) for uid in uids
    }
    return build(nodes)


def lit(uids: list[str], dtype: str, **settings: Any) -> Recorded:
    """Return V of photoreceptors whose light flickers, each with its own rate."""
    values = 1e3 * np.random.default_rng(3).integers(0, 40, (150, len(UIDS)))
    columns = [UIDS.index(uid) for uid in uids]
    light = ArrayInput({"photon": (uids, values[:, columns])})
    settings = {"threads": 1, "chunk": 1000, "dtype": dtype, **settings}
    with started(retina(uids), DT, light, **settings) as lpu:
        lpu.run(steps=150)
        assert lpu.backend.threads > 3 or min(lpu.backend.worked()) > 0
        return {"V": lpu.recorders[0].output["V"]["data"]}


def test_same_bits_for_any_threads_and_chunks(dtype: str) -> None:
    """Threads that begin at any component, and calls of 1 to 150 steps."""
    expected = lit(UIDS, dtype)
    for settings in ({"threads": 2}, {"threads": 3}, {"threads": 37}, {"chunk": 1}, {"chunk": 7}):
        assert_same_bits(expected, lit(UIDS, dtype, **settings))
    other = lit(UIDS, dtype, seed=1)
    assert (other["V"][-1] != expected["V"][-1]).all()


def test_same_bits_in_any_company() -> None:
    """A cell's noise belongs to its uid: order and neighbours change nothing."""
    expected = lit(UIDS, "float64")["V"]
    turned = lit(UIDS[::-1], "float64")["V"][:, ::-1]
    few = lit(UIDS[5:9], "float64", threads=3)["V"]
    assert_same_bits({"V": expected}, {"V": np.ascontiguousarray(turned)})
    assert_same_bits({"V": np.ascontiguousarray(expected[:, 5:9])}, {"V": few})


def test_cells_differ() -> None:
    """Two cells of equal parameters under one light have their own noise."""
    circuit = build({uid: node("PhotoreceptorModel", CELL) for uid in ("a", "b")})
    v = simulate(circuit, DT, 400, StepInput("photon", ["a", "b"], 1e4))["V"]
    assert abs(v[-1, 0] - v[-1, 1]) > 1e-3
    assert (v[0] == v[0, 0]).all()


def test_threads_get_single_cells() -> None:
    """A few large cells are shared out one by one, in proportion to their microvilli."""
    nodes = {
        f"n{i}": node("PhotoreceptorModel", CELL, num_microvilli=n)
        for i, n in enumerate([6000, 1000, 1000, 1000, 1000, 1000, 1000])
    }
    with started(build(nodes), record=(), threads=2, backend="cpu") as lpu:
        lpu.run(steps=10)
        assert lpu.backend.worked() == [10, 60]


# ---- faults ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1.5, -3, math.nan, math.inf, 2e9, "many", None])
def test_numbers_of_microvilli(number: Any) -> None:
    """They are whole, at least one, and few enough to be numbered."""
    with pytest.raises(CircuitError) as caught:
        build({"cell": node("PhotoreceptorModel", CELL, num_microvilli=number)})
    assert "'cell'" in str(caught.value)
    assert "num_microvilli" in str(caught.value)


def test_a_fraction_is_told_in_words() -> None:
    """The message says what is allowed."""
    with pytest.raises(CircuitError, match=r"a whole number and at least 1.*\(got 1.5 1\)"):
        build({"cell": node("PhotoreceptorModel", CELL, num_microvilli=1.5)})


def test_potential_is_required() -> None:
    """A cell needs ``init_V``."""
    with pytest.raises(CircuitError, match="parameter 'init_V' \\[mV\\] is missing"):
        build({"cell": {"class": "PhotoreceptorModel", "num_microvilli": 3}})


def test_too_many_for_the_memory() -> None:
    """Told before anything is allocated, with what it would take."""
    cells = {"num_microvilli": 1_000_000_000, "init_V": -82.0}
    circuit = Circuit.from_arrays([(model("PhotoreceptorModel"), 1000, cells, None)])
    with pytest.raises(CircuitError) as caught:
        simulate(circuit, steps=1)
    said = str(caught.value)
    assert "the 1,000,000,000,000 sub-units of PhotoreceptorModel (num_microvilli)" in said
    assert "GiB are free; use fewer" in said


# ---- buffers --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "variable"), [("BufferPhoton", "photon"), ("BufferVoltage", "V")])
def test_buffers_pass_on_a_step_later(name: str, variable: str) -> None:
    """``x[k + 1]`` is the input of step k, every sample once; row 0 is 0."""
    values = np.random.default_rng(1).normal(size=(50, 1))
    circuit = build({"n": node(name, {})})
    for delayed in (0, 3):
        edges = [("n", "m", {"delay": delayed * DT})] if delayed else []
        pair = build({"n": node(name, {}), "m": node(name, {})}, edges)
        data = simulate(pair, DT, 50, ArrayInput({variable: (["n"], values)}),
                        [(variable, ["n", "m"])])[variable]  # fmt: skip
        assert data[0, 0] == 0
        assert np.array_equal(data[1:, 0], values[:-1, 0])
        if delayed:
            assert np.array_equal(data[delayed + 1 :, 1], data[1:-delayed, 0])
            assert np.ptp(data[:, 1]) > 1
    assert circuit.count == 1


def test_from_light_to_port() -> None:
    """Buffer, photoreceptor, port in and port out, as graphs of a retina have them."""
    graph = nx.MultiDiGraph()
    graph.add_node("R1_0_photon", **{"class": "BufferPhoton"})
    graph.add_node("R1_0", **node("PhotoreceptorModel", CELL, num_microvilli=2000))
    graph.add_node("R2_0", **node("PhotoreceptorModel", CELL, num_microvilli=2000))
    port = {"class": "Port", "port_type": "gpot"}
    graph.add_node("out", **port, port_io="out", selector="/ret/0/R1")
    graph.add_node("in", **port, port_io="in", selector="/ret/0/R1_agg")
    graph.add_edge("R1_0_photon", "R1_0")
    graph.add_edge("R1_0_photon", "R2_0")
    graph.add_edge("R1_0", "out")
    graph.add_edge("in", "R1_0", variable="I")
    graph.add_node("copy", **{"class": "BufferVoltage"})
    graph.add_edge("R1_0", "copy")
    circuit = Circuit.from_graph(graph)
    light = StepInput("photon", ["R1_0_photon"], 3e4, 10 * DT)
    data = simulate(circuit, DT, 500, light, [("V", ["R1_0", "R2_0", "copy"]), ("photon", None)])
    v = data["V"]
    assert data["photon"][10:13, 0].tolist() == [0.0, 3e4, 3e4]
    assert (v[-1, :2] > -70).all()
    assert v[-1, 0] != v[-1, 1]
    assert np.array_equal(v[1:, 2], v[:-1, 0])
    assert v[0, 2] == 0
