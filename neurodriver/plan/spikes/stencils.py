"""Weighted spikes by rules of place whose connections are stored nowhere: stencils.

Most cells on regular axes have the same stencil (`circuit.stencils`): the same partners, counted
from their own place, with the same weights and delays. So a source has two numbers, its stencil
and its home, and a stencil is stored once.

A connection is read when its spike is due. Its source looks back over rows of spikes, as far as the
longest delay. So slots are needed for the steps of a window alone, and neighbours that spike
together add to slots that lie together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...circuit.drawn import Drawn
from ...circuit.stencils import Stencils
from ...native.buffers import LANES, padded
from ..arrays import Array, Owner, Role, row
from ..layout import Layout
from ..sums.gather import Edges, Gather
from .fanout import PIECE, per_slice, smallest
from .weights import ALIKE, Bounds, Reals, Units, WeightStatistics

Integers = NDArray[np.int64]

EXACT = ("exact", "per_unit")
"""Arrays of a plan in double precision, whatever the working type."""

LISTED = 1 << 23
"""Pieces of spikes of a window on a GPU, 32 bytes each: connections that are not stored are to save
memory."""

MOST_32 = 2**31 - 1

LISTED_AT_ONCE = 1 << 22
"""Connections of targets with a mask that are listed at once."""


@dataclass
class StencilPlan(Gather):
    """The plan of a projection along stencils.

    Arrays: blocks of sources (lag, first element, end, number of the first source, first row);
    of each source its stencil and its home; rows, one for each latency and stencil; of each entry
    its target less the home, and its multiple. Where units of targets differ, a source with an
    unusual one among its targets has -1 less its stencil; its multiples follow from weights
    ``exact`` and from ``per_unit``, 1 over each target's unit, both in double precision. With a
    mask homes and targets are points of a grid, ``cell`` has the target at each point or -1, and
    ``point`` the point of each target.
    """

    @property
    def longest(self) -> int:
        """The longest latency."""
        return int(self.arrays["block"][:, 0].max()) + 1

    def sent(self, block: int, sources: Integers) -> tuple[Integers, Integers, Integers, Integers]:
        """Return what spikes of some sources of a block add.

        Returns
        -------
        which : (m,) int64
            Place of the source among ``sources``; some are sources of other plans and add nothing.
        target : (m,) int64
        multiple : (m,) int64
        later : (m,) int64
            Steps beyond the lag of the block.
        """
        known = np.flatnonzero((sources >= 0) & (sources < self.limits["sources"]))
        stencil = self.arrays["stencil"][sources[known]].astype(np.int64)
        other = stencil < 0
        row = int(self.arrays["block"][block, 4]) + np.where(other, -1 - stencil, stencil)
        begin = self.arrays["begin"].astype(np.int64)
        size = begin[row + 1] - begin[row]
        which = np.repeat(np.arange(len(row)), size)
        entry = np.arange(len(which)) + np.repeat(begin[row] - (np.cumsum(size) - size), size)
        home = self.arrays["home"][sources[known]].astype(np.int64)
        target = home[which] + self.arrays["code"][entry]
        if "cell" in self.arrays:
            target = self.arrays["cell"][target].astype(np.int64)
            there = target >= 0
            which, entry, target = which[there], entry[there], target[there]
        multiple = np.full(len(which), int(self.uniform.get("weight", 0.0)))
        if "multiple" in self.arrays:
            multiple = self.arrays["multiple"][entry].astype(np.int64)
        if other.any():
            exact = np.rint(self.arrays["exact"][entry] * self.arrays["per_unit"][target])
            multiple = np.where(other[which], exact.astype(np.int64), multiple)
        return known[which], target, multiple, np.zeros(len(which), np.int64)

    def rows(self, owner: Owner, real: DTypeLike) -> Iterator[Array]:
        for one in super().rows(owner, real):
            if one.key.name in EXACT:
                yield row(one.key, self.arrays[one.key.name], Role.CONSTANT, np.float64)
            else:
                yield one


@dataclass(frozen=True, eq=False)
class StencilSpikes:
    """A projection whose connections are stencils.

    Attributes
    ----------
    group : int
        Of the sources.
    sources, targets : Stencils
        Of both ends.
    weight : (entries,) float64
        Of the stencils of sources.
    steps : (entries,) int64
        Latencies.
    """

    links: Drawn
    group: int
    sources: Stencils
    targets: Stencils
    weight: Reals
    steps: Integers

    @property
    def longest(self) -> int:
        """The longest latency."""
        return int(self.steps.max())

    @property
    def shortest(self) -> int:
        """The shortest latency."""
        return int(self.steps.min())

    @property
    def looked_back(self) -> int:
        """Past rows of spikes that are read."""
        return self.longest

    @property
    def ahead(self) -> int:
        """Steps that slots lie ahead: spikes are delivered when they are due."""
        return 0

    @property
    def pieces(self) -> int:
        """Pieces of a GPU's list, if all sources spike."""
        return int((-(-np.diff(self.sources.begin)[self.sources.of] // PIECE)).sum())

    def statistics(self, origin: int, count: int) -> WeightStatistics:
        """Return statistics of the weights of each target, in the order of its sources.

        Parameters
        ----------
        origin : int
            Component that is the first place of the targets.
        count : int
            Places.
        """
        into, first = self.targets, self.links.ends.target.start - origin
        weight = np.abs(self.links.numbers(into)[0])
        number, size = into.number, len(into)
        least, greatest = np.full(size, np.inf), np.zeros(size)
        np.minimum.at(least, number[weight > 0], weight[weight > 0])
        np.maximum.at(greatest, number, weight)
        total = np.bincount(number, weight, size)
        mine = slice(first, first + len(into.of))
        broken = into.broken

        def spread(values: NDArray[Any], blank: float) -> NDArray[Any]:
            out = np.full(count, blank, values.dtype)
            out[mine] = values[into.of]
            return out

        def remainders(unit: Reals) -> tuple[Reals, Reals]:
            rest, most = np.full(count, np.inf), np.zeros(count)
            own = unit[mine].copy()
            own[broken] = np.nan
            rest[mine], most[mine] = _remainders(into, weight, own)
            for cells in _chunks(into, broken):
                at, more = _of_lists(into, weight, cells).remainders(unit[mine][cells])
                rest[first + cells], most[first + cells] = at, more
            return rest, most

        degree = spread(np.diff(into.begin), 0)
        bounds = spread(least, np.inf), spread(greatest, 0.0), spread(total, 0.0)
        every = (degree, *bounds)
        for cells in _chunks(into, broken):
            own = _of_lists(into, weight, cells).bounds
            for column, values in zip(every, vars(own).values(), strict=True):
                column[first + cells] = values
        return WeightStatistics(Bounds(*every), remainders)

    def gather(
        self, layout: Layout, number: int, variable: str, units: Units, main: Gather
    ) -> StencilPlan:
        """Return the plan, into some components of a group, and into the slots of a plan."""
        del main  # slots are those of the present step
        own, circuit = self.sources, layout.circuit
        first = self.links.ends.target.start - int(circuit.starts[number])
        mine = slice(first, first + len(self.targets.of))
        latencies, which = np.unique(self.steps, return_inverse=True)
        key = which * len(own) + own.number
        order = np.argsort(key, kind="stable")
        sizes = np.bincount(key, minlength=len(latencies) * len(own))
        source = self.links.ends.source
        begin = layout.segment(self.group, variable).start
        begin += source.start - int(circuit.starts[self.group])
        low = begin // LANES * LANES  # a word of the bitmap may have other populations, too
        blocks = [
            (latency - 1, low, padded(begin + len(source)), low - begin, n * len(own))
            for n, latency in enumerate(latencies.tolist())
        ]
        gather = StencilPlan("stencil", own.edges, back=None)
        gather.arrays |= {
            "block": np.array(blocks, np.int64),
            "stencil": own.of,
            "home": own.home if own.cell is not None else own.home + np.int32(first),
            "begin": np.concatenate([[0], np.cumsum(sizes)]),
            "code": own.partner[order],
        }
        if own.cell is not None:
            gather.arrays |= _of_mask(own.cell, first, len(units.unit))
        self._add_weights(gather, order, units, mine)
        gather.limits |= {"blocks": len(blocks), "sources": len(source)}
        degree = np.zeros(len(units.unit), np.int64)
        degree[mine] = self.targets.degree
        gather.cost = per_slice(degree)
        return gather

    def _add_weights(self, gather: StencilPlan, order: Integers, units: Units, mine: slice) -> None:
        """Add multiples of the unit of most targets to a plan, and what the others need."""
        multiple, sources = self.in_units(units, mine)
        if (multiple == multiple[0]).all():
            gather.uniform["weight"] = float(multiple[0])
        else:
            kind = smallest(float(np.abs(multiple).max()))
            gather.arrays["multiple"] = multiple[order].astype(kind)
        if sources is None:
            return
        stencil = gather.arrays["stencil"].astype(np.int32)
        stencil[sources] = -1 - stencil[sources]
        gather.arrays["stencil"] = stencil
        gather.arrays["exact"] = self.weight[order]
        gather.arrays["per_unit"] = 1.0 / units.unit

    def in_units(self, units: Units, mine: slice) -> tuple[Reals, Integers | None]:
        """Return the weights in the unit of most targets, and which sources reach others.

        Parameters
        ----------
        mine : slice
            The targets among the components that have units.

        Returns
        -------
        multiple : (entries,) float64
        sources : (m,) int64 or None
            Sources among whose targets some have another unit; None where all have one.
        """
        values, which, count = np.unique(units.unit[mine], return_inverse=True, return_counts=True)
        usual = int(count.argmax())
        most = float(MOST_32)  # more is for other units alone
        multiple = np.clip(np.rint(self.weight / values[usual]), -most, most)
        if len(values) == 1:
            return multiple, None
        odd = np.flatnonzero(which != usual)
        if 4 * len(odd) >= len(which):
            return multiple, np.arange(len(self.sources.of))
        return multiple, np.unique(self.targets.partners(odd))


def latencies(delay: Reals, dt: float) -> Integers:
    """Return delays in steps, 1 at least."""
    steps: Integers = np.maximum(np.rint(np.minimum(delay / dt, 2.0**53)), 1).astype(np.int64)
    return steps


def _of_mask(cell: NDArray[np.int32], first: int, count: int) -> dict[str, NDArray[np.int32]]:
    """Return the target at each point of a grid, and the point of each target and of the end.

    Targets of other populations have the point of the next target.
    """
    there = np.flatnonzero(cell >= 0)
    point = np.full(count + 1, len(cell), np.int32)
    point[: first + len(there)] = 0
    point[first : first + len(there)] = there
    return {
        "cell": np.where(cell >= 0, cell + np.int32(first), -1).astype(np.int32),
        "point": point,
    }


def _chunks(into: Stencils, cells: Integers) -> Iterator[Integers]:
    """Yield some cells, few enough that their connections can be listed at once."""
    listed = np.cumsum(np.diff(into.begin)[into.of[cells]]) // LISTED_AT_ONCE
    yield from (one for one in np.split(cells, np.flatnonzero(np.diff(listed)) + 1) if len(one))


def _of_lists(into: Stencils, weight: Reals, cells: Integers) -> WeightStatistics:
    """Return statistics of the weights of some targets, from lists of their connections."""
    which, entry, _ = into.lists(cells)
    data = {"weight": weight[entry]}
    none = np.zeros((), np.int64)
    return WeightStatistics.of(Edges(which, np.zeros(len(which), np.int64), none, data), len(cells))


def together(parts: Sequence[WeightStatistics]) -> WeightStatistics:
    """Return the statistics of several sets of connections."""
    out = parts[0]
    for one in parts[1:]:
        out = out.together(one)
    return out


def _remainders(into: Stencils, weight: Reals, unit: Reals) -> tuple[Reals, Reals]:
    """Return of each target what `units_of` asks for; targets of one stencil and unit at once."""
    count = len(unit)
    rest, most = np.full(count, np.inf), np.zeros(count)
    asked = np.flatnonzero(~np.isnan(unit))
    values, which = np.unique(unit[asked], return_inverse=True)
    pairs, pair = np.unique(into.of[asked] * np.int64(len(values)) + which, return_inverse=True)
    stencil, value = np.divmod(pairs, max(len(values), 1))
    size = np.diff(into.begin)[stencil]
    first = np.concatenate([[0], np.cumsum(size)])
    number = np.repeat(np.arange(len(pairs)), size)
    at = np.arange(first[-1]) + np.repeat(into.begin[stencil] - first[:-1], size)
    with np.errstate(over="ignore"):
        ratio = np.minimum(weight[at] / values[value][number], 2.0**60)
    whole = np.rint(ratio)
    apart = np.abs(ratio - whole)
    apart[apart <= ALIKE * whole] = np.inf
    of_pair = np.full(len(pairs), np.inf), np.zeros(len(pairs))
    np.minimum.at(of_pair[0], number, apart)
    np.maximum.at(of_pair[1], number, whole)
    rest[asked], most[asked] = of_pair[0][pair], of_pair[1][pair]
    return rest, most
