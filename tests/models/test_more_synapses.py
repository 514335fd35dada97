"""Synapses of old files against closed forms, and the sum of several inputs for every synapse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import ALPHA, AMPA, DT, HH2, IAF, ML, POWER, alone, build, node, simulate, spike_rows
from test_closed_form import EXACT, POWER_ULPS, double_exponential, spikes

from neurodriver import ArrayInput, StepInput
from neurodriver.model.library import shipped

NMDA = {"gmax": 0.0006, "st": 100.0, "Mg": 1.0}
PARAMETERS: dict[str, dict[str, float]] = {
    "AlphaSynapse": ALPHA,
    "AlphaSynapse2": ALPHA,
    "ExpSynapse": {"gmax": 0.003, "tau": 5.0, "a": 3.0},
    "SynapseAMPA": AMPA,
    "SynapseGABA": AMPA,
    "SynapseNMDA": NMDA,
    "PowerGPotGPot": {**POWER, "threshold": -190.0, "slope": 0.002},
    "SigmoidSynapse": {"threshold": -170.0, "slope": 0.02, "gmax": 0.02, "scale": 1.5},
    "power_gpot_gpot_sig": {"threshold": -170.0, "slope": 0.02, "saturation": 30.0},
}
SYNAPSES = sorted(
    name
    for name, model in shipped().items()
    if ".synapses." in model.__module__ and not any(a.single for a in model.accesses)
)


# ---- AlphaSynapse2 --------------------------------------------------------------------------


@pytest.mark.parametrize(("dt", "sub"), [(2e-5, 1), (1e-4, 1), (3e-4, 3)])
def test_alpha2_is_the_double_exponential(dt: float, sub: int) -> None:
    """Exact at every row, from the row after each spike on, whatever the step."""
    at = [3, 50, 51, 400]
    circuit = alone("AlphaSynapse2", ALPHA, scale=0.5)
    g = simulate(circuit, dt, 1000, spikes(at, 1000), [("g", None)])["g"][:, 0]
    time = (np.arange(1000)[:, None] - np.array(at)) * dt * 1000.0
    expected = 0.5 * double_exponential(time).sum(axis=1)
    assert np.count_nonzero(g) == 996
    assert shipped()["AlphaSynapse2"].substeps(dt) == sub
    np.testing.assert_allclose(g, expected, rtol=EXACT, atol=1e-15)


@pytest.mark.parametrize("apart", [0.0, 1e-13, 1e-9, 1e-6])
def test_alpha2_with_equal_rates(apart: float, dtype: str) -> None:
    """``gmax a^2 t exp(-a t)`` for equal rates, and no cancellation beside them."""
    given = {"gmax": 2.0, "ar": 0.5 + apart, "ad": 0.5}
    circuit = alone("AlphaSynapse2", given)
    g = simulate(circuit, DT, 500, spikes([0], 500), [("g", None)], dtype=dtype)["g"][:, 0]
    time = np.arange(500) * 0.1
    part = -np.expm1(-apart * time) / apart if apart else time
    expected = 2.0 * 0.5 * (0.5 + apart) * part * np.exp(-0.5 * time)
    loose = 1e-4 if dtype == "float32" else EXACT
    np.testing.assert_allclose(g, expected, rtol=loose, atol=1e-12)


def test_alpha2_is_alpha_without_the_lag() -> None:
    """Both tend to the same conductance; at 0.1 ms they differ by a few percent of the peak."""
    found = [simulate(alone(name, ALPHA), DT, 1000, spikes([0], 1000), [("g", None)])["g"][:, 0]
             for name in ("AlphaSynapse", "AlphaSynapse2")]  # fmt: skip
    distance = np.abs(found[0] - found[1]).max() / found[1].max()
    assert 1e-3 < distance < 0.05


# ---- ExpSynapse -----------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [2e-5, 1e-4, 5e-4])
def test_exp_synapse_decays_by_the_same_share(dt: float) -> None:
    """A spike brings s from 0 to ``a dt``; each step leaves ``1 - dt / tau`` of it."""
    p = PARAMETERS["ExpSynapse"]
    g = simulate(alone("ExpSynapse", p), dt, 300, spikes([5], 300), [("g", None)])["g"][:, 0]
    h = 1000 * dt
    since = np.arange(300) - 6
    expected = np.where(since >= 0, 0.003 * 3.0 * h * (1 - h / 5.0) ** np.maximum(since, 0), 0.0)
    assert np.count_nonzero(g) == 294
    np.testing.assert_allclose(g, expected, rtol=EXACT)


def test_exp_synapse_saturates() -> None:
    """Spikes at every step bring s to where opening and decay balance."""
    held = ArrayInput({"spike_state": (["n"], np.ones((2000, 1)))})
    circuit = alone("ExpSynapse", PARAMETERS["ExpSynapse"])
    g = simulate(circuit, DT, 2000, held, [("g", None)])["g"][:, 0]
    assert g[-1] == pytest.approx(0.003 * 3.0 / (3.0 + 1 / 5.0), rel=EXACT)


# ---- power_gpot_gpot_sig --------------------------------------------------------------------


def test_power_gpot_gpot_sig() -> None:
    """Half of ``slope`` at the threshold, ``tanh(1)`` of the way at a width from it."""
    v = np.concatenate([[-50.0, -42.0, -58.0], np.linspace(-90.0, 0.0, 200)])
    given = {"threshold": -50.0, "slope": 0.4, "saturation": 8.0}
    inputs = ArrayInput({"V": (["n"], v[:, None])})
    circuit = alone("power_gpot_gpot_sig", given)
    g = simulate(circuit, DT, len(v) + 1, inputs, [("g", None)])["g"][1:, 0]
    assert g[0] == 0.2
    expected = 0.2 * (1 + np.tanh((v + 50.0) / 8.0))
    # 1 + tanh loses what it cancels: the rounding is of a unit of 1, not of the sum
    np.testing.assert_allclose(g, expected, rtol=POWER_ULPS, atol=0.4 * POWER_ULPS)


# ---- several inputs -------------------------------------------------------------------------

DELAYS = (0.0, 3e-4, 1.2e-3, 3e-4)


def test_every_synapse_is_tested() -> None:
    """The parameters above are those of all synapses there are."""
    assert sorted(PARAMETERS) == SYNAPSES
    assert len(SYNAPSES) >= 9


def sources() -> dict[str, dict[str, Any]]:
    """Return four neurons that spike, or move, at different times."""
    gates = {"initn": 0.3, "initm": 0.05, "inith": 0.6}
    return {
        "a": node("LeakyIAF", IAF),
        "b": node("LeakyIAF", {**IAF, "threshold": -52.0}, initV=-61.0),
        "c": node("HodgkinHuxley2", HH2, initV=-60.0, **gates),
        "d": node("LeakyIAF", {**IAF, "resistance": 7.0}),
    }


@pytest.mark.parametrize("name", SYNAPSES)
@pytest.mark.parametrize("plans", [True, False])
def test_a_synapse_sums_all_its_inputs(name: str, plans: bool) -> None:
    """Each input with its own delay: the bits of one input that holds their sum."""
    model, p, steps = shipped()[name], PARAMETERS[name], 900
    variable = model.accesses[0].variable
    nodes = {**sources(), "e": node("MorrisLecar", ML, initV=-46.0), "s": node(name, p)}
    edges = [
        (u, "s", {"delay": d, "variable": variable}) for u, d in zip("abcd", DELAYS, strict=True)
    ]
    if name == "SynapseNMDA":
        edges += [("e", "s", {"variable": "V", "delay": 5e-4}), ("a", "s", {"variable": "V"})]
    record = [("V", list("abcde")), ("spike_state", list("abcd")), ("g", ["s"])]
    current = StepInput("I", list("abcd"), 12.0)
    data = simulate(build(nodes, edges), DT, steps, current, record, plans=plans)

    def read(uid: str, variable: str, delay: float) -> np.ndarray:
        back = max(round(delay / DT), 1) - 1
        column = data[variable][:, "abcde".index(uid)]
        return np.concatenate([np.repeat(column[:1], back), column[: steps - back]])

    total = np.zeros(steps)
    for uid, delay in zip("abcd", DELAYS, strict=True):
        total += read(uid, variable, delay)
    given = {variable: (["n"], total[:, None])}
    if name == "SynapseNMDA":
        given["V"] = ["n"], (read("e", "V", 5e-4) + read("a", "V", 0.0))[:, None]
    one = simulate(alone(name, p), DT, steps, ArrayInput(given), [("g", None)], plans=plans)
    if variable == "spike_state":
        assert all(len(spike_rows(data, i)) >= 3 for i in range(4))
        assert (total > 1).any(), "no two spikes arrive together"
    assert np.ptp(data["g"]) > 0
    assert np.array_equal(data["g"], one["g"])


def test_synapses_with_unequal_fan_in_keep_their_delays() -> None:
    """Of three synapses with 1, 3 and 2 inputs each reads its own delays."""
    names = {"s0": "a", "s1": "abd", "s2": "bd"}
    nodes = {**sources(), **{s: node("SynapseAMPA", AMPA) for s in names}}
    edges, delay = [], iter((7e-4, 2e-4, 0.0, 1.1e-3, 4e-4, 9e-4))
    waits = {s: [(u, next(delay)) for u in used] for s, used in names.items()}
    for s, pairs in waits.items():
        edges += [(u, s, {"delay": d}) for u, d in pairs]
    record = [("spike_state", list("abd")), ("g", list(names))]
    current = StepInput("I", list("abd"), 12.0)
    data = simulate(build(nodes, edges), DT, 900, current, record)
    decay = np.exp(-0.1 / AMPA["st"])
    for column, pairs in enumerate(waits.values()):
        arrived = np.zeros(920)
        for uid, wait in pairs:
            fired = np.flatnonzero(data["spike_state"][:, "abd".index(uid)])
            arrived[fired + max(round(wait / DT), 1)] = 1.0  # two at once count as one
        s, expected = 0.0, []
        for hit in arrived[:900]:
            s = s * decay + hit
            expected.append(AMPA["gmax"] * s)
        assert arrived.sum() >= 3
        np.testing.assert_allclose(data["g"][:, column], expected, rtol=EXACT)
