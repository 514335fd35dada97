"""``Drawer``: what draws the connections of an access where they will lie, such as on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...circuit.drawn import Drawn
from ...circuit.drawn_share import DrawnShare
from .weights import Bounds

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Asked:
    """The connections of an access.

    Attributes
    ----------
    drawn : sequence of Drawn
        In the order in which their connections stand in the row of a source.
    source, target : (components,) int32
        Number of each component among the sources and among the targets; negative: none of them.
        Components are those that the ends of ``drawn`` count: of the whole circuit, in a part, too.
    sources, targets : int
        How many there are.
    dt : float
        Step in seconds.
    """

    drawn: Sequence[Drawn]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
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
    longest : (projections,) int64
        Greatest delay in steps; 0 where there is no connection.
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
    longest: Integers
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

    def survey(self, asked: Asked) -> Survey | None:
        """Look through all connections; None where a row is too long."""

    def remainders(self, asked: Asked, unit: Reals, alike: float) -> tuple[Reals, Reals]:
        """Return what `units_of` asks for."""

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


def grid_of(asked: Asked) -> float:
    """Return the number of which all weights are drawn as multiples; 0 where there is none."""
    grids = {abs(links.weight.factor) * links.weight.grid for links in asked.drawn}
    return grids.pop() if len(grids) == 1 else 0.0


def numbers_of_ends(
    drawn: Sequence[Drawn], source: NDArray[np.int64], target: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Return ``source`` and ``target`` of `Asked`; None where projections count differently.

    Both are given for the components of the circuit, which may be a part of another one.
    """
    shares = [links for links in drawn if isinstance(links, DrawnShare)]
    if not shares:
        return source.astype(np.int32), target.astype(np.int32)
    ends = {(id(links.source_numbers), id(links.target_numbers)) for links in shares}
    if len(ends) > 1 or len(shares) < len(drawn):
        return None
    both = (shares[0].source_numbers, source), (shares[0].target_numbers, target)
    first, second = (np.where(n.table < 0, -1, at[n.table]).astype(np.int32) for n, at in both)
    return first, second
