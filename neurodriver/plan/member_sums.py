"""Pools whose members add to them: sums of integers, which no order of additions changes.

A pool with ``multiple_of`` has no components that compute it. Each member adds its value, in whole
multiples, to an integer of its group. It does so in the step that computes the value, so readers of
this step or of the next one find the sum complete after a barrier. A pool has ``ROWS`` rows of
integers. In step k members add to row k + 1, and clear row k + 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..circuit.pointers import group_of
from ..circuit.pools import PoolGroups, pool_groups
from ..errors import CircuitError, quoted
from ..native.buffers import padded
from .arrays import Array, Key, Kind, PopulationOwner, row, zeros
from .pool_models import VALUE, MemberPool

if TYPE_CHECKING:
    from .layout import Layout

ROWS = 4
"""Rows of integers: one is read, one is added to, one is cleared; a power of two."""

MOST = 2.0**38
"""Multiples that a value counts as, at most."""

MOST_MEMBERS = 1 << 24
"""Members of a group: each counts as `MOST` multiples at most, and a sum has 63 bits."""


@dataclass(frozen=True, eq=False)
class MemberSum:
    """A pool whose members add to it.

    Attributes
    ----------
    pool, members : int
        Numbers of the groups.
    variable : str
        What is added.
    mean : bool
        Whether the sum is divided by the number of members.
    ahead : bool
        Whether values of this step are read, or else those of the step before.
    """

    pool: int
    members: int
    variable: str
    mean: bool
    multiple: float
    ahead: bool
    groups: PoolGroups

    @property
    def together(self) -> bool:
        """Whether there is one group with all members."""
        return self.groups.count == 1 and bool((self.groups.of == 0).all())

    def key(self, kind: Kind, name: str) -> Key:
        """Return the key of what belongs to the pool."""
        return Key(PopulationOwner(self.pool), kind, name)

    @property
    def sums(self) -> Key:
        """Key of the integers, (ROWS, groups)."""
        return self.key(Kind.SUM, "of members")

    @property
    def sizes(self) -> Key:
        """Key of the number of members of each group."""
        return self.key(Kind.INDEX, "members")

    @property
    def group_of_member(self) -> Key:
        """Key of the group of each member, -1 for none; where there are several groups."""
        return self.key(Kind.INDEX, "group")

    def size(self, name: str) -> Key:
        """Return the key of the number of ``groups``, or of ``members`` with their gaps."""
        return self.key(Kind.SIZE, f"{name} of pool")

    def rows(self, layout: Layout) -> Iterator[Array]:
        """Yield the rows of the array table."""
        yield row(self.size("groups"), self.groups.count)
        yield row(self.size("members"), layout.capacity(self.members))
        yield zeros(self.sums, ROWS * self.groups.count, np.int64)
        yield row(self.sizes, self.groups.sizes.astype(np.int32))
        if not self.together:
            order = layout.positions.get(self.members)
            of: NDArray[np.int32] = np.full(padded(layout.capacity(self.members)), -1, np.int32)
            of[np.arange(len(self.groups.of)) if order is None else order] = self.groups.of
            yield row(self.group_of_member, of)


def member_sums(circuit: Circuit) -> dict[int, MemberSum]:
    """Return the pools whose members add to them, by the number of the group of the pool."""
    found = {}
    for number, group in enumerate(circuit.groups):
        if not issubclass(group.model, MemberPool) or group.layer is None:
            continue
        name = group.model.pool
        (population,) = group.layer.sources["cells"]
        members = group_of(circuit, population, group.layer.population)[0]
        rule = circuit.groups[members].model.pools[name]
        assert rule.multiple_of is not None
        groups = pool_groups(circuit.groups[members], circuit.spaces.get(population), name)
        if groups.sizes.max(initial=0) > MOST_MEMBERS:
            where = f"{circuit.groups[members].name}.pools[{quoted(name)}]"
            say = f"multiple_of= takes groups of {MOST_MEMBERS:,} members at most"
            raise CircuitError(f"{where}: {say}; leave it out")
        ahead = circuit.groups[members].phase < group.phase
        mean = rule.reduce == "mean"
        found[number] = MemberSum(
            number, members, rule.variable, mean, rule.multiple_of, ahead, groups
        )
    return found


def without_memory(circuit: Circuit) -> set[tuple[int, str]]:
    """Return the variables of such pools, which no kernel writes: (group number, variable)."""
    numbered = enumerate(circuit.groups)
    return {(number, VALUE) for number, group in numbered if issubclass(group.model, MemberPool)}
