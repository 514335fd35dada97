"""Neurons of NESTML files, against shipped models and their equations solved here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import neurodriver as nd
from neurodriver import CircuitError
from neurodriver.io.nestml_values import value_of

pytest.importorskip("sympy")

FIRES = """
    onCondition(refr_t <= 0 ms and V_m >= V_th):
        refr_t = refr_T  # the period begins
        V_m = V_reset
        emit_spike()
"""
CURRENTS = f'''
"""
A description, with a
model in it:
"""
model currents:
    state:
        V_m mV = E_L
        refr_t ms = 0 ms
        I_exc pA = 0 pA
        I_inh pA = 0 pA

    equations:
        I_exc' = -I_exc / tau_exc
        I_inh' = -I_inh / tau_inh
        V_m' = -(V_m - E_L) / tau_m + (I_exc - I_inh \\
            + I_e + I_stim) / C_m
        refr_t' = -1e3 * ms/s

    parameters:
        C_m pF = 0.25 nF     # capacitance
        tau_m ms = 10 ms [[tau_m > 0 ms]]
        tau_exc, tau_inh ms = 2 ms
        refr_T ms = 2e-3 s
        E_L mV = -70 mV
        V_reset mV = E_L + 5 mV
        V_th mV = -55.0 mV
        I_e pA = 0 pA

    input:
        exc <- excitatory spike
        inh <- inhibitory spike
        I_stim pA <- continuous

    output:
        spike

    onReceive(exc):
        I_exc += exc * pA * s

    onReceive(inh):
        I_inh += inh * pA * s

    update:
        if refr_t > 0 ms:
            integrate_odes(I_exc, I_inh, refr_t)
        else:
            integrate_odes(I_exc, I_inh, V_m)
{FIRES}
'''
CONDUCTANCES = f"""
model conductances:
    state:
        V_m mV = E_L
        refr_t ms = 0 ms
    equations:
        kernel g_in = (e/tau_in) * t * exp(-t/tau_in)
        kernel g_ex = exp(-t / tau_ex)
        inline I_ex pA = unit * convolve(g_ex, ex) * (V_m - E_ex)
        inline I_in pA = unit * convolve(g_in, in_spikes) * (V_m - E_in)
        V_m' = (-g_L * (V_m - E_L) - I_ex - I_in + I_stim) / C_m
        refr_t' = -1 / s
    parameters:
        C_m pF = 250 pF
        g_L nS = 16.5 nS
        E_L mV = -70 mV
        refr_T ms = 2 ms
        V_th mV = -55 mV
        V_reset mV = -60 mV
        E_ex mV = 0 mV
        E_in mV = -85 mV
        tau_ex ms = 0.5 ms
        tau_in ms = 2 ms
    internals:
        unit nS = 1 nS
    input:
        ex <- spike
        in_spikes <- spike
        I_stim pA <- continuous
    output:
        spike
    update:
        if refr_t > 0 ms:
            integrate_odes(refr_t)
        else:
            integrate_odes(V_m)
{FIRES}
"""
QUADRATIC = """
model quadratic:
    state:
        V_m mV = c
        U_m real = b * c / mV
    equations:
        V_m' = (0.04 * V_m * V_m / mV + 5 * V_m + (140 - U_m) * mV + (I_e + I_stim) * GOhm) / ms
        U_m' = a * (b * V_m - U_m * mV) / (mV * ms)
    parameters:
        a real = 0.02
        b real = 0.2
        c mV = -65 mV
        d real = 8.0
        V_th mV = 30 mV
        I_e pA = 0 pA
    input:
        spikes <- spike
        I_stim pA <- continuous
    output:
        spike
    onReceive(spikes):
        V_m += sift(spikes, 1 mV)
    update:
        integrate_odes()
    onCondition(V_m >= V_th):
        V_m = c
        U_m += d
        emit_spike()
