"""What a plan takes from a projection: bounds of weights, codes, whole numbers; against numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support import model

from neurodriver import (
    Circuit,
    Exponential,
    FixedInDegree,
    FixedProbability,
    FixedTotal,
    Lattice,
    LogNormal,
    Normal,
    OneToOne,
    Projection,
    Uniform,
)
from neurodriver.circuit.drawing import Rows
from neurodriver.circuit.drawn import Drawn
from neurodriver.circuit.numbers_drawn import numbers_drawn
from neurodriver.circuit.projections import key_of
from neurodriver.circuit.rules import Ends

DT = 1e-4
COUNT, WINDOW, ORIGIN, WIDTH = 900, range(300, 777), 250, 640
"""Components; those of one group of targets; where its numbers begin; its padded number."""

CELLS = np.stack(np.divmod(np.arange(500), 25), axis=1)
FILTER = Lattice([[0, 1], [0, 3], [1, 0], [2, 2]], [0.5, -1.5, 2.0, 3.0], CELLS, CELLS)
ALIKE = 2.0**-46
DELAYS = LogNormal(-6.5, 0.5, high=5e-3)


def projections(*given: tuple[Any, Any, Any]) -> list[Drawn]:
    """Return projections of (rule, weight, delay) onto the components 300 .. 799."""
    made = [
        Projection(
            "spike_state", "spike_state", (100, 600), (300, 800), rule, weight, delay, str(n)
        )
        for n, (rule, weight, delay) in enumerate(given)
    ]
    circuit = Circuit.from_arrays([(model("Izhikevich"), COUNT, {}, None)], made)
    return [links for links in circuit.connections if isinstance(links, Drawn)]


RANDOM = [
    (FixedProbability(0.2), Normal(1.0, 0.3, low=0.0), DELAYS),
    (FixedInDegree(60), Normal(-4.0, 0.5, high=0.0), 1.5e-3),
    (FixedTotal(20_000), -0.25, Uniform(0.0, 2e-3)),
]
WHOLE = [
    (FixedProbability(0.2), 0.3, 2e-3),
    (FILTER, 0.3, DELAYS),
    (FixedTotal(5000), -0.15, Uniform(0.0, 2e-3)),
    (FixedTotal(300), 0.0, DELAYS),
]


class Merged:
    """Several projections into one group of targets, side by side in rows of sources."""

    def __init__(self, links: Sequence[Drawn], threads: int) -> None:
        self.rows = [one.rows(WINDOW, threads) for one in links]
        count = np.sum([r.count for r in self.rows], axis=0)
        self.first = np.concatenate([[0], np.cumsum(count)])
        self.code = np.full(self.first[-1], -1, dtype=np.int32)
        begin = self.first[:-1].copy()
        self.least = np.full(WIDTH, np.inf)
        self.greatest, self.total = np.zeros((2, WIDTH))
        self.degree = np.zeros(WIDTH, dtype=np.int64)
        for rows in self.rows:
            rows.place(self.code, begin, ORIGIN)
            rows.bounds(self.code, self.degree, self.least, self.greatest, self.total)
            begin += rows.count
        self.target = self.code.copy()

    def remainders(self, unit: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return how far weights are from whole numbers of units, and how large these are."""
        rest, most = np.full(WIDTH, np.inf), np.zeros(WIDTH)
        for rows in self.rows:
            rows.remainders(self.target, unit, ALIKE, rest, most)
        return rest, most

    def encode(self, unit: NDArray[np.float64], kind: type, lag: int = 0) -> NDArray[Any]:
        """Turn targets into codes and return the weights as whole numbers."""
        out = np.zeros(len(self.code), dtype=kind)
        for rows in self.rows:
            lags = np.full(len(rows.count), lag)
            rows.encode(self.code, out, DT, WIDTH, lags, unit)
        return out


def flat(links: Sequence[Drawn]) -> tuple[NDArray[Any], ...]:
    """Return row, target, weight, delay of all edges in the window, rows in the order above."""
    columns = []
    for one in links:
        m = len(one)
        data = [one.source - 100, one.target, *(np.broadcast_to(c, (m,)) for c in
                (one.data["weight"], one.delay))]  # fmt: skip
        mine = (one.target >= WINDOW.start) & (one.target < WINDOW.stop)
        columns.append([c[mine] for c in data])
    row, target, weight, delay = (np.concatenate(c) for c in zip(*columns, strict=True))
    order = np.argsort(row, kind="stable")
    return row[order], target[order] - ORIGIN, weight[order], delay[order]


