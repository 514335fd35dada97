"""Smoke test: models of one's own, declared, with sub-units, as a template, with a `run_step`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import simulate

import neurodriver as nd

STEPS = 20


class Leak(nd.NDComponent):
    """Follows its weighted inputs and leaks."""

    accesses = (nd.Weighted("V", "near"), nd.Access("I"))
    updates = ("V",)
    params = {"rate": nd.Parameter("1/ms", default=1.0, doc="of the leak")}
    states = {"V": nd.State("mV", 1.0)}
    update = "V += dt_ms * (rate * (near - V) + I);"


class Decay(nd.NDComponent):
    """Decays, as an equation says."""

    accesses = ("I",)
    updates = ("V",)
    states = {"V": nd.State("mV", 1.0)}
    equations = "dV/dt = -V / (2*ms) + I : mV"


class Births(nd.NDComponent):
    """Counts that grow at a rate."""

    updates = ("V",)
    params = {"number": nd.Parameter("1", default=10.0, at_least=0.0, at_most=99.0, whole=True)}
    sub_units = nd.SubUnits(
        "number", {"n": nd.Species(0, 65535)}, [nd.Reaction("500.0", {"n": 1})], {}, {"N": "n"}
    )
    update = "V = N;"


class Template(nd.NDComponent):
    """A class of the old library: lists of names and CUDA text."""

    accesses = ["I"]
    updates = ["V"]
    params = ["gain"]

    def get_update_template(self) -> str:
        return """
__global__ void update(int num_comps, %(dt)s dt, int steps, %(input_I)s *I,
                       %(param_gain)s *gain, %(update_V)s *V)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < num_comps) V[i] = gain[i] * I[i];
}
"""


class Raw(nd.NDComponent):
    """A class with a `run_step`, in numpy."""

    accesses = ["I"]
    updates = ["V"]
    params = ["gain"]

    def __init__(self, params_dict: Any, access_buffers: Any, dt: float) -> None:
        self.gain, self.steps = params_dict["gain"], 0

    def run_step(self, update_pointers: Any) -> None:
        self.steps += 1
        nd.host_array(update_pointers["V"], self.num_comps)[:] = self.gain * self.steps


def test_declared() -> None:
    """States, parameters, weighted accesses and currents do what the text says."""
    links = nd.Connections("V", "near", [0], [1], 1e-4, {"weight": 0.5})
    circuit = nd.Circuit.from_arrays([(Leak, 2, {"rate": 2.0}, ["a", "b"])], [links])
    V = simulate(circuit, steps=STEPS)["V"]
    np.testing.assert_allclose(V[:, 0], 0.8 ** np.arange(STEPS), rtol=1e-12)
    change = 0.2 * (0.5 * V[:-1, 0] - V[:-1, 1])
    np.testing.assert_allclose(np.diff(V[:, 1]), change, rtol=1e-9)


def test_equations() -> None:
    """An equation that is linear is integrated exactly."""
    circuit = nd.Circuit.from_arrays([(Decay, 1, {}, ["a"])])
    current = nd.StepInput("I", ["a"], 1.0, 0.0, 1.0)
    V = simulate(circuit, steps=STEPS, inputs=current)["V"][:, 0]
    np.testing.assert_allclose(V, 2 - np.exp(-np.arange(STEPS) / 20), rtol=1e-12)
    assert Decay.method == "exact"


def test_sub_units() -> None:
    """Counts of sub-units grow, whole number by whole number."""
    circuit = nd.Circuit.from_arrays([(Births, 30, {}, None)])
    V = simulate(circuit, steps=STEPS)["V"]
    assert (np.diff(V, axis=0) >= 0).all() and (V == np.round(V)).all()
    assert 200 < V[-1].sum() < 400  # 30 components, 10 sub-units, 500 a second, 2 ms: 300


def test_template_and_raw_class() -> None:
    """Classes of the old library run as they are."""
    groups: Any = [(Template, 2, {"gain": 3.0}, ["a", "b"]), (Raw, 1, {"gain": 2.0}, ["c"])]
    circuit = nd.Circuit.from_arrays(groups)
    current = nd.StepInput("I", ["a", "b"], np.array([1.0, 2.0]))
    V = simulate(circuit, steps=STEPS, inputs=current, backend="cpu")["V"]
    assert V[-1].tolist() == [3.0, 6.0, 2.0 * (STEPS - 1)]


def test_described() -> None:
    """A model shows what it declares, as text and as HTML."""
    found = nd.describe(Leak)
    assert "rate [1/ms] of the leak" in repr(found) and "<td>rate</td>" in found._repr_html_()
    assert repr(nd.describe("LeakyIAF")).startswith("LeakyIAF\n")


class Outspoken(nd.NDComponent):
    """Grows without bound, and says so under debug."""

    updates = ("V",)
    states = {"V": nd.State("mV", 1.0)}
    update = 'V = V * 1e100; PRINT("V %g", V);'


def test_values_that_grow(capsys: pytest.CaptureFixture[str]) -> None:
    """A run ends at the first infinite value; what the model prints comes before."""
    circuit = nd.Circuit.from_arrays([(Outspoken, 2, {}, ["a", "b"])])
    with nd.LPU(circuit, 1e-4, debug=True) as lpu, pytest.raises(nd.NonFiniteError) as caught:
        lpu.run(STEPS)
    assert caught.value.step == 4
    assert "V of 'a' (Outspoken) is inf at step 4" in str(caught.value)
    assert capsys.readouterr().out.startswith("a, step 1: V 1e+100\nb, step 1: V 1e+100\n")
