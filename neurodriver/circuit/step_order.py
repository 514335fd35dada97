"""The order of a circuit's populations within a step: phases, one after the other.

A component of phase p sees in step k what earlier phases wrote in this step: over connections whose
delay is 0, and where its text reads their cells. All other connections take a step at least. So the
phase of a group decides, together with delays, what is read. A circuit without an order has one
phase.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError, Faults, near, quoted
from .builders import builds
from .circuit import Circuit, Connections
from .drawn import Drawn
from .groups import Group
from .members import Members
from .pointers import pointers
from .random_keys import own_keys

LISTED, DERIVED = "listed", "derived"

Numbers = NDArray[np.int64]


@builds("in_order")
def in_order(circuit: Circuit, order: object, listed: Sequence[str] = ()) -> Circuit:
    """Return a circuit whose populations are computed in an order.

    Parameters
    ----------
    circuit : Circuit
    order : "listed", "derived", or sequence
        As `Circuit.in_order` explains.
    listed : sequence of str
        Names of the populations as they were listed; by default in the order of their components.
    """
    faults = Faults(circuit.name)
    if any(group.scopes for group in circuit.groups):
        raise CircuitError(f"{circuit.name}: order: circuits get one before they are joined")
    port = np.repeat([g.is_port for g in circuit.groups], [g.count for g in circuit.groups])
    inner = {n: m.numbers[~port[m.numbers]] for n, m in circuit.populations.items()}
    names = list(dict.fromkeys([*listed, *(n for n, own in inner.items() if len(own))]))
    number = np.full(circuit.count, -1, dtype=np.int64)
    for place, name in enumerate(names):
        number[inner[name]] = place
    phase: Numbers
    if isinstance(order, str) and order == LISTED:
        phase = np.arange(len(names))
    elif isinstance(order, str) and order == DERIVED:
        phase = _levels(names, _same_step(circuit, number), faults)
    else:
        ports = {n for n, own in inner.items() if not len(own)} - {*names}
        ports |= {*circuit.uids[port].tolist()} - {*names} if port.any() else set()
        phase = _given(order, names, ports, faults)
    faults.finish()
    of = np.where(port, 0, phase[number])
    made = circuit.changed(groups=tuple(_split(circuit, of)))
    check_order(made, faults)
    faults.finish()
    return made


def check_order(circuit: Circuit, faults: Faults) -> None:
    """Note connections that cannot act within a step."""
    for links in circuit.connections:
        if links.plasticity is not None and same_step_pairs(circuit, links):
            said = f"connections {quoted(links.name or f'{links.variable} -> {links.access}')}"
            fix = "give them a delay, such as one step"
            faults.add(
                f"{said}: they learn, which takes a step, and lead with delay 0 from an earlier "
                f"phase to a later one; {fix}"
            )


def same_step_pairs(circuit: Circuit, links: Connections) -> list[tuple[int, int]]:
    """Return the groups (source, target) between which some connections act within a step.

    Where delays are drawn, these are the groups between which some may.
    """
    phase = circuit.phase_of_group
    if phase is None:
        return []
    return [(a, b) for a, b in _pairs(circuit, links) if 0 <= phase[a] < phase[b]]


def _pairs(circuit: Circuit, links: Connections) -> Iterator[tuple[int, int]]:
    """Yield the groups between which connections of delay 0 lead."""
    if isinstance(links, Drawn):
        if links.latency.least <= 0:
            ends = (_groups_in(circuit, e) for e in (links.ends.source, links.ends.target))
            sources, targets = ends
            yield from ((a, b) for a in sources for b in targets)
        return
    source, target = _undelayed(links)
    of = [circuit.group_of(end) for end in (source, target)]
    for pair in np.unique(of[0] * len(circuit.groups) + of[1]).tolist():
        yield divmod(pair, len(circuit.groups))


def _groups_in(circuit: Circuit, numbers: range) -> list[int]:
    starts = circuit.starts
    inside = (starts[:-1] < numbers.stop) & (starts[1:] > numbers.start)
    return [int(g) for g in np.flatnonzero(inside)]


def _undelayed(links: Connections) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return the ends of the connections of delay 0."""
    delay = np.asarray(links.delay)
    if not delay.ndim:
        some: Any = slice(None) if delay == 0 else slice(0)
    else:
        some = delay == 0
    return links.source[some], links.target[some]


def _same_step(circuit: Circuit, number: Numbers) -> dict[int, set[int]]:
    """Return for each population, by its number, which ones may read it within a step.

    Connections of delay 0 lead to them, or their texts read it.
    """
    count = int(number.max(initial=0)) + 1
    found: dict[int, set[int]] = {}
    for links in circuit.connections:
        if isinstance(links, Drawn):
            if links.latency.least > 0:
                continue
            both = links.ends.source, links.ends.target
            ends = [np.unique(number[end.start : end.stop]) for end in both]
            if len(ends[0]) == len(ends[1]) == 1:  # nothing has to be drawn
                found.setdefault(int(ends[0][0]), set()).add(int(ends[1][0]))
                continue
        source, target = (number[end] for end in _undelayed(links))
        inside = (source >= 0) & (target >= 0)
        for pair in np.unique(source[inside] * count + target[inside]).tolist():
            a, b = divmod(pair, count)
            found.setdefault(a, set()).add(b)
    for one in pointers(circuit):
        source, reader = circuit.starts[one.group] + one.first, circuit.starts[one.reader]
        found.setdefault(int(number[source]), set()).add(int(number[reader]))
    return found


