"""Sub-units that jump by reactions: closed forms, exactness of choice, limits, declaration."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support import DT, build, model, simulate

from neurodriver import Circuit, NDComponent, NonFiniteError, Parameter, State, SubUnits
from neurodriver.errors import ModelError
from neurodriver.model.component import Access
from neurodriver.model.page import page
from neurodriver.model.subunits import Reaction, Species

CHANCE = 5.0
"""Standard errors: seeds are fixed, so this holds or does not; by chance it fails once in 10^6."""

NUMBER = Parameter("1", default=1.0, at_least=0.0, at_most=1e9, whole=True)


class Births(NDComponent):
    """Counts that grow by one at a rate."""

    updates = ("V",)
    params = {"number": NUMBER, "rate": Parameter("1/s", at_least=0.0)}
    sub_units = SubUnits("number", {"n": Species(0, 65535)}, [("rate", {"n": 1})], {}, {"N": "n"})
    update = "V = N;"


class Gate(NDComponent):
    """Two-state channels, all closed at first; the current is that of the open ones."""

    updates = ("I",)
    params = {"number": NUMBER, "alpha": Parameter("1/s"), "beta": Parameter("1/s")}
    maximum_dt = 1e-3
    sub_units = SubUnits(
        "number",
        {"closed": Species(1, 1), "open": Species(0, 1)},
        [("alpha * closed", {"closed": -1, "open": 1}), ("beta * open", {"closed": 1, "open": -1})],
        totals={"conducting": "open"},
    )
    update = "I = conducting;"


def made(model: type[NDComponent], count: int, **given: Any) -> Circuit:
    """Return a circuit of one model."""
    return Circuit.from_arrays([(model, count, given, None)])


def totals(
    model: type[NDComponent], count: int, steps: int, dt: float = DT, **given: Any
) -> NDArray[Any]:
    """Return the first updated variable of ``count`` components, (steps, count)."""
    variable = model.updates[0]
    run = simulate(made(model, count, **given), dt, steps, (), [(variable, None)])
    return run[variable]


# ---- closed forms ---------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [2e-5, 1e-3, 0.02])
def test_two_states(dt: float) -> None:
    """Open channels are binomial with the solution of the master equation, whatever the step.

    A step of 20 ms holds 20 sub-steps of half a time constant each: many jumps in each.
    """
    alpha, beta, cells, channels = 300.0, 200.0, 4000, 5
    steps = 40 if dt < 0.02 else 3
    found = totals(Gate, cells, steps, dt, number=channels, alpha=alpha, beta=beta)
    for k in (1, steps // 2, steps - 1):
        p = alpha / (alpha + beta) * -math.expm1(-(alpha + beta) * k * dt)
        variance = channels * p * (1 - p)
        error = math.sqrt(variance / cells)
        assert abs(found[k].mean() - channels * p) < CHANCE * error
        fourth = variance * (1 + 3 * variance * (1 - 2 / channels))
        error = math.sqrt((fourth - variance**2) / cells)
        assert abs(found[k].var() - variance) < CHANCE * error
        assert set(found[k]) <= set(range(channels + 1))


def test_channels_are_markov() -> None:
    """The autocovariance of open channels in equilibrium decays with alpha + beta."""
    alpha, beta = 60.0, 40.0
    found = totals(Gate, 20_000, 130, 1e-3, number=1, alpha=alpha, beta=beta)[80:]
    for lag in (1, 10, 40):
        pairs = found[0] * found[lag]
        p = alpha / (alpha + beta)
        expected = p * p + p * (1 - p) * math.exp(-(alpha + beta) * lag * 1e-3)
        error = math.sqrt(expected * (1 - expected) / len(pairs))
        # equilibrium is reached to 3e-4 of the difference
        assert abs(pairs.mean() - expected) < CHANCE * error


@pytest.mark.parametrize(
    ("rate", "number", "steps"), [(1.4e-4, 400_000, 1000), (2.0, 3000, 200), (3e5, 50, 20)]
)
def test_births_are_poisson(rate: float, number: int, steps: int) -> None:
    """Rare and frequent events: as many as the rate says, spread evenly over time.

    The rare ones take less than a tick of the clock each step: rounding must not lose it.
    """
    found = totals(Births, 5, steps + 1, number=number, rate=rate)
    expected = rate * number * steps * DT
    counts = found[-1]
    assert expected > 1
    assert abs(counts.sum() - 5 * expected) < CHANCE * math.sqrt(5 * expected)
    half = found[steps // 2].sum()
    assert abs(half - 2.5 * expected) < CHANCE * math.sqrt(2.5 * expected)
    assert (np.diff(found, axis=0) >= 0).all()


def test_birth_and_death() -> None:
    """Poisson with mean (birth / death) (1 - exp(-death t)), for every count."""

    class Pool(Births):
        params = {"death": Parameter("1/s")}
        sub_units = SubUnits(
            "number", {"n": 0}, [("rate", {"n": 1}), ("death * n", {"n": -1})], {}, {"N": "n"}
        )

    found = totals(Pool, 30_000, 51, 1e-3, rate=200.0, death=50.0)
    for k in (1, 10, 50):
        mean = 4 * -math.expm1(-0.05 * k)
        for n in range(8):
            p = math.exp(-mean) * mean**n / math.factorial(n)
            error = math.sqrt(p * (1 - p) / 30_000)
            assert abs((found[k] == n).mean() - p) < CHANCE * error


def test_rates_follow_states_and_inputs() -> None:
    """A rate that is a state and an access; both are those of the sub-step's beginning."""

    class Driver(NDComponent):
        updates = ("r",)
        states = {"r": State("1", 3.0)}
        update = "r = 3;"

    class Driven(NDComponent):
        accesses = ("r",)
        updates = ("V",)
        states = {"V": State("1", 1.0), "x": State("1", 0.0)}
        params = {"number": NUMBER}
        terms = {"speed": "1e4 * r * x"}
        sub_units = SubUnits(
            "number",
            {"n": Species(0, 65535)},
            [Reaction("factor", {"n": 1})],
            {"factor": "speed * 1"},
            {"N": "n"},
        )
        update = "V = N; x = x == 0 ? 1 : 0;"

    nodes = {"d": {"class": "Driver"}, "n": {"class": "Driven", "number": 10_000}}
    circuit = build(nodes, [("d", "n")], [Driver, Driven])
    v = simulate(circuit, DT, 6)["V"][:, 0]
    jumps = np.diff(v)[1:]
    assert v[:2].tolist() == [1.0, 0.0]
    assert (jumps[[1, 3]] == 0).all()
    assert (np.abs(jumps[[0, 2]] - 30_000) < CHANCE * math.sqrt(30_000)).all()


