"""What a model class may declare, what it inherits, what is refused, and its random draws."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from support import (
    AMPA,
    DT,
    IAF,
    ML,
    Recorded,
    alone,
    assert_same_bits,
    build,
    model,
    node,
    simulate,
)

import neurodriver as nd
from neurodriver import (
    Access,
    Circuit,
    Connections,
    NDComponent,
    Parameter,
    State,
    StepInput,
    Uniform,
    Weighted,
)
from neurodriver.errors import ModelError

CHANCE = 5.0
"""Standard errors: seeds are fixed, so this holds or does not; by chance it fails once in 10^6."""

ROUNDING = 1e-13
"""Relative. The same few operations in Python."""


def values(cls: type[NDComponent], steps: int = 3, dt: float = DT, **given: Any) -> Recorded:
    """Return everything that one component of a model updates, and its first column."""
    record = [(variable, None) for variable in cls.updates if variable != "spike_state"]
    circuit = build({"n": {"class": cls.__name__, **given}}, models=[cls])
    return simulate(circuit, dt, steps, record=record)


# ---- inheritance ----------------------------------------------------------------------------


def test_a_subclass_overrides_a_term() -> None:
    """All but the term stays: here the calcium is shut off."""

    class NoCalcium(model("MorrisLecar")):
        terms = {"m_inf": "0"}

    class Slow(NoCalcium):
        terms = {"dn": "0"}

    assert list(Slow.terms) == list(model("MorrisLecar").terms)
    v = values(Slow, 20, 1e-5, **ML, initV=-50.0, initn=0.1)["V"][:, 0]
    expected = [-50.0]
    for _ in range(19):
        v0 = expected[-1]
        expected.append(v0 + 0.01 * (-3 * (v0 + 40) - 16 * 0.1 * (v0 + 80)))
    assert np.ptp(expected) > 1.0
    np.testing.assert_allclose(v, expected, rtol=ROUNDING)


def test_a_subclass_overrides_a_default_and_a_start() -> None:
    """A parameter becomes optional, a state starts elsewhere; the parent stays as it was."""

    class Awake(model("GradedNeuron")):
        params = {"time_constant": Parameter("ms", default=10.0)}
        states = {"V": State("1", 3.0)}

    class Plain(model("GradedNeuron")):
        pass

    v = values(Awake)["V"][:, 0]
    np.testing.assert_allclose(v, 3.0 * (1 - 0.01) ** np.arange(3), rtol=ROUNDING)
    assert values(Awake, initV=1.0)["V"][0, 0] == 1.0
    assert model("GradedNeuron").params["time_constant"].default is None
    assert Plain.params == model("GradedNeuron").params
    assert values(Plain, time_constant=10.0, bias=0.5)["V"][:, 0].tolist() == [0.5] * 3


def test_a_subclass_overrides_outputs_and_constants() -> None:
    """The synapse saturates, and decays as the subclass says."""

    class Saturating(model("SynapseAMPA")):
        constants = {"decay": "exp(-dt_ms / (2 * st))"}
        outputs = {"g": "gmax * fmin(s, 0.5)"}

    circuit = build({"n": {"class": "Saturating", **AMPA}}, models=[Saturating])
    pulse = StepInput("spike_state", ["n"], 1.0, 0.0, DT)
    g = simulate(circuit, DT, 500, pulse, [("g", None)])["g"][1:, 0]
    expected = 0.003 * np.minimum(np.exp(-0.1 * np.arange(499) / 40.0), 0.5)
    assert expected[-1] < 0.0015 == expected[0]
    np.testing.assert_allclose(g, expected, rtol=1e-12)


def test_a_subclass_overrides_the_longest_substep() -> None:
    """Two sub-steps of half the length in place of one."""

    class Finer(model("GradedNeuron")):
        maximum_dt = 5e-4

    assert (Finer.substeps(1e-3), model("GradedNeuron").substeps(1e-3)) == (2, 1)
    v = values(Finer, 5, 1e-3, time_constant=4.0, initV=1.0)["V"][:, 0]
    np.testing.assert_allclose(v, (1 - 0.125) ** (2 * np.arange(5)), rtol=ROUNDING)


def test_a_model_of_the_same_name_replaces_the_shipped_one() -> None:
    """A caller's model comes first."""

    class LeakyIAF(NDComponent):
        updates = ("V",)
        update = "V = 42;"

    data = simulate(build({"n": node("LeakyIAF", {})}, models=[LeakyIAF]), steps=2)
    assert data["V"][:, 0].tolist() == [0.0, 42.0]
    assert simulate(alone("LeakyIAF", IAF), steps=2)["V"][1, 0] == -70.0


