"""The nearest points of each of many places; each place looks at the points of its surroundings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

LEAST = 32
"""Points of a box that are expected at least."""

CHUNK = 1 << 22
"""Distances that are computed at once."""

SLACK = 1 - 1e-6
"""Share of the distance to the side of a box in which no point is missed by rounding."""


def nearest(points: Reals, places: Reals, period: Reals, n: int) -> NDArray[np.int32]:
    """Return the numbers of the n points nearest to each place, (places, n), ascending.

    Of points at equal distances those with the lower numbers are taken.

    Parameters
    ----------
    points, places : (., d) float64
    period : (d,) float64
        0 along an axis that is open.
    """
    boxes = _Boxes(points, period, n)
    found = np.empty((len(places), n), np.int32)
    index = boxes.index(places)
    code = np.ravel_multi_index([*index.T], [*boxes.number])
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    for some in np.split(order, starts[1:]) if len(order) else []:
        reach = 1
        while len(some):
            among, sure = boxes.around(index[some[0]], places[some], reach)
            done = _chosen(points, places[some], period, n, among, sure, found, some)
            some, reach = some[~done], 2 * reach
    return found


class _Boxes:
    """Points sorted into boxes of equal size.

    Attributes
    ----------
    number : (d,) int64
        Boxes along each axis.
    """

    def __init__(self, points: Reals, period: Reals, n: int) -> None:
        self.closed = period > 0
        self.origin = np.where(self.closed, 0.0, points.min(axis=0))
        extent = np.where(self.closed, period, points.max(axis=0) - self.origin)
        wide = extent > 0
        volume = float(np.prod(extent[wide])) * max(n // 2, LEAST) / len(points)
        side = volume ** (1 / max(int(wide.sum()), 1))
        most = max(len(points) // LEAST, 1)
        self.number = np.ones(len(extent), np.int64)
        if side > 0:
            self.number[wide] = np.clip(extent[wide] / side, 1, most).astype(np.int64)
        self.width = np.where(wide, extent / self.number, 1.0)
        code = np.ravel_multi_index([*self.index(points).T], [*self.number])
        self.listed = np.argsort(code, kind="stable")
        counts = np.bincount(code, minlength=int(self.number.prod()))
        self.begin = np.concatenate([[0], np.cumsum(counts)])

    def index(self, places: Reals) -> Integers:
        """Return the box of each place, (places, d); beyond the ends it is the last one."""
        at = np.floor((places - self.origin) / self.width)
        at = np.where(self.closed, np.mod(at, self.number), np.clip(at, 0, self.number - 1))
        return at.astype(np.int64)

    def around(self, box: Integers, places: Reals, reach: int) -> tuple[Integers, Reals]:
        """Return the points of the boxes at most ``reach`` boxes away, ascending numbers.

        Then the distance of each place up to which no other point is.
        """
        low, high = box - reach, box + reach
        every = np.where(self.closed, 2 * reach + 1 >= self.number, False)
        sure = np.full(len(places), np.inf)
        offset = np.where(self.closed, np.mod(places - self.origin, self.number * self.width),
                          places - self.origin)  # fmt: skip
        for d in np.flatnonzero(~every):
            if self.closed[d] or low[d] > 0:
                sure = np.minimum(sure, offset[:, d] - low[d] * self.width[d])
            if self.closed[d] or high[d] < self.number[d] - 1:
                sure = np.minimum(sure, (high[d] + 1) * self.width[d] - offset[:, d])
        runs = [list(self._runs(d, low[d], high[d], bool(every[d]))) for d in range(len(box))]
        lines = product(*([i for a, b in one for i in range(a, b)] for one in runs[:-1]))
        parts = []
        for line in lines:
            first = 0
            for number, i in zip(self.number, (*line, 0), strict=True):
                first = first * int(number) + i
            parts += [self.listed[self.begin[first + a] : self.begin[first + b]]
                      for a, b in runs[-1]]  # fmt: skip
        return np.sort(np.concatenate(parts)), sure * SLACK

    def _runs(self, d: int, low: int, high: int, every: bool) -> Iterator[tuple[int, int]]:
        """Yield the runs of boxes along an axis; around a closed one there may be two."""
        number = int(self.number[d])
        if every:
            yield 0, number
        elif not self.closed[d]:
            yield max(int(low), 0), min(int(high) + 1, number)
        else:
            low, high = int(low) % number, int(high) % number
            yield from ((low, high + 1),) if low <= high else ((0, high + 1), (low, number))


def _chosen(
    points: Reals,
    places: Reals,
    period: Reals,
    n: int,
    among: Integers,
    sure: Reals,
    found: NDArray[np.int32],
    rows: Integers,
) -> NDArray[np.bool_]:
    """Write the nearest points among some; return for which places no other one can be nearer."""
    done = np.zeros(len(places), bool)
    if len(among) < n:
        return done
    step = max(CHUNK // len(among), 1)
    for start in range(0, len(places), step):
        part = slice(start, start + step)
        squared = _squared(points[among], places[part], period)
        last = np.partition(squared, n - 1, axis=1)[:, n - 1 : n]
        nearer, equal = squared < last, squared == last
        wanted = n - nearer.sum(axis=1, keepdims=True)
        taken = nearer | (equal & (np.cumsum(equal, axis=1) <= wanted))
        done[part] = last[:, 0] <= sure[part] ** 2
        found[rows[part]] = among[np.nonzero(taken)[1]].reshape(-1, n)
    return done


def _squared(points: Reals, places: Reals, period: Reals) -> Reals:
    """Return the squared distances, (places, points); around closed axes by the shorter way."""
    out = np.zeros((len(places), len(points)))
    for d, p in enumerate(period):
        way = np.abs(points[None, :, d] - places[:, None, d])
        if p:
            way = way - p * np.floor(way / p)
            way = np.minimum(way, p - way)
        out += way * way
    return out
