"""Projections draw what their rules say: against plain Python, and against the laws."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from support import model

from neurodriver import (
    AllToAll,
    Circuit,
    Exponential,
    FixedInDegree,
    FixedOutDegree,
    FixedProbability,
    FixedTotal,
    Lattice,
    LogNormal,
    Normal,
    OneToOne,
    Projection,
    Uniform,
)
from neurodriver.circuit.distributions import Distribution
from neurodriver.circuit.drawn import Drawn

sys.path.append(str(Path(__file__).parents[1] / "reference"))
import projections as reference

NEURON = model("Izhikevich")
SEED = 11
LEAST_P = 1e-3
"""The draws are fixed, so these tests always give the same answer."""

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def drawn(
    rule: Any,
    source: Any = (0, 300),
    target: Any = (100, 500),
    seed: int = SEED,
    name: str = "p",
    count: int = 500,
    **more: Any,
) -> Drawn:
    """Return one projection between neurons, bound."""
    given = Projection("spike_state", "spike_state", source, target, rule, name=name, **more)
    links = Circuit.from_arrays([(NEURON, count, {}, None)], [given], seed=seed).connections[0]
    assert isinstance(links, Drawn)
    return links


def ends(links: Drawn) -> Pairs:
    """Return sources and targets as places in their ranges."""
    first = links.ends.source.start, links.ends.target.start
    return links.source.astype(np.int64) - first[0], links.target.astype(np.int64) - first[1]


def degrees(links: Drawn) -> Pairs:
    """Return out- and in-degrees."""
    source, target = ends(links)
    return (
        np.bincount(source, minlength=len(links.ends.source)),
        np.bincount(target, minlength=len(links.ends.target)),
    )


def fits(seen: NDArray[Any], expected: Any, lost: int = 1) -> bool:
    """Whether counts fit their expectation by chi-square; cells under 5 are put together."""
    want = np.broadcast_to(np.asarray(expected, dtype=np.float64), np.shape(seen)).reshape(-1)
    got = np.asarray(seen).reshape(-1)
    small = want < 5
    if small.any():
        want, got = (
            np.append(want[~small], want[small].sum()),
            np.append(got[~small], got[small].sum()),
        )
        if want[-1] < 5:
            want, got = np.append(want[:-2], want[-2:].sum()), np.append(got[:-2], got[-2:].sum())
    assert len(want) > 2
    chi2 = float(((got - want) ** 2 / want).sum())
    return LEAST_P < stats.chi2.sf(chi2, len(want) - lost) < 1 - LEAST_P


def follows(values: NDArray[np.int64], law: Any) -> bool:
    """Whether whole numbers follow a law of scipy."""
    most = int(values.max()) + 20
    seen = np.bincount(values, minlength=most + 1)
    want = len(values) * law.pmf(np.arange(most + 1))
    return fits(seen, want)


# ---- against plain Python -----------------------------------------------------------------------


def expected_pairs(rule: Any, sources: int, targets: int) -> list[tuple[int, int]]:
    draws = reference.Draws(SEED, "p")
    if isinstance(rule, FixedProbability):
        return reference.by_chance(draws, sources, targets, rule.p)
    if isinstance(rule, FixedTotal):
        return reference.total(draws, sources, targets, rule.n)
    out = []
    for row in range(sources if isinstance(rule, FixedOutDegree) else targets):
        among = targets if isinstance(rule, FixedOutDegree) else sources
        others = reference.drawn_for(draws, row, among, rule.k, rule.multapses)
        out += [(row, x) if isinstance(rule, FixedOutDegree) else (x, row) for x in others]
    return sorted(out)


@pytest.mark.parametrize(
    ("rule", "targets"),
    [
        (FixedProbability(0.015), 471),
        (FixedProbability(0.6), 71),
        (FixedTotal(3000), 71),
        (FixedTotal(6000), 5000),
        (FixedOutDegree(20), 71),
        (FixedOutDegree(90), 5_000_000),
        (FixedOutDegree(13, multapses=False), 71),
        (FixedOutDegree(200, multapses=False), 471),
        (FixedInDegree(9), 71),
        (FixedInDegree(30, multapses=False), 71),
    ],
    ids=str,
)
def test_edges_of_plain_python(rule: Any, targets: int) -> None:
    """Each rule connects what its description in plain Python connects, and nothing else.

    Rows of some lengths and numbers of some sizes are sorted in ways of their own.
    """
    links = drawn(rule, (20, 57), (10, 10 + targets), count=10 + targets)
    wanted = expected_pairs(rule, 37, targets)
    source, target = ends(links)
    assert len(wanted) > 200
    assert list(zip(source.tolist(), target.tolist(), strict=True)) == wanted
    assert len(links) == len(wanted)


def test_philox_of_the_reference() -> None:
    """The plain generator gives the published answer, so it is one to compare with."""
    ones = 0xFFFFFFFF
    wanted = [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    assert reference.philox([ones] * 4, [ones] * 2) == wanted


@pytest.mark.parametrize("of", ["weight", "delay"])
def test_values_of_plain_python(of: str) -> None:
    """A value is a function of source and rank; outside its bounds it is drawn again."""
    law = Normal(3.0, 1.0, low=2.5, high=3.4)
    links = drawn(FixedProbability(0.3), (20, 57), (10, 81), **{of: law})
    got = links.data["weight"] if of == "weight" else links.delay
    draws = reference.Draws(SEED, "p")
    stream = reference.WEIGHT if of == "weight" else reference.DELAY
    source, _ = ends(links)
    first = np.searchsorted(source, source)
    again = 0
    for at, (s, rank) in enumerate(
        zip(source.tolist(), np.arange(len(source)) - first, strict=True)
    ):
        attempt = 0
        while not 2.5 <= (x := 3 + draws.normal(s, int(rank), stream, attempt)) <= 3.4:
            attempt += 1
        again += attempt > 1
        assert got[at] == pytest.approx(x, rel=1e-6)
    assert again > 100


# ---- against the laws ---------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.001, 0.04, 0.5, 0.97])
def test_fixed_probability_is_binomial(p: float) -> None:
    """Out- and in-degrees are binomial, and no pair occurs twice."""
    links = drawn(FixedProbability(p), (0, 4000), (0, 3000), count=4000)
    out, into = degrees(links)
    if p > 0.01:
        assert follows(out, stats.binom(3000, p))
        assert follows(into, stats.binom(4000, p))
    law = stats.binom(4000 * 3000, p)
    assert LEAST_P < law.cdf(len(links)) < 1 - LEAST_P
    source, target = ends(links)
    assert (np.diff(source * 3000 + target) > 0).all()


@pytest.mark.parametrize("p, count", [(0.0, 0), (1.0, 300 * 400)])
def test_certain_probabilities(p: float, count: int) -> None:
    """Nothing, or everything."""
    links = drawn(FixedProbability(p))
    assert len(links) == count == len(links.target)


def test_all_to_all_and_one_to_one() -> None:
    """Every pair once but for autapses; pairs of the same place."""
    source, target = np.meshgrid(np.arange(300), np.arange(100, 500), indexing="ij")
    both = np.stack([source.ravel(), target.ravel()])
    every, apart = drawn(AllToAll()), drawn(AllToAll(autapses=False))
    assert np.array_equal([every.source, every.target], both)
    assert np.array_equal([apart.source, apart.target], both[:, both[0] != both[1]])
    assert len(apart) == len(every) - 200 == len(apart.source)
    pairs = drawn(OneToOne(), (0, 200), (300, 500))
    assert np.array_equal(pairs.target - pairs.source, np.full(200, 300))


@pytest.mark.parametrize("multapses", [True, False])
@pytest.mark.parametrize("turned", [False, True], ids=["into", "out of"])
def test_fixed_degrees(multapses: bool, turned: bool) -> None:
    """One degree is exact, the other binomial, and overlaps are hypergeometric."""
    k, rows, among = 40, 900, 300
    rule = (FixedOutDegree if turned else FixedInDegree)(k, multapses)
    wide, narrow = (0, rows), (rows, rows + among)
    links = drawn(rule, *((wide, narrow) if turned else (narrow, wide)), count=rows + among)
    exact, other = degrees(links) if turned else degrees(links)[::-1]
    assert (exact == k).all()
    place = ends(links) if turned else ends(links)[::-1]
    table = np.zeros((rows, among), dtype=np.int64)
    np.add.at(table, place, 1)
    if multapses:
        assert fits(other, rows * k / among)
        assert follows(table.ravel(), stats.binom(k, 1 / among))
    else:
        assert table.max() == 1
        # each number of a set as likely as any, and sets independent of each other
        variance = other.var() / (rows * k / among * (1 - k / among) * among / (among - 1))
        assert LEAST_P < stats.chi2.cdf(variance * (among - 1), among - 1) < 1 - LEAST_P
        shared = (table[::2] & table[1::2]).sum(axis=1)
        assert follows(shared, stats.hypergeom(among, k, k))
        # within a set: no pair of numbers is likelier than others
        near = (table[:, :-1] & table[:, 1:]).sum()
        mean = rows * (among - 1) * k * (k - 1) / (among * (among - 1))
        assert abs(near - mean) < 4 * np.sqrt(mean)


def test_fixed_total_is_multinomial() -> None:
    """Both ends are equally likely, and one does not tell the other."""
    links = drawn(FixedTotal(200_000), (0, 37), (37, 90), count=90)
    source, target = ends(links)
    table = np.zeros((37, 53), dtype=np.int64)
    np.add.at(table, (source, target), 1)
    assert table.sum() == 200_000
    assert fits(table, 200_000 / (37 * 53))
    assert fits(table.sum(axis=1), 200_000 / 37)
    assert fits(table.sum(axis=0), 200_000 / 53)


@pytest.mark.parametrize(
    "rule",
    [
        FixedProbability(0.2, autapses=False),
        FixedInDegree(30, autapses=False),
        FixedInDegree(30, multapses=False, autapses=False),
        FixedOutDegree(30, autapses=False),
        FixedOutDegree(30, multapses=False, autapses=False),
    ],
    ids=str,
)
def test_no_autapses(rule: Any) -> None:
    """Nobody is connected with itself, and all others stay equally likely."""
    links = drawn(rule)
    assert not (links.source == links.target).any()
    # beside the diagonal, where a component itself would stand
    beside = int((np.abs(links.target - links.source) == 1).sum())
    mean = 400 * len(links) / (300 * 400 - 200)
    assert abs(beside - mean) < 4 * np.sqrt(mean)
    allowed = drawn(dataclasses.replace(rule, autapses=True))
    assert (allowed.source == allowed.target).any()


@pytest.mark.parametrize(
    ("law", "wanted"),
    [
        (Normal(2.0, 0.5), stats.norm(2.0, 0.5)),
        (Normal(2.0, 0.5, low=1.9), stats.truncnorm(-0.2, np.inf, 2.0, 0.5)),
        (Normal(-1.0, 2.0, high=0.0), stats.truncnorm(-np.inf, 0.5, -1.0, 2.0)),
        (Normal(0.0, 1.0, 1.5, 2.5), stats.truncnorm(1.5, 2.5)),
        (Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
        (LogNormal(0.3, 0.8), stats.lognorm(0.8, scale=np.exp(0.3))),
        (Exponential(2.5), stats.expon(scale=2.5)),
        (Exponential(2.5, high=5.0), stats.truncexpon(2.0, scale=2.5)),
    ],
    ids=lambda given: str(given) if isinstance(given, Distribution) else "",
)
def test_laws(law: Any, wanted: Any) -> None:
    """Numbers follow their law (Kolmogorov-Smirnov), and neighbours are independent."""
    links = drawn(FixedTotal(40_000), weight=law, delay=Uniform(0.0, 1.0))
    weight = links.data["weight"]
    assert stats.kstest(weight, wanted.cdf).pvalue > LEAST_P
    for other in (links.delay[1:], weight[1:], links.target[1:], links.source[1:]):
        assert abs(np.corrcoef(weight[:-1], other)[0, 1]) < 4 / np.sqrt(40_000)
    assert abs(np.corrcoef(weight, links.delay)[0, 1]) < 4 / np.sqrt(40_000)


def test_bounds_and_factors() -> None:
    """Clipped numbers stand at the bound with the share that lies outside; factors come last."""
    weight = drawn(FixedTotal(40_000), weight=Normal(0.0, 1.0, low=-0.5, outside="clip")).data
    share = (weight["weight"] == -0.5).mean()
    assert abs(share - stats.norm.cdf(-0.5)) < 0.01 and weight["weight"].min() == -0.5
    plain = drawn(FixedTotal(40_000), weight=LogNormal(0.0, 1.0, high=2.0)).data["weight"]
    turned = drawn(FixedTotal(40_000), weight=LogNormal(0.0, 1.0, high=2.0, factor=-3.0))
    assert np.array_equal(turned.data["weight"], -3.0 * plain) and 1.9 < plain.max() <= 2.0
    same = drawn(FixedTotal(1000), weight=LogNormal(1.0, 0.0), delay=Normal(2.0, 0.0))
    assert np.allclose(same.data["weight"], np.e, rtol=1e-15, atol=0) and (same.delay == 2).all()
    one = drawn(FixedTotal(1000), weight=0.5, delay=1e-3)
    assert one.delay.shape == () == one.data["weight"].shape


@pytest.mark.parametrize(
    "law", [Normal(2.0, 1.0, low=0.6), LogNormal(0.0, 1.0, factor=-3.0)], ids=str
)
def test_multiples(law: Any) -> None:
    """Numbers are those that are drawn else, rounded before the factor; bounds are rounded, too."""
    grid = 0.25
    plain = drawn(FixedTotal(9000), weight=law).data["weight"]
    found = drawn(FixedTotal(9000), weight=dataclasses.replace(law, multiple_of=grid))
    want = law.factor * (grid * np.rint(plain / law.factor / grid))
    assert np.array_equal(found.data["weight"], want) and found.weight.least <= want.min()
    assert found.weight.most >= want.max()


# ---- the same whatever is around ----------------------------------------------------------------

RULES = [
    AllToAll(autapses=False),
    FixedProbability(0.11, autapses=False),
    FixedInDegree(37, autapses=False),
    FixedInDegree(37, multapses=False),
    FixedOutDegree(37, multapses=False, autapses=False),
    FixedTotal(60_001),
    OneToOne(),
]


def columns(links: Drawn, window: range | None = None, threads: int | None = None) -> list[Any]:
    """Return count, targets, weights and delays of all rows."""
    rows = links.rows(window, threads)
    target = np.empty(rows.edges, dtype=np.int32)
    rows.place(target)
    out: list[Any] = [rows.count, target]
    for of in ("weight", "delay"):
        out.append(np.empty(rows.edges))
        rows.values(of, out[-1])
    return out


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_any_number_of_threads(rule: Any) -> None:
    """One, two, three and seven threads draw the same bits."""
    more = {"weight": Normal(1.0, 0.3, low=0.9), "delay": LogNormal(-7.0, 0.5)}
    links = drawn(rule, (3, 1504), (1, 1502), count=1600, **more)
    first = columns(links, threads=1)
    assert len(first[1]) == len(links) > 1000
    for threads in (2, 3, 7):
        for a, b in zip(first, columns(links, threads=threads), strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_windows_of_targets(rule: Any) -> None:
    """Rows of some targets are those targets of the rows, with the same weights and delays."""
    more = {"weight": Normal(1.0, 0.3, low=0.9), "delay": Uniform(0.0, 1.0)}
    links = drawn(rule, (3, 604), (1, 602), count=700, **more)
    count, *whole = columns(links)
    source = np.repeat(np.arange(601), count)
    for window in (range(0, 200), range(200, 517), range(517, 700)):
        mine = np.isin(whole[0], window)
        assert mine.any()
        part, *values = columns(links, window, threads=2)
        assert np.array_equal(part, np.bincount(source[mine], minlength=601))
        for a, b in zip(values, whole, strict=True):
            assert np.array_equal(a, b[mine])


@pytest.mark.parametrize("rule", RULES[1:-1], ids=str)
def test_what_edges_depend_on(rule: Any) -> None:
    """Other projections and components in front change nothing; name and seed change edges."""
    here = drawn(rule, weight=Uniform(0.0, 1.0))
    ranges = {"source": (50, 350), "target": (150, 550)}
    given = Projection("spike_state", "spike_state", rule=rule, weight=Uniform(0, 1), name="p",
                       **ranges)  # type: ignore[arg-type]  # fmt: skip
    other = Projection("spike_state", "spike_state", (0, 9), (0, 9), FixedTotal(99))
    groups = [(NEURON, 50, {}, None), (NEURON, 500, {}, None)]
    moved = Circuit.from_arrays(groups, [other, given], seed=SEED).connections[1]
    assert np.array_equal(moved.source - 50, here.source)
    assert np.array_equal(moved.target - 50, here.target)
    assert np.array_equal(moved.data["weight"], here.data["weight"])
    for changed in (drawn(rule, name="q"), drawn(rule, seed=SEED + 1)):
        a, b = ({*zip(x.source.tolist(), x.target.tolist(), strict=True)} for x in (changed, here))
        assert len(a & b) < 0.6 * len(b)


# ---- lattices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_lattice(dims: int) -> None:
    """A filter connects what a table of coordinates says, with the weight of the offset."""
    rng = np.random.default_rng(dims)
    side = {1: 250, 2: 19, 3: 8}[dims]
    source, target = (rng.integers(-side, side, (n, dims)) for n in (300, 400))
    target[7] = target[3]  # two cells at one place
    offsets = rng.integers(-4, 5, (23, dims))
    weights = rng.normal(size=23)
    rule = Lattice(offsets, weights, source, target)
    links = drawn(rule, weight=2.0)
    cells: dict[tuple[int, ...], list[int]] = {}
    for t, cell in enumerate(target.tolist()):
        cells.setdefault(tuple(cell), []).append(t)
    wanted = sorted(
        (s, t + 100, f)
        for s in range(300)
        for f in range(23)
        for t in cells.get(tuple((source[s] + offsets[f]).tolist()), [])
    )
    assert len(wanted) > 50
    got = [tuple(pair) for pair in zip(links.source.tolist(), links.target.tolist(), strict=True)]
    assert got == [(s, t) for s, t, _ in wanted]
    assert np.array_equal(links.data["weight"], [2.0 * weights[f] for _, _, f in wanted])
    for threads in (1, 3):
        window = columns(links, range(150, 333), threads)
        mine = (links.target >= 150) & (links.target < 333)
        assert np.array_equal(window[1], links.target[mine]) and mine.any()
        assert np.array_equal(window[2], links.data["weight"][mine])