# ---- spellings ------------------------------------------------------------------------------


def test_old_lists() -> None:
    """Lists of parameters and ``internals`` with initial values mean the same as mappings."""

    class Old(NDComponent):
        accesses = ["I"]
        updates = ["V"]
        params = ["a", "b"]
        internals = OrderedDict([("x", 3.0), ("y", -1)])
        update = "x += a; y += b; V = x * y;"

    class Stateless(NDComponent):
        accesses = ["I"]
        updates = ["V"]
        params = ["a"]
        internals: list[str] = []
        update = "V = a;"

    assert list(Old.params) == ["a", "b"]
    assert {k: s.initial for k, s in Old.states.items()} == {"x": 3.0, "y": -1.0}
    assert Old.initial_names() == {"initx": "x", "inity": "y"}
    v = values(Old, a=1.0, b=2.0, inity=0.0)["V"][:, 0]
    assert v.tolist() == [0.0, 4.0 * 2.0, 5.0 * 4.0]
    assert Stateless.states == {}
    assert values(Stateless, a=7)["V"][1, 0] == 7.0


def test_units_and_objects_mix() -> None:
    """A unit, a Parameter, a State, a name of a parameter as initial value."""

    class Mixed(NDComponent):
        updates = {"V": "mV", "r": "Hz"}
        params = {"a": "mV", "b": Parameter("mV", default=4.0)}
        states = {"V": State("mV", "a"), "x": State(initial="V"), "y": State(initial="b")}
        update = "V += x + y;"
        outputs = {"r": "2 * V"}

    assert Mixed.units == {"V": "mV", "r": "Hz"}
    data = values(Mixed, a=1.0)
    assert data["V"][:, 0].tolist() == [1.0, 6.0, 11.0]
    assert data["r"][:, 0].tolist() == [2.0, 12.0, 22.0]
    moved = values(Mixed, a=1.0, initV=10.0)  # x starts where V does
    assert moved["V"][:, 0].tolist() == [10.0, 24.0, 38.0]


@pytest.mark.parametrize(
    ("dt", "longest", "steps"),
    [(1e-4, 1e-4, 1), (9e-5, 1e-4, 1), (2e-4, 1e-4, 2), (2.5e-4, 1e-4, 3), (3e-4, 1e-4, 3),
     (1e-4, 1e-5, 10), (1.3e-4, 1e-5, 13), (1.31e-4, 1e-5, 14), (1.0000000001e-4, 1e-4, 1),
     (1.001e-4, 1e-4, 2), (1e-3, None, 1), (5e-3, 1e-4, 50)],
)  # fmt: skip
def test_substeps(dt: float, longest: float | None, steps: int) -> None:
    """As many as needed; a ratio within 1e-5 of a whole number is that number."""

    class Any_(NDComponent):
        maximum_dt = longest

    assert Any_.substeps(dt) == steps


def test_substeps_see_their_number_and_length() -> None:
    """``substep`` counts from 0, ``dt_ms`` is the length of one sub-step."""

    class Counter(NDComponent):
        updates = ("V", "r")
        states = {"V": State(), "r": State()}
        maximum_dt = 1e-4
        update = "V = 10 * V + substep; r += dt_ms;"

    data = values(Counter, 2, 4e-4)
    assert data["V"][:, 0].tolist() == [0.0, 123.0]
    assert data["r"][1, 0] == pytest.approx(0.4, rel=ROUNDING)