def steps(delay: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return delays in steps."""
    return np.maximum(np.rint(delay / DT), 1).astype(np.int64)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("given", [RANDOM, WHOLE], ids=["random", "whole"])
def test_bounds_of_weights(given: list[Any], threads: int) -> None:
    """Least, greatest and summed size of the weights of each target, and the span of delays."""
    links = projections(*given)
    merged = Merged(links, threads)
    row, target, weight, _ = flat(links)
    assert np.array_equal(merged.target, target)
    assert np.array_equal(np.diff(merged.first), np.bincount(row, minlength=500))
    least, greatest = np.full(WIDTH, np.inf), np.zeros(WIDTH)
    np.minimum.at(least, target[weight != 0], np.abs(weight[weight != 0]))
    np.maximum.at(greatest, target, np.abs(weight))
    assert np.array_equal(merged.least, least) and np.isfinite(least).sum() > 400
    assert np.array_equal(merged.greatest, greatest)
    total = np.bincount(target, np.abs(weight), minlength=WIDTH)
    assert np.allclose(merged.total, total, rtol=1e-13, atol=0)
    assert np.array_equal(merged.degree, np.bincount(target, minlength=WIDTH))


@pytest.mark.parametrize("threads", [1, 3])
def test_spans_of_delays(threads: int) -> None:
    """Least and greatest delay of each source; nothing where it has no target."""
    links = projections(*RANDOM, (FixedTotal(300), 1.0, DELAYS))
    none = 0
    for one, rows in zip(links, Merged(links, threads).rows, strict=True):
        row, _, _, delay = flat([one])
        found = rows.span(DT)
        for s in range(500):
            here = steps(delay[row == s])
            none += not len(here)
            assert (found[0][s], found[1][s]) == ((here.min(), here.max()) if len(here) else (0, 0))
    assert none > 100


def test_sums_do_not_depend_on_threads() -> None:
    """The sum of a target is added in the order of its sources, by whichever thread."""
    links = projections(*RANDOM)
    one, *others = (Merged(links, threads).total for threads in (1, 2, 3, 5))
    assert one.max() > 10
    for other in others:
        assert np.array_equal(one, other)


@pytest.mark.parametrize("threads", [1, 3])
def test_codes_with_units(threads: int) -> None:
    """Weights that are whole multiples of the least one are stored as these multiples."""
    links = projections(*WHOLE)
    merged = Merged(links, threads)
    _, target, weight, delay = flat(links)
    rest, most = merged.remainders(merged.least)
    assert np.isinf(rest).all() and most.max() == 6
    got = merged.encode(merged.least, np.int8)
    assert np.array_equal(got, np.rint(weight / merged.least[target])) and len(set(got)) > 4
    assert np.array_equal(merged.code, (steps(delay) - 1) * WIDTH + target)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("few", [False, True])
def test_remainders(threads: int, few: bool) -> None:
    """How far each target's weights are from whole numbers, but for targets left out."""
    near = (FixedTotal(400), 0.3 * (7 + 2.0**-45), 1e-3)
    far = (FixedTotal(40), 0.3 * (7 + 2.0**-40), 1e-3)
    for more in ([near], [near, far], [*RANDOM]):
        links = projections(*WHOLE, *more)
        merged = Merged(links, threads)
        _, target, weight, _ = flat(links)
        unit = merged.least.copy()
        unit[np.arange(WIDTH) % 41 != 3 if few else slice(100, 200)] = np.nan
        ratio = np.abs(weight) / unit[target]
        whole = np.rint(ratio)
        apart = np.abs(ratio - whole)
        rest, most = np.full(WIDTH, np.inf), np.zeros(WIDTH)
        asked = ~np.isnan(ratio)
        odd = asked & (apart > ALIKE * whole)
        np.minimum.at(rest, target[odd], apart[odd])
        np.maximum.at(most, target[asked], whole[asked])
        found = merged.remainders(unit)
        assert np.array_equal(found[0], rest) and np.array_equal(found[1], most)
        assert np.isfinite(rest).any() == (len(more) > 1)


@pytest.mark.parametrize("kind", [np.int16, np.int32])
@pytest.mark.parametrize("threads", [1, 3])
def test_codes_with_powers_of_two(kind: type, threads: int) -> None:
    """Other weights are whole multiples of a power of two; delays count from a lag."""
    bits = np.iinfo(kind).bits - 1
    links = projections(*RANDOM)
    merged = Merged(links, threads)
    _, target, weight, delay = flat(links)
    unit = 2.0 ** (np.floor(np.log2(np.maximum(merged.greatest, 2.0**-20))) + 1 - bits)
    got = merged.encode(unit, kind, lag=3)
    assert np.array_equal(got, np.rint(weight / unit[target]))
    assert np.abs(got.astype(np.int64)).max() > 2 ** (bits - 1) and got.min() < 0 < got.max()
    assert np.array_equal(merged.code, (steps(delay) - 4) * WIDTH + target)


def test_codes_without_weights() -> None:
    """A plan that stores no weights asks for none."""
    links = projections(*RANDOM)
    merged = Merged(links, 2)
    _, target, _, delay = flat(links)
    for rows in merged.rows:
        lag = np.zeros(500, dtype=np.int64)
        rows.encode(merged.code, None, DT, WIDTH, lag, np.ones(WIDTH))
    assert np.array_equal(merged.code, (steps(delay) - 1) * WIDTH + target)


@pytest.mark.parametrize(
    "law",
    [
        Normal(1.0, 2.0),
        Normal(3.0, 2.0, 2.5, 3.0),  # most draws are outside
        Normal(50.0, 5.0, 40.0, 60.0, multiple_of=0.25),
        Uniform(-1.0, 2.0),
        LogNormal(0.5, 0.2),
        Exponential(3.0),
    ],
)
def test_numbers_of_components_are_those_of_connections(law: Any) -> None:
    """A component's number is the weight of a connection of its own: one law has one text."""
    count = 1_000
    ends = Ends(range(count), range(count))
    rows = Rows(OneToOne(), ends, key_of(3, "group", "parameter"), law.law(), law.law())
    rows.place(np.empty(count, np.int32))
    expected = np.empty(count)
    rows.values("weight", expected)
    assert numbers_drawn(law, count, 3, "group", "parameter").tolist() == expected.tolist()
    assert len(set(expected.tolist())) > 40
