"""Storage order, on a device of many threads above all; results do not depend on it.

Components that feed one target each are stored in the order of their targets: whoever sums them
then reads neighbours. Rows of a grid begin at multiples of ``LANES``: neighbours whose connections
are alike then share the records of a lattice, and no slice has the records of two rows.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..circuit.drawn import Drawn
from ..circuit.pointers import pointers
from ..model.component import NDComponent
from ..model.texts import looped_accesses
from ..native.buffers import LANES
from .fusion import Fused
from .passes.draft import Merged
from .sums.by_place import never_stored
from .sums.gather import NEAR, in_rows

Places = NDArray[np.int64]

LOOSE = 1.5
"""Storage places for a component, at most."""

SPREAD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)
"""Odd numbers that mix bits."""


def storage(
    circuit: Circuit,
    fusions: Mapping[int, Fused],
    merged: Merged,
    drawn: Sequence[Drawn],
    moves: bool,
) -> tuple[dict[int, int], dict[int, Places]]:
    """Return in how many places groups are stored, and where each component is.

    Parameters
    ----------
    circuit : Circuit
    fusions : mapping of int to Fused
    merged : Merged
    drawn : sequence of Drawn
        Connections that are drawn in place already.
    moves : bool
        Whether the order may differ from the circuit's without a fusion or a merger.

    Returns
    -------
    capacities : dict of int to int
        Group number -> places, of groups with gaps.
    positions : dict of int to (count,) int64
        Group number -> place of each component, of groups in another order.
    """
    unstored = never_stored(circuit) if moves else []
    ordered = _but_read(circuit, by_target(circuit, [*drawn, *unstored])) if moves else {}
    kept = {*merged.places, *groups_of(circuit, unstored)}
    grids = _but_read(circuit, by_rows(circuit, ordered, kept)) if moves else {}
    capacities = {f.synapse: f.capacity for f in fusions.values()} | merged.places
    capacities |= {number: int(place[-1]) + 1 for number, place in grids.items()}
    positions = {f.synapse: f.gather.place for f in fusions.values() if f.gather.place is not None}
    return capacities, positions | ordered | grids | merged.positions


def _but_read(circuit: Circuit, orders: Mapping[int, Places]) -> dict[int, Places]:
    """Return storage orders without those of populations whose cells are read by their numbers."""
    read = {one.group for one in pointers(circuit)}
    read |= {n for n, group in enumerate(circuit.groups) if group.layer is not None}
    read |= {n for n, group in enumerate(circuit.groups) if looped_accesses(group.model)}
    return {number: order for number, order in orders.items() if number not in read}


def by_target(circuit: Circuit, drawn: Sequence[Drawn] = ()) -> dict[int, Places]:
    """Return the storage places of groups whose components all feed exactly one target.

    Groups at the ends of connections that are ``drawn`` in place already, or learn and will be
    drawn so, stay as they are.

    Returns
    -------
    dict of group number to (count,) int64
        Only groups whose order changes.
    """
    starts = np.asarray(circuit.starts, dtype=np.int64)
    learn = (one for one in circuit.connections if one.plasticity is not None)
    every = {*drawn, *(one for one in learn if isinstance(one, Drawn))}
    feeds: dict[int, list[int]] = {}
    fixed = groups_of(circuit, every)
    for which, links in enumerate(circuit.connections):
        if links in every:
            continue
        for g in np.unique(np.searchsorted(starts, links.source, side="right") - 1).tolist():
            feeds.setdefault(g, []).append(which)
    out = {}
    for g, sets in feeds.items():
        group = circuit.groups[g]
        model = group.model
        if g in fixed or _own_code(model) or len(sets) != 1:
            continue
        links = circuit.connections[sets[0]]
        mine = (links.source >= starts[g]) & (links.source < starts[g + 1])
        source, target = links.source[mine].astype(np.int64) - starts[g], links.target[mine]
        if len(source) != group.count or len(np.unique(source)) != group.count:
            continue
        place = np.empty(group.count, np.int64)
        place[source[np.argsort(target, kind="stable")]] = np.arange(group.count)
        if (place[1:] != place[:-1] + 1).any():
            out[g] = place
    return out


def groups_of(circuit: Circuit, drawn: Iterable[Drawn]) -> set[int]:
    """Return the groups at the ends of projections."""
    starts = circuit.starts
    return {
        g
        for links in drawn
        for end in (links.begins, links.reached)
        for g in range(len(circuit.groups))
        if starts[g] < end.stop and end.start < starts[g + 1]
    }


def _own_code(model: type[NDComponent]) -> bool:
    own = model.is_port or model.runtime.instance or model.sub_units
    return bool(own)


def by_rows(
    circuit: Circuit, ordered: Mapping[int, Places], but: Container[int] = ()
) -> dict[int, Places]:
    """Return the storage places of groups that are grids, each row at a multiple of ``LANES``.

    Where a row ends is found from the connections: those of a component and of its neighbour in a
    row are mostly the same, one element on. Groups with events or random numbers stay as they are,
    as places without a component are computed, too; so do groups of few connections, those that
    are ``ordered`` otherwise, and those ``but`` which something else decides on.

    Returns
    -------
    dict of group number to (count,) int64
        Only groups that get gaps, ``LOOSE`` places for a component at most.
    """
    place = np.arange(circuit.count)
    for g, order in ordered.items():
        place[circuit.starts[g] : circuit.starts[g + 1]] = circuit.starts[g] + order
    out = {}
    for g, group in enumerate(circuit.groups):
        model = group.model
        if (
            g in but
            or g in ordered
            or _own_code(model)
            or any(map(circuit.kinds.is_event, model.updates))
            or model.draws_random()
        ):
            continue
        begins = _row_begins(circuit, g, place)
        sizes = np.diff(np.append(begins, group.count))
        places = -(-sizes // LANES) * LANES
        starts = np.cumsum(places) - places
        if (starts != begins).any() and starts[-1] + sizes[-1] <= LOOSE * group.count:
            out[g] = np.repeat(starts - begins, sizes) + np.arange(group.count)
    return out


def _row_begins(circuit: Circuit, g: int, place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first components of the rows of a group; what has no rows lies between them.

    ``place`` holds where each component of the circuit is stored, gaps apart.
    """
    count, start = circuit.groups[g].count, circuit.starts[g]
    parts = []
    for links in circuit.connections:
        if not circuit.kinds.is_event(links.variable):
            mine = (links.target >= start) & (links.target < start + count)
            parts += [(links, np.flatnonzero(mine))] if mine.any() else []
    edges = sum(len(mine) for _, mine in parts)
    if edges <= NEAR * count or in_rows(edges, count):
        return np.zeros(1, np.int64)
    targets, keys = [], []
    for number, (links, mine) in enumerate(parts):
        targets.append(links.target[mine].astype(np.int64) - start)
        key = (place[links.source[mine]] - targets[-1]).astype(np.uint64)
        key += np.uint64(number << 40)
        for column in links.data.values():
            data = column[mine] if column.ndim else np.full(len(mine), column)
            key = key * SPREAD[0] ^ data.astype(np.float64).view(np.uint64) * SPREAD[1]
        keys.append(key)
    target, key = np.concatenate(targets), np.concatenate(keys)
    order = np.lexsort((target, key))
    target, key = target[order], key[order]
    alike = (key[1:] == key[:-1]) & (target[1:] == target[:-1] + 1)
    shared = np.bincount(target[1:][alike], minlength=count)
    degree = np.bincount(target, minlength=count)
    joined = 2 * shared[1:] > np.minimum(degree[1:], degree[:-1])
    begins = np.append(0, 1 + np.flatnonzero(~joined))
    rows = np.diff(np.append(begins, count)) >= LANES // 2
    found: NDArray[np.int64] = begins[rows | np.append(True, rows[:-1])]
    return found