# ---- mathematics ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 / 2", 0.5),
        ("7/2*2", 7.0),
        ("-3 / 4 + 1e-3", -0.749),
        (".5 + 2.", 2.5),
        ("1 / 3 * 3 == 1 ? 5 / 2 : 0", 2.5),
        ("fmax(0, -1) + fmin(3, 4) / 2", 1.5),
        ("pow(2, 1 / 2)", math.sqrt(2.0)),
        ("a > 2 && !(a < 3) || false ? 1 : 0", 1.0),
        ("a /* times */ * 2 // and no more", 6.0),
        ("floor(a / 2) + sqrt(4) - expm1(0)", 3.0),
        ("fma(a, 2, 1) + cos(0) + sin(0) + sinh(0) + log(1)", 8.0),
    ],
)
def test_numbers_are_real(text: str, expected: float, dtype: str) -> None:
    """Whole numbers are real numbers, in both types."""

    class Calculator(NDComponent):
        updates = ("V",)
        params = {"a": Parameter(default=3.0)}
        update = f"V = {text.split('//')[0]};"

    v = simulate(build({"n": {"class": "Calculator"}}, models=[Calculator]), steps=2, dtype=dtype)
    tolerance = 1e-6 if dtype == "float32" else 1e-15
    assert v["V"][1, 0] == pytest.approx(expected, rel=tolerance)


def test_statements() -> None:
    """Loops, branches and own variables in an update; comments are ignored."""

    class Program(NDComponent):
        updates = ("V",)
        params = {"a": Parameter(default=3.0)}
        terms = {"twice": "2 * a", "thrice": "twice + a"}
        update = """
            real sum = 0;           // an own variable
            for (int i = 0; i < 4; ++i) sum += i / 2;
            if (sum >= 3) { sum += thrice; } else { sum = -1; }
            V = sum;                /* over
                                       two lines */
        """

    assert values(Program)["V"][1, 0] == 3.0 + 9.0


# ---- what is refused ------------------------------------------------------------------------


WEIGHT = {"weight": Parameter(default=1.0)}


