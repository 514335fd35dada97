"""``Drawer``: what draws the connections of an access where they will lie, such as on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...circuit.drawn import Drawn
from .weights import Bounds

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Piece:
    """Rows of a projection whose sources are neighbours in memory.

    Attributes
    ----------
    rule : int
        Number of the projection.
    first, last : int
        Rows: places among its sources.
    element : int
        What is added to a row's number to get that of the source.
    start, stop, origin : int
        Wanted places among its targets, and what is added to one to get the number of the target.
    """

    rule: int
    first: int
    last: int
    element: int
    start: int
    stop: int
    origin: int


@dataclass(frozen=True)
class Asked:
    """The connections of an access.

    Attributes
    ----------
    drawn : sequence of Drawn
    pieces : sequence of Piece
        Of all of them, in the order in which they stand in the row of a source.
    sources, targets : int
        How many there are.
    dt : float
        Step in seconds.
    """

    drawn: Sequence[Drawn]
    pieces: Sequence[Piece]
    sources: int
    targets: int
    dt: float


@dataclass(frozen=True)
class Survey:
    """What is known of connections without storing them.

    Attributes
    ----------
    count, near : (sources,) int64
        Connections of each source, and those of them that are due in the next step.
    low, high : (sources,) int64
        Least and greatest delay of each source in steps; ``high`` is 0 where there is none.
    span : (pieces, 2) int64
        Least and greatest delay in steps; the greatest is 0 where there is no connection.
    bounds : Bounds
        Of the weights.
    error : (targets,) float64
        How far the sums of |weights| may be from those in the order of the sources.
    divisor : (targets,) int64 or None
        Greatest common divisor of weights / ``grid``, 0 where there is no weight but 0; where all
        weights are drawn as multiples of one number.
    grid : float
        This number, or 0.
    """

    count: Integers
    near: Integers
    low: Integers
    high: Integers
    span: Integers
    bounds: Bounds
    error: Reals
    divisor: Integers | None = None
    grid: float = 0.0


class Drawer(Protocol):
    """Draws connections with the bits of `circuit.drawing`.

    Attributes
    ----------
    many : int
        Connections of an access from which it draws them; the host draws fewer.
    """

    many: int

    def refuses(self, links: Drawn) -> str:
        """Return why it cannot draw a projection, empty where it can."""
        ...

    def survey(self, asked: Asked) -> Survey | None:
        """Look through all connections; None where a row is too long."""
        ...

    def remainders(self, asked: Asked, unit: Reals, alike: float) -> tuple[Reals, Reals]:
        """Return what `units_of` asks for."""
        ...

    def write(
        self,
        asked: Asked,
        first: Integers,
        near: Integers,
        width: int,
        unit: Reals,
        code: int,
        multiple: int,
        size: int,
    ) -> None:
        """Write codes and weights, in whole units, to addresses.

        The row of source i begins at first[i], and the connections in it that are not due in the
        next step at near[i]. ``size`` is that of a weight in bytes, 0 where none are wanted.
        """
        ...

    def write_by_delay(
        self,
        asked: Asked,
        first: Integers,
        low: NDArray[np.int32],
        bins: Integers,
        unit: Reals,
        code: int,
        multiple: int,
        size: int,
        shift: int,
        ends: int,
    ) -> None:
        """Write targets and weights, sorted by delay in each row, and where bins end.

        ``low`` and ``bins`` are those of `due.Bins`; ``ends`` is an address, too. Where ``shift``
        is not 0, weights stand above so many bits of their targets.
        """
        ...


def grid_of(asked: Asked) -> float:
    """Return the number of which all weights are drawn as multiples; 0 where there is none."""
    grids = {abs(links.weight.factor) * links.weight.grid for links in asked.drawn}
    return grids.pop() if len(grids) == 1 else 0.0


def pieces_of(
    drawn: Sequence[Drawn],
    groups: Sequence[tuple[int, int, int]],
    targets: range,
) -> list[Piece]:
    """Return the pieces of projections.

    Parameters
    ----------
    drawn : sequence of Drawn
    groups : sequence of (first, last, element)
        Component numbers of groups of sources, and the number of the first one as a source.
    targets : range
        Component numbers of the wanted targets.
    """
    out = []
    for rule, links in enumerate(drawn):
        source, target = links.ends.source, links.ends.target
        start, stop = max(targets.start, target.start), min(targets.stop, target.stop)
        wanted = start - target.start, stop - target.start, target.start - targets.start
        for begin, end, element in groups:
            first, last = max(begin, source.start), min(end, source.stop)
            if first < last:
                row = first - source.start
                where = element + first - begin - row
                out.append(Piece(rule, row, last - source.start, where, *wanted))
    return out


def spans_by(drawn: int, pieces: Sequence[Piece], span: Integers) -> list[tuple[int, int]]:
    """Return the least and the greatest delay in steps of each projection; 0, 0 without any."""
    rule: NDArray[Any] = np.array([piece.rule for piece in pieces], np.int64)
    low, high = np.full(drawn, np.iinfo(np.int64).max), np.zeros(drawn, np.int64)
    has = span[:, 1] > 0
    np.minimum.at(low, rule[has], span[has, 0])
    np.maximum.at(high, rule, span[:, 1])
    return list(zip(np.where(high > 0, low, 0).tolist(), high.tolist(), strict=True))
