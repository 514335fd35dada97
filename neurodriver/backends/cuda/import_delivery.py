"""Delivery of the spikes of sources in other parts, the imports, by their sources.

The warp that brings the values of imports sends their spikes, as a warp does that computes spikes.
"""

from __future__ import annotations

from ...codegen.simt.spike_delivery import Sent, sent_by
from ...plan.program import Program
from ...plan.spikes.due import is_due


def senders_of(program: Program) -> dict[str, list[Sent]]:
    """Return variable -> deliveries of what imports send of it; a place is a sender's number."""
    out: dict[str, list[Sent]] = {}
    for number, one in enumerate(program.deliveries, len(program.units)):
        for (variable, group), first in one.sources.items():
            if program.circuit.groups[group].sends:
                out.setdefault(variable, []).append((number, first, sent_by(one.gather)))
    return out


def sender_of(program: Program, variable: str, element: int) -> tuple[int, int]:
    """Return the sender of what enters a row from an element on, and its first source; or -1, 0."""
    for name, segment in program.layout.rings[variable].segments.items():
        inside = segment.start <= element < segment.start + segment.count
        if inside and name != "inputs" and program.circuit.groups[int(name)].sends:
            senders = list(senders_of(program))
            return (senders.index(variable) if variable in senders else -1), element - segment.start
    return -1, 0


def sends_late(program: Program) -> bool:
    """Whether spikes of imports are delivered when they are due."""
    return any(
        is_due(one.gather) and program.circuit.groups[group].sends
        for one in program.deliveries
        for _, group in one.sources
    )