def declare(**parts: Any) -> type[NDComponent]:
    """Make a model class."""
    return type("Broken", (NDComponent,), {"updates": ("V",), "update": "V = 0;", **parts})


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"params": {"exp": "1"}}, "the name 'exp' is reserved"),
        ({"params": {"float": "1"}}, "the name 'float' is reserved"),
        ({"params": {"new": "1"}}, "the name 'new' is reserved"),
        ({"params": {"dt_ms": "1"}}, "the name 'dt_ms' is reserved"),
        ({"params": {"uniform": "1"}}, "the name 'uniform' is reserved"),
        ({"states": {"nd_x": "1"}}, "the name 'nd_x' is reserved"),
        ({"params": {"a b": "1"}}, "'a b' is not a usable name"),
        ({"params": {"2a": "1"}}, "'2a' is not a usable name"),
        ({"params": {"Ω": "1"}}, "'Ω' is not a usable name"),
        ({"params": {"lambda": "1"}}, "'lambda' is not a usable name"),
        ({"states": {"a": "1"}, "params": {"a": "1"}}, "the name 'a' is declared twice"),
        ({"params": {"a": "1"}, "constants": {"a": "1"}}, "the name 'a' is declared twice"),
        ({"params": {"a": "1"}, "terms": {"a": "1"}}, "the name 'a' is declared twice"),
        ({"params": {"V": "1"}}, "the name 'V' is declared twice"),
        ({"accesses": ("I", "I")}, "two accesses of one name; give each a receptor"),
        ({"accesses": (Weighted("r"), Weighted("r", "a")), "params": {"r; x": ""}}, "'r; x'"),
        ({"accesses": (Access("I", "a b"),)}, "'a b' is not a usable name"),
        (
            {"accesses": (Weighted("V"),), "update": "V = V + 1;"},
            "accesses['V']: what arrives is called 'input_V', as 'V' is the component's own",
        ),
        ({"accesses": (Access("I", connection={"if": Parameter()}),)}, "'if' is"),
        ({"outputs": {"v": "1"}}, "'v' is not among its updates (did you mean 'V'?)"),
        ({"states": {"x": State(initial="y")}}, "no parameter or earlier state 'y'"),
        (
            {"params": {"start": ""}, "states": {"x": State(initial="strat")}},
            "no parameter or earlier state 'strat' (did you mean 'start'?)",
        ),
        ({"maximum_dt": 0.0}, "maximum_dt: must be positive seconds, got 0.0"),
        ({"maximum_dt": math.inf}, "must be positive seconds"),
        ({"fixed_dt": -1e-3}, "fixed_dt: must be positive seconds, got -0.001"),
        ({"params": {"a": 3.0}}, "Broken.params.a: expected a unit or a Parameter, got 3.0"),
        ({"states": {"a": None}}, "Broken.states.a: expected a unit or a State, got None"),
        ({"refractory": 5}, "refractory: must be a text such as '5*ms' (got 5)"),
        (
            {"threshold": ["V > 1"]},
            "threshold: must be a text such as 'V > -50*mV' (got ['V > 1'])",
        ),
        ({"reset": -60.0, "arrivals": 3}, "2. arrivals: must be a text such as 'g += exc' (got 3)"),
        ({"equations": ["dV/dt = 1"]}, "equations: must be a text such as 'dV/dt = "),
        ({"functions": 3}, "functions: must be a text such as 'real twice(real x)"),
        ({"constants": {"k": 5.0}}, "constants: must be texts by name"),
        ({"maximum_dt": "0.1ms"}, "maximum_dt: must be a number of seconds, such as 1e-4 (got"),
        ({"updates": "V"}, "updates: must be a list of names, such as ['V'], or units by name"),
        ({"accesses": 5}, "accesses: must be a list of names, such as ['I'] (got 5)"),
        ({"params": "tau"}, "Broken: params: must be parameters by name, such as {'tau'"),
        (
            {"params": {"a": Parameter(20.0, "ms")}},  # type: ignore[arg-type]
            "Broken.params['a']: the unit comes first, and must be a text: nd.Parameter('ms', 20",
        ),
        ({"params": {"a": Parameter("milivolt")}}, "'milivolt' is no unit (did you mean 'milli"),
        (
            {"states": {"a": State("mv")}},
            "Broken.states['a']: 'mv' is no unit (did you mean 'mV'?)",
        ),
        (
            {"params": {"a": Parameter(default=Uniform(5, 6))}},  # type: ignore[arg-type]
            "default must be a number (got Uniform(low=5, high=6, multiple_of=0.0)); "
            "a distribution is for nd.Population(..., a=...)",
        ),
        (
            {"states": {"a": State("1", Uniform(0, 1))}},  # type: ignore[arg-type]
            "Broken.states['a']: initial must be a number or the name of a parameter (got Uniform",
        ),
        ({"arrival": "V += exc"}, "no model has an attribute 'arrival' (did you mean 'arrivals'?)"),
        ({"resets": "V = 1"}, "no model has an attribute 'resets' (did you mean 'reset'?)"),
        ({"on_pre": "V += 1"}, "no model has an attribute 'on_pre'; it has 'arrivals'"),
        ({"synapse": {"a": State()}}, "no model has an attribute 'synapse'; it has 'states'"),
        ({"reset_of_v": "V = 1"}, "no model has an attribute 'reset_of_v'; is 'reset' meant?"),
    ],
)
def test_contradictions(parts: dict[str, Any], message: str) -> None:
    """They are told when the class is made, with the class and the name."""
    with pytest.raises(ModelError) as caught:
        declare(**parts)
    assert str(caught.value).startswith("Broken")
    assert message in str(caught.value)


