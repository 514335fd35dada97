"""Rules of plasticity that are declared or used wrongly: each error says where and what."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.codegen.rules import RuleText
from neurodriver.errors import CircuitError, CircuitWarning, ModelError
from neurodriver.model.rule_page import rule_page

TAU = nd.Parameter("ms", default=20.0, above=0.0)
RATE = nd.Parameter("1", default=0.1)
GOOD: dict[str, Any] = {
    "params": {"tau": TAU, "rate": RATE, "w_max": nd.Parameter("", default=1.0)},
    "constants": {"up": "rate * w_max"},
    "synapse": {"seen": nd.State("1", 0.0)},
    "pre": {"x": nd.Trace("tau")},
    "post": {"y": nd.Trace("tau")},
    "bounds": (0.0, "w_max"),
    "on_arrival": "weight = clip(weight - up * y); send(weight);",
    "on_spike": "weight = clip(weight + up * x); seen += 1;",
}

DECLARED: dict[str, tuple[dict[str, Any], str]] = {
    "misspelled attribute": (
        {"on_arival": "send(weight);"},
        "Bad: no rule has an attribute 'on_arival' (did you mean 'on_arrival'?)",
    ),
    "an attribute of models": (
        {"states": {"c": nd.State()}},
        "Bad: no rule has an attribute 'states'; it has 'synapse'",
    ),
    "a text of an event": (
        {"post_event": "V > -50"},
        "Bad: no rule has an attribute 'post_event'; is 'post' meant?",
    ),
    "texts of a target": (
        {"target_every": {"tau": "total = sum(weight); weight *= 1 / total;"}},
        "Bad: no rule has an attribute 'target_every'; is 'every' meant?",
    ),
    "a default is drawn": (
        {"params": {**GOOD["params"], "drawn": nd.Parameter("1", nd.Uniform(0, 1))}},  # type: ignore[arg-type]
        "default must be a number (got Uniform(low=0, high=1, multiple_of=0.0)); a distribution "
        "is for Bad(drawn=...)",
    ),
    "params are no mapping": ({"params": ["tau"]}, "Bad: params: must map names to declarations"),
    "a parameter is a number": (
        {"params": {"tau": 20.0}},
        "Bad: params['tau']: must be nd.Parameter(...) (got 20.0)",
    ),
    "a trace is a text": ({"pre": {"x": "tau"}}, "pre['x']: must be nd.Trace(...) (got 'tau')"),
    "a variable is called as what is stored": (
        {"synapse": {"spikes": nd.State("1", 0.0)}},
        "Bad: synapse: the name 'spikes' is reserved; choose another",
    ),
    "a variable is a number": (
        {"synapse": {"seen": 0.0}},
        "synapse['seen']: must be nd.State(...) (got 0.0)",
    ),
    "a constant is a number": ({"constants": {"up": 2.0}}, "constants['up']: must be a text"),
    "a text is none": ({"on_spike": None}, "Bad: on_spike: must be a text (got None)"),
    "tau is a number": (
        {"pre": {"x": nd.Trace(20.0)}},  # type: ignore[arg-type]
        "pre['x'], tau: must be the name of a parameter or constant in ms (got 20.0)",
    ),
    "tau is unknown": (
        {"post": {"y": nd.Trace("taux")}},
        "post['y'], tau: no parameter or constant 'taux' (did you mean 'tau'?)",
    ),
    "tau is no time": (
        {"post": {"y": nd.Trace("rate")}},
        "post['y'], tau: 'rate' must be in ms (its unit is '1')",
    ),
    "jump is unknown": (
        {"pre": {"x": nd.Trace("tau", jump="rat")}},
        "pre['x'], jump: no parameter or constant 'rat' (did you mean 'rate'?)",
    ),
    "first value is unknown": (
        {"synapse": {"seen": nd.State("1", "rte")}},
        "synapse['seen'], initial: no parameter or constant 'rte' (did you mean 'rate'?)",
    ),
    "one bound": ({"bounds": ("w_max",)}, "bounds: must be a pair of parameters or numbers"),
    "unknown bound": ({"bounds": (0.0, "wmax")}, "bounds: no parameter 'wmax' (did you mean"),
    "no bound above": ({"bounds": (0.0, None)}, "bounds: must be parameters or numbers (got None)"),
    "interval is unknown": (
        {"every": {"interval": "weight *= 2;"}},
        "every['interval']: must be a parameter with an interval in ms",
    ),
    "interval is no time": (
        {"every": {"rate": "weight *= 2;"}},
        "every['rate']: 'rate' must be in ms (its unit is '1')",
    ),
    "first": ({"first": "post"}, "first: must be 'arrival' or 'spike' (got 'post')"),
    "same step": ({"same_step": True}, "same_step: must be 'apart' or 'pair' (got True)"),
    "no name": ({"pre": {"x y": nd.Trace("tau")}}, "pre: 'x y' is not a usable name"),
    "a word of Python": ({"params": {"lambda": RATE}}, "params: 'lambda' is not a usable name"),
    "a word of the texts": (
        {"synapse": {"weight": nd.State("1", 0.0)}},
        "synapse: the name 'weight' is reserved; choose another",
    ),
    "one name twice": (
        {"synapse": {"x": nd.State("1", 0.0)}},
        "the name 'x' is declared twice, in synapse and pre",
    ),
    "a constant reads a trace": ({"constants": {"up": "x"}}, "Bad.constants['up']"),
    "nothing is sent": (
        {"on_arrival": "weight -= up * y;"},
        "Bad.on_arrival: there is no send(...); it says what the spike carries",
    ),
    "sent at a spike of the target": (
        {"on_spike": "send(weight);"},
        "Bad.on_spike, line 1, column 1: unknown name 'send'",
    ),
    "a missing semicolon": (
        {"on_spike": "weight = clip(weight + up * x)"},
        "Bad.on_spike, line 1, column 30: a ';' is missing",
    ),
    "an unknown name": (
        {"on_spike": "weight += z;"},
        "Bad.on_spike, line 1, column 11: unknown name 'z'",
    ),
    "a trace is written": (
        {"on_spike": "x = 0;"},
        "Bad.on_spike, line 1, column 1: 'x' is a trace",
    ),
    "a parameter is written": ({"on_arrival": "rate = 1; send(weight);"}, "'rate' is a parameter"),
    "a random number": ({"on_spike": "weight += uniform();"}, "Bad.on_spike, line 1, column 11"),
    "clip without bounds": ({"bounds": None}, "'clip'"),
    "a trace at an interval": (
        {"params": {**GOOD["params"], "now": TAU}, "every": {"now": "weight += x;"}},
        "Bad.every['now'], line 1, column 11: unknown name 'x'",
    ),
    "a variable of the target": ({"on_spike": "weight += V;"}, "unknown name 'V'"),
    "a text of doses that are none": (
        {"on_dose": {"dopamine": "weight = 0;"}},
        "on_dose['dopamine']: must be a modulator that has doses",
    ),
    "a text of doses sends": (
        {"modulators": {"n": nd.Doses("tau")}, "on_dose": {"n": "send(weight);"}},
        "Bad.on_dose['n'], line 1, column 1: unknown name 'send'",
    ),
    "a value of a neuron at a spike": (
        {"on_spike": "weight += post.V;"},
        "on_spike reads post.V, which only 'on_step' and 'on_arrival' and 'every' may read",
    ),
    "units of a sum": (
        {"on_spike": "weight = clip(weight + rate + tau);"},
        "Bad.on_spike, line 1, column 29: 'weight + rate + tau': '+' between no unit and ms",
    ),
    "units of a constant": (
        {"constants": {"up": "rate * tau", "down": "up - rate"}},
        "Bad.constants['down'], line 1, column 4: 'up - rate': '-' between ms and no unit",
    ),
    "units of an assignment": (
        {"on_spike": "seen = since_spike;"},
        "Bad.on_spike, line 1, column 1: 'seen = ...' takes no unit, and is given ms",
    ),
    "a print": (
        {"on_spike": 'PRINT("%f", weight);'},
        "Bad.on_spike, line 1, column 1: PRINT, ERROR and ENSURE stand in 'update' of a model",
    ),
    "a local variable is called as a function": (
        {"on_arrival": "real send = weight; send(send);"},
        "Bad.on_arrival, line 1, column 6: 'send' is a function of this text; choose another name",
    ),
    "a local variable is called as a type": (
        {"on_spike": "real Before = 1;"},
        "Bad.on_spike, line 1, column 6: the name 'Before' is reserved in this text",
    ),
    "a sum is a word": (
        {
            "params": {**GOOD["params"], "now": TAU},
            "every": {"now": "class = sum(weight); weight = 1;"},
        },
        "every['now']: the sum 'class' has a name that is reserved; choose another",
    ),
    "a sum is called as a parameter": (
        {
            "params": {**GOOD["params"], "now": TAU},
            "every": {"now": "rate = sum(weight); weight = 1;"},
        },
        "every['now']: the sum 'rate' is called as what the rule declares",
    ),
    "a value of a neuron in a sum": (
        {
            "params": {**GOOD["params"], "now": TAU},
            "every": {"now": "total = sum(weight * pre.r); weight /= total;"},
        },
        "every['now'] reads pre.r in the sum 'total'; a sum is over numbers of synapses",
    ),
}


@pytest.mark.parametrize("case", DECLARED)
def test_a_declaration_that_is_wrong(case: str) -> None:
    """Refused where the class is made, with class, attribute and name."""
    parts, expected = DECLARED[case]
    with pytest.raises(ModelError) as error:
        type("Bad", (nd.Plasticity,), {**GOOD, **parts})
    assert str(error.value).startswith("Bad")
    assert expected in str(error.value)


def structure() -> str:
    """Return the structure that a rule becomes."""
    return "\n".join(RuleText(nd.PairSTDP(), "float64", "Rule").structure())


@pytest.mark.parametrize(
    "name",
    sorted(
        {*re.findall(r"static const \w+ (\w+)", structure())}
        | {*re.findall(r"ND_METHOD \w+ (\w+)\(", structure())}
        | {*re.findall(r"class (\w+)[,>]", structure())}
    ),
)
def test_names_of_the_structure_are_no_parameters(name: str) -> None:
    """Every member of the structure, and every type in it, as the text itself has them."""
    for attribute, made in (("params", RATE), ("constants", "2 * rate")):
        parts = {attribute: {**GOOD[attribute], name: made}}
        with pytest.raises(ModelError, match=f"{attribute}: the name '{name}' is reserved"):
            type("Bad", (nd.Plasticity,), {**GOOD, **parts})


def test_a_good_declaration() -> None:
    """What the cases change is right, and a class may have further attributes of its own."""
    rule = type("Good", (nd.Plasticity,), {**GOOD, "presets": {"fast": {"tau": 5.0}}})
    assert rule(tau=10.0).values["tau"] == 10.0


def test_all_faults_are_told_at_once() -> None:
    parts = {"first": "post", "bounds": (0.0, "wmax"), "pre": {"x": nd.Trace("taux")}}
    with pytest.raises(ModelError, match="Bad: 3 faults") as error:
        type("Bad", (nd.Plasticity,), {**GOOD, **parts})
    for word in ("'post'", "'wmax'", "'taux'"):
        assert word in str(error.value)


NUMBERS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"A_plu": 1.0}, "PairSTDP: no parameter 'A_plu' (did you mean 'A_plus'?)"),
    "out of range": ({"tau_plus": 0.0}, "PairSTDP: parameter 'tau_plus' [ms]: must be positive"),
    "a text": ({"A_plus": "much"}, "PairSTDP: parameter 'A_plus' [1]: must be a number"),
    "infinite": ({"w_max": np.inf}, "PairSTDP: parameter 'w_max' []: must be finite (got inf)"),
    "bounds": ({"w_min": 2.0}, "'w_min' and 'w_max': weights would lie between 2 and 1"),
    "a column": ({"tau_plus": [9.0, 8.0]}, "parameter 'tau_plus' [ms]: must be one number"),
    "bounds of a synapse": ({"w_max": [0.1, -0.2]}, "between 0 and -0.2 for synapse 1"),
    "words": ({"A_plus": ["a", "b"]}, "PairSTDP: parameter 'A_plus' [1]: must be a number, or"),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_a_number_that_is_wrong(case: str) -> None:
    """Refused where the rule is made."""
    given, expected = NUMBERS[case]
    with pytest.raises(ModelError) as error:
        nd.PairSTDP(**given)
    assert expected in str(error.value)


ODD: list[Any] = [
    None, 3, -1.5, np.nan, "", "x y", "tau", b"a", True, [], [1], (), (0.0, "w_max"), {}, {3: "a"},
    {"n": 3}, {"n": None}, {"n": ""}, {"n": "weight = ;"}, {"n": "weight = x y;"}, {"tau": [1]},
    object(), np.zeros(2),
]  # fmt: skip
"""Values that somebody may write where something else is needed."""

ATTRIBUTES = [
    "params", "constants", "synapse", "pre", "post", "modulators", "every", "late", "on_call",
    "on_dose", "on_arrival", "on_spike", "on_step", "between", "bounds", "first", "same_step",
]  # fmt: skip


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_odd_values_are_refused_or_right(attribute: str) -> None:
    """With an error of the declaration, never another one; so are names, time constants, jumps."""
    refused = 0
    for value in ODD:
        given = [{attribute: value}]
        if attribute in ("pre", "post", "synapse"):
            given += [
                {attribute: {"z": nd.Trace(value)}},
                {attribute: {"z": nd.Trace("tau", value)}},
            ]
        if attribute == "modulators":
            given += [{attribute: {"z": nd.Doses(value)}}, {attribute: {"z": nd.Level(value)}}]
        for parts in given:
            try:
                type("Bad", (nd.Plasticity,), {**GOOD, **parts})
            except ModelError as error:
                refused += str(error).startswith("Bad")
    assert refused >= 15


class Timed(nd.PairSTDP):
    """Intervals and time constants whose parameters have no range."""

    params = {
        "each": nd.Parameter("ms", default=5.0),
        "tau_c": nd.Parameter("ms", default=5.0),
        "tau_x": nd.Parameter("ms", default=5.0),
    }
    pre = {"x": nd.Trace("tau_x")}
    synapse = {"c": nd.Trace("tau_c")}
    every = {"each": "weight = clip(0.9 * weight);"}


@pytest.mark.parametrize("name", ["each", "tau_c", "tau_x"])
@pytest.mark.parametrize("value", [0.0, -5.0])
def test_times_are_above_zero(name: str, value: float) -> None:
    """Whatever range the parameter has."""
    what = r"an interval" if name == "each" else "the time constant of"
    with pytest.raises(ModelError, match=rf"'{name}' \[ms\]: must be above 0, as it is {what}"):
        Timed(**{name: value})


def test_intervals_are_whole_steps() -> None:
    """Those that are shorter than a step are refused, and a warning tells of those that change."""

    def made(interval: float, rows: float = 2e-3) -> None:
        source = nd.Population("SpikeSource", 1)
        cell = nd.Population(
            "LeakyIAFDelta", 1, resting_potential=-70.0, threshold=-54.0, reset_potential=-60.0,
            time_constant=20.0,
        )  # fmt: skip
        rule = Timed(each=interval)
        links = nd.Projection(source, cell, nd.AllToAll(), weight=0.5, plasticity=rule, name="p")
        recorder = nd.SynapseRecorder(None, "p", interval=rows)
        nd.LPU(nd.Circuit([source, cell], [links]), 1e-3, recorders=[recorder]).close()

    made(5.0)
    said = "'p': Timed.each = 1.4 ms is 1.4 steps of 1 ms; it becomes 1 ms, but texts read 1.4"
    with pytest.warns(CircuitWarning, match=said):
        made(1.4)
    with pytest.raises(CircuitError, match=r"'p': Timed.each: .* one step of 1 ms .*got 0.2 ms"):
        made(0.2)
    with pytest.warns(CircuitWarning, match="SynapseRecorder: interval = 1.7 ms .* becomes 2 ms"):
        made(5.0, 1.7e-3)


def test_the_page_of_a_rule_has_its_texts_as_they_are_written() -> None:
    """Values of neurons, and sums."""
    assert "real y = post.value;" in "\n".join(rule_page(nd.BCMRule))
    assert "sum_of_weights = sum(weight);" in "\n".join(rule_page(nd.NormalisedSTDP))
