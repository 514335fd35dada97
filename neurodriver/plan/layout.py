"""``Layout``: the offset of every variable of a circuit in memory.

Each variable that others read has a ring: ``depth`` rows, one for each of the last steps. A row has
a segment for each group that updates the variable, and a segment ``inputs`` for injected values.
Example: with groups of 3 and 20 components and ``LANES`` = 16 the segments begin at elements 0 and
16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..model.kinds import VariableKind
from ..native.buffers import GUARD, LANES, padded
from .injection import Slots
from .member_sums import MemberSum, member_sums
from .stages import earliest_stages, stages_of
from .target import Target


@dataclass(frozen=True)
class Segment:
    """The elements of one group in each row of a variable."""

    owner: str
    start: int
    count: int


@dataclass
class Ring:
    """The ring of one variable: its rows and the segments of a row.

    Attributes
    ----------
    depth : int
        Rows: the longest delay in steps + 1.
    segments : dict
        Owner (``group number`` as str, or ``inputs``) -> Segment.
    width : int
        Elements of a row; its last ``LANES`` are always zero.
    """

    variable: str
    depth: int
    kind: VariableKind = VariableKind.GRADED
    segments: dict[str, Segment] = field(default_factory=dict)
    width: int = 0

    def add(self, owner: str, count: int) -> None:
        """Append a segment."""
        self.segments[owner] = Segment(owner, self.width, count)
        self.width += padded(count)

    @property
    def is_event(self) -> bool:
        """Whether the rows hold events."""
        return self.kind is VariableKind.EVENT

    @property
    def inputs_alone(self) -> bool:
        """Whether the rows hold nothing but inputs, and no events."""
        return set(self.segments) == {"inputs"} and not self.is_event

    @property
    def zero(self) -> int:
        """Index of an element that stays zero."""
        return self.width - LANES


@dataclass(frozen=True)
class Layout:
    """Rings, segments and storage orders; made before the sums are planned.

    Attributes
    ----------
    circuit : Circuit
        With its Aggregators.
    dt : float
        Step in seconds.
    dtype : dtype
        float64 or float32.
    target : Target
        Backend that the memory is for.
    slots : Slots
        Where inputs inject.
    positions : mapping of int to (count,) int64
        Storage order of the groups that are stored in another order than the circuit's.
    window : int
        Steps from one barrier to the next.
    """

    circuit: Circuit
    dt: float
    dtype: np.dtype
    target: Target
    rings: Mapping[str, Ring]
    slots: Slots
    positions: Mapping[int, NDArray[np.int64]] = field(default_factory=dict)
    window: int = 1

    @cached_property
    def stages(self) -> tuple[int, ...]:
        """Stage of each group: those of a step follow each other, with a barrier between them."""
        find = earliest_stages if self.target.threads else stages_of
        return find(self.circuit, self.member_sums)

    @cached_property
    def member_sums(self) -> dict[int, MemberSum]:
        """Pools whose members add to them, by the number of the group of the pool."""
        return member_sums(self.circuit)

    @property
    def kept(self) -> frozenset[str]:
        """Variables whose ring holds inputs alone, read without a delay.

        Such a ring has rows for two windows. It keeps its row as long as no input changes, and a
        table ``where`` says which row belongs to which of these steps.
        """
        rings = self.rings.values() if self.target.keeps_rows else ()
        two = 2 * self.window
        return frozenset(r.variable for r in rings if r.inputs_alone and r.depth == two)

    def nbytes(self) -> dict[str, int]:
        """Return the bytes of each variable's ring."""
        size, guard = self.dtype.itemsize, GUARD if self.target.hosted else LANES
        return {v: (r.depth * r.width + 2 * guard) * size for v, r in self.rings.items()}

    def segment(self, number: int, variable: str) -> Segment:
        """Return the segment of a group in the rows of a variable."""
        return self.rings[variable].segments[str(number)]

    def capacity(self, number: int) -> int:
        """Return the number of elements that a group is stored in, gaps included."""
        order = self.positions.get(number)
        return self.circuit.groups[number].count if order is None else int(order.max()) + 1

    def elements(self, number: int, variable: str) -> NDArray[np.int64]:
        """Return the elements of a group's components in a row of a variable, (count,)."""
        segment = self.segment(number, variable)
        order = self.positions.get(number)
        count = self.circuit.groups[number].count
        return segment.start + (np.arange(count) if order is None else order)


def rings_of(
    circuit: Circuit,
    depths: Mapping[str, int],
    injected: Mapping[str, int],
    target: Target,
    silent: frozenset[tuple[int, str]],
    capacities: Mapping[int, int],
) -> dict[str, Ring]:
    """Return the rings of a circuit's variables.

    Parameters
    ----------
    circuit : Circuit
        With its Aggregators.
    depths : mapping of variable to int
        Largest delay in steps of each variable.
    injected : mapping of variable to int
        Number of input slots of each variable.
    silent : set of (group number, variable)
        Updated variables that nothing reads outside a fused kernel: they get no memory.
    capacities : mapping of group number to int
        Numbers of elements of groups that are stored with gaps.
    """
    rings: dict[str, Ring] = {}

    def ring(variable: str) -> Ring:
        rows = target.depth(depths.get(variable, 1) + 1)
        return rings.setdefault(variable, Ring(variable, rows, circuit.kinds.of(variable)))

    for number, group in enumerate(circuit.groups):
        for variable in group.model.updates:
            if (number, variable) not in silent:
                ring(variable).add(str(number), capacities.get(number, group.count))
        if group.model.runtime.instance:  # its instance reads rings
            for access in group.model.accesses:
                ring(access.variable)
    for variable, count in injected.items():
        ring(variable).add("inputs", count)
    for number, group in enumerate(circuit.groups):
        if group.is_port:
            for links in circuit.connections:
                known = rings.get(links.variable)
                if known is not None and str(number) in known.segments:
                    continue
                start = int(circuit.starts[number])
                if links.begin_in(start, start + group.count):
                    ring(links.variable).add(str(number), group.count)
    for one in rings.values():
        one.width += LANES
    return rings
