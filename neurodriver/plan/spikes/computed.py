"""Weighted spikes by rules of place whose connections are computed when their source spikes.

On uneven axes, and where cells stand anywhere, hardly two cells have equal connections. So a spike
computes its targets, weights and delays from the rule, on a CPU in compiled code that the circuit
does not change (``native/projection_sends.h``). It reaches the slots of its targets when the first
of its connections is due.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...circuit.computed import ComputedRows
from ...circuit.drawn import Drawn
from ...native.buffers import LANES, padded
from ..delays import check_longest
from ..layout import Layout
from ..sums.gather import Gather
from .fanout import PIECE, per_slice
from .stencils import Integers, StencilPlan
from .weights import ALIKE, Bounds, Reals, Units, WeightStatistics

WORK = 8
"""Stored connections that are delivered while one is computed."""


@dataclass
class ComputedPlan(StencilPlan):
    """The plan of a projection whose connections are computed, on a CPU.

    Arrays: a block of sources, as those of stencils; the addresses of the function that delivers a
    spike, and of what it takes.
    """

    computed: ComputedRows | None = None
    latencies: tuple[int, int] = (1, 1)
    most: int = 0

    @property
    def longest(self) -> int:
        return self.latencies[1]

    def sent(self, block: int, sources: Integers) -> tuple[Integers, Integers, Integers, Integers]:
        """Return what spikes of some sources add, as a plan of stencils does."""
        assert self.computed is not None
        known = np.flatnonzero((sources >= 0) & (sources < self.limits["sources"]))
        which, target, multiple, later = self.computed.sent(sources[known], self.most)
        return known[which], target, multiple, later


@dataclass(frozen=True, eq=False)
class ComputedSpikes:
    """A projection whose connections are computed.

    Attributes
    ----------
    group : int
        Of the sources.
    shortest, longest : int
        Latencies in steps.
    dt : float
        Step in seconds.
    """

    links: Drawn
    group: int
    shortest: int
    longest: int
    dt: float
    computed: ComputedRows
    degree: Integers = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def of(cls, links: Drawn, group: int, dt: float, name: str) -> ComputedSpikes:
        """Return a projection, whose delays are checked."""
        delays = np.array([links.latency.least, links.latency.most])
        steps = np.maximum(np.rint(np.minimum(delays / dt, 2.0**53)), 1).astype(np.int64)
        shortest, longest = steps.tolist()
        check_longest(links, longest, dt, name)
        return cls(links, group, shortest, longest, dt, ComputedRows(links, dt))

    @property
    def looked_back(self) -> int:
        """Past rows of spikes that are read."""
        return self.shortest

    @property
    def ahead(self) -> int:
        """Steps that slots lie ahead."""
        return self.longest - self.shortest

    @property
    def pieces(self) -> int:
        """Pieces of a GPU's list, if all sources spike, at least."""
        return len(self.links) // PIECE + len(self.links.ends.source)

    def statistics(self, origin: int, count: int) -> WeightStatistics:
        """Return statistics of the weights of each target: see `StencilSpikes.statistics`."""
        first, targets = self.links.ends.target.start - origin, len(self.links.ends.target)
        mine = slice(first, first + targets)

        def spread(values: NDArray[np.generic], blank: float) -> NDArray[np.generic]:
            out = np.full(count, blank, values.dtype)
            out[mine] = values
            return out

        def remainders(unit: Reals) -> tuple[Reals, Reals]:
            found = self.computed.remainders(unit[mine], ALIKE)
            rest, most = map(spread, found, (np.inf, 0.0))
            return np.asarray(rest, np.float64), np.asarray(most, np.float64)

        columns = map(spread, self.computed.bounds(targets), (0, np.inf, 0.0, 0.0))
        return WeightStatistics(Bounds(*columns), remainders)  # type: ignore[arg-type]

    def gather(
        self, layout: Layout, number: int, variable: str, units: Units, main: Gather
    ) -> ComputedPlan:
        """Return the plan, into some components of a group, and into the slots of a plan."""
        circuit, source = layout.circuit, self.links.ends.source
        first = self.links.ends.target.start - int(circuit.starts[number])
        begin = layout.segment(self.group, variable).start
        begin += source.start - int(circuit.starts[self.group])
        low = begin // LANES * LANES  # a word of the bitmap may have other populations, too
        end = padded(begin + len(source))
        gather = ComputedPlan("stencil", len(self.links), back=None, computed=self.computed)
        gather.latencies, gather.most = (self.shortest, self.longest), len(self.links.ends.target)
        width, depth = main.limits["ahead"], main.limits["depth"]
        unit = np.ones(width)
        unit[: len(units.unit)] = units.unit
        self.computed.deliver_to(unit, first, self.shortest, width, depth, LANES)
        block = [[self.shortest - 1, low, end, low - begin, 0]]
        gather.arrays |= {
            "block": np.array(block, np.int64),
            "computed": np.array([self.computed.send, self.computed.address], np.int64),
        }
        gather.limits |= {"blocks": 1, "sources": len(source)}
        degree = np.zeros(len(units.unit), np.int64)
        degree[first : first + len(self.links.ends.target)] = (
            WORK * len(self.links) // max(len(self.links.ends.target), 1)
        )
        gather.cost = per_slice(degree)
        return gather
