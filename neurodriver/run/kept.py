"""Fields that plans must not compute away: ``LPU(keep=["AlphaSynapse.g"])``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..arguments import one_or_several
from ..circuit.circuit import Circuit
from ..errors import Faults, NeurodriverError, RequestError, near
from .named import numbered

Kept = tuple[str, str]
"""A model, and a variable, a state or a parameter of it."""


def kept_fields(keep: Iterable[str] | str, circuit: Circuit) -> tuple[Kept, ...]:
    """Return the models and names of fields that are to be kept.

    Parameters
    ----------
    keep : str or sequence of str
        Each is the name of a population or a model, or a uid; a point; and the name of a field.

    Raises
    ------
    NeurodriverError
        For what the circuit does not have; all faults at once.
    """
    faults, found = Faults("LPU: keep"), dict[Kept, None]()
    for said in one_or_several(keep, str, "LPU: keep"):
        who, point, field = said.rpartition(".")
        if not point:
            faults.add(f"'{said}': name a population or a model and a field, as in 'cells.u'")
            continue
        try:
            numbers = numbered(circuit, None, circuit, who)
        except RequestError as error:
            faults.add(f"'{said}': {error}")
            continue
        for number in np.unique(circuit.group_of(numbers)).tolist():
            group = circuit.groups[number]
            known = dict.fromkeys((*group.model.updates, *group.model.states, *group.model.params))
            if field in known:
                found[group.name, field] = None
            else:
                among = f"{near(field, known)}; it has {', '.join(known) or 'none'}"
                faults.add(f"'{said}': {group.name} has no '{field}'{among}")
    if faults.count:
        raise NeurodriverError(faults.report())
    return tuple(found)