# ---- exact choice ---------------------------------------------------------------------------


def test_a_rate_of_zero_is_never_chosen(dtype: str) -> None:
    """First, in the middle, last, or negative: such a reaction does not happen once in 10^7."""

    class Picky(NDComponent):
        updates = ("V", "r")
        params = {"number": NUMBER}
        sub_units = SubUnits(
            "number",
            {"wrong": 0, "right": Species(0, 65535)},
            [
                ("0", {"wrong": 1}),
                ("1e7", {"right": 1}),
                ("right * 0", {"wrong": 1}),
                ("-1e9", {"wrong": 1}),
                ("3e5", {"right": 1}),
                ("0", {"wrong": 1}),
            ],
            totals={"W": "wrong", "R": "right"},
        )
        update = "V = W; r = R;"

    circuit = made(Picky, 1, number=2000)
    data = simulate(circuit, DT, 6, (), [("V", None), ("r", None)], dtype=dtype)
    expected = 1.03e7 * 2000 * 5 * DT
    assert expected > 1e7
    assert abs(data["r"][-1, 0] - expected) < CHANCE * math.sqrt(expected)
    assert not data["V"].any()


def test_choice_is_in_proportion() -> None:
    """Reactions are chosen as their rates are, down to one in 10^5."""

    class Split(NDComponent):
        updates = ("V", "r", "g")
        params = {"number": NUMBER}
        sub_units = SubUnits(
            "number",
            {"a": Species(0, 65535), "b": Species(0, 65535), "c": Species(0, 65535)},
            [("1e2", {"a": 1}), ("3e6", {"b": 1}), ("7e6", {"c": 1})],
            totals={"A": "a", "B": "b", "C": "c"},
        )
        update = "V = A; r = B; g = C;"

    record = [(v, None) for v in Split.updates]
    data = simulate(made(Split, 1, number=1000), DT, 41, (), record)
    for variable, rate in zip(Split.updates, (1e2, 3e6, 7e6), strict=True):
        expected = rate * 1000 * 40 * DT
        found = data[variable][-1, 0]
        assert abs(found - expected) < CHANCE * math.sqrt(expected)