"""


def read(folder: Path, text: str, **options: Any) -> dict[str, type[nd.NDComponent]]:
    """Return the models of a text."""
    path = folder / "neurons.nestml"
    path.write_text(text)
    return nd.read_nestml(path, **options)


def run(model: Any, receptors: tuple[str, str], dt: float, **params: Any) -> Any:
    """Return V and spikes of a neuron with input of both kinds and a current."""
    rng = np.random.default_rng(4)
    steps = round(0.2 / dt)
    at = {name: np.unique(rng.integers(0, 400, 150)) * 5e-4 for name in ("ex", "in")}
    sources = nd.Population("SpikeSource", 2, name="s")
    cell = nd.Population(model, 1, name="n", **params)
    links = [
        nd.Projection(
            sources[i : i + 1], cell, nd.AllToAll(), receptor=name, weight=weight, delay=1e-3
        )
        for i, (name, weight) in enumerate(zip(receptors, params_of(model), strict=True))
    ]
    times = np.concatenate([at["ex"], at["in"]])
    index = np.repeat([0, 1], [len(at["ex"]), len(at["in"])])
    order = np.argsort(times, kind="stable")
    spikes = nd.ArrayInput({"spike_state": (["s/0", "s/1"], (times[order], index[order]))})
    current = nd.StepInput("I", cell, 250.0, start=0.05)
    with nd.LPU(nd.Circuit([sources, cell], links), dt, [spikes, current]) as lpu:
        found = lpu.run(steps=steps, record=[("V", ["n/0"]), ("spike_state", ["n/0"])]).recording
        return found.V[:][:, 0], found.spikes.time


def params_of(model: Any) -> tuple[float, float]:
    """Return the weights of both kinds: currents or conductances."""
    name = model if isinstance(model, str) else model.__name__
    if "onductance" in name:
        return 40.0, 4.0
    return (500.0, 150.0) if name == "currents" else (500.0, -150.0)


def test_currents_have_the_shipped_solution(tmp_path: Path) -> None:
    """Exact: linear equations, two receptors, a refractory period, a continuous input."""
    (model,) = read(tmp_path, CURRENTS).values()
    assert model.__name__ == "currents" and model.method == "exact"
    assert {n: (p.unit, p.default) for n, p in model.params.items()} == {
        "C_m": ("pF", 250.0), "tau_m": ("ms", 10.0), "tau_exc": ("ms", 2.0),
        "tau_inh": ("ms", 2.0), "refr_T": ("ms", 2.0), "E_L": ("mV", -70.0),
        "V_reset": ("mV", -65.0), "V_th": ("mV", -55.0), "I_e": ("pA", 0.0),
    }  # fmt: skip
    V, spikes = run(model, ("exc", "inh"), 1e-4)
    shipped = {"capacitance": 250.0, "time_constant": 10.0, "tau_exc": 2.0, "tau_inh": 2.0}
    shipped |= {"resting_potential": -70.0, "reset_potential": -65.0, "threshold": -55.0}
    want, fired = run(
        "LeakyIAFExpCurrent", ("exc", "inh"), 1e-4, refractory_period=2.0, initV=-70.0, **shipped
    )
    assert len(fired) > 5
    assert_allclose(spikes, fired, rtol=0, atol=1e-9)
    assert_allclose(V, want, rtol=0, atol=1e-9)


def test_kernels_of_conductances(tmp_path: Path) -> None:
    """An exponential and an alpha function, against Euler's method with a fine step, by hand."""
    (model,) = read(tmp_path, CONDUCTANCES).values()
    dt = 2e-6
    V, spikes = run(model, ("ex", "in_spikes"), dt)
    rng = np.random.default_rng(4)
    at = [np.unique(rng.integers(0, 400, 150)) * 5e-4 for _ in range(2)]
    arrives = [np.zeros(len(V) + 200) for _ in range(2)]
    for row, times in zip(arrives, at, strict=True):  # the source takes a step
        row[np.round(times / dt).astype(int) + round(1e-3 / dt) + 1] = 1.0
    v, ge, gi, rise, left, want, fired = -70.0, 0.0, 0.0, 0.0, 0, [], []
    h = dt * 1e3
    for k in range(len(V)):
        current = 250.0 if k * dt >= 0.05 else 0.0
        for _ in range(4):
            slope = (-16.5 * (v + 70) - ge * v - gi * (v + 85) + current) / 250
            v += h / 4 * slope if not left else 0.0
            ge, gi, rise = (
                ge - h / 4 * ge / 0.5, gi + h / 4 * (rise - gi / 2), rise - h / 4 * rise / 2
            )  # fmt: skip
        ge, rise = ge + 40.0 * arrives[0][k], rise + np.e / 2 * 4.0 * arrives[1][k]
        left = max(left - 1, 0)
        if not left and v >= -55:
            v, left = -60.0, round(2 / h)
            fired.append(k * dt)
        want.append(v)
    assert len(fired) > 5 and len(spikes) == len(fired)
    assert_allclose(spikes, fired, rtol=0, atol=2e-4)
    until = round(fired[0] / dt) - 50
    assert_allclose(V[:until], want[:until], rtol=0, atol=0.05)


