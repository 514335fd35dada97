"""Spikes whose connections are computed, on a GPU: from tables along the axes of both ends.

All sources have a *box* of equally many candidates: as many along each axis as a source reaches
there at most. A candidate is a connection where the axis has so many targets and the distance is
not too long. So the number of a candidate says which source and target it has. A spike's candidates
are listed in pieces, as stored connections are; each thread computes its own, one after the other
(`codegen.simt.computed_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...circuit.computed import ComputedRows, plain, ways_along
from ...circuit.drawn import Drawn
from ...circuit.formula import Formula
from ...circuit.relation import AxisRuns
from ..arrays import Array, Owner, Role, row
from ..layout import Layout
from .computed import ComputedSpikes
from .fanout import PIECE, of_slots
from .stencil_rows import StencilRows
from .stencils import Integers
from .weights import Units

MOST = 1 << 40
"""Candidates of all sources: their numbers have five bytes."""


@dataclass
class ComputedThere(StencilRows):
    """The plan of a projection whose connections are computed, on a GPU.

    Arrays, of each axis d: ``to<d>``, (sources, most), the targets of each source index, -1: none;
    ``way<d>``, how far they are, in double precision. ``per_unit`` has 1 over the unit of each
    target where all are powers of two, and else the unit.

    Attributes
    ----------
    texts : (str, str)
        Weight and delay (s) as C, in double precision.
    squared : float
        Largest squared distance.
    self_at : int or None
        Number of a source's own place among the targets, less that of the source; None where it
        may be connected with itself.
    dt : float
        Step in seconds.
    """

    texts: tuple[str, str] = ("1.0", "0.0")
    axes: tuple[AxisRuns, ...] = ()
    squared: float = np.inf
    self_at: int | None = None
    dt: float = 1.0
    computed: ComputedRows | None = None
    latencies: tuple[int, int] = (1, 1)

    @property
    def longest(self) -> int:
        return self.latencies[1]

    def arrivals(
        self, sources: Integers, late: bool
    ) -> tuple[Integers, Integers, Integers, Integers]:
        """Return what spikes of some sources add, as `StencilRows.arrivals` does."""
        assert self.computed is not None
        own = sources - self.limits["begin_of_sources"]
        known = np.flatnonzero((own >= 0) & (own < self.limits["own"]))
        if late and self.latencies[0] == 1:  # they have been delivered at once
            known = known[:0]
        which, target, multiple, later = self.computed.sent(own[known], self.limits["targets"])
        return known[which], target, multiple, later + self.latencies[0] - 1

    def rows(self, owner: Owner, real: DTypeLike) -> Iterator[Array]:
        for one in super().rows(owner, real):
            name = one.key.name
            if name in self.arrays and self.arrays[name].dtype == np.float64:
                yield row(one.key, self.arrays[name], Role.CONSTANT, np.float64)
            else:
                yield one


def possible(links: Drawn) -> bool:
    """Whether kernels can compute connections: along axes, of whole populations without masks."""
    located = links.located
    if located is None or not plain(links):
        return False
    relation = located.relation
    ends = zip(located.firsts, (relation.source, relation.target), strict=True)
    whole = [range(first, first + one.count) for first, one in ends]
    boxes = float(np.prod([float(_most(one)) for one in relation.axes])) * len(links.ends.source)
    plain_ends = relation.point is None and whole == [links.ends.source, links.ends.target]
    return plain_ends and boxes < MOST


def _most(axis: AxisRuns) -> int:
    """Return how many targets a source index has at most."""
    at = ways_along(axis)[0]
    return int(np.diff(at[axis.begin]).max(initial=0))


def _tables(axis: AxisRuns) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the targets of each source index, and the ways to them, (sources, most)."""
    at, way = ways_along(axis)
    size = np.diff(at)
    run = np.repeat(np.arange(len(size)), size)
    target = axis.low[run] + (np.arange(at[-1]) - at[run])
    source = np.repeat(np.arange(axis.sources), np.diff(at[axis.begin]))
    place = np.arange(at[-1]) - at[axis.begin][source]
    to = np.full((axis.sources, _most(axis)), -1, np.int32)
    ways = np.zeros(to.shape)
    to[source, place], ways[source, place] = target, way
    return to, ways


def rows_there(
    one: ComputedSpikes, layout: Layout, number: int, variable: str, units: Units, ahead: int
) -> ComputedThere:
    """Return the plan for a GPU, into some components of a group.

    Parameters
    ----------
    ahead : int
        Slots of a step.
    """
    circuit, links = layout.circuit, one.links
    assert links.located is not None
    relation = links.located.relation
    first = links.ends.target.start - int(circuit.starts[number])
    unit = np.ones(ahead)
    unit[: len(units.unit)] = units.unit
    one.computed.deliver_to(unit, first, one.shortest, ahead, one.longest + 1, 1)
    gather = ComputedThere("stencil", len(links), back=None, computed=one.computed)
    gather.latencies, gather.dt = (one.shortest, one.longest), one.dt
    gather.axes, gather.squared = relation.axes, float(relation.squared)
    shift = links.ends.source.start - links.ends.target.start
    gather.self_at = None if links.located.autapses else shift
    laws, formulas = (links.weight, links.latency), links.located.formulas
    weight, delay = (_text(f, law.least) for f, law in zip(formulas, laws, strict=True))
    gather.texts = weight, delay
    box = 1
    for place, axis in enumerate(relation.axes):
        to, way = _tables(axis)
        gather.arrays |= {f"to{place}": to.reshape(-1), f"way{place}": way.reshape(-1)}
        box *= to.shape[1]
    group = circuit.groups[one.group]
    begins = layout.segment(one.group, variable).start
    own = len(links.ends.source)
    powers = bool((np.frexp(unit)[0] == 0.5).all())  # then 1 / unit is exact, and so is the product
    unit = 1.0 / unit if powers else unit
    block = [[0, begins, begins + group.count, 0]]
    gather.arrays |= {"block": np.array(block, np.int64), "per_unit": unit}
    near = box if one.shortest == 1 else 0
    gather.limits |= {
        "sources": group.count,
        "begin_of_sources": links.ends.source.start - int(circuit.starts[one.group]),
        "own": own,
        "targets": len(links.ends.target),
        "first": first,
        "box": box,
        "powers": int(powers),
        "soon": near,
        "ahead": ahead,
        "latency": one.longest,
        "most": box,
        "pieces": own * -(-box // PIECE),
        "near": near * own,
        "far": (box - near) * own,
    }
    gather.cost = of_slots(len(units.unit))
    return gather


def _text(formula: Formula | None, number: float) -> str:
    """Return what a formula, or a number, is as C in double precision."""
    return repr(float(number)) if formula is None else formula.c_text()
