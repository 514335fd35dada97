"""Fusion: synapses that only an Aggregator reads are advanced while it sums them.

The conductance of a synapse is a function of its states, so the sum of row k can read the states
before they are advanced to row k + 1: one pass over the synapses, and ``g`` is not written unless
somebody records it. The synapses are stored in the order in which the Aggregator's slices read
them. Order and arithmetic of every sum stay the same, so do all bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..circuit.circuit import Circuit
from ..circuit.wiring import carried
from ..model.kinds import VariableKind
from .delays import steps_of
from .injection import Slots
from .sums.choice import plan
from .sums.gather import Edges, Gather

WASTE = 1.5
"""Most padding that fusion accepts: storage over synapses."""


@dataclass(frozen=True)
class Fused:
    """A fused pair of groups.

    Attributes
    ----------
    synapse : int
        Number of the synapse group.
    capacity : int
        Places in the synapses' storage, padding included.
    gather : Gather
        The Aggregator's sum of conductances, in sliced form.
    variable : str
        The conductance.
    """

    synapse: int
    capacity: int
    gather: Gather
    variable: str


def find_fusions(circuit: Circuit, dt: float, slots: Slots) -> dict[int, Fused]:
    """Return the fusions that apply: number of the Aggregator's group -> Fused."""
    found: dict[int, Fused] = {}
    for number, group in enumerate(circuit.groups):
        if group.model.converts is not VariableKind.CONDUCTANCE:
            continue
        if carried(group.model).variable in slots.count:
            continue
        fused = _find(circuit, number, dt)
        if fused is None or not _single_inputs(circuit, fused.synapse, slots):
            continue
        if fused.synapse not in {f.synapse for f in found.values()}:
            found[number] = fused
    return found


def _single_inputs(circuit: Circuit, number: int, slots: Slots) -> bool:
    """Whether no access of a group has more than one plain connection a component."""
    group, start = circuit.groups[number], int(circuit.starts[number])
    for access in group.model.accesses:
        degree = np.zeros(group.count, dtype=np.int64)
        for links in [*circuit.connections, *slots.connections]:
            if links.access == access.name and links.variable == access.variable:
                mine = links.target[(links.target >= start) & (links.target < start + group.count)]
                degree += np.bincount(mine - start, minlength=group.count)
        if degree.max() > 1 or access.connection:
            return False
    return True


def _find(circuit: Circuit, number: int, dt: float) -> Fused | None:
    start, end = circuit.starts[number], circuit.starts[number + 1]
    outer = circuit.groups[number].model
    access = carried(outer)
    readers = [c for c in circuit.connections if c.variable == access.variable and len(c)]
    if len(readers) != 1:
        return None
    links = readers[0]
    if links.access != access.name or not ((links.target >= start) & (links.target < end)).all():
        return None
    synapse = int(circuit.group_of(links.source[0]))
    group = circuit.groups[synapse]
    first = int(circuit.starts[synapse])
    each_once = np.array_equal(np.sort(links.source), first + np.arange(group.count))
    if not each_once or (steps_of(links, dt, circuit.phase_of) != 1).any() or group.is_port:
        return None
    both = group, circuit.groups[number]
    if {(one.phase, one.every, one.first) for one in both} != {(group.phase, 1, 0)}:
        return None
    model, conductance = group.model, {access.variable}
    if model.runtime.instance or outer.runtime.instance or access.reduce != "sum":
        return None
    names = {*model.params, *model.constants, *model.terms, *model.states, *model.updates}
    names |= {model.input_symbol(a) for a in model.accesses} - {access.name}
    summed = {a.name for a in outer.accesses}
    taken = {*summed, *outer.updates, *access.connection} - {access.name}
    if names & taken or {a.name for a in model.accesses} & summed or outer.params:
        return None
    if set(model.outputs) != conductance or set(model.updates) != conductance:
        return None
    if model.sub_units is not None:
        return None
    order = np.argsort(links.target, kind="stable")
    data = {}
    if "reverse" in links.data:
        reverse = np.asarray(links.data["reverse"], dtype=np.float64)
        data["reverse"] = reverse[order] if reverse.ndim else reverse
    edges = Edges(
        (links.target[order] - start).astype(np.int64),
        np.zeros(len(links), dtype=np.int64),
        np.zeros((), dtype=np.int64),
        data,
    )
    gather = plan(edges, circuit.groups[number].count, 0, lattice=False)
    capacity = int(gather.arrays["start"][-1]) if gather.form == "sliced" else 0
    if gather.form != "sliced" or gather.tail or capacity > WASTE * group.count:
        return None
    place = np.empty(group.count, dtype=np.int64)
    assert gather.place is not None  # the sliced form has one
    place[links.source[order] - first] = gather.place
    gather.place = place  # of each synapse, in the circuit's order
    return Fused(synapse, capacity, gather, access.variable)