def _levels(names: Sequence[str], leads: dict[int, set[int]], faults: Faults) -> Numbers:
    """Return the level of each population in the graph of connections with delay 0."""
    level = np.zeros(len(names), dtype=np.int64)
    into = np.zeros(len(names), dtype=np.int64)
    for targets in leads.values():
        for b in targets:
            into[b] += 1
    ready = [a for a in range(len(names)) if not into[a]]
    for a in ready:  # it grows
        for b in sorted(leads.get(a, ())):
            level[b] = max(level[b], level[a] + 1)
            into[b] -= 1
            if not into[b]:
                ready.append(b)
    if len(ready) < len(names):
        loop = _loop(leads, {a for a in range(len(names)) if into[a]})
        said = " -> ".join(quoted(names[a]) for a in loop)
        fix = "no order fits; give the connections between two of them a delay, such as one step"
        faults.add(f"order='derived': a loop of connections with delay 0: {said}; {fix}")
    return level


def _loop(leads: dict[int, set[int]], left: set[int]) -> list[int]:
    """Return a loop among the populations that are left; the first one stands at its end, too."""
    feeds: dict[int, list[int]] = {}
    for a in sorted(left):
        for b in sorted(leads.get(a, set()) & left):
            feeds.setdefault(b, []).append(a)
    way, seen = [min(left)], {min(left): 0}
    while True:  # backwards, as each of them is fed by another one
        before = feeds[way[-1]][0]
        if before in seen:
            found = way[seen[before] :][::-1]
            first = found.index(min(found))
            found = found[first:] + found[:first]
            return [*found, found[0]]
        seen[before] = len(way)
        way.append(before)


def _given(order: object, names: list[str], ports: set[str], faults: Faults) -> Numbers:
    """Return the phase of each population of an order that lists them."""
    phase = np.full(len(names), -1, dtype=np.int64)
    want = "'listed', 'derived', or a list of phases, each a list of populations"
    if isinstance(order, str | bytes | Members) or not isinstance(order, Iterable):
        faults.add(f"order: expected {want}, got {order!r:.60}")
        return phase
    place = {name: i for i, name in enumerate(names)}
    for number, part in enumerate(order):
        alone = isinstance(part, str | Members) or not isinstance(part, Iterable)
        some: list[Any] = [part] if alone else list(part)
        if not some:
            faults.add(f"order: phase {number} names no population; leave it out")
        for one in some:
            name = _name(one, faults)
            if name in ports:
                faults.add(
                    f"order: {quoted(name)} is a port; a port takes a step, so what goes through "
                    f"it cannot act within one; leave it out"
                )
            elif name is not None and name not in place:
                known = f"; there are {', '.join(map(quoted, names[:10]))}"
                faults.add(f"order: no population {quoted(name)}{near(name, names) or known}")
            elif name is not None and phase[place[name]] >= 0:
                faults.add(f"order: population {quoted(name)} is named twice; name it once")
            elif name is not None:
                phase[place[name]] = number
    lost = [names[i] for i in np.flatnonzero(phase < 0)]
    faults.add_for(lost, lambda name: f"order: population {quoted(name)} is left out; add it")
    return np.maximum(phase, 0)


def _name(one: object, faults: Faults) -> str | None:
    """Return the name of a population that an order lists."""
    if isinstance(one, str):
        return one
    if isinstance(one, Members) and not hasattr(one, "parent"):
        return one.name
    what = "a whole population or its name"
    faults.add(f"order: expected {what}, got {one!r:.60}")
    return None


def _split(circuit: Circuit, phase: Numbers) -> Iterator[Group]:
    """Yield the groups, parted where the phase of the components changes; numbers stay."""
    for number, group in enumerate(circuit.groups):
        of = phase[circuit.starts[number] : circuit.starts[number + 1]]
        if group.keys is None and group.names is None and (of[1:] != of[:-1]).any():
            group = replace(group, keys=own_keys(circuit, number))
        yield from parted(group, of)


def parted(group: Group, phase: NDArray[np.integer]) -> Iterator[Group]:
    """Yield a group in parts of one phase each; ``phase`` is that of each component, (count,)."""
    begin = np.flatnonzero(np.concatenate([[True], phase[1:] != phase[:-1]]))
    if len(phase) == 0 or len(begin) == 1:
        yield replace(group, phase=int(phase[0]) if len(phase) else 0)
        return
    for first, end in zip(begin.tolist(), [*begin[1:].tolist(), group.count], strict=True):
        yield replace(group.taken(np.arange(first, end)), phase=int(phase[first]))
