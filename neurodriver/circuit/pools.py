"""Which cells of a population belong to which group of a pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError, near, quoted
from ..model.component import NDComponent
from ..model.pools import Reduce
from .axis import Axis
from .groups import Group
from .space import AxisGrid, Space

GROUP = "pool__group"
"""Axis of what is computed for a pool of one group."""

MOST_LABELS = 65536
"""Labels may be as large as this, or as the number of cells, if that is larger."""

EXACT = 2**24
"""Most members: larger numbers do not fit into single precision."""


@dataclass(frozen=True)
class PoolGroups:
    """The groups of a pool.

    Attributes
    ----------
    axes : mapping of str to Axis
        The axes along which the groups differ, or one for the parameter; empty for one group.
    of : (n,) int64
        Group of each member, which is a cell or a group of another pool; -1 for none.
    by : str
        Name of the parameter, or "".
    """

    axes: Mapping[str, Axis]
    of: NDArray[np.int64]
    by: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of groups along each axis; () for one group."""
        return tuple(axis.count for axis in self.axes.values())

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of members of each group, (count,)."""
        return np.bincount(self.of[self.of >= 0], minlength=self.count)


def pool_groups(group: Group, space: Space | None, name: str) -> PoolGroups:
    """Return the groups of a pool of a population.

    Parameters
    ----------
    group : Group
        The population.
    space : Space or None
        The positions of its cells.
    name : str
        Of the pool.

    Raises
    ------
    CircuitError
        For axes that the population does not have, and values of ``by`` that are no labels.
    """
    pool: Reduce = group.model.pools[name]
    where = f"{group.name}.pools[{quoted(name)}]"
    if pool.reduce == "argmax" and group.count > EXACT:
        raise CircuitError(f"{where}: argmax has {EXACT:,} cells at most, got {group.count:,}")
    if pool.variable in group.model.pools:
        return _of_pool(pool, pool_groups(group, space, pool.variable), where)
    if pool.by is not None:
        return _by(pool.by, group, where)
    if not pool.over:
        return PoolGroups({}, np.zeros(group.count, np.int64))
    axes = dict(space.axes) if isinstance(space, AxisGrid) else {}
    kept = _kept(pool, axes, where)
    assert isinstance(space, AxisGrid)
    columns = [space.indices[:, list(axes).index(one)] for one in kept]
    return PoolGroups(kept, _joined(columns, kept, group.count))


def pool_axes(model: type[NDComponent], axes: Mapping[str, Axis], name: str) -> dict[str, Axis]:
    """Return the axes along which the groups of a pool differ; none of one by a parameter."""
    pool: Reduce = model.pools[name]
    below = pool_axes(model, axes, pool.variable) if pool.variable in model.pools else axes
    return {n: axis for n, axis in below.items() if n not in pool.over} if pool.over else {}


def _of_pool(pool: Reduce, below: PoolGroups, where: str) -> PoolGroups:
    """Return the groups of a pool of pools; groups without members are left out."""
    kept = _kept(pool, below.axes, where) if pool.over else {}
    indices = np.unravel_index(np.arange(below.count), below.shape) if below.shape else ()
    columns = [indices[list(below.axes).index(one)] for one in kept]
    of = _joined(columns, kept, below.count)
    return PoolGroups(kept, np.where(below.sizes > 0, of, -1))


def _kept(pool: Reduce, axes: Mapping[str, Axis], where: str) -> dict[str, Axis]:
    lost = [one for one in pool.over if one not in axes]
    if lost:
        among = ", ".join(axes) or "none"
        raise CircuitError(
            f"{where}: no axis {quoted(lost[0])}{near(lost[0], axes)}; the axes are {among}"
        )
    return {name: axis for name, axis in axes.items() if name not in pool.over}


def _joined(
    columns: list[NDArray[np.int64]], axes: Mapping[str, Axis], count: int
) -> NDArray[np.int64]:
    """Return one number for the indices along some axes."""
    out = np.zeros(count, np.int64)
    for column, axis in zip(columns, axes.values(), strict=True):
        out = out * axis.count + column
    return out


def _by(name: str, group: Group, where: str) -> PoolGroups:
    given = group.params.get(name, group.model.params[name].default)
    labels = np.broadcast_to(np.asarray(given, np.float64), (group.count,))
    most = min(max(MOST_LABELS, group.count), EXACT)
    wrong = np.flatnonzero(~((labels >= 0) & (labels < most) & (labels == np.floor(labels))))
    if len(wrong):
        cell, value = int(wrong[0]), labels[wrong[0]]
        raise CircuitError(
            f"{where}: {quoted(name)} of cell {cell} is {value:g}; the numbers of groups are "
            f"whole, from 0 to {most - 1:,}"
        )
    of = labels.astype(np.int64)
    return PoolGroups({name: Axis(int(of.max(initial=0)) + 1)}, of, name)
