"""Connections that projections draw, written directly into the arrays of spike delivery.

The connections are never stored as columns. A projection is drawn several times from the same keys:
to count connections by source, to write the targets, to find delays and units, and to write
weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit, Connections
from ...circuit.distributions import Law
from ...circuit.drawing import near_first
from ...circuit.drawn import Drawn
from ...native.buffers import aligned, padded
from ..delays import check_longest, steps_of
from ..injection import Slots
from ..layout import Layout
from ..sorting import stable_order
from ..sums.choice import plan
from ..sums.gather import Edges, Gather
from .fanout import add_near, add_slots, per_slice, sends, shared_by, smallest
from .weights import ALIKE, Bounds, Reals, Units, WeightStatistics, add_units, multiples, units_of

if TYPE_CHECKING:
    from ..delays import Spread


class DrawnBySource:
    """The connections of one access, drawn in the order of their sources.

    Parameters
    ----------
    circuit : Circuit
    number : int
        Group of the targets.
    drawn : sequence of Drawn
        By the first of their targets; those of one source lie one after the other.
    dt : float
    dtype : str
    threads : bool
        Whether this is for a GPU, where all lags are zero.
    injected : Edges, optional
        Connections from input slots; elements are numbers of slots.

    Attributes
    ----------
    drawn : list of Drawn
        What is drawn here; a projection may reach other groups, too.
    units : Units
        They may be replaced before the plan is made.
    bounds : Bounds
        Of the weights.
    statistics : WeightStatistics
        Of the weights, with those of inputs.
    lags : dict of group number to int
        Least latency of its connections in steps, less one.
    """

    def __init__(
        self,
        circuit: Circuit,
        number: int,
        drawn: list[Drawn],
        dt: float,
        dtype: str,
        threads: bool = False,
        injected: Edges | None = None,
    ) -> None:
        self.injected = injected
        self.drawn, self.dt, self.threads = drawn, dt, threads
        start, self.count = int(circuit.starts[number]), circuit.groups[number].count
        wanted = range(start, start + self.count)
        self._rows = [links.rows(wanted) for links in drawn]
        self._laws = [None if links.filtered else links.weight for links in drawn]
        first = [links.ends.source.start for links in drawn]
        last = [links.ends.source.stop for links in drawn]
        self._groups = [
            g
            for g in range(len(circuit.groups))
            if circuit.starts[g] < max(last) and circuit.starts[g + 1] > min(first)
        ]
        sizes = [padded(circuit.groups[g].count) for g in self._groups]
        self._begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        place = np.full(circuit.count, -1, dtype=np.int64)
        for g, begin in zip(self._groups, self._begin, strict=False):
            place[circuit.starts[g] : circuit.starts[g + 1]] = begin + np.arange(
                circuit.groups[g].count
            )
        self._sources = [place[links.ends.source.start : links.ends.source.stop] for links in drawn]
        self.first = np.zeros(self._begin[-1] + 1, dtype=np.int64)
        for rows, source in zip(self._rows, self._sources, strict=True):
            self.first[source + 1] += rows.count
        np.cumsum(self.first, out=self.first)
        self.edges = int(self.first[-1])
        self._code = aligned(self.edges, np.int32)
        self._place(start)
        self._delays(circuit.name)
        self.units = self._units(dtype)

    def _place(self, start: int) -> None:
        """Write the targets of all rows."""
        used = np.zeros(len(self.first) - 1, dtype=np.int64)
        for rows, source in zip(self._rows, self._sources, strict=True):
            rows.place(self._code, self.first[source] + used[source], origin=start)
            used[source] += rows.count

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

    def _units(self, dtype: str) -> Units:
        none = np.full(self.count, np.inf), np.zeros(self.count), np.zeros(self.count)
        bounds = Bounds(np.zeros(self.count, np.int64), *none)
        for rows in self._rows:
            columns = bounds.degree, bounds.least, bounds.greatest, bounds.total
            rows.bounds(self._code, *columns)

        def remainders(unit: Reals) -> tuple[Reals, Reals]:
            rest, most = np.full(self.count, np.inf), np.zeros(self.count)
            for rows in self._rows:
                rows.remainders(self._code, unit, ALIKE, rest, most)
            return rest, most

        summary = WeightStatistics(bounds, remainders)
        if self.injected is not None:
            summary = summary.together(WeightStatistics.of(self.injected, self.count))
        units = units_of(summary.bounds, summary.remainders, dtype)
        self.bounds, self.statistics = bounds, summary
        return units

    @property
    def _largest(self) -> float:
        """The largest multiple."""
        return float(np.rint(self.bounds.greatest / self.units.unit).max())

    def gather(self, layout: Layout, variable: str, ahead: int = 0) -> Gather:
        """Return the plan; it takes over the arrays of this object.

        ``ahead``: steps that others reach ahead who deliver into the same slots.
        """
        ring, width = layout.rings[variable], padded(self.count)
        blocks = [
            (self.lags[g], segment.start, segment.start + padded(segment.count), begin, 0)
            for g, begin in zip(self._groups, self._begin, strict=False)
            if g in self.lags and (segment := ring.segments[str(g)])
        ]
        gather = Gather("fanout", self.edges, {}, None)
        gather.arrays |= {"block": np.array(blocks, np.int64), "listed": np.zeros(1, np.int32)}
        gather.arrays["code"] = self._code
        add_slots(gather, layout, self.first, max(self.ahead, ahead), width, self.units)
        multiple = self._multiples(gather)
        for rows, source in zip(self._rows, self._sources, strict=True):
            lag = np.ascontiguousarray(self._lag[source])
            rows.encode(self._code, multiple, self.dt, width, lag, self.units.unit)
        if self.threads:
            near = np.zeros(len(self.first) - 1, dtype=np.int64)
            near_first(self.first, width, self._code, multiple, near)
            add_near(gather, near)
        gather.cost = per_slice(self.bounds.degree)
        if self.injected is not None:
            gather.outside = self._outside(layout, variable)
        return gather

    def _outside(self, layout: Layout, variable: str) -> Gather:
        """Plan the connections from input slots, in the units of all."""
        assert self.injected is not None
        ring = layout.rings[variable]
        element = ring.segments["inputs"].start + self.injected.element
        multiple = multiples(self.injected, self.units).astype(np.float64)
        edges = replace(self.injected, element=element, data={"weight": multiple})
        gather = plan(edges, self.count, ring.zero, lattice=False, threads=True)
        add_units(gather, self.units)
        return gather

    def _multiples(self, gather: Gather) -> NDArray[Any] | None:
        """Store the weights where all connections, or all of a source, have one; or make room."""
        kind = smallest(self._largest)
        unit = self.units.unit[0]
        values = [law and constant(law) for law in self._laws]
        once = shared_by(self._largest, self.threads)
        if once and None not in values and (self.units.unit == unit).all():
            each = [round(float(v or 0.0) / unit) for v in values]
            if len(set(each)) == 1:
                gather.uniform["weight"] = float(each[0])
                return None
            of_source = np.zeros(len(self.first) - 1, dtype=kind)
            held = np.zeros(len(of_source), dtype=bool)
            same = True
            for number, rows, source in zip(each, self._rows, self._sources, strict=True):
                mine = source[rows.count > 0]
                same &= not (held[mine] & (of_source[mine] != number)).any()
                of_source[mine], held[mine] = number, True
            if same:
                gather.arrays["of_source"] = of_source
                return None
        multiple = aligned(self.edges, kind)
        gather.arrays["multiple"] = multiple
        return multiple


def constant(law: Law) -> float | None:
    """Return the number that a law always gives, if there is one."""
    return law.least if law.least == law.most else None


def draw_by_source(
    circuit: Circuit, spread: Spread, slots: Slots, dt: float, dtype: str, threads: bool = False
) -> dict[tuple[int, str], DrawnBySource]:
    """Draw the connections of the accesses that nothing but projections reaches.

    Sources have to be computed here, and the targets of one source have to ascend.
    """
    out = {}
    for number, access in sorted(spread):
        injected = _injected(circuit, slots, number, access, dt) if threads else None
        drawn = reaching(circuit, Slots() if threads else slots, number, access)
        if drawn and _ascend(drawn) and not _from_outside(circuit, drawn, threads):
            out[number, access] = DrawnBySource(
                circuit, number, drawn, dt, dtype, threads, injected
            )
            if not out[number, access].edges:
                del out[number, access]
    return out


def _injected(circuit: Circuit, slots: Slots, number: int, access: str, dt: float) -> Edges | None:
    """Return the connections from input slots to an access of a group, if there are any."""
    start, stop = int(circuit.starts[number]), int(circuit.starts[number + 1])
    default = circuit.groups[number].model.access(access).connection["weight"].default
    parts = []
    for links in slots.connections:
        mine = (links.target >= start) & (links.target < stop) & (links.access == access)
        if mine.any():
            size = (len(links),)
            weight = np.broadcast_to(np.asarray(links.data.get("weight", default), float), size)
            weight = np.nan_to_num(weight[mine], nan=1.0 if default is None else default)
            back = np.broadcast_to(steps_of(links, dt) - 1, size)[mine]
            parts.append((links.target[mine] - start, links.source[mine], back, weight))
    if not parts:
        return None
    target, source, back, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = stable_order(target.astype(np.int64))
    ends = target[order].astype(np.int64), source[order].astype(np.int64)
    return Edges(*ends, back[order].astype(np.int64), {"weight": weight[order]})


def looked_back(
    circuit: Circuit, accesses: Mapping[tuple[int, str], DrawnBySource]
) -> dict[Connections, int]:
    """Return the number of past rows of spikes that each projection reads.

    Only of projections all of whose targets are here.
    """
    out: dict[Connections, int] = {}
    for links in {links for one in accesses.values() for links in one.drawn}:
        groups = {
            g
            for g in range(len(circuit.groups))
            if links.ends.target.start < circuit.starts[g + 1]
            and links.ends.target.stop > circuit.starts[g]
        }
        mine = [one for (g, _), one in accesses.items() if links in one.drawn and g in groups]
        if len(mine) == len(groups):
            out[links] = max(lag for one in mine for lag in one.lags.values()) + 1
    return out


def reaching(circuit: Circuit, slots: Slots, number: int, access: str) -> list[Drawn]:
    """Return the projections that reach an access, by target; none where columns reach it, too."""
    start, stop = int(circuit.starts[number]), int(circuit.starts[number + 1])
    found = []
    for links in (*circuit.connections, *slots.connections):
        if links.access != access:
            continue
        if links.plasticity is not None:
            continue
        if isinstance(links, Drawn):
            if links.ends.target.start < stop and links.ends.target.stop > start:
                found.append(links)
        elif ((links.target >= start) & (links.target < stop)).any():
            return []
    return sorted(found, key=lambda links: links.ends.target.start)


def _ascend(drawn: list[Drawn]) -> bool:
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


def _from_outside(circuit: Circuit, drawn: list[Drawn], threads: bool) -> bool:
    """Whether some sources are ports, or on a GPU groups that do not deliver their spikes."""
    for g, group in enumerate(circuit.groups):
        start, stop = circuit.starts[g], circuit.starts[g + 1]
        inside = any(d.ends.source.start < stop and d.ends.source.stop > start for d in drawn)
        if inside and (group.is_port or (threads and not sends(group))):
            return True
    return False