def test_counts_keep_their_bounds() -> None:
    """A reaction out of the bounds has rate 0: what remains is a truncated Poisson law."""

    class Small(Births):
        params = {"death": Parameter("1/s")}
        sub_units = SubUnits(
            "number",
            {"n": Species(0, 3)},
            [("rate", {"n": 1}), ("death * n + 1e3 * (n == 0)", {"n": -1})],
            {},
            {"N": "n"},
        )

    found = totals(Small, 30_000, 60, 1e-3, rate=400.0, death=200.0)[-1]
    weights = np.array([2.0**n / math.factorial(n) for n in range(4)])
    for n, p in enumerate(weights / weights.sum()):
        assert abs((found == n).mean() - p) < CHANCE * math.sqrt(p * (1 - p) / 30_000)


def test_a_runaway_is_told() -> None:
    """More than 2^16 reactions in a sub-step end it: the total is no number, and nothing hangs."""
    with pytest.raises(NonFiniteError, match=r"V of 'Births/0' .Births. is nan at step 1 "):
        totals(Births, 1, 3, number=3, rate=1e30)


def test_no_sub_units_at_all() -> None:
    """A component may have none, its neighbour many."""
    found = totals(Births, 3, 3, number=[0, 20_000, 0], rate=1e4)[-1]
    assert (found[0], found[2]) == (0, 0)
    assert abs(found[1] - 40_000) < CHANCE * 200


# ---- random numbers -------------------------------------------------------------------------


def test_streams_differ() -> None:
    """Two uids, two seeds and two sub-units of one component have nothing in common."""
    circuit = build(
        {uid: {"class": "Gate", "number": 1, "alpha": 500.0, "beta": 500.0} for uid in "ab"},
        models=[Gate],
    )
    rows = [
        simulate(circuit, 1e-3, 4000, (), [("I", None)], seed=seed)["I"][50:] for seed in (0, 1)
    ]
    columns = [*rows[0].T, *rows[1].T]
    for i, one in enumerate(columns):
        assert 0.45 < one.mean() < 0.55
        for other in columns[:i]:
            correlation = np.corrcoef(one, other)[0, 1]
            # two time constants of 1 ms a step: 76 % of the values are new
            assert abs(correlation) < CHANCE * math.sqrt(1.4 / len(one))
    pair = totals(Gate, 1, 4000, 1e-3, number=2, alpha=500.0, beta=500.0)[50:, 0]
    assert abs((pair == 1).mean() - 0.5) < CHANCE * math.sqrt(0.25 * 1.4 / len(pair))


def test_numbers_are_part_of_no_other_stream() -> None:
    """A model's own draws are the same with and without sub-units."""

    class Plain(NDComponent):
        updates = ("V",)
        params = {"number": NUMBER}
        update = "V = uniform();"

    class Both(Plain):
        sub_units = SubUnits("number", {"n": 0}, [("1e3", {"n": 1})], {}, {"N": "n"})
        update = "V = uniform(); V += 0 * N;"

    one, other = (totals(m, 3, 5, number=7)[1:] for m in (Plain, Both))
    assert np.array_equal(one, other)
    assert one.min() < one.max()


