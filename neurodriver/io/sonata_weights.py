"""Weights and delays of a circuit in the units of SONATA, which reading converts back exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column, Connections
from ..circuit.wiring import resolve
from ..model.kinds import SPIKES
from .sonata_models import KNOWN, Template

MS = 1e-3
"""Factor by which the reader multiplies delays in ms."""


def in_ms(delay: Column) -> tuple[Column, Column | None]:
    """Return delays in ms, and also in s if this is needed for the same bits.

    Reading multiplies ms by 1e-3. About one number in fifty is not such a product. Then the second
    result has the delays in s. Otherwise it is None.
    """
    best = delay / MS
    for other in (np.nextafter(best, np.inf), np.nextafter(best, -np.inf), delay * 1e3):
        best = np.where(best * MS == delay, best, other)
    return best, None if (best * MS == delay).all() else delay


def routed(
    circuit: Circuit,
    links: Connections,
    rows: NDArray[np.int64],
    weight: Column | None,
    templates: list[str],
) -> Column | None:
    """Return weights for the templates of NEST and NEURON, or None if these cannot express them.

    With such a template, the sign of a weight chooses the receptor. So all targets must have such a
    template, and the sign of each weight must choose the access that the connections have.
    """
    if weight is None or set(links.data) != {"weight"}:
        return None
    ends = (links.source, links.target)
    groups = [np.unique(np.searchsorted(circuit.starts, e[rows], side="right") - 1) for e in ends]
    stored: Column | None = None
    for target in groups[1].tolist():
        template = KNOWN.get(templates[target])
        if not isinstance(template, Template) or templates[target] == "virtual":
            return None
        receiver = circuit.groups[target].model
        found: list[Column | None] = [None, None]
        for sign in (0, 1):
            for source in groups[0].tolist():
                wire = resolve(
                    circuit.groups[source].model, receiver, SPIKES, template.receptors[sign]
                )
                if wire.fault or (wire.variable, wire.access) != (links.variable, links.access):
                    break
            else:
                found[sign] = weight / template.factors[sign]
        whole = _by_sign(*found)
        if whole is None or (stored is not None and not _equal(whole, stored)):
            return None
        stored = whole
    return stored


def _by_sign(positive: Column | None, negative: Column | None) -> Column | None:
    """Return the weights that fit the receptor for positive or for negative weights, or None."""
    fits = [
        np.False_ if positive is None else positive >= 0,
        np.False_ if negative is None else negative < 0,
    ]
    if not np.all(fits[0] | fits[1]):
        return None
    if positive is None or negative is None:
        return negative if positive is None else positive
    return np.where(fits[0], positive, negative)


def _equal(a: Column, b: Column) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()
