"""A step that is too long for a model's equations is a warning; one that fits is none."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from circuit_files import GOOD, gexf, save
from support import node

from neurodriver import LPU, Circuit, NDComponent, Parameter, State
from neurodriver.__main__ import main
from neurodriver.errors import CircuitWarning
from neurodriver.model.language import parse, parse_expression
from neurodriver.model.language.evaluate import Evaluator, NotReadError
from neurodriver.model.library import shipped
from neurodriver.plan.compile import compile_circuit

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from zoo.models import MODELS

LONGEST = {"ExpSynapse": 1e-3, "LeakyIAFExpConductanceEuler": 2e-4, "IzhikevichEuler": 1e-4}
"""Longest documented steps of models, in seconds, where explicit Euler takes no sub-steps."""


def of(model, count=40, seed=1):
    """Return components of a shipped model with parameters between bounds that are used."""
    rng, ranges = np.random.default_rng(seed), MODELS[model][0]
    given = {k: rng.uniform(*v, count) if isinstance(v, tuple) else v for k, v in ranges.items()}
    return Circuit.from_arrays([(shipped()[model], count, given, None)], [])


def told(circuit, dt):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_circuit(circuit, dt)
    return [str(w.message) for w in caught if "too long for its equations" in str(w.message)]


@pytest.mark.parametrize("model", sorted(set(MODELS) - {"PhotoreceptorModel"}))
def test_no_shipped_model_warns_at_its_steps(model):
    for dt in (1e-5, 1e-4, LONGEST.get(model, 1e-3)):
        assert told(of(model), dt) == []


@pytest.mark.parametrize(
    "model, dt, state, parameter",
    [
        ("LeakyIAFExpConductanceEuler", 0.1, "g_exc", "tau_exc"),
        ("ExpSynapse", 0.05, "s", "tau"),
        ("Izhikevich", 0.1, "u", "a"),
        ("IzhikevichEuler", 0.1, "V", "a"),
    ],
)
def test_euler_at_a_step_that_blows_up(model, dt, state, parameter):
    (message,) = told(of(model), dt)
    assert message.split(": ")[1] == model
    assert f"dt = {dt:g} s" in message and "a tenth of that" in message
    assert f"a deviation of {state} " in message and f"by {parameter} = " in message


@pytest.mark.parametrize("model", ["LeakyIAFExpConductance", "LeakyIAFExpCurrent", "LeakyIAFDelta"])
def test_exact_integration_takes_any_step(model):
    for dt in (1e-2, 0.1, 1.0):
        assert told(of(model), dt) == []


class Decaying(NDComponent):
    """Explicit Euler, some of whose time constants are short."""

    updates = ("V",)
    params = {"tau": Parameter("ms"), "goal": Parameter("mV", default=-60.0)}
    states = {"V": State("mV", "goal")}
    update = "V += dt_ms / tau * (goal - V);"


def test_worst_component_is_named_with_its_longest_step():
    tau = np.full(5000, 20.0)
    tau[3123] = 0.04
    circuit = Circuit.from_arrays([(Decaying, 5000, {"tau": tau}, None)], [])
    assert told(circuit, 5e-5) == []
    (message,) = told(circuit, 1e-4)
    assert "'Decaying/3123'" in message and "by tau = 0.04 ms" in message
    assert "by -1.5 " in message and "above 8e-05 s" in message


def test_warning_comes_with_the_lpu():
    circuit = Circuit.from_arrays([(Decaying, 3, {"tau": 1.0}, None)], [])
    with pytest.warns(CircuitWarning, match="too long for its equations"), LPU(circuit, 0.1):
        pass


class Alternating(NDComponent):
    """A map of its own, which no step changes, and a count that starts anew."""

    updates = {"x": "1"}
    states = {"x": State("1", 0.9), "n": State("1", 3.0)}
    update = "x = 0.5 - 1.5 * x; n = n >= 3 ? 0 : n + 1;"


def test_maps_that_do_not_depend_on_the_step_are_no_fault():
    assert told(Circuit.from_arrays([(Alternating, 3, {}, None)], []), 0.1) == []


class Growing(NDComponent):
    """An equation that is unstable itself."""

    updates = ("V",)
    states = {"V": State("mV", 1.0)}
    update = "V += dt_ms * 0.1 * V;"


def test_growth_of_the_equation_itself_is_no_fault():
    assert told(Circuit.from_arrays([(Growing, 3, {}, None)], []), 0.1) == []


def value(text, **names):
    given = {name: np.asarray(one, dtype=float) for name, one in names.items()}
    return Evaluator().value(parse_expression(text), given).tolist()


def test_expressions():
    assert value("1 + 2 * 3 - 4 / 2") == 5
    assert value("-(2 - 3) * -1.5e1") == -15
    assert value("a > 1 ? a : b == 2 ? 7 : 8", a=[0.0, 2.0], b=[2.0, 2.0]) == [7, 2]
    assert value("!(a > 1) & (a < 3 || a != a)", a=[0.0, 2.0]) == [1, 0]
    assert value("fmax(pow(a, 2), fma(a, 2, 1)) + (int)2.7", a=3.0) == 11
    assert value("/* no */ floor(2.5) // end") == 2


def test_statements_keep_to_the_components_for_which_conditions_hold():
    text = """
        real y = 0;
        if (x > 1) { x -= 1; y = 5; } else if (x < 0) x = 0; else { x *= 2; }
        for (int i = 0; i < 3; ++i) y += x;
    """
    names = {"x": np.array([3.0, -1.0, 0.5])}
    Evaluator().run(parse(text), names, np.ones(3, dtype=bool))
    assert names["x"].tolist() == [2, 0, 1]
    assert names["y"].tolist() == [11, 0, 3]


def test_other_statements_are_refused():
    for text in ("while (true) x = sinc(x);", "real a[2]; x = a[0];", "while (true) { }"):
        with pytest.raises(NotReadError):
            Evaluator().run(parse(text), {"x": np.ones(3)}, np.ones(3, dtype=bool))


def test_strict_commands_refuse_the_step(tmp_path, capsys):
    slow = {"gmax": 0.02, "tau": 5.0, "a": 0.5}
    nodes = {**GOOD, "s": node("ExpSynapse", slow, reverse=0.0)}
    path = str(save(tmp_path, gexf(nodes, [("a", "s"), ("s", "b")])))
    words = ["--dt", "0.05", "--strict"]
    assert main(["check", path, *words]) == 1
    said = capsys.readouterr().err
    assert "ExpSynapse: dt = 0.05 s is too long" in said and "because of --strict" in said
    output = tmp_path / "out.h5"
    assert main(["run", path, *words, "--duration", "1", "-o", str(output)]) == 1
    assert "by tau = 5 ms" in capsys.readouterr().err
    assert not output.exists()
    assert main(["check", path, "--dt", "1e-3", "--strict"]) == 0
