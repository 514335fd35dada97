"""Values of the states of a group before step 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .circuit import Group


def initial_states(group: Group) -> dict[str, NDArray[np.float64]]:
    """Return the initial value of every state of a group, each (count,).

    The parameter ``init<state>`` where a component has one, otherwise what the model declares.
    """
    out: dict[str, NDArray[np.float64]] = {}
    for name, state in group.model.states.items():
        if isinstance(state.initial, str):
            rule = group.model.params.get(state.initial)
            column = out.get(state.initial)
            if column is None:  # a list of parameters in the old style may leave it out
                default = rule.default if rule else 0.0
                column = np.asarray(group.params.get(state.initial, default), dtype=float)
        else:
            column = np.asarray(float(state.initial))
        column = np.broadcast_to(column, (group.count,))
        given = group.params.get(f"init{name}")
        if given is not None:
            column = np.where(np.isnan(given), column, given)
        out[name] = column
    return out
