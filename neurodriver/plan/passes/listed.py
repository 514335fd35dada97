"""Numbers the connections over which texts loop, so that their variables can be read back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...circuit.circuit import Circuit, Connections
from ...errors import CircuitError, quoted
from ...model.texts import looped_accesses
from ..sums.listed import RANK, SET
from .draft import Draft


def apply(draft: Draft) -> Draft:
    """Return a draft in which such connections are columns, with their set and place in it."""
    circuit = draft.circuit
    if not any(looped_accesses(group.model) for group in circuit.groups):
        return draft
    links = [_numbered(circuit, i, one) for i, one in enumerate(circuit.connections)]
    return replace(draft, circuit=circuit.with_parts(circuit.groups, links))


def _numbered(circuit: Circuit, number: int, links: Connections) -> Connections:
    groups = [g for g in circuit.groups if links.access in looped_accesses(g.model)]
    if not groups:
        return links
    if links.plasticity is not None:
        said = f"connections {quoted(links.name or links.access)}"
        fix = "loops over them: let the text change them, or leave out plasticity="
        raise CircuitError(f"{circuit.name}: {said}: the text of {groups[0].name} {fix}")
    own = links.expanded()
    data = {**own.data, SET: np.asarray(number + 1.0), RANK: np.arange(float(len(own)))}
    made = Connections(own.variable, own.access, own.source, own.target, own.delay, data)
    return replace(made, name=links.name)
