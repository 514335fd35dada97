"""Which plan sums the inputs of an access: the list of plans, and the first one that pays.

A plan is added in a module of its own. A function makes its arrays and has a place in ``PLANS``. A
class writes its text for a CPU and has a place in ``codegen.cpu.events.SUM_TEXTS``, another one for
a GPU in ``codegen.simt.threads.THREAD_SUMS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...native.buffers import LANES
from .aligned import aligned_plan
from .gather import (
    MANY,
    NEAR,
    Edges,
    Gather,
    in_rows,
    lattice_plan,
    rows_plan,
    single_plan,
    sliced_plan,
)


@dataclass(frozen=True)
class Wanted:
    """Connections that need a plan.

    Attributes
    ----------
    edges : Edges
        At least one; what all share is a number.
    count, zero, lattice, threads, integer
        As `plan` gets them.
    degree : (count,) int64
        Connections of each component.
    """

    edges: Edges
    count: int
    zero: int
    degree: NDArray[np.int64]
    lattice: bool
    threads: bool
    integer: bool

    @property
    def slices(self) -> int:
        """How many times ``LANES`` components."""
        return -(-self.count // LANES)

    @property
    def varied(self) -> list[str]:
        """Names of the data that connections do not share."""
        return [name for name, column in self.edges.data.items() if column.ndim]


def plan(
    edges: Edges,
    count: int,
    zero: int,
    lattice: bool = True,
    threads: bool = False,
    sliced: bool = False,
    integer: bool = False,
) -> Gather:
    """Choose the form of an access and make its arrays.

    Parameters
    ----------
    edges : Edges
    count : int
        Components of the group.
    zero : int
        Element that is always zero, for components without a connection.
    lattice : bool
        Whether the lattice form may be chosen.
    threads : bool
        Whether it is for a device of many threads: ``rows`` may be chosen, and ``lattice`` only
        where a thread could not keep the connections of its component.
    sliced : bool
        Whether no other form than ``sliced`` may be chosen.
    integer : bool
        Whether the data is one integer weight, so that a component without a connection may read
        the element that is always zero.
    """
    if not len(edges.target):
        return Gather("none", 0, cost=np.zeros(-(-count // LANES)))
    degree = np.bincount(edges.target, minlength=count)
    wanted = Wanted(_compact(edges), count, zero, degree, lattice, threads, integer)
    if sliced:
        return _sliced(wanted)
    return next(made for make in PLANS if (made := make(wanted)) is not None)


def _compact(edges: Edges) -> Edges:
    """Keep one number where all connections share it."""

    def one(column: NDArray[np.generic]) -> NDArray[np.generic]:
        same = column.ndim and (column == column[0]).all()
        return column[0].reshape(()) if same else column

    data = {name: one(column) for name, column in edges.data.items()}
    return Edges(edges.target, edges.element, one(edges.back), data)  # type: ignore[arg-type]


def _single(w: Wanted) -> Gather | None:
    weighted = w.threads and w.integer  # a thread multiplies what it reads
    one = w.degree.max() == 1 and (weighted or not w.edges.data)
    return single_plan(w.edges, w.varied, w.count, w.zero, w.slices) if one else None


def _aligned(w: Wanted) -> Gather | None:
    return aligned_plan(w.edges, w.count, w.slices)


def _rows(w: Wanted) -> Gather | None:
    many = w.threads and in_rows(len(w.edges.target), w.count)
    return rows_plan(w.edges, w.varied, w.degree, w.slices) if many else None


def _lattice(w: Wanted) -> Gather | None:
    kept = w.threads and w.degree.max() <= NEAR and w.count <= MANY  # by the threads themselves
    if kept or not w.lattice or w.edges.back.ndim:
        return None
    return lattice_plan(w.edges, w.varied, w.slices, w.zero if w.threads else None)


def _sliced(w: Wanted) -> Gather:
    return sliced_plan(w.edges, w.varied, w.degree, w.slices)


PLANS: list[Callable[[Wanted], Gather | None]] = [
    _single, _aligned, _rows, _lattice, _sliced,
]  # fmt: skip
"""What makes a plan, or None where it does not pay. The first one that does is taken."""
