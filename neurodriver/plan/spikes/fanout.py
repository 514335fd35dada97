"""Weighted spikes by their sources: a step reads the connections of its spikes and no others.

Each target has a ring of slots, whole numbers, one for each step that something may arrive at.
A spike adds its multiples to the slots of its targets; the step that reads a slot clears it. As
the numbers are whole, no order of these additions can change a bit, and the plans that gather add
the same numbers.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit, Connections, Group
from ...errors import CircuitError
from ...native.buffers import LANES, Blank, as_aligned, padded
from ..delays import Spread, steps_of
from ..instances import needs_instance
from ..layout import Layout
from ..sorting import stable_order
from ..sums.gather import Edges, Gather
from ..target import Target
from .weights import MOST_MULTIPLE, Units, is_whole

if TYPE_CHECKING:
    from .drawn import Placed

Key = tuple[int, str]

COST = 0.01
"""Work of a connection, as few spike, to that of one that is read at every step."""

LONGEST_WINDOW = 32
"""Steps that a tile of components is advanced by at most before the next tile."""

NOTED = 1 << 15
"""Targets from which it is noted which slots something reached: they do not fit into a near cache,
and few threads write notes into one cache line."""

MOST_POSTPONED = 1 << 24
"""Arrivals that wait in a calendar at most, 8 bytes each."""

PIECE = 128
"""Connections that the threads of a warp deal a spike out to at once, on a GPU."""

MOST_PLACES = 2**31 - 1
"""Slots of all targets of an access at most: a place is 4 bytes."""


@dataclass(frozen=True)
class Parts:
    """Where each thread's share of each source's connections begins.

    Attributes
    ----------
    first : (sources + 1,) int64
    code : (edges,) int32 or uint16
        Their remainders by ``width`` are targets, ascending among those of a source.
    width : int
    """

    first: NDArray[np.int64]
    code: NDArray[np.int32] | NDArray[np.uint16]
    width: int

    def of(self, cuts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places for threads that own the targets between ``cuts``.

        Returns
        -------
        (sources, threads + 1) int64
        """
        out = np.empty((len(self.first) - 1, len(cuts)), dtype=np.int64)
        out[:, 0], out[:, -1] = self.first[:-1], self.first[1:]
        for thread in range(1, len(cuts) - 1):
            low, high = out[:, thread - 1].copy(), out[:, -1].copy()
            while (low < high).any():  # by halves, all sources at once
                middle = (low + high) // 2
                code = self.code[np.minimum(middle, len(self.code) - 1)].astype(np.int64)
                below = (code % self.width < cuts[thread]) & (low < high)
                low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
            out[:, thread] = low
        return out


def spread_accesses(circuit: Circuit, target: Target) -> Spread:
    """Return (group number, access) of the accesses that spikes reach by this plan."""
    if not target.events:
        return frozenset()
    found = set()
    for number, group in enumerate(circuit.groups):
        if not sends(group):
            continue
        for access in group.model.accesses:
            if is_whole(group.model, access) and _silent_at_first(circuit, access.variable):
                found.add((number, access.name))
    return frozenset(found)


def sends(group: Group) -> bool:
    """Whether the kernel of a group delivers the events of its components by their sources."""
    return not (group.is_port or group.model.sub_units is not None or needs_instance(group))


