"""``DrawnShare``: connections of a projection into one part of a circuit, which alone are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..model.kinds import VariableKind
from .circuit import Circuit, Connections
from .drawing import Rows, reaches
from .drawn import Drawn

Numbers = NDArray[np.int64]


class DrawnShare(Drawn):
    """Connections of a projection into some of its targets.

    Those into other targets are counted, as weights and delays belong to the place of a connection
    in its row, and never stored. ``ends`` are those of the whole circuit, in its numbers.

    Parameters
    ----------
    whole : Drawn
        One that `is_divided`.
    sources, targets : (sources,) and (targets,) int32
        Number of each in the part; targets ascend. Negative: in another part, or no source of this
        part.
    """

    _sources: NDArray[np.int32]
    targets: NDArray[np.int32]

    def __init__(
        self, whole: Drawn, sources: NDArray[np.int32], targets: NDArray[np.int32]
    ) -> None:
        super().__init__(whole.projection, whole.ends, whole.key, (whole.weight, whole.latency))
        vars(self).update(_sources=sources, targets=targets)

    def __len__(self) -> int:
        return self._drawn_length

    @property
    def sources(self) -> NDArray[np.int32]:
        return self._sources

    @cached_property
    def begins(self) -> range:
        return _span(self._sources)

    @cached_property
    def reached(self) -> range:
        return _span(self.targets)

    def begin_in(self, first: int, last: int) -> bool:
        return bool(((self._sources >= first) & (self._sources < last)).any())

    def rows(self, window: range | None = None, threads: int | None = None) -> Rows:
        laws = self.weight, self.latency
        given = self.projection.rule, self.ends, self.key, *laws, window, threads
        return Rows(*given, numbers=self.targets)

    def told(self) -> Iterator[bytes]:
        yield from super().told()
        yield self._sources.tobytes() + self.targets.tobytes()


def _span(numbers: NDArray[np.int32]) -> range:
    """Return the range of numbers from the least to the greatest, without negative ones."""
    found = numbers[numbers >= 0]
    return range(int(found.min()), int(found.max()) + 1) if len(found) else range(0)


def is_divided(circuit: Circuit, links: Connections) -> bool:
    """Whether each part of a circuit draws its share of some connections, without the others."""
    if not isinstance(links, Drawn) or links.located is not None or links.plasticity is not None:
        return False
    conducts = circuit.kinds.of(links.variable) is VariableKind.CONDUCTANCE
    return circuit.phase_of is None and not conducts


def share_of(links: Drawn, source: Numbers, target: Numbers) -> DrawnShare:
    """Return the connections into a part; both arrays have the numbers in it of all components."""
    ends = links.ends
    own = [number[end.start : end.stop].astype(np.int32) for number, end in
           ((source, ends.source), (target, ends.target))]  # fmt: skip
    return DrawnShare(links, *own)


def crossings(links: Drawn, of: Numbers, parts: int) -> Iterator[tuple[int, int, Numbers]]:
    """Yield source part, target part and the sources, ascending, of connections that cross."""
    ends = links.ends
    there = of[ends.target.start : ends.target.stop].astype(np.int32)
    found = reaches(links.projection.rule, ends, links.key, there, parts)
    here = of[ends.source.start : ends.source.stop]
    for first in range(parts):
        for second in range(parts):
            mine = np.flatnonzero(found[:, second] & (here == first)) if first != second else ()
            if len(mine):
                yield first, second, ends.source.start + np.asarray(mine, np.int64)


def least_steps(links: Drawn, of: Numbers, dt: float, most: int) -> int:
    """Return the least latency of connections that cross, in steps, or ``most`` if it is less.

    Delays are drawn only if they may be shorter than ``most`` steps.
    """
    least = max(int(np.rint(min(links.latency.least / dt, most))), 1)
    ends, parts = links.ends, int(of.max(initial=0)) + 1
    here, there = (of[end.start : end.stop] for end in (ends.source, ends.target))
    if links.latency.least == links.latency.most and least < most:
        return least if any(True for _ in crossings(links, of, parts)) else most
    every = np.arange(ends.target.start, ends.target.stop, dtype=np.int32)
    for part in np.unique(there).tolist():
        if least < most and (here != part).any():
            targets = np.where(there == part, every, -1).astype(np.int32)
            rows = DrawnShare(links, links.sources, targets).rows()
            rows.place(np.empty(rows.edges, np.int32))
            low = rows.span(dt)[0][here != part]
            most = min(most, int(low[low > 0].min(initial=most)))
    return most
