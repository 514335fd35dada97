"""Delivery of weighted spikes by source: a step reads the connections of its spikes and no others.

Each target has a ring of slots, one slot for each step at which something may arrive. Slots are
integers. A spike adds its integer weights to the slots of its targets. The step that reads a slot
clears it. Example: a spike of step 5 with a delay of 3 steps is added to the slot of step 8.

Sums of integers do not depend on the order of the additions. The plans that sum by target add the
same integers, so all plans give the same bits.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit, Connections, Group
from ...circuit.drawn import Drawn
from ...native.buffers import LANES, ZeroArray, as_aligned, padded
from ..delays import Spread, forward_of, steps_of
from ..instances import needs_instance
from ..layout import Layout
from ..sums.gather import Edges, Gather
from ..target import Target
from . import due
from .source_rows import SourceRows, source_rows
from .thread_ranges import ThreadRanges
from .weights import MOST_MULTIPLE, Units, has_integer_weights

if TYPE_CHECKING:
    from .drawn import DrawnBySource

Key = tuple[int, str]

COST = 0.01
"""Estimated work of a connection; one that is read in every step counts as 1."""

LONGEST_WINDOW = 32
"""Largest window: steps by which a tile is advanced before the next tile."""

TRACKED = 1 << 15
"""Number of targets from which a dirty bitmap tracks the slots.

So many slots do not fit into a near cache, and few threads write into one cache line of the bitmap.
"""

MOST_POSTPONED = 1 << 24
"""Largest number of pending arrivals in a calendar, 8 bytes each."""

PIECE = 128
"""Connections of a piece: a GPU's warp delivers a spike along so many at once."""


def spread_accesses(circuit: Circuit, target: Target) -> Spread:
    """Return (group number, access) of the accesses whose spikes are delivered by source."""
    if not target.events:
        return frozenset()
    found = set()
    for number, group in enumerate(circuit.groups):
        if not sends(group):
            continue
        for access in group.model.accesses:
            if has_integer_weights(group.model, access) and _silent_at_first(
                circuit, access.variable
            ):
                found.add((number, access.name))
    return frozenset(found)


def sends(group: Group) -> bool:
    """Whether kernels deliver the events of a group's components by their sources."""
    return group.sends or not (
        group.is_port or group.model.sub_units is not None or needs_instance(group)
    )


def outsiders(circuit: Circuit, target: Target) -> frozenset[int]:
    """Return the groups whose spikes no kernel of a backend delivers; a CPU delivers all."""
    if not target.threads:
        return frozenset()
    return frozenset(n for n, group in enumerate(circuit.groups) if not sends(group))


