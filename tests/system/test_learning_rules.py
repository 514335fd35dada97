"""All shipped rules against plain Python: any delays, any order, and however they are run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from learning import Trains, largest_of, learned
from learning_circuits import DT, Told, told
from numpy.typing import NDArray
from reference.learning import EVENTS, Synapse
from support import recorded

import neurodriver as nd
from neurodriver import Plasticity, Weighted

STRONG: dict[str, dict[str, float]] = {
    "PairSTDP": {"A_plus": 0.05, "w_min": 0.1},
    "WeightedSTDP": {"learning_rate": 0.05, "mu_plus": 0.3, "mu_minus": 0.7, "tau_minus": 35.0},
    "NearestSTDP": {"learning_rate": 0.1, "mu_plus": 0.0, "alpha": 1.5},
    "RestrictedSTDP": {"learning_rate": 0.1, "mu_minus": 0.5, "tau_plus": 12.0},
    "CentredSTDP": {"learning_rate": 0.1, "mu_plus": 0.2, "tau_plus": 25.0},
    "PowerLawSTDP": {"learning_rate": 0.02, "alpha": 1.1, "w_0": 0.8},
    "TripletSTDP": {"A2_plus": 0.01, "A3_plus": 0.01, "A2_minus": 0.01, "A3_minus": 0.005},
    "NearestTripletSTDP": {"A2_plus": 0.05, "A2_minus": 0.05, "A3_minus": 0.03},
    "InhibitorySTDP": {"eta": 0.03, "rho_0": 20.0, "w_max": 1.2},
    "NormalisedSTDP": {"A_plus": 0.05, "interval": 1e6},
    "HomeostaticSTDP": {"A_plus": 0.05, "interval": 1e6},
    "DiehlCookSTDP": {"nu_pre": 0.05, "nu_post": 0.1, "interval": 1e6},
    "RewardedSTDP": {"tau_c": 80.0, "tau_n": 40.0, "base": 0.05, "A_minus": 0.05},
    "IntervalRewardedSTDP": {"tau_c": 80.0, "tau_n": 40.0, "interval": 6.0},
    "ShortTerm": {"U": 0.3, "tau_d": 90.0, "tau_f": 60.0},
}
"""Parameters with which weights change by large parts; intervals are tested elsewhere."""

HALVES = (tuple(STRONG)[::2], tuple(STRONG)[1::2])
"""Compiling takes a second a rule: where there are several ways, each rule goes half of them."""


def rules(first: str, same_step: str, names: Collection[str] = STRONG) -> list[Plasticity]:
    """Return rules in one order; all of them without ``names``."""
    made = []
    for name in names:
        values = STRONG[name]
        kind: type[Plasticity] = getattr(nd, name)
        order = type(name, (kind,), {"first": first, "same_step": same_step})
        released = dict.fromkeys(order.modulators, np.array(["dose"]))
        made.append(order(**values, **released))
    return made


@dataclass(frozen=True)
class Case:
    """Trains that are drawn: how many neurons and synapses, how fast they spike, how late."""

    seed: int
    synapses: int = 20
    steps: int = 160
    rates: tuple[float, float] = (0.1, 0.1)
    latest: int = 7
    recurrent: bool = False
    first: str = "arrival"
    same_step: str = "apart"
    targets: int = 4

    def trains(self) -> Trains:
        """Return them: multapses, and where neurons are joined with each other, autapses."""
        rng = np.random.default_rng(self.seed)

        def spikes(count: int, rate: float, most: int) -> list[NDArray[np.int64]]:
            trains = rng.random((count, self.steps)) < rate
            times = rng.integers(1, most + 1, (count, self.steps))
            pairs = zip(trains, times, strict=True)
            return [np.repeat(np.flatnonzero(t) + 1, n[t]) for t, n in pairs]

        post = spikes(self.targets, self.rates[1], 1)
        pre = post if self.recurrent else spikes(5, self.rates[0], 2)
        m = self.synapses
        late = rng.integers(1, self.latest + 1, m)
        back = rng.integers(0, self.latest, m)
        return Trains(
            pre, post, rng.integers(0, len(pre), m), rng.integers(0, len(post), m),
            np.round(rng.uniform(0.2, 0.9, m), 3), late, rng.integers(0, late),
            back, self.steps, recurrent=self.recurrent,
            doses=np.unique(rng.integers(1, self.steps, 4)).tolist(),
        )  # fmt: skip


def expected(trains: Trains, rule: Plasticity) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights at the end, and what the targets read in each step."""
    name, dt_ms = type(rule).__name__, trains.dt * 1e3
    weights = np.empty(len(trains.source))
    read = np.zeros((trains.steps + int(trains.late.max()), len(trains.post)))
    for i in range(len(weights)):
        target, f = trains.target[i], int(trains.forward[i])
        a, b = int(trains.late[i]) - 1 - f, int(trains.back[i])
        arrivals = Counter(int(k) + a for k in trains.pre[trains.source[i]])
        spikes = Counter(int(k) + b for k in trains.post[target])
        every = {*arrivals, *spikes}
        if rule.modulators:
            every |= set(trains.doses)
        if name == "IntervalRewardedSTDP":
            every |= set(range(0, trains.steps, round(rule.values["interval"] / dt_ms)))
        steps = {n: (arrivals[n], spikes[n]) for n in every if n < trains.steps}
        synapse = Synapse(float(trains.weight[i]), trains.doses)
        for n, sent, count in synapse.run(
            name, rule.values, steps, dt_ms, rule.first, rule.same_step
        ):
            read[n + f, target] += count * sent
        weights[i] = synapse.weight
    return weights, read[: trains.steps]


