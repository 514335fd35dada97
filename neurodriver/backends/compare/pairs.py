"""The same elements in two programs of one circuit, and what a call has recorded of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit
from ...native.addresses import host_array
from ...plan.arrays import Key, Kind, PopulationOwner
from ...plan.program import Program
from ..tables import EventTable, InputTable, Probe
from .agreement import ValueCheck

Both = tuple[Program, Program]
Numbers = NDArray[np.int64]


@dataclass
class Pairs:
    """The same elements of a variable, or of a state, on both sides.

    Attributes
    ----------
    mine, theirs : (n,) int64
        Elements of the rows of the first and of the second program.
    number : (n,) int64
        Components in the circuit; -1 - slot for input slots.
    judge : ValueCheck
    """

    mine: Numbers
    theirs: Numbers
    number: Numbers
    judge: ValueCheck


@dataclass(frozen=True)
class StatePair:
    """A state without a ring, on both sides."""

    name: str
    key: Key
    pairs: Pairs


@dataclass(frozen=True)
class Kept:
    """A recorded row."""

    variable: str
    step: int
    values: NDArray[Any]
    elements: NDArray[np.int32]
    events: bool


def updated(both: Both, relative: float) -> dict[str, Pairs]:
    """Return the components that update each variable; variables of events come first."""
    out = {}
    circuit = both[0].circuit
    for variable in sorted(both[0].layout.rings, key=lambda v: not circuit.kinds.is_event(v)):
        segments = [_segments(program, variable) for program in both]
        groups = [
            g
            for g, group in enumerate(circuit.groups)
            if not group.is_port and all(str(g) in s for s in segments)
        ]
        if groups:
            counts = [circuit.groups[g].count for g in groups]
            sides = [np.concatenate([p.layout.elements(g, variable) for g in groups]) for p in both]
            number = np.concatenate([_numbers(circuit, g) for g in groups])
            allowed = 0.0 if circuit.kinds.is_event(variable) else relative
            judge = ValueCheck(allowed, np.repeat(range(len(groups)), counts))
            out[variable] = Pairs(sides[0], sides[1], number, judge)
    return out


def injected(both: Both) -> dict[str, Pairs]:
    """Return the input slots of each variable whose rows are written on both sides."""
    out = {}
    for variable in both[0].layout.rings:
        segments = [_segments(program, variable).get("inputs") for program in both]
        if segments[0] is not None and segments[1] is not None:
            written = np.ones(segments[0].count, bool)
            for program in both:
                for listed, (name, first, n) in zip(
                    program.listed, program.slots.places, strict=True
                ):
                    written[first : first + n] &= name != variable or not listed
            slots = np.flatnonzero(written)
            mine, theirs = (slots + s.start for s in segments if s)
            out[variable] = Pairs(mine, theirs, -1 - slots, ValueCheck(0.0, slots * 0))
    return out


def states(both: Both, relative: float) -> list[StatePair]:
    """Return the states that both keep without a row."""
    out = []
    circuit = both[0].circuit
    for row in both[0].arrays.select(kind=Kind.STATE):
        owner = row.key.owner
        if isinstance(owner, PopulationOwner) and row.key in both[1].arrays:
            number = _numbers(circuit, owner.number)
            usual = np.arange(len(number))
            sides = [program.layout.positions.get(owner.number, usual) for program in both]
            pairs = Pairs(sides[0], sides[1], number, ValueCheck(relative, usual * 0))
            out.append(StatePair(row.key.name, row.key, pairs))
    return out


def ports(both: Both) -> Iterator[tuple[str, Numbers, Numbers]]:
    """Yield variable and elements on both sides of what stands in the places of ports."""
    for variable, ring in both[0].layout.rings.items():
        for owner in ring.segments:
            if owner != "inputs" and both[0].circuit.groups[int(owner)].is_port:
                mine, theirs = (p.layout.elements(int(owner), variable) for p in both)
                yield variable, mine, theirs


def counterparts(both: Both, variable: str) -> Numbers:
    """Return where each element of a variable stands in the second program; -1: nowhere."""
    mine, theirs = (_segments(program, variable) for program in both)
    out = np.full(both[0].layout.rings[variable].width, -1)
    for owner in mine.keys() & theirs.keys() - {"inputs"}:
        places = [program.layout.elements(int(owner), variable) for program in both]
        out[places[0]] = places[1]
    return out


def moved(both: Both, table: InputTable) -> InputTable:
    """Return a table of inputs of the first program for the second."""
    rings, others = (program.layout.rings for program in both)
    name = list(rings)[table.ring]
    for owner, segment in rings[name].segments.items():
        if segment.start <= table.first < segment.start + segment.count:
            first = others[name].segments[owner].start + table.first - segment.start
    return InputTable(list(others).index(name), first, table.count, None, None, 0, table.back)


def name_of(circuit: Circuit, number: int) -> str:
    """Return a component, or an input slot, in words."""
    if number < 0:
        return f"input slot {-1 - number}"
    group = int(circuit.group_of(number))
    return f"'{circuit.uids[number]}' ({circuit.groups[group].name})"


def sampled(program: Program, probe: Probe, first: int, steps: int) -> Iterator[Kept]:
    """Yield the rows of values that a call has recorded."""
    variable = list(program.layout.rings)[probe.ring]
    elements = host_array(probe.elements, probe.count, np.int32)
    for step in range(first, first + steps):
        if (step + 1) % probe.interval == 0:
            slot = (step + 1) // probe.interval - 1 - first // probe.interval
            address = probe.rows + slot * probe.count * program.dtype.itemsize
            values = host_array(address, probe.count, program.dtype)
            yield Kept(variable, step, values, elements, False)


def recorded_events(
    program: Program,
    table: EventTable,
    first: int,
    steps: int,
    at: NDArray[np.integer],
    column: NDArray[np.int32],
) -> Iterator[Kept]:
    """Yield the events that a call has recorded, as rows of zeros and ones."""
    variable = list(program.layout.rings)[table.ring]
    elements = host_array(table.elements, table.count, np.int32)
    rows = np.zeros((steps, table.count), program.dtype)
    rows[at, column] = 1
    for step, row in enumerate(rows, first):
        yield Kept(variable, step, row, elements, True)


def _segments(program: Program, variable: str) -> dict[str, Any]:
    ring = program.layout.rings.get(variable)
    return {} if ring is None else dict(ring.segments)


def _numbers(circuit: Circuit, group: int) -> Numbers:
    out: Numbers = circuit.starts[group] + np.arange(circuit.groups[group].count)
    return out
