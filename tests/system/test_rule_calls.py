"""Texts of rules that Python calls: their results, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learned_rates import DT as RATE_DT
from learned_rates import Mixed, Rates
from learning import Trains
from learning_networks import SYNAPSES, Cell, Pairs, learning, network, trains
from support import started

import neurodriver as nd
from neurodriver.errors import ModelError, NeurodriverError


class Credited(Pairs):
    """Pairs leave a mark. A call turns it into weight."""

    params = {
        "tau_n": nd.Parameter("ms", default=40.0, above=0.0),
        "gain": nd.Parameter("1", default=0.5),
        "w_max": nd.Parameter("", default=1.0),
    }
    constants = {"strength": "gain * (1 + dt_ms)"}
    synapse = {"mark": nd.State("1", 0.25)}
    modulators = {"dopamine": nd.Doses("tau_n", 0.5)}
    on_arrival = "mark -= down * y; send(weight);"
    on_spike = "mark += up * x;"
    on_call = {
        "reward(r, least)": """
            real change = strength * r * mark;
            if (fabs(change) > least) { weight = clip(weight + change); mark = 0; }
        """,
        "dose()": "weight = clip(weight + 0.1 * dopamine);",
        "divide(by)": "mark = 1 / by;",
    }


LIMITS = np.linspace(0.95, 1.5, SYNAPSES)


def run(dtype: str = "float64", calls: int = 3, **options: Any) -> list[dict[str, Any]]:
    """Return the numbers of the synapses before and after each call, and at the end."""
    found = []
    with learning(Credited(gain=0.7, w_max=LIMITS), dtype=dtype, **options) as lpu:
        synapses = lpu["learning"]
        for _ in range(calls):
            lpu.run(40)
            found.append({name: synapses.get(name) for name in ("weight", "mark")})
            synapses.call("reward", r=1.5, least=0.1)
            found.append({name: synapses.get(name) for name in ("weight", "mark")})
        lpu.run(40)
        found.append({"weight": synapses.get(), "dopamine": synapses.get("dopamine")})
        synapses.call("dose")
        found.append({"weight": synapses.get()})
    return found


def test_numbers_are_those_of_numpy(dtype: str) -> None:
    """Parameters, constants, bounds of each synapse, and numbers of the call."""
    real = np.dtype(dtype).type
    *called, late, dosed = run(dtype)
    for before, after in zip(called[::2], called[1::2], strict=True):
        weight, mark = (before[n].astype(dtype) for n in ("weight", "mark"))
        change = real(0.7) * (real(1) + real(1)) * real(1.5) * mark
        moved = np.abs(change) > real(0.1)
        assert 0 < moved.sum() < SYNAPSES
        wanted = np.clip(weight + change, real(0), LIMITS.astype(dtype))
        assert np.array_equal(after["weight"], np.where(moved, wanted, weight))
        assert np.array_equal(after["mark"], np.where(moved, real(0), mark))
    assert late["dopamine"] > 0.01
    wanted = np.minimum(late["weight"] + 0.1 * late["dopamine"], LIMITS)
    np.testing.assert_allclose(dosed["weight"], wanted, rtol=1e-6)


def test_same_bits() -> None:
    """For any number of threads, and copies of a batch."""
    whole = run(threads=1)
    for options in ({"threads": 2}, {"threads": 3}, {"batch": 2}):
        for one, other in zip(whole, run(**options), strict=True):
            for name, values in one.items():
                assert (other[name] == values).all()
    with learning(Credited(), batch=2) as lpu:
        lpu["learning"].call("reward", r=[0.0, 1.0], least=0.0)
        first, second = lpu["learning"].get()
        assert (first < second).all()
        with pytest.raises(NeurodriverError, match="'r': a number or 2 of them are needed"):
            lpu["learning"].call("reward", r=[1.0, 2.0, 3.0], least=0.0)


def test_what_follows_is_what_follows_from_set(tmp_path: Path) -> None:
    """A call has the effect of ``set``, and a checkpoint keeps it."""
    with learning(Credited()) as lpu, learning(Credited()) as other:
        for one in (lpu, other):
            one.run(60)
        lpu["learning"].call("reward", r=1.0, least=0.0)
        for name in ("weight", "mark"):
            other["learning"].set(name, lpu["learning"].get(name))
        lpu.save(tmp_path / "a.h5")
        for one in (lpu, other):
            one.run(60)
        assert np.array_equal(lpu["learning"].get(), other["learning"].get())
        inputs = [trains(network(Credited()))]
        with nd.LPU.restore(tmp_path / "a.h5", inputs, models=[Cell, Credited]) as again:
            again.run(60)
            assert np.array_equal(lpu["learning"].get(), again["learning"].get())


def test_no_text_runs_while_nothing_is_learned() -> None:
    with learning(Credited()) as lpu:
        lpu.run(40)
        lpu["learning"].learn(False)
        before = lpu["learning"].get()
        lpu["learning"].call("reward", r=1.0, least=0.0)
        assert np.array_equal(lpu["learning"].get(), before)
        lpu["learning"].learn(True)
        lpu["learning"].call("reward", r=1.0, least=0.0)
        assert not np.array_equal(lpu["learning"].get(), before)


class Halving(Mixed):
    """A rule of rates whose weights Python halves."""

    on_call = {"scale(factor)": "weight *= factor;"}


def test_graded_synapses(dtype: str) -> None:
    given = Rates.drawn(40, 300, 20, 3)
    circuit = given.circuit(Halving(), Halving())
    with started(circuit, RATE_DT, given.input(), None, dtype=dtype) as lpu:
        lpu.run(steps=20)
        before = lpu["set 1"].get()
        lpu["set 1"].call("scale", factor=0.5)
        assert before.any() and np.array_equal(lpu["set 1"].get(), before * 0.5)


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "name": ("rewrad", {}, "no text 'rewrad' for calls (did you mean 'reward'?); its on_call has"),
    "missing": ("reward", {"r": 1.0}, "reward(r, least) needs the number 'least'"),
    "more": ("dose", {"r": 1.0}, "dose() reads no number 'r'"),
    "no number": ("divide", {"by": "two"}, "'by' must be a finite number (got 'two')"),
    "not finite": ("divide", {"by": np.nan}, "'by' must be a finite number (got nan)"),
    "infinite": ("divide", {"by": 0.0}, "'mark' would be inf; nothing was changed"),
}


class OrderOfPairs(nd.Plasticity):
    """Only the order of a pair counts, and a reward or a punishment after a trial.

    Mozafari et al. 2018, arXiv:1705.09132: an arrival that came before the spike of the target is
    rewarded by ``w += a w (1 - w)``.
    """

    params = {
        "up": nd.Parameter("1", default=0.4),
        "down": nd.Parameter("1", default=-0.3),
        "anti_up": nd.Parameter("1", default=0.05),
        "anti_down": nd.Parameter("1", default=-0.4),
    }
    synapse = {"came": nd.State("1", 0.0), "order": nd.State("1", 0.0)}
    bounds = (0.0, 1.0)
    on_arrival = "came = 1; send(weight);"
    on_spike = "order = order != 0 ? order : came > 0 ? 1 : -1;"
    on_call = {
        "end(reward)": """
            real a = reward > 0 ? (order > 0 ? up : down) : (order > 0 ? anti_down : anti_up);
            weight = clip(weight + (order != 0 ? a : 0) * weight * (1 - weight));
            came = 0; order = 0;
        """
    }


def test_only_the_order_of_pairs_counts() -> None:
    """A synapse before, one after, and one whose target is silent; rewarded, then punished."""
    n, first = np.arange(3), np.array([0.3, 0.5, 0.6])
    one, none = np.ones(3, int), np.zeros(3, int)
    pre, post = [[10, 110], [30, 130], [10, 110]], [[20, 25, 120], [20, 25, 120], []]
    train = Trains(pre, post, n, n, first, one, none, none, 200)
    weight = first.copy()
    with train.lpu(OrderOfPairs()) as lpu:
        for reward, gain in ((1.0, [0.4, -0.3, 0.0]), (-1.0, [-0.4, 0.05, 0.0])):
            lpu.run(steps=100)
            lpu["OrderOfPairs"].call("end", reward=reward)
            weight += np.array(gain) * weight * (1 - weight)
            np.testing.assert_allclose(lpu["OrderOfPairs"].get(), weight, rtol=0, atol=1e-15)


@pytest.fixture(scope="module")
def lpu() -> Any:
    with learning(Credited()) as one:
        yield one


@pytest.mark.parametrize("case", WRONG)
def test_a_call_that_does_not_fit(lpu: Any, case: str) -> None:
    name, given, said = WRONG[case]
    before = lpu["learning"].get("mark")
    with pytest.raises(NeurodriverError) as error:
        lpu["learning"].call(name, **given)
    assert said in str(error.value) and "'learning'" in str(error.value)
    assert np.array_equal(lpu["learning"].get("mark"), before)


DECLARED = {
    "reward": "on_call['reward']: write a name and the numbers it is given, as 'reward(r)'",
    "reward(r,)": "write a name and the numbers it is given",
    "reward(gain)": "on_call['reward(gain)']: 'gain' is declared by the rule",
    "reward(weight)": "the name 'weight' is reserved",
    "reward(lambda)": "'lambda' is not a usable name",
    "reward(r, r)": "'r' is given twice",
}


@pytest.mark.parametrize("written", DECLARED)
def test_a_declaration_that_is_wrong(written: str) -> None:
    with pytest.raises(ModelError) as error:
        type("Bad", (Credited,), {"on_call": {written: "weight = 0;"}})
    assert DECLARED[written] in str(error.value) and str(error.value).startswith("Bad")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("weight += x;", "Bad.on_call['one(r)'], line 1, column 11: unknown name 'x'"),
        ("r = 2;", "'r' is a number that the call gives"),
        ("weight += post.V;", "on_call['one(r)'] reads post.V, which only"),
    ],
)
def test_a_text_that_is_wrong(text: str, said: str) -> None:
    with pytest.raises(ModelError) as error:
        type("Bad", (Credited,), {"on_call": {"one(r)": text}})
    assert said in str(error.value)


def test_one_name_twice() -> None:
    texts = {"one(r)": "weight = r;", "one()": "weight = 0;"}
    with pytest.raises(ModelError, match=r"on_call\['one\(\)'\]: 'one' is declared as 'one\(r\)'"):
        type("Bad", (Pairs,), {"on_call": texts})
