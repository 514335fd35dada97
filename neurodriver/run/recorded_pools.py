"""Pools that are recorded: their present row, before a run, from the values of their members.

In a run each step computes the pools of its values, as a part of the step. A run may begin with
values that no step has computed: the initial ones, those of a checkpoint, and what users have set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..circuit.axis import Axis
from ..circuit.circuit import Circuit
from ..circuit.pools import pool_axes
from ..circuit.space import AxisGrid, Space
from ..plan.pool_models import POOLS
from ..plan.program import Program
from .live_pools import pool_values

if TYPE_CHECKING:
    from .live_places import Live


class RecordedPools:
    """The pools of a program that are recorded."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._pools = list(_recorded(program))
        self.stale = bool(self._pools)

    def begin(self) -> None:
        """Let the next `refresh` compute them: values may have been set."""
        self.stale = bool(self._pools)

    def refresh(self, copies: Sequence[Live]) -> None:
        """Compute the present row of the pools of each copy, where a run begins."""
        stale, self.stale = self.stale, False
        for copy in copies if stale else ():
            for number, members, name in self._pools:
                values = pool_values(copy, members, name).reshape(-1)
                at = self._program.layout.elements(number, name)
                if copy.step:
                    copy.backend.live.write_row(name, copy.step, at, values)
                else:
                    copy.backend.put(name, at, values)


def _recorded(program: Program) -> Iterator[tuple[int, int, str]]:
    """Yield group, group of the members, and name of each pool that is recorded."""
    groups = program.circuit.groups
    of = {group.layer.population: number for number, group in enumerate(groups) if group.layer}
    for number, group in enumerate(groups):
        if group.model.__module__ == POOLS and not group.hidden and group.layer is not None:
            population, _, name = group.layer.population.rpartition(".")
            yield number, of[population], name


def sizes_of_pools(circuit: Circuit) -> dict[str, dict[str, int]]:
    """Return the number of groups along each axis of pools that reduce along some axes."""
    found = {}
    for group in circuit.groups:
        if group.layer is None or not group.model.pools:
            continue
        axes = _axes(circuit.spaces.get(group.layer.population))
        for name in group.model.pools:
            if kept := pool_axes(group.model, axes, name):
                sizes = {n: axis.count for n, axis in kept.items()}
                found[f"{group.layer.population}.{name}"] = sizes
    return found


def _axes(space: Space | None) -> Mapping[str, Axis]:
    return space.axes if isinstance(space, AxisGrid) else {}