def from_senders(layout: Layout, variable: str, element: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which elements of a variable's row belong to groups that deliver events themselves.

    Others hold what inputs inject, what ports bring, and events of users' own classes.
    """
    out = np.zeros(len(element), dtype=bool)
    for owner, segment in layout.rings[variable].segments.items():
        if owner != "inputs" and sends(layout.circuit.groups[int(owner)]):
            out |= (element >= segment.start) & (element < segment.start + segment.count)
    return out


def _silent_at_first(circuit: Circuit, variable: str) -> bool:
    """Whether no component can hold an event before the first step."""
    models = [g.model for g in circuit.groups if variable in g.model.updates]
    return not any(variable in m.states or variable in m.outputs for m in models)


def window(
    circuit: Circuit,
    dt: float,
    spread: Spread,
    placed: Mapping[Key, Placed],
    known: Container[Connections],
) -> int:
    """Return how many steps the components of a circuit can go without each other.

    That is the least latency of all connections, where only weighted spikes connect them: in so
    many steps nothing arrives that was not sent before. At most ``LONGEST_WINDOW``. Connections
    that are ``known`` are all ``placed``.
    """
    if not all(sends(group) for group in circuit.groups):
        return 1
    least = [LONGEST_WINDOW, *(lag + 1 for one in placed.values() for lag in one.lags.values())]
    for links in circuit.connections:
        if links in known or not len(links):
            continue
        ends = np.bincount(np.searchsorted(circuit.starts, links.target, side="right") - 1)
        if not spread.issuperset((g, links.access) for g in np.flatnonzero(ends).tolist()):
            return 1
        least.append(int(steps_of(links, dt).min()))
    return min(least)


def fan_out(layout: Layout, edges: Edges, count: int, variable: str, units: Units) -> Gather:
    """Return the connections of an access, by source.

    Parameters
    ----------
    layout : Layout
    edges : Edges
        Their weights are multiples.
    count : int
        Targets.
    variable : str
    units : Units

    Notes
    -----
    Sources of one group are one block: a range of elements. Others make a block for each latency
    that is their least, of elements that are listed. The spikes of row k - lag are dealt out at
    step k, where the lag is the least latency of a block, less one; so a slot lies
    ``latency - 1 - lag`` steps ahead. On a GPU they are dealt out without a lag, as soon as they
    are known.
    """
    if not len(edges.target):
        return Gather("none", 0, cost=np.zeros(-(-count // LANES)))
    back = np.broadcast_to(edges.back, edges.element.shape)
    threads = layout.target.threads
    blocks, listed, source, lag = _blocks(layout, edges.element, back, variable)
    ahead = back if threads else back - lag[source]
    width = padded(count)
    # targets ascend already; on a GPU, first those whose spikes are due at once
    order = stable_order(2 * source + (back > 0) if threads else source)
    source, place = source[order], edges.target[order].astype(np.int32)
    first = np.zeros(len(lag) + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=len(lag)), out=first[1:])
    made = Gather("fanout", len(order), {"block": blocks, "listed": listed}, None)
    made.arrays["code"] = as_aligned((ahead[order] * width + place).astype(np.int32))
    add_slots(made, layout, first, int(ahead.max()), width, units)
    if threads:
        add_near(made, np.bincount(source[back[order] == 0], minlength=len(lag)))
    multiple = np.broadcast_to(edges.data["weight"], edges.target.shape)[order]
    _store_multiples(made, multiple, source, first, threads)
    made.cost = per_slice(np.bincount(edges.target, minlength=count))
    return made


def add_slots(
    made: Gather,
    layout: Layout,
    first: NDArray[np.int64],
    ahead: int,
    width: int,
    units: Units,
) -> None:
    """Give the plan the slots of all targets, and each thread its share of the connections.

    Parameters
    ----------
    made : Gather
    layout : Layout
    first : (sources + 1,) int64
        Where the connections of each source begin.
    ahead : int
        Steps that a slot lies ahead at most.
    width : int
        Slots of a step.
    units : Units

    Raises
    ------
    CircuitError
        Where places of slots do not fit into 4 bytes.
    """
    threads = layout.target.threads
    depth = ahead + layout.window + threads  # there, a row is read while all others may be written
    if depth * width > MOST_PLACES:
        raise CircuitError(
            f"{width:,} components that spikes reach up to {depth:,} steps later need "
            f"{depth * width:,} slots, {MOST_PLACES:,} are allowed: shorten the delay or use a "
            f"larger dt"
        )
    if not threads:
        _trim(made.arrays["block"], first)
    wide = units.most >= 2**31
    made.limits |= {"blocks": len(made.arrays["block"]), "depth": depth, "ahead": width}
    made.limits["wide"] = int(wide)
    made.limits["mean"] = int(first[-1]) // max(int(np.count_nonzero(np.diff(first))), 1)
    made.blanks["slots"] = Blank(depth * width, "int64" if wide else "int32")
    if threads:
        made.arrays["begin"] = first
        return
    if width >= NOTED:
        made.blanks["touched"] = Blank(depth * width // LANES, "uint8")
        if ahead > 1:
            made.limits["postponed"] = min(depth * width, MOST_POSTPONED)
            made.blanks["calendar"] = Blank(made.limits["postponed"], "int64")
    made.claim = f"the {depth:,} slots of each of {width:,} components that spikes reach"
    made.parts = Parts(first, made.arrays["code"].view(np.int32), width)


def add_near(made: Gather, count: NDArray[np.int64]) -> None:
    """Tell of each source how many connections come first whose spikes are due at once.

    And how many pieces the connections make (see `codegen.simt.spike_delivery`).
    """
    first = made.arrays["begin"].astype(np.int64)
    made.arrays["near"] = first[:-1] + count
    degree = np.diff(first)
    made.limits["most"] = int(degree.max())
    made.limits["pieces"] = int((-(-degree // PIECE)).sum())
    made.limits["near"] = int(count.sum())
    made.limits["far"] = int((degree - count).sum())


def narrow(made: Gather) -> Gather:
    """Store places in 2 bytes where these are enough, and how many slots a step reaches."""
    if made.parts is None:
        return made
    reach = made.limits["reach"] = int(made.arrays["code"].max()) + 1
    if reach <= 1 << 16:
        made.arrays["code"] = short = as_aligned(made.arrays["code"], np.uint16)
        made.parts = replace(made.parts, code=short)
    return made


def _trim(blocks: NDArray[Any], first: NDArray[np.int64]) -> None:
    """Leave out the elements before and after those that have connections."""
    for block in blocks:
        _, begin, end, source, listed = block.tolist()
        has = np.flatnonzero(np.diff(first[source : source + end - begin + 1]))
        if len(has) and not listed:
            low, high = has[0] // LANES * LANES, padded(has[-1] + 1)
            block[1:4] = begin + low, begin + high, source + low


def smallest(most: float) -> type[np.signedinteger[Any]]:
    """Return the type of fewest bytes that holds whole numbers up to ``most``."""
    return next(k for k in (np.int8, np.int16, np.int32) if most <= np.iinfo(k).max)


def per_slice(degree: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the work of each ``LANES`` targets from their numbers of connections."""
    sums = np.add.reduceat(degree.astype(np.float64), np.arange(0, len(degree), LANES))
    out: NDArray[np.float64] = LANES + COST * sums
    return out


def shared_by(most: float, threads: bool) -> bool:
    """Whether a multiple may be stored once: on a GPU its product with spikes takes 4 bytes."""
    return not threads or most <= MOST_MULTIPLE


def _store_multiples(
    made: Gather,
    multiple: NDArray[Any],
    source: NDArray[np.int64],
    first: NDArray[np.int64],
    threads: bool,
) -> None:
    """Store one multiple for all, for each source, or for each connection, in few bytes."""
    most = float(np.abs(multiple).max())
    kind, once = smallest(most), shared_by(most, threads)
    if once and (multiple == multiple[0]).all():
        made.uniform["weight"] = float(multiple[0])
        return
    of_source = np.zeros(len(first) - 1, dtype=kind)
    of_source[source] = multiple
    if once and (of_source[source] == multiple).all():
        made.arrays["of_source"] = of_source
    else:
        made.arrays["multiple"] = as_aligned(multiple.astype(kind))


def _blocks(
    layout: Layout, element: NDArray[np.int64], back: NDArray[np.int64], variable: str
) -> tuple[Any, NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return blocks, listed elements, each connection's source, and each source's lag.

    A block is (lag, first element or place among the listed ones, end, first source, listed).
    """
    ring = layout.rings[variable]
    blocks, lists, lags = [], [], []
    source = np.full(len(element), -1, dtype=np.int64)
    made, placed = 0, 0
    computed = {str(n) for n, g in enumerate(layout.circuit.groups) if not g.is_port}
    for owner, segment in ring.segments.items():
        inside = (element >= segment.start) & (element < segment.start + segment.count)
        mine = np.flatnonzero(inside)
        if not len(mine):
            continue
        if owner in computed:
            lag = int(back[mine].min())
            size = padded(segment.count)
            blocks.append((lag, segment.start, segment.start + size, made, 0))
            source[mine] = made + element[mine] - segment.start
            lags.append(np.full(size, lag))
            made += size
            continue
        least = np.full(segment.count, np.iinfo(np.int64).max)
        np.minimum.at(least, element[mine] - segment.start, back[mine])
        for lag in np.unique(least[least < np.iinfo(np.int64).max]).tolist():
            ones = np.flatnonzero(least == lag)
            place = np.full(segment.count, -1)
            place[ones] = made + np.arange(len(ones))
            here = mine[place[element[mine] - segment.start] >= 0]
            source[here] = place[element[here] - segment.start]
            blocks.append((lag, placed, placed + len(ones), made, 1))
            lists.append(segment.start + ones)
            lags.append(np.full(len(ones), lag))
            made, placed = made + len(ones), placed + len(ones)
    listed = np.concatenate(lists) if lists else np.zeros(1, np.int64)
    return np.array(blocks, np.int64), listed.astype(np.int32), source, np.concatenate(lags)
