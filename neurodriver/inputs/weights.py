"""A warning where events are too weak: an input injects them with the weight 1."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ..circuit.circuit import Circuit
from ..circuit.stimulate import response
from ..errors import CircuitWarning
from ..model.kinds import VariableKind

TRIED = 8
"""Components of a model that are looked at."""


def warn_of_weights(circuit: Circuit, variable: str, uids: Sequence[str], name: str) -> None:
    """Warn where an event of the weight 1 does not make a resting neuron fire.

    Receptors whose spikes have weights take events of an input with the weight 1, in the unit of
    the receptor.
    """
    numbers = circuit.find(list(uids))
    numbers = numbers[numbers >= 0]
    which = circuit.group_of(numbers)
    for g in np.unique(which).tolist():
        group = circuit.groups[g]
        access = next((a for a in group.model.accesses if a.variable == variable), None)
        if access is None or not access.weighted:
            continue
        if group.model.kind_of(variable) is not VariableKind.EVENT:
            continue
        members = (numbers[which == g] - circuit.starts[g])[:TRIED]
        found = response(group, members, access)
        if found is not None and found.strength > 1.0:
            model, where = group.model.__name__, f"at its receptor '{access.name}'"
            warnings.warn(
                f"{name}: an event enters {model} {where} with the weight 1, and it takes "
                f"{found.strength:.3g} to make the neuron fire at rest; circuit.stimulate(...) "
                f"makes sources whose events suffice, and a SpikeSource or PoissonSource has edges "
                f"with weights",
                CircuitWarning,
                stacklevel=2,
            )
