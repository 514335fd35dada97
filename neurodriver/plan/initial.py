"""Values before step 0: states, and row 0 of the variables that are states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Group

if TYPE_CHECKING:
    from .program import Program


def initial_states(group: Group) -> dict[str, NDArray[np.float64]]:
    """Return the initial value of every state of a group, each (count,).

    The parameter ``init<state>`` where a component has one, otherwise what the model declares.
    """
    out: dict[str, NDArray[np.float64]] = {}
    for name, state in group.model.states.items():
        if isinstance(state.initial, str):
            rule = group.model.params.get(state.initial)
            column = out.get(state.initial)
            if column is None:  # code may do without the parameter
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


def fill_initial(program: Program) -> None:
    """Write the initial states into the memory of a program whose rings are allocated."""
    for unit in program.units:
        for number in unit.groups:
            group = program.circuit.groups[number]
            if group.model.runtime.opaque:
                continue  # its instance does that
            prefix = "" if number == unit.groups[0] else "synapse."
            place = program.positions.get(number, np.arange(group.count))
            for name, column in initial_states(group).items():
                key = f"{prefix}state:{name}"
                if key in unit.values:
                    unit.values[key][place] = column
                else:
                    row = program.memory.get_buffer(name)[0]
                    row[program.elements(number, name)] = column