def from_senders(layout: Layout, variable: str, element: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which elements of a variable's row belong to groups that deliver events themselves.

    Others hold what inputs inject, what ports bring, and events of users' own classes.
    """
    out = np.zeros(len(element), dtype=bool)
    for owner, segment in layout.rings[variable].segments.items():
        if owner != "inputs" and sends(layout.circuit.groups[int(owner)]):
            out |= (element >= segment.start) & (element < segment.start + segment.count)
    return out


def delivering(layout: Layout, variable: str, edges: Edges) -> NDArray[np.bool_]:
    """Return along which connections a GPU delivers spikes: those that act later than in the step.

    The spikes that a kernel sends reach slots that others read in later steps.
    """
    return from_senders(layout, variable, edges.element) & (edges.back >= 0)


def _silent_at_first(circuit: Circuit, variable: str) -> bool:
    """Whether no component can hold an event before the first step."""
    models = [g.model for g in circuit.groups if variable in g.model.updates]
    return not any(variable in m.states or variable in m.outputs for m in models)


def window(
    circuit: Circuit,
    dt: float,
    spread: Spread,
    drawn_accesses: Mapping[Key, DrawnBySource],
    known: Container[Connections],
    target: Target,
) -> int:
    """Return the number of steps that components can be advanced without a barrier.

    This is the least latency of all connections, if weighted spikes are all that connects
    components; at most ``LONGEST_WINDOW``. What inputs inject and what ports bring is there before
    the window, so it does not count. The latencies of ``known`` connections are those of
    ``drawn_accesses``. On a GPU, synapses that learn send at the end of a window, and what they
    send has to reach their targets after it. Some rules change synapses in any step.
    """
    learning = [links for links in circuit.connections if links.plasticity is not None]
    computed = [group for group in circuit.groups if not group.is_port]
    if (learning and not target.threads) or not all(map(sends, computed)):
        return 1
    least = [
        LONGEST_WINDOW,
        *(lag + 1 for one in drawn_accesses.values() for lag in one.lags.values()),
    ]
    is_port = np.repeat([g.is_port for g in circuit.groups], [g.count for g in circuit.groups])
    for links in circuit.connections:
        by_place = isinstance(links, Drawn) and links.located is not None
        if by_place and not circuit.kinds.is_event(links.variable):
            return 1  # without looking for the connections
        if links in known or not len(links):
            continue
        if links.plasticity is not None:
            each = links.plasticity.needs_each_step()
            least.append(1 if each else int(forward_of(links, dt).min()) + 1)
            continue
        ends = np.bincount(circuit.group_of(links.target))
        reached = [g for g in np.flatnonzero(ends).tolist() if not circuit.groups[g].is_port]
        if not spread.issuperset((g, links.access) for g in reached):
            return 1
        if reached:
            steps = np.broadcast_to(steps_of(links, dt, circuit.phase_of), (len(links),))
            inside = ~(is_port[links.source] | is_port[links.target])
            least.append(int(steps[inside].min(initial=LONGEST_WINDOW)))
    return max(min(least), 1)


def fan_out(
    layout: Layout,
    edges: Edges,
    count: int,
    variable: str,
    units: Units,
    ahead: int | None = None,
    when_due: bool = False,
) -> Gather:
    """Return the connections of an access, by source.

    Parameters
    ----------
    edges : Edges
        Their weights are multiples.
    count : int
        Targets.
    ahead : int, optional
        Steps that others reach ahead who deliver into the same slots.
    when_due : bool
        Whether these deliver when due. Then there are no ``edges``.
    """
    if not len(edges.target):
        if ahead is None:
            return Gather("none", 0, cost=np.zeros(-(-count // LANES)))
        return _slots_alone(layout, count, units, ahead, when_due)
    assert not when_due
    width, threads = padded(count), layout.target.threads
    rows = source_rows(layout, edges, variable, width)
    reach, wide = max(rows.ahead, ahead or 0), units.most >= 2**31
    how = due.choose(layout, np.diff(rows.first), width, reach, wide, ahead is None)
    if how.due:
        rows = source_rows(layout, edges, variable, width, by_delay=True)
    gather = Gather("fanout", len(rows.code), {"block": rows.blocks}, None, note=how.why)
    gather.arrays["code"] = as_aligned(rows.code)
    add_slots(gather, layout, rows.first, reach, width, units, how.due)
    if how.due:
        due.add_bins(gather, due.sorted_bins(rows.first, rows.back), np.diff(rows.first))
    elif threads:
        add_near(gather, rows.near)
    if threads and ahead is None:
        add_reached(gather, edges.target, width)
    store_multiples(gather, rows, threads, width)
    if threads:
        gather.cost = of_slots(count)
    else:
        gather.cost = per_slice(np.bincount(edges.target, minlength=count))
    return gather


def _slots_alone(layout: Layout, count: int, units: Units, ahead: int, when_due: bool) -> Gather:
    """Return a plan without connections, whose slots others deliver into."""
    gather = Gather("fanout", 0, back=None)
    gather.arrays["block"] = np.zeros((0, 4), np.int64)
    gather.arrays["code"] = as_aligned(np.zeros(1, np.int32))
    gather.uniform["weight"] = 0.0
    add_slots(gather, layout, np.zeros(1, np.int64), ahead, padded(count), units, when_due)
    gather.blanks.pop("calendar", None)  # nothing that it delivers itself waits
    gather.limits.pop("postponed", None)
    gather.cost = np.zeros(-(-count // LANES))
    return gather


def add_slots(
    gather: Gather,
    layout: Layout,
    first: NDArray[np.int64],
    ahead: int,
    width: int,
    units: Units,
    when_due: bool = False,
) -> None:
    """Add the slots of all targets and the threads' shares of the connections to a plan.

    Parameters
    ----------
    first : (sources + 1,) int64
        Where the connections of each source begin.
    ahead : int
        Steps that a slot lies ahead at most.
    width : int
        Slots of a step.
    when_due : bool
        Whether spikes are delivered when they are due, into slots of two steps.

    Raises
    ------
    CircuitError
        Where indices of slots do not fit into 4 bytes.
    """
    threads = layout.target.threads
    depth = ahead + layout.window + threads  # there, a row is read while all others may be written
    if when_due:
        depth = due.ROWS
        gather.limits["due"] = 1
    due.check_slots(depth, width)
    wide = units.most >= 2**31
    gather.limits |= {"blocks": len(gather.arrays["block"]), "depth": depth, "ahead": width}
    gather.limits["wide"] = int(wide)
    gather.limits["mean"] = int(first[-1]) // max(int(np.count_nonzero(np.diff(first))), 1)
    gather.blanks["slots"] = ZeroArray(depth * width, "int64" if wide else "int32")
    if threads:
        gather.arrays["begin"] = first
        return
    if width >= TRACKED:
        gather.blanks["dirty"] = ZeroArray(depth * width // LANES, "uint8")
        if ahead > 1:
            gather.limits["postponed"] = min(depth * width, MOST_POSTPONED)
            gather.blanks["calendar"] = ZeroArray(gather.limits["postponed"], "int64")
    gather.claim = f"the {depth:,} slots of each of {width:,} components that spikes reach"
    code = gather.arrays["code"].view(np.int32)
    gather.parts = ThreadRanges(first, code, width, gather.arrays["block"].astype(np.int64))


def add_near(gather: Gather, count: NDArray[np.int64]) -> None:
    """Add to a plan how many connections of each source are due in the next step.

    They come first. The limits count connections and pieces (`codegen.simt.spike_delivery`).
    """
    first = gather.arrays["begin"].astype(np.int64)
    gather.arrays["near"] = first[:-1] + count
    degree = np.diff(first)
    gather.limits["most"] = int(degree.max())
    gather.limits["pieces"] = int((-(-degree // PIECE)).sum())
    gather.limits["near"] = int(count.sum())
    gather.limits["far"] = int((degree - count).sum())


def add_reached(gather: Gather, target: NDArray[np.integer[Any]], width: int) -> None:
    """Add to a plan which slices of components spikes reach, if these are few.

    The others take nothing from their slots. Example: a current that few components get from
    outside.
    """
    reached = np.zeros(width // LANES, np.uint8)
    reached[target // LANES] = 1
    if 2 * int(reached.sum()) < len(reached):
        gather.arrays["reached"] = reached


def narrow(gather: Gather) -> Gather:
    """Store indices of slots in 2 bytes where possible; set how many slots a step reaches."""
    if gather.parts is None:
        return gather
    reach = gather.limits["reach"] = int(gather.arrays["code"].max()) + 1
    if reach <= 1 << 16:
        gather.arrays["code"] = short = as_aligned(gather.arrays["code"], np.uint16)
        gather.parts = replace(gather.parts, code=short)
    if "of_source" not in gather.arrays and (single := gather.parts.singles()).any():
        gather.limits["singles"] = int(single.sum())
        gather.parts = replace(gather.parts, single=single)
        gather.limits["mean"] = gather.parts.mean_of_others()
    return gather


def smallest(most: float) -> type[np.signedinteger[Any]]:
    """Return the smallest integer type that holds numbers up to ``most``."""
    return next(k for k in (np.int8, np.int16, np.int32) if most <= np.iinfo(k).max)


def of_slots(count: int) -> NDArray[np.float64]:
    """Return the work of each ``LANES`` targets on a GPU.

    All warps deliver spikes together there, by their sources. So a target only reads its slot,
    however many connections it has.
    """
    return np.full(-(-count // LANES), float(LANES))


def per_slice(degree: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the work of each ``LANES`` targets on a CPU, from their numbers of connections."""
    sums = np.add.reduceat(degree.astype(np.float64), np.arange(0, len(degree), LANES))
    out: NDArray[np.float64] = LANES + COST * sums
    return out


def shared_by(most: float, threads: bool) -> bool:
    """Whether a multiple may be stored once: on a GPU its product with spikes takes 4 bytes."""
    return not threads or most <= MOST_MULTIPLE


def store_multiples(gather: Gather, rows: SourceRows, threads: bool, width: int) -> None:
    """Store one weight for all, one for each source, or one for each connection."""
    most = float(np.abs(rows.multiple).max())
    if shared_by(most, threads):
        sets = [(rows.multiple, rows.source)]
        if store_once(gather, sets, len(rows.first) - 1, smallest(most)):
            return
    if due.is_due(gather) and (shift := due.shift_of(width, most)):
        gather.limits["shift"] = shift
        due.pack(gather.arrays["code"], rows.multiple, shift)  # type: ignore[arg-type]
        return
    gather.arrays["multiple"] = as_aligned(rows.multiple.astype(smallest(most)))


def store_once(
    gather: Gather,
    sets: Sequence[tuple[float | NDArray[Any], NDArray[np.int64]]],
    sources: int,
    kind: type[np.signedinteger[Any]],
) -> bool:
    """Store one weight for all, or one for each source; return whether these are all.

    ``sets`` hold weights and sources of connections, each source once at least.
    """
    number = np.concatenate([np.broadcast_to(one, source.shape) for one, source in sets])
    source = np.concatenate([source for _, source in sets])
    if (number == number[0]).all():
        gather.uniform["weight"] = float(number[0])
        return True
    of_source = np.zeros(sources, dtype=kind)
    of_source[source] = number
    if (of_source[source] == number).all():
        gather.arrays["of_source"] = of_source
        return True
    return False
