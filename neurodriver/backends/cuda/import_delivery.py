"""Delivery of spikes that no kernel computes, by their sources: of inputs, and of other parts.

The warp that brings the values of sources in other parts, the imports, sends their spikes, as a
warp does that computes spikes. Spikes of inputs are sent by warps that have items of them.
"""

from __future__ import annotations

from ...codegen.simt.imports import Sender
from ...codegen.simt.spike_delivery import Sent, sent_by
from ...plan.program import Program
from ...plan.spikes.due import is_due
from ...plan.unit import INPUTS


def senders_of(program: Program) -> dict[Sender, list[Sent]]:
    """Return the deliveries of what enters from outside; a place is a sender's number.

    A sender is a variable of events, and whether they are those of inputs.
    """
    out: dict[Sender, list[Sent]] = {}
    for number, one in enumerate(program.deliveries, len(program.units)):
        for (variable, group), first in one.sources.items():
            if group == INPUTS or program.circuit.groups[group].sends:
                sent = number, first, sent_by(one.gather)
                out.setdefault((variable, group == INPUTS), []).append(sent)
    return out


def sender_of(program: Program, variable: str, element: int) -> tuple[int, int]:
    """Return the sender of what enters a row from an element on, and its first source; or -1, 0."""
    for name, segment in program.layout.rings[variable].segments.items():
        inside = segment.start <= element < segment.start + segment.count
        entering = name == "inputs"
        if inside and (entering or program.circuit.groups[int(name)].sends):
            senders, mine = list(senders_of(program)), (variable, entering)
            return (senders.index(mine) if mine in senders else -1), element - segment.start
    return -1, 0


def enters_slots_alone(program: Program, variable: str, element: int) -> bool:
    """Whether the events of an input that begins at an element are added to slots alone."""
    segment = program.layout.rings[variable].segments.get("inputs")
    if segment is None:
        return False
    places = zip(program.slots.places, program.listed, strict=True)
    alone = {(name, segment.start + first) for (name, first, _), listed in places if listed}
    return (variable, element) in alone


def sends_late(program: Program) -> bool:
    """Whether spikes of imports are delivered when they are due."""
    return any(
        is_due(one.gather) and group != INPUTS and program.circuit.groups[group].sends
        for one in program.deliveries
        for _, group in one.sources
    )