def test_a_quadratic_neuron(tmp_path: Path) -> None:
    """A product of units that is a potential, a start by other values, jumps of V."""
    (model,) = read(tmp_path, QUADRATIC).values()
    assert model.method == "rk2" and model.states["U_m"].initial == -13.0
    circuit = nd.Circuit([nd.Population(model, 1, name="n")])
    with nd.LPU(circuit, 1e-5, nd.StepInput("I", ["n/0"], 10.0)) as lpu:
        recording = lpu.run(steps=20_000, record=["V", "spike_state"]).recording
    v, u, fired = -65.0, -13.0, 0
    for _ in range(20_000):
        v, u = v + 1e-2 * (0.04 * v * v + 5 * v + 140 - u + 10), u + 2e-4 * (0.2 * v - u)
        if v >= 30:
            v, u, fired = -65.0, u + 8, fired + 1
    assert fired > 3 and abs(len(recording.spikes.time) - fired) <= 1


BAD = [
    ("integrate_odes()", "integrate_odes(V_m)\n        V_m = V_m", "line 25, .*integrate_odes"),
    ("        emit_spike()", "        U_m = 0", "a condition without emit_spike"),
    ("spikes <- spike", "spikes <- event", "line 17, .*'spikes <- event': ports of spikes"),
    ("spike\n    onR", "event\n    onR", "only spikes can be sent"),
    ("d real = 8.0", "d real = steps(2 ms)", "its value 'steps\\(2 ms\\)' is no constant"),
    ("d real = 8.0", "d mW2 = 8.0", "'mW2' is no unit"),
    ("V_m += sift", "if 1 > 0:\n            V_m += sift", "only assignments are read"),
    ("    update:", "    function f(x real) real:\n        return x\n    update:", "this block"),
    ("* GOhm", "* MOhm", "model quadratic: "),
    ("U_m' =", "U_n' =", "equations x' = ..., inline and kernel are read"),
    ("model quadratic:", "synapse quadratic:", "only neurons that are written as 'model"),
    ("V_m' =", "kernel K = delta(t)\n        V_m' = convolve(K, spikes) *", "exponential kernels"),
]


@pytest.mark.parametrize(("old", "new", "said"), BAD)
def test_what_is_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    """Everything else, with file, line, model and text."""
    assert old in QUADRATIC
    with pytest.raises(CircuitError, match=said) as caught:
        read(tmp_path, QUADRATIC.replace(old, new))
    assert "neurons.nestml" in str(caught.value)


def test_several_models(tmp_path: Path) -> None:
    """All are read; one that cannot be is left out by its name; an empty file is an error."""
    text = CURRENTS + CONDUCTANCES + QUADRATIC.replace("emit_spike()", "send(1)")
    assert set(read(tmp_path, text, ignore=["quadratic"])) == {"currents", "conductances"}
    with pytest.raises(CircuitError, match="only assignments"):
        read(tmp_path, text)
    with pytest.raises(CircuitError, match="has no models"):
        read(tmp_path, "# nothing\n")
    with pytest.raises(CircuitError, match="cannot be read"):
        nd.read_nestml(tmp_path / "none.nestml")


def test_constants() -> None:
    """Units are converted; other constants are used; a loop is told."""
    known = {"a": ("2 * b", "mV"), "b": ("3 mV", "mV"), "c": ("d", "ms"), "d": ("c", "ms")}
    assert value_of("a + 0.001 V", "mV", known) == 7.0
    assert value_of("exp(a / b) * e", "1", known) == pytest.approx(np.e**3)
    faults = {"c": "leads back", "a / (b - b)": "zero", "x + 1": "'x' is not", "1 +": "invalid"}
    for text, said in faults.items():
        with pytest.raises(ValueError, match=said):
            value_of(text, "ms" if text == "c" else "1", known)