ODD: list[Any] = [
    None, 3, -1.5, math.nan, "", "x y", "V", b"a", True, [], [1], (), {}, {3: "a"}, {"n": 3},
    {"n": None}, {"n": "V = ;"}, object(), np.zeros(2), np.nan,
]  # fmt: skip
"""Values that somebody may write where something else is needed."""

ATTRIBUTES = [
    "accesses", "updates", "kinds", "params", "states", "constants", "terms", "update", "outputs",
    "maximum_dt", "fixed_dt", "equations", "threshold", "reset", "refractory", "arrivals", "method",
    "functions", "parts", "numbers", "axes", "fields", "shared", "sources", "pools",
]  # fmt: skip


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize(
    "base", [{"update": "V = 0;"}, {"equations": "dV/dt = -V/(1*ms) : mV"}], ids=["text", "lines"]
)
def test_odd_values_are_refused_or_right(attribute: str, base: dict[str, str]) -> None:
    """With an error of the declaration, never another one."""
    for value in ODD:
        body = {"updates": ("V",), **base, attribute: value}
        try:
            type("Broken", (NDComponent,), body)
        except ModelError as error:
            assert str(error).startswith("Broken")


def test_a_class_may_have_attributes_of_its_own() -> None:
    """Also texts, tables and lists, and a text of which another one is made."""
    common = "V = V + "
    own = {"notes": "of the paper", "presets": {"a": 1.0}, "stages": ("a", "b"), "colour": "red"}
    model: Any = declare(common_update=common, update=f"{common} 1;", help_of=len, **own)
    assert model.presets == {"a": 1.0}


def test_a_connection_has_numbers() -> None:
    """A vector, or a distribution, is refused where the access is made."""
    for rule in (Parameter(size=2), State(size=2)):
        with pytest.raises(ModelError, match=r"connection\['w'\] is one number, no vector"):
            Access("V", connection={"w": rule})
    drawn: Any = Uniform(0, 1)
    with pytest.raises(ModelError, match=r"a distribution is for nd.Projection\(..., w=...\)"):
        Access("V", connection={"w": Parameter(default=drawn)})


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"params": {"slope": ""}, "update": "V = slop;"},
         "Broken.update, line 1, column 5: unknown name 'slop' (did you mean 'slope'?)"),
        ({"update": "V = ex(1);"}, "Broken.update, line 1, column 5: unknown name 'ex'"),
        ({"update": "V = tahn(1);"}, "unknown name 'tahn' (did you mean 'tanh'?)"),
        ({"update": "system(1);"}, "unknown name 'system'"),
        ({"terms": {"x": "y", "y": "1"}}, "Broken.terms['x'], line 1, column 1: unknown"),
        ({"constants": {"x": "y"}, "update": "V = x;"}, "Broken.constants['x'], line 1"),
        ({"outputs": {"V": "W"}, "update": ""}, "Broken.outputs['V'], line 1, column 1: unknown"),
        ({"update": 'V = "x";'}, "Broken.update, line 1, column 5: '\"' is not part"),
        ({"update": "#include <x>"}, "line 1, column 1: '#' is not part of"),
        ({"params": {"a": ""}, "update": "V = a.b;"}, "nothing follows it with a point"),
        ({"update": "V = 2**3;"}, "'**' is not part of the language; write pow(x, y)"),
        ({"accesses": (Access("I", each="I * weigth", connection=WEIGHT),)},
         "unknown name 'weigth' (did you mean 'weight'?)"),
    ],
)  # fmt: skip
def test_unknown_names(parts: dict[str, Any], message: str) -> None:
    """A name that means nothing is told with its place and the nearest known one."""

    class Source(NDComponent):
        updates = ("I",)
        update = "I = 1;"

    with pytest.raises(ModelError) as caught:
        cls = declare(**parts)
        nodes = {
            "n": {"class": "Broken", **dict.fromkeys(cls.params, 1.0)},
            "c": {"class": "Source"},
        }
        edges = [("c", "n"), ("c", "n", {"weight": 2.0})] if cls.accesses else []
        simulate(build(nodes, edges, [cls, Source]))
    assert message in str(caught.value)