def agree(
    case: Case, chunk: int | None = None, names: Collection[str] = STRONG, **more: Any
) -> None:
    """Fail unless rules, all without ``names``, do what plain Python does."""
    trains, made = case.trains(), rules(case.first, case.same_step, names)
    with trains.lpu(*made, chunk=chunk, **more) as lpu:
        lpu.run(steps=case.steps)
        got = recorded(lpu, case.steps)["V"]
        sums = np.zeros((case.steps, case.targets))
        for rule in made:
            weights, read = expected(trains, rule)
            sums += read
            mine = trains.unsorted(learned(lpu, projection=type(rule).__name__))
            np.testing.assert_allclose(mine, weights, rtol=1e-12, atol=1e-13, err_msg=str(rule))
    largest = largest_of(lpu, trains.weight)
    degree = 2 * len(made) * case.synapses
    last = got[1:, : case.targets]
    np.testing.assert_allclose(last, sums[:-1], rtol=0, atol=degree * largest * 2.0**-29)


def test_every_rule_is_here() -> None:
    """Whoever adds a rule adds it to these tests."""
    from neurodriver.lazy import RULES

    of_events = {name for name in RULES if not getattr(nd, name).on_step}
    assert set(STRONG) == set(EVENTS) == of_events


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize("first", ["arrival", "spike"])
@pytest.mark.parametrize("same_step", ["apart", "pair"])
def test_order_of_one_step(first: str, same_step: str) -> None:
    """With spikes in a third of the steps, most of which meet one of the other side."""
    case = Case(seed=3, rates=(0.3, 0.3), steps=90, latest=3, first=first, same_step=same_step)
    agree(case, names=HALVES[(first == "spike") != (same_step == "pair")])


@pytest.mark.usefixtures("quick_kernels")
@settings(
    max_examples=7, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    names=st.lists(st.sampled_from(sorted(STRONG)), min_size=2, max_size=2, unique=True),
    seed=st.integers(0, 1000),
    rates=st.tuples(st.sampled_from([0.02, 0.1, 0.4]), st.sampled_from([0.0, 0.05, 0.3])),
    latest=st.sampled_from([1, 4, 12]),
    recurrent=st.booleans(),
    order=st.tuples(st.sampled_from(["arrival", "spike"]), st.sampled_from(["apart", "pair"])),
    chunk=st.sampled_from([1, 7, None]),
)
def test_any_trains(
    names: list[str], seed: int, rates: tuple[float, float], latest: int, recurrent: bool,
    order: tuple[str, str], chunk: int | None,
) -> None:  # fmt: skip
    """Weights and what arrives, also of multapses, autapses, and sources with several spikes.

    Two rules at a time.
    """
    case = Case(
        seed, rates=rates, latest=latest, recurrent=recurrent, first=order[0], same_step=order[1]
    )
    agree(case, chunk, names)


@pytest.mark.usefixtures("quick_kernels")
def test_histories_that_overflow() -> None:
    """A source that is silent for long beside targets that spike in most steps."""
    agree(Case(seed=8, rates=(0.01, 0.8), steps=400, synapses=8, latest=3))


def test_same_bits(dtype: str) -> None:
    """Neither threads nor the length of calls change a bit of a weight or of what arrives."""
    case = Case(seed=5, synapses=400, targets=80, recurrent=True, rates=(0.1, 0.1))
    made, trains = rules("arrival", "apart", HALVES[dtype == "float32"]), case.trains()

    def bits(**how: Any) -> list[bytes]:
        with trains.lpu(*made, dtype=dtype, **how) as lpu:
            lpu.run(steps=case.steps)
            weights = [learned(lpu, projection=type(rule).__name__) for rule in made]
            return [part.tobytes() for part in (*weights, recorded(lpu, case.steps)["V"])]

    expected = bits(threads=1)
    for threads, chunk in [(1, 1), (1, 7), (2, None), (3, 7)]:
        assert bits(threads=threads, chunk=chunk) == expected, (threads, chunk)


class TwoReceptors(Told):
    """Keeps what two receptors carry."""

    accesses = (*Told.accesses, Weighted("spike_state", "other"))
    update = "V = learned + 2 * other; spike_state = teach > 0.5 ? 1 : 0;"


def test_receptors_learn_by_rules_of_their_own() -> None:
    """Two receptors of a neuron learn: one has the weights that it has alone."""
    circuit, inputs, _ = told(nd.PairSTDP(A_plus=0.05), static=0)
    teach, learning = circuit.connections
    groups = [circuit.groups[0], replace(circuit.groups[1], model=TwoReceptors)]
    rule = nd.InhibitorySTDP(eta=0.1)
    other = replace(learning, plasticity=rule, name="other", access="other")
    found, carried = [], []
    for threads, sets in ((1, [learning, other]), (3, [learning, other]), (1, [other])):
        joined = circuit.with_parts(groups, [teach, *sets])
        recorder = nd.MemoryRecorder([("V", None)])
        with nd.LPU(joined, DT, inputs, [recorder], backend="cpu", threads=threads) as lpu:
            lpu.run(steps=300)
            found.append({one.name: lpu[one.name].get("weight") for one in sets})
        carried.append(recorder.get("V"))
    both, again, alone = found
    assert all(np.array_equal(both[name], again[name]) for name in both)
    assert np.array_equal(both["other"], alone["other"])
    assert not np.allclose(both["learning"], both["other"], atol=0.1)
    assert np.array_equal(carried[0], carried[1]) and not np.allclose(carried[0], carried[2])
