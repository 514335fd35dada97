"""Draws the connections of projections that may act within a step as columns."""

from __future__ import annotations

from dataclasses import replace

from ...circuit.drawn import Drawn
from ...circuit.step_order import same_step_pairs
from .draft import Draft


def apply(draft: Draft) -> Draft:
    """Return a draft whose projections from earlier to later phases are columns.

    What is drawn in place has a latency of one step at least; columns have those of any phase.
    """
    circuit = draft.circuit
    links = [
        one.expanded() if isinstance(one, Drawn) and same_step_pairs(circuit, one) else one
        for one in circuit.connections
    ]
    if all(new is old for new, old in zip(links, circuit.connections, strict=True)):
        return draft
    return replace(draft, circuit=circuit.with_parts(circuit.groups, links))