def test_a_function_is_no_value() -> None:
    """The message says what to do."""
    with pytest.raises(ModelError, match=r"'exp' is a function; call it: exp\(...\)"):
        values(declare(update="V = exp;"))


# ---- random draws ---------------------------------------------------------------------------


class Noise(NDComponent):
    """Publishes three draws of each step."""

    updates = {"V": "1", "r": "1", "g": "1"}
    update = "V = uniform(); r = normal(); g = uniform();"


class Walk(NDComponent):
    """Adds a draw at each of four sub-steps."""

    updates = {"V": "1"}
    states = {"V": "1"}
    maximum_dt = 1e-4
    update = "V += normal();"


DRAWN = [("V", None), ("r", None), ("g", None)]
NAMES = [f"cell{i}" for i in range(401)]


def noise(names: list[str] = NAMES, steps: int = 100, **settings: Any) -> Recorded:
    """Return the draws of some components, without row 0."""
    circuit = build({name: {"class": "Noise"} for name in names}, models=[Noise])
    return {v: x[1:] for v, x in simulate(circuit, DT, steps + 1, (), DRAWN, **settings).items()}


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the correlation in standard errors."""
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1] * math.sqrt(a.size))


def test_distributions(dtype: str) -> None:
    """Means, variances and higher moments of uniform and normal draws."""
    data = noise(steps=500, dtype=dtype)
    u, n = (data[v].astype(np.float64).ravel() for v in ("V", "r"))
    error = 1 / math.sqrt(u.size)
    assert u.size > 200_000
    assert 0 < u.min() < 1e-4
    assert 1 - 1e-4 < u.max() < 1
    assert abs(u.mean() - 0.5) < CHANCE * error * math.sqrt(1 / 12)
    assert abs(u.var() - 1 / 12) < CHANCE * error * math.sqrt(1 / 180)
    assert abs(n.mean()) < CHANCE * error
    assert abs(n.var() - 1) < CHANCE * error * math.sqrt(2)
    assert abs((n**3).mean()) < CHANCE * error * math.sqrt(15)
    assert abs((n**4).mean() - 3) < CHANCE * error * math.sqrt(96)
    assert 4 < np.abs(n).max() < 7
    counts = np.histogram(u, 100, (0, 1))[0]
    assert np.all(np.abs(counts - u.size / 100) < CHANCE * math.sqrt(u.size / 100))


def test_draws_are_independent() -> None:
    """Of each other in one text, of the step before, and of the neighbour."""
    data = noise()
    u, n, other = data["V"], data["r"], data["g"]
    assert not np.array_equal(u, other)
    pairs = [(u, other), (u, n), (u**2, n**2), (u[1:], u[:-1]), (n[1:], n[:-1]),
             (u[:, 1:], u[:, :-1]), (n[:, 1:], n[:, :-1]), (u[1:], other[:-1])]  # fmt: skip
    assert max(abs(correlation(a, b)) for a, b in pairs) < CHANCE


def test_substeps_draw_anew() -> None:
    """The variance of a sum of four sub-steps is four."""
    circuit = build({name: {"class": "Walk"} for name in NAMES}, models=[Walk])
    step = np.diff(simulate(circuit, 4e-4, 201)["V"], axis=0)
    assert abs(step.var() / 4 - 1) < CHANCE * math.sqrt(2 / step.size)


@pytest.mark.parametrize("settings", [{"threads": 3}, {"chunk": 1}, {"chunk": 7, "threads": 2}])
def test_draws_do_not_depend_on_threads_or_calls(settings: dict[str, int], dtype: str) -> None:
    """They belong to component, step and place in the text."""
    assert_same_bits(noise(dtype=dtype), noise(dtype=dtype, **settings))


def test_draws_belong_to_uids() -> None:
    """Components may be removed, reordered or joined by others: the rest keep their numbers."""
    whole = noise()
    some = [NAMES[i] for i in np.random.default_rng(8).permutation(401)[:57]]
    part = noise(some)
    columns = [NAMES.index(name) for name in some]
    assert_same_bits(part, {v: np.ascontiguousarray(x[:, columns]) for v, x in whole.items()})
    nodes: dict[str, Any] = {f"lif{i}": node("LeakyIAF", IAF) for i in range(5)}
    nodes |= {"new": {"class": "Noise"}, **{name: {"class": "Noise"} for name in some}}
    record = [(variable, some) for variable, _ in DRAWN]
    joined = simulate(build(nodes, models=[Noise]), DT, 101, (), record)
    assert_same_bits(part, {v: x[1:] for v, x in joined.items()})


def test_every_component_draws_its_own() -> None:
    """No two uids share their numbers, and similar uids are not alike."""
    first = noise()["V"][0]
    assert len(np.unique(first)) == len(NAMES)


def test_seeds() -> None:
    """Another seed gives other numbers, the same one the same; all 64 bits count."""
    runs = [noise(seed=seed) for seed in (0, 1, 2**32, 2**64 - 1)]
    assert_same_bits(runs[0], noise(seed=0))
    for i, one in enumerate(runs):
        for other in runs[:i]:
            assert np.mean(one["V"] == other["V"]) < 1e-3
            assert abs(correlation(one["V"], other["V"])) < CHANCE


def test_without_uids_the_global_number_counts() -> None:
    """A circuit from arrays: groups before shift the numbers, groups after do not."""

    def draws(groups: list[Any]) -> np.ndarray:
        data = simulate(Circuit.from_arrays(groups), DT, 11, (), [("V", None)])
        return data["V"][1:]

    two = draws([(Noise, 20, {}, None), (Noise, 30, {}, [f"x{i}" for i in range(30)])])
    one = draws([(Noise, 20, {}, None)])
    assert np.array_equal(one, two[:, :20])
    assert len(np.unique(two)) == two.size


class NoisyAMPA(model("SynapseAMPA")):
    """Fluctuates, and is stored in the order of its Aggregator where the two are fused."""

    update = "s = s * decay + 0.1 * uniform();"


def test_draws_do_not_depend_on_storage_order() -> None:
    """Synapses that a fused kernel stores in another order keep their numbers."""
    rng = np.random.default_rng(9)
    neurons, count = 48, 48 * 5
    groups = [(model("LeakyIAF"), neurons, IAF, None), (NoisyAMPA, count, AMPA, None)]
    target = rng.permutation(np.repeat(np.arange(neurons), 5)).astype(np.int32)
    links = [Connections("g", "I", neurons + np.arange(count, dtype=np.int32), target,
                         data={"reverse": np.asarray(0.0)})]  # fmt: skip
    circuit = Circuit.from_arrays(groups, links)
    record = [("V", None), ("g", None)]
    fused = simulate(circuit, DT, 100, (), record, seed=3)
    assert np.ptp(fused["g"][50]) > 0
    assert_same_bits(fused, simulate(circuit, DT, 100, (), record, seed=3, plans=False))
    silent = simulate(circuit, DT, 100, (), [("V", None)], seed=3, threads=2)
    assert_same_bits({"V": fused["V"]}, silent)


def test_accesses_have_units() -> None:
    """As declared, as a line of equations says, or as all models agree."""

    class Charged(nd.NDComponent):
        """A cell in pF."""

        accesses = ("I", "V")
        updates = ("v",)
        equations = """
            dv/dt = I / C : mV
            I : pA
            C : pF
        """

    assert [(a.name, a.unit) for a in Charged.accesses] == [("I", "pA"), ("V", "mV")]
    plain = type("Plain", (nd.NDComponent,), {
        "accesses": (nd.Access("I"), nd.Access("dose", unit="mol")), "updates": ("x",),
        "states": {"x": nd.State("1")}, "update": "x += I + dose;"})  # fmt: skip
    assert [a.unit for a in plain.accesses] == ["", "mol"]
