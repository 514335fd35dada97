"""Connections that projections draw, written directly into the arrays of spike delivery.

The connections are never stored as columns. A projection is drawn several times from the same keys:
to count connections by source, to write the targets, to find delays and units, and to write
weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit, Connections
from ...circuit.distributions import Law
from ...circuit.drawing import ascending, near_first
from ...circuit.drawn import Drawn
from ...native.buffers import aligned, padded
from ..delays import check_longest
from ..injection import Slots
from ..layout import Layout
from ..sums.gather import Edges, Gather
from .due import MOST_SLOTS, Bins, add_bins, check_slots, choose, pack, shift_of, sorted_bins
from .fanout import (
    add_near,
    add_slots,
    of_slots,
    per_slice,
    sends,
    shared_by,
    smallest,
    store_once,
)
from .source_rows import SourceRows, source_rows
from .weights import ALIKE, Bounds, Reals, Units, WeightStatistics

if TYPE_CHECKING:
    pass


class DrawnBySource:
    """The connections of one access, drawn in the order of their sources.

    Parameters
    ----------
    number : int
        Group of the targets.
    drawn : sequence of Drawn
        By the first of their targets.
    threads : bool
        Whether this is for a GPU, where all lags are zero.
    others : int
        Number of other connections for which there is room.

    Attributes
    ----------
    drawn : list of Drawn
        What is drawn here; a projection may reach other groups, too.
    bounds : Bounds
        Of the weights.
    lags : dict of group number to int
        Least latency of its connections in steps, less one.
    note : str
        Who draws them, and why, for the log of a build.
    """

    note = ""

    def __init__(
        self,
        circuit: Circuit,
        number: int,
        drawn: list[Drawn],
        dt: float,
        threads: bool = False,
        others: int = 0,
    ) -> None:
        self.drawn, self.dt, self.threads = drawn, dt, threads
        self._find_sources(circuit, number)
        start = int(circuit.starts[number])
        for links in drawn:
            links.check_stored()
        self._rows = [links.rows(range(start, start + self.count)) for links in drawn]
        place = self._source_places(circuit)
        # those of other parts have no connections here
        self._sources = [place[np.maximum(links.sources, 0)] for links in drawn]
        self.first = np.zeros(self._begin[-1] + 1, dtype=np.int64)
        for rows, source in zip(self._rows, self._sources, strict=True):
            np.add.at(self.first, source + 1, rows.count)
        np.cumsum(self.first, out=self.first)
        self.edges = int(self.first[-1])
        self._code = aligned(self.edges + others, np.int32)
        self._place(start)
        self._delays(circuit.name)
        none = np.full(self.count, np.inf), np.zeros(self.count), np.zeros(self.count)
        self.bounds = Bounds(np.zeros(self.count, np.int64), *none)
        for rows in self._rows:
            rows.bounds(self._code, *vars(self.bounds).values())

    def _find_sources(self, circuit: Circuit, number: int) -> None:
        """Find the groups that hold sources, and number the sources."""
        self.count = circuit.groups[number].count
        self._laws = [None if links.filtered else links.weight for links in self.drawn]
        first = [links.begins.start for links in self.drawn]
        last = [links.begins.stop for links in self.drawn]
        self._groups = [
            g
            for g in range(len(circuit.groups))
            if circuit.starts[g] < max(last) and circuit.starts[g + 1] > min(first)
        ]
        sizes = [padded(circuit.groups[g].count) for g in self._groups]
        self._begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def _source_places(self, circuit: Circuit) -> NDArray[np.int64]:
        """Return the number of each component as a source, or -1."""
        place = np.full(circuit.count, -1, dtype=np.int64)
        for g, begin in zip(self._groups, self._begin, strict=False):
            first, last = circuit.starts[g], circuit.starts[g + 1]
            place[first:last] = begin + np.arange(last - first)
        return place

    def _place(self, start: int) -> None:
        """Write the targets of all rows."""
        used = np.zeros(len(self.first) - 1, dtype=np.int64)
        for rows, source in zip(self._rows, self._sources, strict=True):
            rows.place(self._code, self.first[source] + used[source], origin=start)
            np.add.at(used, source, rows.count)

    def _delays(self, name: str) -> None:
        """Find the lag of each group of sources, and how far ahead slots lie."""
        spans = [rows.span(self.dt) for rows in self._rows]
        for links, (_, high) in zip(self.drawn, spans, strict=True):
            check_longest(links, int(high.max(initial=0)), self.dt, name)
        self.lags: dict[int, int] = {}
        self._lag = np.zeros(len(self.first) - 1, dtype=np.int64)
        for i, g in enumerate(self._groups):
            least = [
                int(low[mine].min()) - 1
                for (low, _), source in zip(spans, self._sources, strict=True)
                if (mine := self._of(i, source) & (low > 0)).any()
            ]
            if least:
                self.lags[g] = min(least)
                if not self.threads:
                    self._lag[self._begin[i] : self._begin[i + 1]] = min(least)
        self.ahead = max(
            int((high - 1 - self._lag[source])[high > 0].max(initial=0))
            for (_, high), source in zip(spans, self._sources, strict=True)
        )

    def _of(self, i: int, source: NDArray[np.int64]) -> NDArray[np.bool_]:
        mine: NDArray[np.bool_] = (source >= self._begin[i]) & (source < self._begin[i + 1])
        return mine

    def weights(self, beside: Edges) -> WeightStatistics:
        """Return the statistics of the weights, together with those of other connections."""
        drawn = WeightStatistics(self.bounds, self.remainders)
        if not len(beside.target):
            return drawn
        return drawn.together(WeightStatistics.of(beside, self.count))

    def remainders(self, unit: Reals) -> tuple[Reals, Reals]:
        """Return what `units_of` asks for."""
        rest, most = np.full(self.count, np.inf), np.zeros(self.count)
        for rows in self._rows:
            rows.remainders(self._code, unit, ALIKE, rest, most)
        return rest, most

    def gather(
        self, layout: Layout, variable: str, units: Units, beside: Edges, ahead: int = 0
    ) -> Gather:
        """Return the plan; it takes over the arrays of this object.

        Parameters
        ----------
        beside : Edges
            Other connections that are delivered by their sources, for which there is room. Their
            weights are multiples, and their sources follow those that are drawn.
        ahead : int
            Steps that others reach ahead who deliver into the same slots.
        """
        width, more = padded(self.count), len(self.first) - 1
        rows = source_rows(layout, beside, variable, width)
        rows.blocks[:, 3] += more
        first = np.concatenate([self.first, self.edges + rows.first[1:]])
        reach, wide = max(self.ahead, rows.ahead, ahead), units.most >= 2**31
        how = choose(layout, np.diff(first), width, reach, wide, alone=not ahead)
        note = ", ".join(filter(None, (self.note, how.why)))
        gather = Gather("fanout", int(first[-1]), {}, None, note=note)
        blocks = np.concatenate([self._blocks(layout, variable), rows.blocks])
        gather.arrays["block"] = blocks
        self._width = width
        gather.arrays["code"] = self._code_of(gather.edges)
        add_slots(gather, layout, first, reach, width, units, how.due)
        self._store_multiples(gather, units, rows, how.due)
        if how.due:
            add_bins(gather, self._write_by_delay(gather, units.unit), np.diff(first))
        elif self.threads:
            add_near(gather, self._write(gather, units.unit, rows))
        else:
            self._write(gather, units.unit, rows)
        if self.threads:
            gather.cost = of_slots(self.count)
        else:
            degree = np.bincount(beside.target, minlength=self.count)
            gather.cost = per_slice(self.bounds.degree + degree)
        return gather

    def _blocks(self, layout: Layout, variable: str) -> NDArray[np.int64]:
        ring = layout.rings[variable]
        blocks = [
            (self.lags[g], segment.start, segment.start + padded(segment.count), begin)
            for g, begin in zip(self._groups, self._begin, strict=False)
            if g in self.lags and (segment := ring.segments[str(g)])
        ]
        return np.array(blocks, np.int64).reshape(-1, 4)

    @property
    def targets(self) -> NDArray[np.int32]:
        """Targets of all rows, until they are turned into codes in their place, (edges,)."""
        return self._code[: self.edges]

    def _code_of(self, edges: int) -> Any:
        """Return the array of codes."""
        return self._code[:edges]

    def _multiple_of(self, edges: int, kind: type[np.signedinteger[Any]]) -> Any:
        """Return the array of weights."""
        return aligned(edges, kind)

    def _reached(self) -> list[NDArray[np.int64]]:
        """Return the sources that each projection gives connections to."""
        return [s[r.count > 0] for r, s in zip(self._rows, self._sources, strict=True)]

    def _write(self, gather: Gather, unit: Reals, beside: SourceRows) -> NDArray[np.int64]:
        """Write codes and weights; return how many of each source act in the next step."""
        code: Any = gather.arrays["code"]
        multiple: Any = gather.arrays.get("multiple")
        self.encode(code, multiple, self._width, unit)
        code[self.edges :] = beside.code
        if multiple is not None:
            multiple[self.edges :] = beside.multiple
        near = np.zeros(len(self.first) - 1, dtype=np.int64)
        if self.threads:
            near_first(self.first, self._width, code, multiple, near)
        return near

    def _write_by_delay(self, gather: Gather, unit: Reals) -> Bins:
        """Write targets and weights, sorted by delay; return the bins."""
        code, multiple = gather.arrays["code"], gather.arrays.get("multiple")
        return self.encode_by_delay(
            code, multiple, self._width, unit, gather.limits.get("shift", 0)
        )

    def encode_by_delay(
        self, code: Any, multiple: Any, width: int, unit: Reals, shift: int
    ) -> Bins:
        """Sort the targets in ``code`` by delay; write the weights in whole units.

        Where ``shift`` is not 0, weights go above the targets.
        """
        check_slots(self.ahead + 1, width)  # codes hold both while they are sorted
        weights = aligned(self.edges, np.int32) if shift else multiple
        self.encode(code, weights, width, unit)
        ascending(self.first, MOST_SLOTS, code, weights)
        made = sorted_bins(self.first, code // width)
        code %= width
        if shift:
            pack(code, weights, shift)
        return made

    def encode(self, code: Any, multiple: Any, width: int, unit: Reals) -> None:
        """Turn the targets in ``code`` into codes; write the weights in whole units."""
        for one, source in zip(self._rows, self._sources, strict=True):
            lag = np.ascontiguousarray(self._lag[source])
            one.encode(code, multiple, self.dt, width, lag, unit)
        if not ascend(self.drawn):
            ascending(self.first, width, code, multiple)

    def _store_multiples(
        self, gather: Gather, units: Units, beside: SourceRows, when_due: bool
    ) -> None:
        """Store the weights where all connections, or all of a source, have one; or make room."""
        most = float(np.rint(self.bounds.greatest / units.unit).max())
        most = max(most, float(np.abs(beside.multiple).max(initial=0.0)))
        unit, values = units.unit[0], [law and constant(law) for law in self._laws]
        known = None not in values and (units.unit == unit).all()
        if known and shared_by(most, self.threads):
            each: list[Any] = [round(float(value or 0.0) / unit) for value in values]
            sources = [*self._reached(), len(self.first) - 1 + beside.source]
            sets = list(zip([*each, beside.multiple], sources, strict=True))
            if store_once(gather, sets, len(self.first) + len(beside.first) - 2, smallest(most)):
                return
        if when_due and (shift := shift_of(self._width, most)):
            gather.limits["shift"] = shift
            return
        gather.arrays["multiple"] = self._multiple_of(gather.edges, smallest(most))


def constant(law: Law) -> float | None:
    """Return the number that a law always gives, if there is one."""
    return law.least if law.least == law.most else None


def looked_back(
    circuit: Circuit, accesses: Mapping[tuple[int, str], DrawnBySource]
) -> dict[Connections, int]:
    """Return the number of past rows of spikes that each projection reads.

    Only of projections all of whose targets are here.
    """
    out: dict[Connections, int] = {}
    where: dict[Drawn, list[tuple[int, DrawnBySource]]] = {}
    for (g, _), one in accesses.items():
        for links in one.drawn:
            where.setdefault(links, []).append((g, one))
    for links, into in where.items():
        groups = {
            g
            for g in range(len(circuit.groups))
            if links.reached.start < circuit.starts[g + 1]
            and links.reached.stop > circuit.starts[g]
        }
        mine = [one for g, one in into if g in groups]
        if len(mine) == len(groups):
            out[links] = max(lag for one in mine for lag in one.lags.values()) + 1
    return out


def reaching(
    circuit: Circuit, slots: Slots, number: int, access: str, threads: bool
) -> tuple[list[Drawn], int]:
    """Return the projections that are drawn into an access, by target, and the number of others.

    The others are connections given as columns, those from ports, and what inputs inject. On a GPU
    projections are drawn only where no others than these last ones reach the access.
    """
    start, stop = int(circuit.starts[number]), int(circuit.starts[number + 1])

    def into(links: Connections) -> int:
        return int(np.count_nonzero((links.target >= start) & (links.target < stop)))

    found, others = [], 0
    for links in circuit.connections:
        if links.access != access or links.plasticity is not None:
            continue
        if isinstance(links, Drawn):
            if links.reached.start >= stop or links.reached.stop <= start:
                continue
            if all(_senders(circuit, links, threads)):
                found.append(links)
                continue
        others += into(links)
        if threads and others:
            return [], 0
    others += sum(into(links) for links in slots.connections if links.access == access)
    return sorted(found, key=lambda links: links.ends.target.start), others


def _senders(circuit: Circuit, links: Drawn, threads: bool) -> list[bool]:
    """Return of each group of sources whether its kernel delivers spikes to others."""
    starts = circuit.starts
    return [
        not threads or sends(group)
        for g, group in enumerate(circuit.groups)
        if links.begin_in(starts[g], starts[g + 1])
    ]


def ascend(drawn: list[Drawn]) -> bool:
    """Whether the targets of one source ascend from projection to projection.

    The projections are ordered by their first target. So those that reach a target of projection i
    follow it, up to ``end[i]``. A circuit may have thousands of projections.
    """
    sources = np.array([(d.ends.source.start, d.ends.source.stop) for d in drawn]).reshape(-1, 2)
    targets = np.array([(d.ends.target.start, d.ends.target.stop) for d in drawn]).reshape(-1, 2)
    end = np.searchsorted(targets[:, 0], targets[:, 1])
    for i, (start, stop) in enumerate(sources.tolist()):
        others = sources[i + 1 : end[i]]
        if ((others[:, 0] < stop) & (start < others[:, 1])).any():
            return False
    return True
