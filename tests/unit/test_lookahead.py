"""Lookahead: which part of a text a spike depends on, and where spikes are sent a step early."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from device_code import check_text
from hypothesis import given, settings
from hypothesis import strategies as st
from support import model

from neurodriver import Circuit, Connections, NDComponent, Parameter
from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.spike_delivery import parts_of, plan_delivery
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.codegen.simt.spike_delivery import sent_by
from neurodriver.model.language import backward_slice, parse, to_text
from neurodriver.model.language.evaluate import Evaluator
from neurodriver.model.library import shipped
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.diagnostics import Diagnostics
from neurodriver.plan.spikes.weights import has_integer_weights
from neurodriver.plan.target import CUDA

DT, N = 1e-4, 40

# ---- slices ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kept", "names"),
    [
        ("x = a; y = b;", "x = a;", {"a"}),
        ("x = a; x = b;", "x = b;", {"b"}),
        ("x = a; x += b;", "x = a; x += b;", {"a", "b"}),
        ("x += a;", "x += a;", {"x", "a"}),
        ("++x; y = x; x = a;", "x = a;", {"a"}),
        ("x = y; y = a;", "x = y;", {"y"}),
        ("y = a; x = y;", "y = a; x = y;", {"a"}),
        ("real z = a; y = b; x = fmax(z, c);", "real z = a; x = fmax(z, c);", {"a", "c", "fmax"}),
        ("if (a > 0) x = b; else y = c;", None, {"a", "b", "c", "x", "y"}),
        ("if (a > 0) y = b;", "", {"x"}),
        ("x = 1; if (a > 0) x = b; y = c;", "x = 1; if (a > 0) x = b;", {"a", "b"}),
        ("while (x < a) x = x + b; y = c;", None, {"a", "b", "x"}),
        ("real v[2] = {a, b}; v[0] = c; x = v[1];", None, {"a", "b", "c"}),
        ("if (a > 0) { real x = 1; y = x; } else { x = b; }", None, {"a", "b", "x", "y"}),
        (
            "{ x = a; for (int i = 0; i < 2; ++i) { real x = b; y += x; } }",
            None,
            {"a", "b", "i", "x", "y"},
        ),
        ("{ real x = a; y = x; }", None, {"a", "x", "y"}),
    ],
)
def test_a_slice_has_what_a_value_depends_on(text: str, kept: str | None, names: set[str]) -> None:
    """In order; what is overwritten is left out, a branch and a loop are kept whole."""
    found = backward_slice(parse(text), ["x"])
    assert found.names == names
    if kept is not None:
        assert [to_text(one) for one in found.statements] == [
            to_text(one) for one in parse(kept).statements
        ]


NAMES = ("a", "b", "c", "d")
VALUE = st.builds("{} {} {}".format, st.sampled_from(NAMES), st.sampled_from("+-*<"),
                  st.sampled_from((*NAMES, "2")))  # fmt: skip
PLAIN = st.one_of(
    st.builds("{} = {};".format, st.sampled_from(NAMES), VALUE),
    st.builds("{} += {};".format, st.sampled_from(NAMES), VALUE),
)
STATEMENT = st.one_of(
    PLAIN,
    st.builds("if ({}) {{ {} {} }}".format, VALUE, PLAIN, PLAIN),
    st.builds("if ({}) {{ {} }} else {{ {} }}".format, VALUE, PLAIN, PLAIN),
    st.builds("for (int i = 0; i < 3; ++i) {{ {} {} }}".format, PLAIN, PLAIN),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(STATEMENT, min_size=1, max_size=8), st.sampled_from(NAMES))
def test_a_slice_gives_the_same_value(text: list[str], wanted: str) -> None:
    """Of the name that is wanted, whatever the names have that the slice does not read."""
    whole = parse(" ".join(text))
    found = backward_slice(whole, [wanted])
    given = {name: np.array([1.5, -2.0, 0.25]) + i for i, name in enumerate(NAMES)}
    others = {n: v if n in found.names else v + 100 for n, v in given.items()}
    where = np.ones(3, bool)
    run = Evaluator().run
    run(whole, given, where)
    for one in found.statements:
        run(one, others, where)
    np.testing.assert_array_equal(given[wanted], others[wanted])


# ---- models ---------------------------------------------------------------------------------

DEPENDS = {"Izhikevich", "IzhikevichEuler", "IzhikevichNoisy", "LeakyIAFDelta",
           "LeakyIAFDeltaDriven", "NIRCubaLIF", "NIRIF", "NIRLIF"}  # fmt: skip
"""Shipped models whose spikes depend on what arrives in their step."""


def receptors(model: type[NDComponent]) -> list[str]:
    """Return the accesses of a model that get weighted spikes."""
    return [a.name for a in model.accesses if has_integer_weights(model, a)]


def value(rule: Parameter) -> float:
    """Return what a parameter may be."""
    low = max(rule.above, rule.at_least)
    low = low if low > -np.inf else min(rule.at_most - 2.0, 1.0)
    return low if rule.whole else low + 0.5 * min(rule.at_most - low, 2.0)


def circuit(kind: type[NDComponent], low: int = 1, high: int = 3, more: Any = ()) -> Circuit:
    """Return neurons of a model that send each other spikes with several delays."""
    ends = np.arange(12 * N, dtype=np.int32)
    late = (low + ends % (high - low + 1)) * DT
    links = [
        Connections("spike_state", access, ends % N, ends // 12, late, {"weight": 1.0 + ends})
        for access in receptors(kind)
    ]
    params = {name: value(rule) for name, rule in kind.params.items()}
    return Circuit.from_arrays([(kind, N, params, None), *more], links)


def made(of: Circuit, stepwise: bool = False, **given: Any) -> tuple[Any, Any]:
    """Return the kernels of a circuit for a GPU, and the plan of its delivery."""
    program = compile_circuit(of, DT, "float32", target=CUDA, **given)
    return generate(program), plan_delivery(program, stepwise)


SPIKING = sorted(
    name for name, one in shipped().items() if receptors(one) and "spike_state" in one.updates
)


@pytest.mark.parametrize("name", SPIKING)
def test_which_models_look_ahead(name: str) -> None:
    """Those whose arrivals enter a current or a conductance, which acts one step later."""
    generated, _ = made(circuit(shipped()[name]))
    assert generated.tasks[0].kernel.lookahead == (name not in DEPENDS)


class Leak(NDComponent):
    """Adds its input to a current, which the potential gets one step later."""

    accesses = model("LeakyIAFExpCurrent").accesses
    updates = ("spike_state",)
    states = {"V": 0.0, "s": 0.0}
    update = "V += s - 0.1 * V; if (V > 1) { V = 0; spike_state = 1; } s = 0.9 * s + exc + inh;"


class Noisy(Leak):
    """Its potential has noise."""

    update = Leak.update.replace("s - 0.1", "s + normal() - 0.1")


class Late(Leak):
    """Its spikes depend on the number of the step."""

    update = Leak.update.replace("V > 1", "V > 1 && step % 2 == 0")


class Reads(Leak):
    """Its potential gets a graded current at once."""

    update = Leak.update.replace("s - 0.1", "s + I - 0.1")


class Marked(Leak):
    """Its spikes are an output of its states."""

    outputs = {"spike_state": "V > 1 ? 1 : 0"}
    update = "V += s - 0.1 * V; s = 0.9 * s + exc + inh;"


@pytest.mark.parametrize(
    ("kind", "ahead"), [(Leak, True), (Noisy, False), (Late, False), (Reads, True), (Marked, False)]
)
def test_what_ends_lookahead(kind: type[NDComponent], ahead: bool) -> None:
    """Draws, the number of the step; an input only where there is one."""
    generated, _ = made(circuit(kind))
    assert generated.tasks[0].kernel.lookahead == ahead
    if kind is Reads:
        uids = circuit(kind).uids.tolist()[:3]
        generated, _ = made(circuit(kind), targets=[("I", uids)])
        assert not generated.tasks[0].kernel.lookahead
    generated, _ = made(circuit(kind), watch=Diagnostics(debug=True))
    assert not generated.tasks[0].kernel.lookahead  # PRINT tells of a step once


HOLDS = schedule.LaunchPlan("block", 1, Shape(192, 1, True), (1,))
STREAMS = schedule.LaunchPlan("grid", 7, Shape(192, 1, False), (1,))


@pytest.mark.parametrize(
    ("low", "high", "plan", "ahead"),
    [(1, 3, HOLDS, True), (2, 3, HOLDS, True), (1, 3, STREAMS, False), (1, 1, HOLDS, False),
     (6, 9, HOLDS, False)],
)  # fmt: skip
def test_where_spikes_are_sent_early(low: int, high: int, plan: Any, ahead: bool) -> None:
    """Where threads keep their components and list connections; windows are long enough."""
    generated, delivery = made(circuit(Leak, low, high))
    found = delivery.ahead_in(generated, plan)
    assert found.lookahead == ahead == found.shaped(plan.shape).lookahead
    if (low, high) == (1, 3):
        generated, stepwise = made(circuit(Leak, low, high), stepwise=True)
        assert stepwise.delivers and not stepwise.ahead_in(generated, plan).lookahead
        uids = circuit(Leak, low, high).uids.tolist()[:3]
        injected = made(circuit(Leak, low, high), targets=[("spike_state", uids)])
        assert not injected[1].ahead_in(injected[0], plan).lookahead


def test_all_senders_have_to_look_ahead() -> None:
    """One list of pieces serves all of them."""
    delta = model("LeakyIAFDelta")
    params = {name: value(rule) for name, rule in delta.params.items()}
    both = circuit(Leak, more=[(delta, 9, params, None)])
    generated, delivery = made(both)
    assert delivery.ahead_in(generated, HOLDS).lookahead  # the second group sends nothing
    ends = np.arange(12 * N, dtype=np.int32)
    late, data = (1 + ends % 3) * DT, {"weight": 1.0 + ends}
    there = Connections("spike_state", "exc", N + ends % 9, ends % N, late, data)
    back = Connections("spike_state", "spike_state", ends % N, N + ends // N % 9, late, data)
    for more, ahead in (([there], True), ([there, back], False)):
        # a neuron that nothing reaches sends what it alone decides
        generated, delivery = made(both.with_parts(both.groups, [*both.connections, *more]))
        assert all(sent_by(one.gather) == "pieces" for one in generated.deliveries)
        assert delivery.ahead_in(generated, HOLDS).lookahead == ahead


def test_others_send_to_other_gpus_in_their_own_step() -> None:
    """A group that cannot look ahead may send to other GPUs alone: they wait for its words."""
    for name, ahead in (("LeakyIAFExpCurrent", True), ("LeakyIAFDelta", False)):
        generated, _ = made(circuit(model(name)))
        text = generated.tasks[0].kernel.text
        step = text[text.index("void step(") : text.index("void look_ahead(")]
        lines = [line.strip() for line in step[: step.index("nd_send_spikes(")].splitlines()]
        (*_, last) = (line for line in lines if line.startswith("#if"))
        assert last == ("#if ND_GATES && !ND_LOOKAHEAD" if ahead else "#if ND_GATES")


def test_a_launch_has_one_more_barrier() -> None:
    """Before its first step: the first pieces are listed."""
    plain, ahead = Shape(192, 1, True), Shape(192, 1, True, lookahead=True)
    assert plain.barriers(3, 10) == 7 and ahead.barriers(3, 10) == 8
    assert plain.barriers(3, 3) == ahead.barriers(3, 3) == 0


@pytest.mark.parametrize("gates", [False, True])
def test_the_text_is_device_code(gates: bool) -> None:
    """With and without GPUs that write into each other's memory."""
    generated, delivery = made(circuit(model("LeakyIAFExpCurrent")))
    shape = delivery.ahead_in(generated, HOLDS).shaped(HOLDS.shape)

    class Unknown:
        """Integers that are looked up."""

        def known(self, kernel: Any) -> tuple[()]:
            return ()

    plan = schedule.LaunchPlan("block", 1, shape, (1,))
    parts = parts_of(generated, plan, Unknown())  # type: ignore[arg-type]
    text = device_text(parts, "float32", replace(shape, gates=gates))
    assert "#define ND_LOOKAHEAD 1" in text
    check_text(text)
