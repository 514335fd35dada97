"""Random inputs: their distributions, and that a value depends on uid, seed and step alone."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from support import AMPA, DT, IAF, alone, build, node, simulate

from neurodriver import LPU, BernoulliInput, Circuit, Input, NoiseInput, PoissonInput, Population
from neurodriver.errors import InputError
from neurodriver.inputs.base import EventChunk
from neurodriver.inputs.draws import GUIDE, poisson_table
from neurodriver.inputs.trains import BLOCK

SIGMAS = 5.0
"""Deviation of a statistic, in its standard errors, that is a failure; the seeds are fixed."""

UIDS = [f"n{i}" for i in range(300)]
Make = Callable[[list[str]], Input]
EVERY: dict[str, Make] = {
    "poisson": lambda uids: PoissonInput("s", uids, 800.0, 3 * DT, 90 * DT, seed=4),
    "single": lambda uids: PoissonInput("s", uids, 8000.0, seed=4, counts=False),
    "large": lambda uids: PoissonInput("s", uids, 200_000.0, seed=4),
    "bernoulli": lambda uids: BernoulliInput("s", uids, 0.3, 5 * DT, 77 * DT, seed=5),
    "normal": lambda uids: NoiseInput("I", uids, 1.0, 2.0, 0.0, 60 * DT, seed=6),
    "uniform": lambda uids: NoiseInput("I", uids, seed=6, distribution="uniform"),
    "walk": lambda uids: NoiseInput("I", uids, 1.0, 2.0, 4 * DT, 95 * DT, seed=7, tau=2e-3),
}


def rows(one: Input, first: int, steps: int, dtype: str = "f8", dt: float = DT) -> NDArray[Any]:
    """Return what an input gives at some steps, (steps, n)."""
    if one.dt != dt or one.dtype != np.dtype(dtype):
        one.open(dt, np.dtype(dtype))
    chunk = one.chunk(0, first, steps)
    padded = np.vstack([chunk.table, np.zeros((1, chunk.table.shape[1]), chunk.table.dtype)])
    out: NDArray[Any] = padded[chunk.row_of_step]
    return out


def near(found: float, expected: float, error: float) -> None:
    """Fail if a statistic lies too many of its standard errors off."""
    assert abs(found - expected) < SIGMAS * error, (found, expected, error)


@pytest.mark.parametrize("name", EVERY)
@given(
    cuts=st.lists(st.integers(1, 99), max_size=8), picked=st.lists(st.integers(0, 39), min_size=1)
)
@settings(max_examples=25, deadline=None)
def test_uid_seed_and_step_alone(name: str, cuts: list[int], picked: list[int]) -> None:
    """Neither the cut into chunks nor the other uids nor their order change a bit of a train."""
    whole = rows(EVERY[name](UIDS[:40]), 0, 100)
    assert whole.min() < whole.max()
    other = EVERY[name]([UIDS[i] for i in picked])
    edges = sorted({0, 100, *cuts})
    parts = [rows(other, a, b - a) for a, b in pairwise(edges)]
    np.testing.assert_array_equal(np.vstack(parts), whole[:, picked])


@pytest.mark.parametrize("name", EVERY)
def test_a_chunk_may_be_asked_for_again(name: str) -> None:
    """A call that did fewer steps than were staged begins the next chunk in the middle of it."""
    one = EVERY[name](UIDS)
    whole = rows(one, 0, 100)
    for first in (0, 40, 50, 30, 99, 0):
        np.testing.assert_array_equal(rows(one, first, 20)[: 100 - first], whole[first:][:20])


@pytest.mark.parametrize("name", EVERY)
def test_single_precision_rounds_the_same_numbers(name: str) -> None:
    """In float32 the values are those of float64, rounded."""
    double, single = (rows(EVERY[name](UIDS), 0, 50, d) for d in ("f8", "f4"))
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, double.astype(np.float32))


def test_seeds_variables_and_kinds_differ() -> None:
    """Another seed, variable or class gives other numbers; the same ones give the same."""
    make = [
        lambda: BernoulliInput("s", UIDS, 0.5, seed=1),
        lambda: BernoulliInput("s", UIDS, 0.5, seed=2),
        lambda: BernoulliInput("t", UIDS, 0.5, seed=1),
        lambda: PoissonInput("s", UIDS, math.log(2) / DT, seed=1, counts=False),
    ]
    found = [rows(m(), 0, 200) for m in make]
    np.testing.assert_array_equal(found[0], rows(make[0](), 0, 200))
    for i in range(4):
        for j in range(i):
            near(float((found[i] == found[j]).mean()), 0.5, 0.5 / math.sqrt(found[i].size))


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (lambda: NoiseInput("I", ["a", "b"], mean=2.0, sigma=1.0), True),
        (lambda: NoiseInput("I", ["a", "b"], mean=2.0, sigma=1.0, seed=4), False),
        (lambda: NoiseInput("I", ["b"], sigma=1.0), True),
        (lambda: NoiseInput("I", ["c"], sigma=1.0), False),
        (lambda: NoiseInput("I", ["a"], sigma=1.0, start=0.5), False),
        (lambda: PoissonInput("I", ["a"], 5.0), False),
    ],
)
def test_inputs_that_draw_the_same_numbers(second: Callable[[], Input], told: bool) -> None:
    """They are told of, where both are on at the same time."""
    cells = Population("LeakyIAF", 3, uids=["a", "b", "c"], name="n", **IAF)
    first = NoiseInput("I", ["a", "b"], sigma=3.0, stop=0.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LPU(Circuit([cells]), DT, [first, second()]).close()
    assert sum("draws the numbers of another" in str(one.message) for one in caught) == told


@pytest.mark.parametrize("mean", [0.002, 0.1, 0.5, 0.6, 20.0, 400.0])
def test_poisson_counts(mean: float) -> None:
    """Mean and variance are rate * dt, and the counts have the distribution of Poisson."""
    x = rows(PoissonInput("s", UIDS, mean / DT, seed=11), 0, 1000)
    n = x.size
    near(x.mean(), mean, math.sqrt(mean / n))
    near(x.var(), mean, math.sqrt((mean + 2 * mean**2) / n))
    low, high = (int(stats.poisson.ppf(q, mean)) for q in (1e-3, 1 - 1e-3))
    edges = np.arange(low, high + 2)
    seen = np.array([(x == k).sum() for k in edges[:-1]] + [(x < low).sum() + (x > high).sum()])
    chance = stats.poisson.pmf(edges[:-1], mean)
    expected = n * np.append(chance, 1 - chance.sum())
    kept = expected > 10
    chi = ((seen - expected)[kept] ** 2 / expected[kept]).sum()
    assert chi < kept.sum() + SIGMAS * math.sqrt(2 * kept.sum())


def test_the_guide_of_a_count_is_below_it_and_near() -> None:
    mean = np.array([0.6, 500.0, 3.0, 0.6])
    at, none, cumulative, guided, guide = poisson_table(mean)
    for m, begin, first, nothing in zip(mean, at, guided, none, strict=True):
        known = stats.poisson.cdf(np.arange(int(m + 10)), m)
        np.testing.assert_allclose(cumulative[begin : begin + len(known)], known, rtol=1e-9)
        assert nothing == cumulative[begin]
        counts = stats.poisson.ppf(np.arange(1, GUIDE) / GUIDE + 1e-9, m)
        np.testing.assert_array_equal(guide[first : first + GUIDE], [0, *counts])


@pytest.mark.parametrize("mean", [0.003, 0.05, 0.5])
def test_rare_events_within_blocks(mean: float) -> None:
    """The events of a block have the law of Poisson, and lie anywhere in it alike."""
    x = rows(PoissonInput("s", UIDS, mean / DT, seed=12), 0, 40 * BLOCK).reshape(40, BLOCK, -1)
    steps = x.sum(axis=(0, 2))
    assert stats.chisquare(steps).pvalue > 1e-4
    sums = x.sum(axis=1).reshape(-1)
    edges = stats.poisson.ppf(np.linspace(0, 1, 12)[1:-1], BLOCK * mean)
    edges = np.unique(np.concatenate([[-1.0], edges, [np.inf]]))
    seen = np.histogram(sums, edges + 0.5)[0]
    chance = np.diff(stats.poisson.cdf(edges, BLOCK * mean))
    assert len(seen) > 2
    assert stats.chisquare(seen, chance * len(sums)).pvalue > 1e-4
    # steps of the events of one block do not depend on each other, nor on their number
    few = sums.reshape(40, -1)[:, None, :] <= max(BLOCK * mean, 1)
    assert stats.chisquare((x * few).sum(axis=(0, 2))).pvalue > 1e-4
    near(float((x * (x - 1)).mean()), mean**2, math.sqrt((4 * mean**3 + 2 * mean**2) / x.size))


@given(
    cuts=st.lists(st.integers(1, 1199), max_size=8),
    picked=st.lists(st.integers(0, 39), min_size=1, unique=True),
    often=st.sampled_from([0.0, 0.1, 0.9]),
)
@settings(max_examples=40, deadline=None)
def test_rare_and_frequent_events_together(
    cuts: list[int], picked: list[int], often: float
) -> None:
    """What a uid gets does not depend on the rates of others, nor on how blocks are cut."""
    rng = np.random.default_rng(1)
    rate = np.where(rng.random(40) < often, 9_000.0, rng.uniform(0, 4_000.0, 40))
    whole = rows(PoissonInput("s", UIDS[:40], rate, 7 * DT, 1100 * DT, seed=4), 0, 1200)
    assert whole[:, rate > 0].any(axis=0).all() and not whole[1100:].any()
    some = PoissonInput("s", [UIDS[i] for i in picked], rate[picked], 7 * DT, 1100 * DT, seed=4)
    edges = sorted({0, 1200, *cuts})
    parts = [rows(some, a, b - a) for a, b in pairwise(edges)]
    np.testing.assert_array_equal(np.vstack(parts), whole[:, picked])


def test_several_events_at_once_are_one_number() -> None:
    """Of a uid and step there is one event, of value 2, 3 ..., or 1 where counts are not asked."""
    found = []
    for counts in (True, False):
        one = PoissonInput("s", UIDS, 0.4 / DT, seed=5, counts=counts)
        one.open(DT, np.dtype("f8"))
        chunk = one.chunk(0, 100, 1000)
        assert isinstance(chunk, EventChunk)
        column = chunk.column[chunk.span].astype(np.int64)
        place = chunk.steps_of() * len(UIDS) + column
        assert (np.diff(place) > 0).all()
        found.append((place, chunk.value[chunk.span]))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert {1.0, 2.0, 3.0} <= set(np.unique(found[0][1])) and (found[1][1] == 1).all()


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_and_runs_of_blocks(threads: int) -> None:
    """Columns of several threads, and more blocks than are drawn together, give the same events."""
    uids, found = [f"n{i}" for i in range(2_500)], []
    for each in (1, threads):
        one = PoissonInput("s", uids, np.linspace(0.0, 0.4 / DT, len(uids)), seed=5)
        one.open(DT, np.dtype("f8"))
        one.draw_in_threads(each)
        for begin, steps in ((0, 700), (700, 700), (10_000, 9_000)):
            chunk = one.chunk(0, begin, steps)
            assert isinstance(chunk, EventChunk)
            found.append([chunk.steps_of(), chunk.column[chunk.span], chunk.value[chunk.span]])
    for first, second in zip(found[:3], found[3:], strict=True):
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)


def test_poisson_rates_of_each_uid() -> None:
    """Each uid has its own rate; rate 0 never fires; 0/1 trains fire with 1 - exp(-rate dt)."""
    rate = np.linspace(0.0, 3000.0, 300)
    counts = rows(PoissonInput("s", UIDS, rate, seed=3), 0, 20_000)
    assert not counts[:, 0].any()
    error = np.sqrt(rate * DT / 20_000)
    assert (np.abs(counts.mean(axis=0) - rate * DT) <= SIGMAS * error).all()
    single = rows(PoissonInput("s", UIDS, rate, seed=3, counts=False), 0, 20_000)
    np.testing.assert_array_equal(single, counts > 0)


def test_bernoulli() -> None:
    """p of each uid; 0 never and 1 always."""
    p = np.linspace(0.0, 1.0, 300)
    x = rows(BernoulliInput("s", UIDS, p, seed=8), 0, 20_000)
    assert set(np.unique(x)) == {0.0, 1.0}
    assert not x[:, 0].any() and x[:, -1].all()
    error = np.sqrt(p * (1 - p) / 20_000)
    assert (np.abs(x.mean(axis=0) - p) <= SIGMAS * error).all()


@pytest.mark.parametrize("make", [
    lambda: BernoulliInput("s", UIDS, 0.3, seed=21),
    lambda: PoissonInput("s", UIDS, 3000.0, seed=21),
    lambda: NoiseInput("I", UIDS, seed=21),
])  # fmt: skip
def test_independence(make: Callable[[], Input]) -> None:
    """No correlation between neighbouring uids, neighbouring steps, or any two uids."""
    x = rows(make(), 0, 4000)
    x = (x - x.mean()) / x.std()
    error = 1 / math.sqrt(x.size)
    near((x[:, 1:] * x[:, :-1]).mean(), 0.0, error)
    for lag in (1, 2, 3, 10):
        near((x[lag:] * x[:-lag]).mean(), 0.0, error)
    pairs = (x.T @ x / len(x))[np.triu_indices(len(UIDS), 1)]
    assert np.abs(pairs).max() < 6 / math.sqrt(len(x))  # 44,850 of them
    near(pairs.std() * math.sqrt(len(x)), 1.0, 1 / math.sqrt(2 * len(pairs)))


def test_normal_and_uniform() -> None:
    """Mean, standard deviation and distribution function of white noise."""
    mean, sigma = np.linspace(-3, 3, 300), np.linspace(0.0, 2.0, 300)
    x = rows(NoiseInput("I", UIDS, mean, sigma, seed=2), 0, 4000)
    assert (x[:, 0] == -3).all()
    assert (np.abs(x.mean(axis=0) - mean) <= SIGMAS * sigma / math.sqrt(4000)).all()
    assert (np.abs(x.std(axis=0) - sigma) <= SIGMAS * sigma / math.sqrt(8000)).all()
    z = rows(NoiseInput("I", UIDS, seed=2), 0, 1000).reshape(-1)
    assert stats.kstest(z, "norm").pvalue > 1e-4
    near((z**4).mean(), 3.0, math.sqrt(96 / z.size))
    u = rows(NoiseInput("I", UIDS, 5.0, 2.0, seed=2, distribution="uniform"), 0, 1000)
    half = 2 * math.sqrt(3)
    assert stats.kstest(u.reshape(-1), stats.uniform(5 - half, 2 * half).cdf).pvalue > 1e-4


@pytest.mark.parametrize("dt", [1e-4, 5e-4])
def test_ornstein_uhlenbeck(dt: float) -> None:
    """Standard deviation sigma from the first step on, correlation exp(-t / tau), at any dt."""
    tau, sigma, uids = 2e-3, 3.0, [str(i) for i in range(20_000)]
    x = rows(NoiseInput("I", uids, 1.0, sigma, seed=9, tau=tau), 0, 12, dt=dt) - 1.0
    for k in (0, 5, 11):
        near(x[k].std(), sigma, sigma / math.sqrt(2 * len(uids)))
        near(x[k].mean(), 0.0, sigma / math.sqrt(len(uids)))
        expected = math.exp(-k * dt / tau)
        near((x[0] * x[k]).mean() / sigma**2, expected, math.sqrt((1 + expected**2) / len(uids)))
    assert stats.kstest(x[-1] / sigma, "norm").pvalue > 1e-4


def test_span() -> None:
    """Steps k with start <= k dt < stop alone; the noise outside is zero, not its mean."""
    for name in ("poisson", "bernoulli", "normal", "walk"):
        one = EVERY[name](UIDS)
        x = rows(one, 0, 100)
        on = x.any(axis=1).nonzero()[0]
        time = np.arange(100) * DT
        start, stop = one.start, one.stop  # type: ignore[attr-defined]
        np.testing.assert_array_equal(on, np.flatnonzero((time >= start) & (time < stop)))
    assert not rows(NoiseInput("I", UIDS, 1.0, start=1.0, stop=1.0), 0, 20_000).any()


@pytest.mark.parametrize("threads", [1, 2])
def test_drives_a_circuit(threads: int) -> None:
    """Counts enter as they are drawn, whatever the threads: AMPA opens where there is one."""
    nodes = {u: node("SynapseAMPA", AMPA, gmax=1.0, st=1e-3) for u in UIDS}
    train = PoissonInput("spike_state", UIDS, 100.0, seed=1)
    got = simulate(build(nodes), DT, 400, train, [("g", UIDS)], threads=threads)["g"]
    drawn = rows(PoissonInput("spike_state", UIDS, 100.0, seed=1), 0, 400)
    assert drawn.sum() > 500
    np.testing.assert_array_equal(got[1:] > 0.5, drawn[:-1] > 0)


def test_noise_alone() -> None:
    """A neuron takes noise as current: V moves only while there is any."""
    noise = NoiseInput("I", "n", 0.0, 50.0, 0.0, 0.01)
    iaf = {"resting_potential": -70.0, "threshold": 1e9, "reset_potential": -70.0}
    circuit = alone("LeakyIAF", {**iaf, "capacitance": 2.0, "resistance": 10.0})
    v = simulate(circuit, DT, 5000, noise)["V"][:, 0]
    assert np.abs(v[1:100] + 70).max() > 1 and abs(v[-1] + 70) < 1e-8


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: PoissonInput("s", ["a"], -1.0), "rate must be at least 0 Hz, got -1"),
        (lambda: PoissonInput("s", ["a"], [1.0, 2.0]), "a number or 1 of them"),
        (lambda: PoissonInput("s", ["a"], "fast"), "a number or 1 of them, got 'fast'"),
        (lambda: PoissonInput("s", ["a"], float("inf")), "finite, got inf"),
        (lambda: PoissonInput("s", ["a"], 6e6).open(DT, np.dtype("f8")), "at most 5e.06 Hz"),
        (lambda: PoissonInput("s", ["a"], 1.0, start=float("nan")), "start and stop"),
        (lambda: PoissonInput("s", ["a"], 1.0, seed=-1), "seed must be 0 to"),
        (lambda: PoissonInput("s", ["a"], 1.0, seed=2**64), "seed must be 0 to"),
        (lambda: PoissonInput("s", ["a"], 1.0, seed=1.5), "seed must be a whole number"),  # type: ignore[arg-type]
        (lambda: BernoulliInput("s", ["a"], 1.1), "a probability, 0 to 1, got 1.1"),
        (lambda: BernoulliInput("s", ["a"], float("nan")), "finite, got nan"),
        (lambda: NoiseInput("I", ["a"], sigma=-1.0), "sigma must be at least 0"),
        (lambda: NoiseInput("I", ["a"], distribution="cauchy"), "'normal' or 'uniform'"),
        (lambda: NoiseInput("I", ["a"], tau=0.0), "tau must be positive seconds"),
        (lambda: NoiseInput("I", ["a"], distribution="uniform", tau=1.0), "for normal noise"),
    ],
)
def test_wrong_arguments(make: Callable[[], Any], word: str) -> None:
    """What cannot be drawn is told."""
    with pytest.raises(InputError, match=word):
        make()
