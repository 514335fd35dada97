"""Pools of a population between calls, computed from the present values of its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.pools import PoolGroups, pool_groups
from ..model.pools import Reduce
from ..plan.member_sums import MOST
from ..plan.pool_models import BLOCK, SIGN
from .live_places import place_of

if TYPE_CHECKING:
    from .live_places import Live

Values = NDArray[np.floating]


def pool_values(simulation: Live, number: int, name: str) -> Values:
    """Return a pool of a population, one number for each of the pool's groups.

    It is computed from the present values. The bits are those that the next step reads.
    """
    values, found = _pool(simulation, number, name)
    return values.reshape(found.shape)


def _pool(simulation: Live, number: int, name: str) -> tuple[Values, PoolGroups]:
    circuit = simulation.program.circuit
    group = circuit.groups[number]
    assert group.layer is not None
    found = pool_groups(group, circuit.spaces.get(group.layer.population), name)
    pool = group.model.pools[name]
    if pool.variable in group.model.pools:
        given = _pool(simulation, number, pool.variable)[0]
    else:
        place = place_of(simulation.program, number, pool.variable)
        assert place is not None
        given = np.array(place.read_all(simulation))
    if pool.multiple_of is not None:
        return _of_members(given, found, pool), found
    return reduced(given, found, pool.reduce), found


def _of_members(values: Values, groups: PoolGroups, pool: Reduce) -> Values:
    """Return a pool whose members add to it: sums of whole multiples."""
    real = values.dtype.type
    assert pool.multiple_of is not None
    multiples = np.rint(values * real(1 / pool.multiple_of))
    least = np.where(multiples > -MOST, multiples, real(-MOST))
    units = np.minimum(least, real(MOST)).astype(np.int64)
    sums = np.zeros(groups.count, np.int64)
    member = groups.of >= 0
    np.add.at(sums, groups.of[member], units[member])
    out = sums.astype(real) * real(pool.multiple_of)
    if pool.reduce == "mean":
        sizes = groups.sizes
        return np.divide(out, sizes.astype(real), out=np.zeros_like(out), where=sizes > 0)
    return out


def reduced(values: Values, groups: PoolGroups, reduce: str) -> Values:
    """Return the reduction of the members of each group, (groups,).

    The members of a block are joined one after the other, and the results of blocks in pairs.
    """
    order = np.argsort(groups.of, kind="stable")
    order = order[groups.of[order] >= 0]
    taken = values[order]
    if reduce in ("count", "any"):
        taken = (taken != 0).astype(values.dtype)
    sizes, sign = groups.sizes, SIGN[reduce]
    if sign in "<>":
        return _best(taken, order, sizes, reduce)
    neutral = values.dtype.type(sign == "*")
    join: Any = np.multiply if sign == "*" else np.add
    sums, counts = _blocks(taken, sizes, neutral, join)
    while (counts > 1).any():
        sums, counts = _pairs(sums, counts, join)
    out = np.full(len(sizes), neutral)
    out[counts > 0] = sums
    if reduce == "mean":
        members = sizes.astype(values.dtype)
        return np.divide(out, members, out=np.zeros_like(out), where=sizes > 0)
    return out


def _best(values: Values, members: NDArray[np.int64], sizes: Any, reduce: str) -> Values:
    """Return the greatest or the least value of each group, or the number of its member."""
    out = np.full(len(sizes), -1 if reduce == "argmax" else 0, values.dtype)
    ends = np.cumsum(sizes)
    best = np.argmin if SIGN[reduce] == "<" else np.argmax
    for group in np.flatnonzero(sizes).tolist():
        own = slice(ends[group] - sizes[group], ends[group])
        place = int(best(values[own]))
        out[group] = members[own][place] if reduce == "argmax" else values[own][place]
    return out


def _blocks(
    values: Values, sizes: NDArray[np.int64], neutral: Any, join: Any
) -> tuple[Values, NDArray[np.int64]]:
    """Return each block's members joined in their order, and how many blocks each group has."""
    counts = -(-sizes // BLOCK)
    of = np.repeat(np.arange(len(sizes)), counts)
    within = np.arange(len(of)) - (np.cumsum(counts) - counts)[of]
    first = (np.cumsum(sizes) - sizes)[of] + within * BLOCK
    length = np.minimum(sizes[of] - within * BLOCK, BLOCK)
    sums = np.full(len(of), neutral)
    for place in range(int(length.max(initial=0))):
        live = place < length
        sums[live] = join(sums[live], values[first[live] + place])
    return sums, counts


def _pairs(sums: Values, counts: NDArray[np.int64], join: Any) -> tuple[Values, NDArray[np.int64]]:
    """Return sums of pairs of neighbours within each group; the last one may stay alone."""
    starts = np.cumsum(counts) - counts
    halves = -(-counts // 2)
    of = np.repeat(np.arange(len(counts)), halves)
    left = starts[of] + 2 * (np.arange(len(of)) - (np.cumsum(halves) - halves)[of])
    pair = left + 1 < (starts + counts)[of]
    out = sums[left]
    out[pair] = join(sums[left[pair]], sums[left[pair] + 1])
    return out, halves
