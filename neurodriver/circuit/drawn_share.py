"""``DrawnShare``: connections of a projection into one part of a circuit, which alone are drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ..model.kinds import VariableKind
from .circuit import Circuit, Connections
from .distributions import Distribution
from .drawing import Rows, reaches
from .drawn import Drawn
from .rules import OneToOne

Numbers = NDArray[np.int64]

SURE = 16.0
"""Expected connections of a source into a part from which on it is taken to have one."""


class Numbering:
    """The number in one part of each component of a circuit; negative: not there.

    Many projections have the same ends, so what is found out about a range is kept.

    Parameters
    ----------
    table : (components,) int32
    """

    def __init__(self, table: NDArray[np.int32]) -> None:
        self.table = table
        self._runs: dict[range, list[tuple[int, int]]] = {}
        self._digests: dict[range, bytes] = {}

    def of(self, components: range) -> NDArray[np.int32]:
        """Return the numbers of some components."""
        return self.table[components.start : components.stop]

    def runs(self, components: range) -> list[tuple[int, int]]:
        """Return the numbers that some components have, as ranges (first, end) that ascend."""
        if components not in self._runs:
            number = self.of(components)
            found = number[number >= 0]
            if (found[1:] < found[:-1]).any():
                found = np.sort(found)
            gaps, end = np.diff(found) > 1, np.ones(min(len(found), 1), bool)
            first, last = found[np.append(end, gaps)], found[np.append(gaps, end)]
            self._runs[components] = list(zip(first.tolist(), (last + 1).tolist(), strict=True))
        return self._runs[components]

    def span(self, components: range) -> range:
        """Return the numbers from the least to the greatest one of some components."""
        runs = self.runs(components)
        return range(runs[0][0], runs[-1][1]) if runs else range(0)

    def digest_input(self, components: range) -> bytes:
        """Return what a digest takes in of some components."""
        if components not in self._digests:
            self._digests[components] = hashlib.sha256(self.of(components).tobytes()).digest()
        return self._digests[components]


class PartNumbers:
    """The numbers in a part: of its components, and of the imports that stand for others.

    Parameters
    ----------
    own : (components,) int64
        Negative for components of other parts.
    imports : sequence of (str, (n,) int64, int)
        Variable, the components that send it, ascending, and the number of the first import.
    """

    def __init__(self, own: Numbers, imports: Sequence[tuple[str, Numbers, int]]) -> None:
        self.targets = Numbering(own.astype(np.int32))
        self._imports = imports
        self._sources: dict[str, Numbering] = {}

    def sources(self, variable: str) -> Numbering:
        """Return the numbers of what sends a variable."""
        if variable not in self._sources:
            table = self.targets.table.copy()
            for sent, components, first in self._imports:
                if sent == variable:
                    table[components] = np.arange(first, first + len(components))
            self._sources[variable] = Numbering(table)
        return self._sources[variable]


class DrawnShare(Drawn):
    """Connections of a projection into some of its targets.

    Those into other targets are counted, as weights and delays belong to the place of a connection
    in its row, and never stored. ``ends`` are those of the whole circuit, in its numbers.

    Parameters
    ----------
    whole : Drawn
        One that `is_divided`.
    source_numbers, target_numbers : Numbering
        Those of the targets ascend. A source without a number is none of this part.
    """

    source_numbers: Numbering
    target_numbers: Numbering

    def __init__(self, whole: Drawn, sources: Numbering, targets: Numbering) -> None:
        super().__init__(whole.projection, whole.ends, whole.key, (whole.weight, whole.latency))
        vars(self).update(source_numbers=sources, target_numbers=targets)

    def __len__(self) -> int:
        return self._drawn_length

    @property
    def is_empty(self) -> bool:
        return not self.begins or not self.reached

    @property
    def sources(self) -> NDArray[np.int32]:
        return self.source_numbers.of(self.ends.source)

    @property
    def targets(self) -> NDArray[np.int32]:
        """Number of each target in the part, (targets,); negative: in another part."""
        return self.target_numbers.of(self.ends.target)

    @cached_property
    def begins(self) -> range:
        return self.source_numbers.span(self.ends.source)

    @cached_property
    def reached(self) -> range:
        return self.target_numbers.span(self.ends.target)

    def begin_in(self, first: int, last: int) -> bool:
        runs = self.source_numbers.runs(self.ends.source)
        return any(start < last and end > first for start, end in runs)

    def rows(self, window: range | None = None, threads: int | None = None) -> Rows:
        laws = self.weight, self.latency
        given = self.projection.rule, self.ends, self.key, *laws, window, threads
        return Rows(*given, numbers=self.targets)

    def digest_input(self) -> Iterator[bytes]:
        yield from super().digest_input()
        yield self.source_numbers.digest_input(self.ends.source)
        yield self.target_numbers.digest_input(self.ends.target)


def is_divided(circuit: Circuit, links: Connections) -> bool:
    """Whether each part of a circuit draws its share of some connections, without the others."""
    if not isinstance(links, Drawn) or links.located is not None or links.plasticity is not None:
        return False
    conducts = circuit.kinds.of(links.variable) is VariableKind.CONDUCTANCE
    return circuit.phase_of is None and not conducts


def crossing(projections: Iterable[Drawn], of: Numbers, parts: int) -> dict[str, NDArray[np.bool_]]:
    """Return which other parts each component sends a variable to, variable -> (count, parts).

    A component that should have ``SURE`` connections into a part or more is taken to have one.
    Other projections are drawn, unless it is known of all their sources that they send.

    Parameters
    ----------
    projections : iterable of Drawn
        Those that are divided.
    of : (count,) int64
        Part of each component.
    parts : int
    """
    shares: dict[range, NDArray[np.float64]] = {}
    known: dict[tuple[str, range], NDArray[np.bool_]] = {}  # into which parts all sources send
    rest: list[tuple[Drawn, NDArray[np.bool_]]] = []
    for links in projections:
        source, target = links.ends.source, links.ends.target
        if target not in shares:
            here = of[target.start : target.stop]
            shares[target] = np.bincount(here, minlength=parts) / max(len(here), 1)
        degree = (links.mean_degree or 0.0) * len(target) / max(len(source), 1)
        sure = degree * shares[target] >= SURE
        into = known.setdefault((links.variable, source), np.zeros(parts, bool))
        into |= sure
        if (rare := (shares[target] > 0) & ~sure).any():
            rest.append((links, rare))
    out: dict[str, NDArray[np.bool_]] = {}
    for (variable, source), into in known.items():
        found = out.setdefault(variable, np.zeros((len(of), parts), bool))
        found[source.start : source.stop, into] = True
    for links, rare in rest:
        source, target = links.ends.source, links.ends.target
        if not (rare & ~known[links.variable, source]).any():
            continue
        mine = out[links.variable][source.start : source.stop]
        if mine[:, rare].all():
            continue
        there = of[target.start : target.stop].astype(np.int32)
        mine |= reaches(links.projection.rule, links.ends, links.key, there, parts)
    for found in out.values():
        found[np.arange(len(of)), of] = False
    return out


def least_steps(projections: Iterable[Drawn], of: Numbers, dt: float, most: int) -> int:
    """Return the least latency of connections that cross, in steps, or ``most`` if it is less.

    A projection that should have ``SURE`` connections of its least latency that cross, or more, is
    taken to have one: a shorter latency than the true one changes no bit. Then others are drawn,
    small ones first, if they may be shorter than what is known.
    """
    count, parts = np.arange(len(of), dtype=np.int32), int(of.max(initial=0)) + 1
    into: dict[int, Numbering] = {}
    every = list(projections)
    shares = cache(lambda ends: np.bincount(of[ends.start : ends.stop], minlength=parts))
    for links in every:
        least, soon = _least(links, dt, most), _at_least_latency(dt, links)
        if least < most and soon >= SURE and not isinstance(links.projection.rule, OneToOne):
            ends = links.ends.source, links.ends.target
            pairs = max(len(ends[0]) * len(ends[1]), 1)
            apart = 1.0 - float(shares(ends[0]) @ shares(ends[1])) / pairs
            most = least if soon * apart >= SURE else most
    for links in sorted(every, key=partial(_late, dt)):
        least = _least(links, dt, most)
        if least >= most:
            continue
        if links.latency.least == links.latency.most:
            found = crossing([links], of, parts)
            most = least if found[links.variable].any() else most
            continue
        here, there = (of[end.start : end.stop] for end in (links.ends.source, links.ends.target))
        for part in np.unique(there).tolist():
            if least < most and (here != part).any():
                if part not in into:
                    into[part] = Numbering(np.where(of == part, count, np.int32(-1)))
                rows = DrawnShare(links, Numbering(count), into[part]).rows()
                rows.place(np.empty(rows.edges, np.int32))
                low = rows.span(dt)[0][here != part]
                most = min(most, int(low[low > 0].min(initial=most)))
    return most


def _least(links: Drawn, dt: float, most: float) -> int:
    """Return the least latency that the law of a projection allows, in steps, up to ``most``."""
    return max(int(np.rint(min(links.latency.least / dt, most))), 1)


def _late(dt: float, links: Drawn) -> tuple[bool, float]:
    """Return what orders projections: those that should tell the least latency soon come first."""
    return _at_least_latency(dt, links) < SURE, _expected(links)


def _expected(links: Drawn) -> float:
    """Return how many connections a projection should have, infinity where that is not known."""
    degree = links.mean_degree
    return np.inf if degree is None else degree * len(links.ends.target)


def _at_least_latency(dt: float, links: Drawn) -> float:
    """Return how many connections should have the least latency that the law allows.

    0 where that is not known.
    """
    law, expected = links.projection.delay, _expected(links)
    if not isinstance(law, Distribution) or law.factor <= 0.0 or not np.isfinite(expected):
        return 0.0
    return expected * law.drawn_below((_least(links, dt, 2.0**53) + 0.5) * dt)