# ---- declaration ----------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "per": "number",
    "species": {"n": Species(0, 5)},
    "reactions": [("1", {"n": 1})],
    "totals": {"N": "n"},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"per": "numbr"}, "no parameter 'numbr' (did you mean 'number'?)"),
        ({"per": "size"}, "declare it with whole=True, at_least >= 0 and at_most <= 2,147,483,647"),
        ({"species": {}}, "at least one species and one reaction"),
        ({"reactions": []}, "at least one species and one reaction"),
        ({"species": {"n": Species(6, 5)}}, "expected 0 <= initial <= most <= 65535"),
        ({"species": {"n": Species(0, 65536)}}, "expected 0 <= initial <= most <= 65535"),
        ({"species": {"n": Species(-1, 5)}}, "expected 0 <= initial"),
        ({"species": {"n": Species(0.5, 5)}}, "expected whole numbers"),
        ({"species": {"n": "0"}}, "expected whole numbers, got '0'"),
        ({"species": {"V": 0}, "reactions": [("1", {"V": 1})], "totals": {}}, "'V' is declared"),
        ({"species": {"exp": 0}, "reactions": [("1", {"exp": 1})], "totals": {}}, "'exp' is res"),
        ({"terms": {"number": "1"}}, "the name 'number' is declared twice"),
        ({"reactions": [("1", {"m": 1})]}, "sub_units.reactions[0]: no species 'm'"),
        ({"reactions": [("1", {"n": 0.5})]}, "changes are whole numbers, got 0.5 for 'n'"),
        ({"totals": {"N": "m"}}, "sub_units.totals['N']: no species 'm'"),
        ({"reactions": [("uniform()", {"n": 1})]}, "reactions[0], line 1, column 1: uniform()"),
        ({"terms": {"x": "normal()"}}, "normal() draws a random number; only update"),
    ],
)  # fmt: skip
def test_contradictions(change: dict[str, Any], message: str) -> None:
    """They are told when the class is made, with the class, the place and the name."""
    params = {"number": NUMBER, "size": Parameter("1", at_least=0.0)}
    with pytest.raises(ModelError) as caught:
        units = SubUnits(**{**GOOD, **change})
        body = {"updates": ("V",), "params": params, "update": "V = N;", "sub_units": units}
        type("Broken", (NDComponent,), body)
    assert str(caught.value).startswith("Broken")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("change", "update", "message"),
    [
        (
            {"reactions": [("k", {"n": 1})]},
            "V = N;",
            "reactions[0], line 1, column 1: unknown name 'k'",
        ),
        (
            {"terms": {"x": "N"}},
            "V = N;",
            "terms['x'], line 1, column 1: unknown name 'N'",
        ),
        ({}, "V = n;", "Broken.update, line 1, column 5: unknown name 'n'"),
    ],
)
def test_unknown_names(change: dict[str, Any], update: str, message: str) -> None:
    """Rates know no totals, and the update knows no counts."""
    units = SubUnits(**{**GOOD, **change})
    body = {"updates": ("V",), "params": {"number": NUMBER}, "update": update, "sub_units": units}
    broken = type("Broken", (NDComponent,), body)
    with pytest.raises(ModelError) as caught:
        simulate(made(broken, 1), steps=2)
    assert message in str(caught.value)


def test_a_subclass_changes_one_part() -> None:
    """Sub-units are inherited whole; ``dataclasses.replace`` changes a part."""

    class Twins(Births):
        sub_units = replace(Births.sub_units, reactions=[("rate", {"n": 2})])

    found = totals(Twins, 1, 11, number=1000, rate=1e4)[-1, 0]
    assert found % 2 == 0
    assert abs(found / 2 - 10_000) < CHANCE * 100


def test_sums_over_connections_with_sub_units() -> None:
    """Components with sub-units read sums, as others do, in whichever slice a thread begins."""

    class Source(NDComponent):
        updates = ("r",)
        params = {"level": Parameter("1")}
        states = {"r": State("1", "level")}
        update = "r = level;"

    class Sink(NDComponent):
        accesses = (Access("r", each="r * k", connection={"k": Parameter("1", default=1.0)}),)
        updates = ("V",)
        params = {"number": NUMBER}
        sub_units = SubUnits(**GOOD)
        update = "V = input + 0 * N;".replace("input", "r")

    sinks = {f"t{i}": {"class": "Sink", "number": 3 + i} for i in range(37)}
    nodes: dict[str, Any] = {f"s{i}": {"class": "Source", "level": 1.0 + i} for i in range(5)}
    edges = [(f"s{j}", f"t{i}", {"k": i + 1.0}) for i in range(37) for j in range(i % 6 and 5)]
    circuit = build({**nodes, **sinks}, edges, [Source, Sink])
    expected = [(i + 1) * (15.0 if i % 6 else 0.0) for i in range(37)]
    for threads in (1, 3):
        v = simulate(circuit, DT, 3, threads=threads)["V"]
        assert v[-1].tolist() == expected


def test_a_page_tells_the_sub_units() -> None:
    """``neurodriver models NAME`` prints counts, reactions and totals."""
    lines = page(model("PhotoreceptorModel"))
    assert "sub-units, num_microvilli in each component, advanced before the mathematics" in lines
    assert "  G G protein; starts at 50; at most 50" in lines
    assert "  7.05 * G * M: G -1, G_on +1; a G protein is switched on" in lines
    assert "  open_channels = sum of TRP" in lines
