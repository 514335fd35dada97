"""Values that LPUs have sent through ports: those that rings hold, and those on their way.

An element may hold what a component of another LPU had some steps before: the element of an input
port that another process feeds, or of a relay within a process. Where such elements are depends on
how LPUs lie on ranks. So a snapshot does not hold them; it holds what the output ports have sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from .snapshot import SentRows, Snapshot

Elements = NDArray[np.int64]


class Underway:
    """Rows that are decided at step k though no ring has them yet.

    An element that holds in row r what its source had in row r - s is decided up to row k + s.

    Parameters
    ----------
    step : int
        The step k.
    """

    def __init__(self, step: int) -> None:
        self.step = step
        self._rows: dict[tuple[str, int], list[tuple[Elements, NDArray[Any]]]] = {}

    def add(self, variable: str, row: int, elements: Elements, values: NDArray[Any]) -> None:
        """Note what elements will hold in a row."""
        self._rows.setdefault((variable, row), []).append((elements, values))

    def newest(self, variable: str) -> int:
        """Return the last row of a variable that is decided in part, at least k."""
        return max([self.step, *(row for name, row in self._rows if name == variable)])

    def rows(self, variable: str, first: int) -> list[int]:
        """Return the rows of a variable from ``first`` on of which a part is on its way."""
        return sorted(row for name, row in self._rows if name == variable and row >= first)

    def row(self, backend: Backend, variable: str, row: int) -> NDArray[Any]:
        """Return a row of a variable as it will be; 0 where it is not decided."""
        if row <= self.step:
            values = backend.row(variable, row)
        else:
            width = backend.program.layout.rings[variable].width
            values = np.zeros(width, backend.program.dtype)
        parts = self._rows.get((variable, row), [])
        if parts and row <= self.step:
            values = values.copy()
        for elements, those in parts:
            values[elements] = those
        return values


@dataclass(frozen=True, eq=False)
class Placed:
    """Last rows of some elements of a variable.

    Attributes
    ----------
    elements : (m,) int64
    rows : (r, m) array
        Row j is that of step k - j.
    counts : (m,) int64
        How many of the rows hold for each.
    """

    elements: Elements
    rows: NDArray[Any]
    counts: NDArray[np.int64]

    def put(self, rows: NDArray[Any]) -> None:
        """Write them into the rows of the variable, of which row j is that of step k - j."""
        most = min(len(rows), len(self.rows))
        order = np.argsort(self.counts, kind="stable")  # of equal elements the longest counts
        elements = self.elements[order]
        known = np.arange(most)[:, None] < self.counts[order]
        part = rows[:most, elements]
        rows[:most, elements] = np.where(known, self.rows[:most, order], part)


class Ports(Protocol):
    """What a simulation knows of ports that lead to and from other LPUs.

    Attributes
    ----------
    groups : frozenset of int
        Groups whose elements hold what others sent; a snapshot does not hold them.
    """

    @property
    def groups(self) -> frozenset[int]: ...

    def underway(self, step: int) -> Underway:
        """Return what is on its way at a step; other processes are asked, and ask."""

    def kept(self, step: int) -> Mapping[str, SentRows]:
        """Return what has been sent, for the rows that may still be read; after `underway`."""

    def placed(self, snapshot: Snapshot) -> Mapping[str, Sequence[Placed]]:
        """Return the rows of elements that follow from what a snapshot says was sent."""


class NoPorts:
    """A simulation of one circuit."""

    groups: frozenset[int] = frozenset()

    def underway(self, step: int) -> Underway:
        """Return nothing."""
        return Underway(step)

    def kept(self, step: int) -> Mapping[str, SentRows]:
        """Return nothing."""
        return {}

    def placed(self, snapshot: Snapshot) -> Mapping[str, Sequence[Placed]]:
        """Return nothing."""
        return {}
