"""Input slots: where external values enter, and the connections that lead from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Connections
from ..errors import Faults, TargetError, near, quoted
from ..model.component import Parameter

Targets = Sequence[tuple[str, Sequence[str]]]
"""What inputs inject: variables, and uids."""


@dataclass
class Slots:
    """Hidden slots of all inputs.

    Attributes
    ----------
    count : dict of str to int
        Slots of each variable.
    connections : list of Connections
        From slots to components; ``source`` is the slot's number within its variable.
    places : list of (variable, first slot, number)
        One entry for each injected (variable, uids), in order.
    """

    count: dict[str, int] = field(default_factory=dict)
    connections: list[Connections] = field(default_factory=list)
    places: list[tuple[str, int, int]] = field(default_factory=list)


def make_slots(circuit: Circuit, targets: Targets, source: str = "input") -> Slots:
    """Give every injected component a slot of its own.

    Parameters
    ----------
    targets : sequence of (variable, uids)
        What is injected where. A value at an input port goes wherever the port's edges lead.
    source : str
        Name used in messages.

    Raises
    ------
    TargetError
        For uids that do not exist or do not access the variable; all of them together.
    """
    slots = Slots()
    faults = Faults(source)
    for variable, uids in targets:
        first = slots.count.get(variable, 0)
        slots.count[variable] = first + len(uids)
        slots.places.append((variable, first, len(uids)))
        found = circuit.find(uids)
        lost = np.flatnonzero(found < 0)
        known = circuit.uids.tolist() if 0 < len(lost) and circuit.count <= 2000 else []
        texts = (
            f"'{variable}': no component {quoted(uids[i])}{_meant(circuit, uids[i], known)}"
            for i in lost.tolist()
        )
        faults.add_each(texts, len(lost))
        slot = first + np.arange(len(uids))
        which = circuit.group_of(found)
        for g in np.unique(which[found >= 0]):
            mine = (which == g) & (found >= 0)
            _lead(circuit, int(g), variable, slot[mine], found[mine], slots, faults)
    if faults.count:
        raise TargetError(faults.report())
    return slots


def _meant(circuit: Circuit, name: str, known: Sequence[str]) -> str:
    """Return what a name may have meant that no component has."""
    if name in circuit.populations:
        return f"; it names a population: give the object itself, circuit.populations['{name}']"
    return near(name, known)


def _lead(
    circuit: Circuit,
    g: int,
    variable: str,
    slot: NDArray[np.int64],
    found: NDArray[np.int64],
    slots: Slots,
    faults: Faults,
) -> None:
    model = circuit.groups[g].model
    if model.is_port:
        _through_ports(circuit, variable, slot, found, slots, faults)
        return
    access = next((a for a in model.accesses if a.variable == variable), None)
    if access is None:
        takes = ", ".join(dict.fromkeys(a.variable for a in model.accesses)) or "nothing"
        if variable in [a.receptor for a in model.accesses]:
            takes += "; into a receptor by a SpikeSource and an edge"
        uids = circuit.uids
        texts = (
            f"'{variable}' cannot be injected into {quoted(uids[i])}: "
            f"{model.__name__} accesses {takes}"
            for i in found
        )
        faults.add_each(texts, len(found))
        return
    data = {n: np.asarray(_neutral(n, p)) for n, p in access.connection.items()}
    ends = slot.astype(np.int32), found.astype(np.int32)
    slots.connections.append(Connections(variable, access.name, *ends, data=data))


def _neutral(name: str, rule: Parameter) -> float:
    return 1.0 if name == "weight" or rule.default is None else rule.default


def _through_ports(
    circuit: Circuit,
    variable: str,
    slot: NDArray[np.int64],
    ports: NDArray[np.int64],
    slots: Slots,
    faults: Faults,
) -> None:
    """Repeat every edge of the ports with the slots as sources."""
    leads = np.zeros(len(ports), dtype=bool)
    for links in (*circuit.connections, *circuit.replaced):
        if links.variable != variable:
            continue
        order = np.argsort(links.source, kind="stable")
        begin, end = (np.searchsorted(links.source[order], ports, s) for s in ("left", "right"))
        number = end - begin
        leads |= number > 0
        # rows of the edges of each port, one port after the other
        first = np.repeat(begin - np.cumsum(number) + number, number)
        rows = order[first + np.arange(len(first))]
        m = len(links)
        data = {n: np.broadcast_to(c, (m,))[rows] for n, c in links.data.items()}
        delay = np.broadcast_to(links.delay, (m,))[rows]
        source = np.repeat(slot, number).astype(np.int32)
        if len(rows):
            slots.connections.append(
                Connections(variable, links.access, source, links.target[rows], delay, data)
            )
    lost = np.flatnonzero(~leads)
    uids = circuit.uids if len(lost) else ports
    texts = (f"port {quoted(uids[ports[i]])} leads no '{variable}' anywhere" for i in lost)
    faults.add_each(texts, len(lost))
