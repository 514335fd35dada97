"""Draws the connections of projections that may act within a step as columns."""

from __future__ import annotations

from dataclasses import replace

from ...circuit.circuit import Circuit, Connections
from ...circuit.drawn import Drawn
from ...circuit.step_order import same_step_pairs
from ...errors import CircuitError, quoted
from .draft import Draft


def apply(draft: Draft) -> Draft:
    """Return a draft whose projections from earlier to later phases are columns.

    Spikes that are drawn in place have a latency of one step at least; columns have those of any
    phase. Graded values by rules of place need not be stored in any phase.

    Raises
    ------
    CircuitError
        For spikes within a step whose connections must not be stored.
    """
    circuit = draft.circuit
    links = [_expanded(circuit, one) for one in circuit.connections]
    if all(new is old for new, old in zip(links, circuit.connections, strict=True)):
        return draft
    return replace(draft, circuit=circuit.with_parts(circuit.groups, links))


def _expanded(circuit: Circuit, links: Connections) -> Connections:
    if not isinstance(links, Drawn) or not same_step_pairs(circuit, links):
        return links
    graded = not circuit.kinds.is_event(links.variable)
    if links.located is not None and graded and links.plasticity is None:
        return links
    if links.projection.stored is False:
        say = (
            f"projection {quoted(links.name)}: stored=False is possible for spikes that take a step"
        )
        phases = "this one leads with delay 0 from an earlier phase to a later one"
        raise CircuitError(
            f"{circuit.name}: {say}; {phases}: give it a delay, or leave 'stored' out"
        )
    return links.expanded()
