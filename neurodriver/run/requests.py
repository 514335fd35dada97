"""What a request names: the components that update a variable, and where their values lie."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column
from ..circuit.selection import has_populations, population_names
from ..circuit.uids import Uids
from ..errors import CircuitWarning, RequestError, near
from ..model.component import NDComponent
from ..plan.pool_models import POOLS
from ..plan.program import Program
from ..recorders.base import Columns, LateNames

LATE = 1 << 16
"""Columns from which on their names are made when somebody reads them."""


def recorded_columns(
    program: Program,
    variable: str,
    uids: Uids | None,
    scope: str | None = None,
    lenient: bool = False,
) -> tuple[Columns, NDArray[np.int64]]:
    """Return columns and elements of what a request names; of one LPU where ``scope`` is given.

    The uids are in the order wanted; without any, all that are not hidden are taken. ``lenient``
    leaves uids out that do not update the variable, with a warning that counts them; where no uids
    are given it takes hidden components, too, or nothing, where the variable is only read.

    Raises
    ------
    RequestError
        For a variable that nothing updates, or uids that do not update it.
    """
    circuit = program.circuit
    mine = circuit.members(scope)
    groups = [
        group
        for group, start in zip(circuit.groups, circuit.starts, strict=False)
        if mine[start : start + group.count].any()
    ]
    owners = [group for group in groups if variable in group.model.updates]
    if not owners:
        models = [group.model for group in groups]
        nobody = _nobody(variable, models)
        read = any(a.variable == variable for model in models for a in model.accesses)
        if not lenient or uids is not None or not read:
            raise nobody
        warnings.warn(f"{nobody}; nothing of it is recorded", CircuitWarning, stacklevel=2)
        return Columns(variable, np.empty(0, np.str_), "", False), np.empty(0, np.int64)
    element = _places(program, variable)
    element[~mine] = -1
    if uids is None:
        shown = element >= 0
        shown[circuit.holders(variable) >= 0] = False
        for group, start in zip(circuit.groups, circuit.starts, strict=False):
            if group.is_port or (group.hidden and not lenient):
                shown[start : start + group.count] = False
        own = circuit.numbers(scope)
        if any(group.model.__module__ == POOLS for group in owners):
            own = np.union1d(own, np.flatnonzero(mine))  # pools were added when it was compiled
        chosen = own[shown[own]]
    else:
        chosen = circuit.find(uids if scope is None else [f"{scope}/{uid}" for uid in uids])
        good = (chosen >= 0) & (element[chosen] >= 0)
        if not good.all():
            _check_uids(list(compress(uids, (~good).tolist())), uids, variable, lenient)
        chosen = chosen[good]
    if not len(chosen):
        raise RequestError(f"record: '{variable}' has no component to record; name the uids")
    unit = owners[0].model.units[variable]
    named = partial(_names, circuit, chosen)
    names = LateNames(len(chosen), named) if len(chosen) >= LATE else named()
    population = population_names(circuit)[chosen] if has_populations(circuit) else None
    events = program.layout.rings[variable].is_event
    return Columns(variable, names, unit, events, population), element[chosen]


def _names(circuit: Circuit, chosen: NDArray[np.int64]) -> Column:
    """Return the names of some components; those of other groups are not made."""
    group = np.searchsorted(circuit.starts, chosen, "right") - 1
    having = np.unique(group).tolist()
    parts = [circuit.groups[g].uids[chosen[group == g] - circuit.starts[g]] for g in having]
    found: Column = np.concatenate(parts) if len(parts) > 1 else parts[0]
    if len(parts) == 1:
        return found
    names: Column = np.empty_like(found)
    names[np.argsort(group, kind="stable")] = found
    return names


def _places(program: Program, variable: str) -> NDArray[np.int64]:
    """Return for each component where its value of a variable is in a row, -1: nowhere."""
    circuit = program.circuit
    held = [int(g) for g in program.layout.rings[variable].segments if g != "inputs"]
    # a port's own place holds nothing; what other ranks send is hidden
    held = [g for g in held if not circuit.groups[g].is_port or circuit.groups[g].hidden]
    place = places_in_row(program, variable, held)
    holder = circuit.holders(variable)
    ports = np.flatnonzero(holder >= 0)
    place[ports] = place[holder[ports]]
    return place


def places_in_row(program: Program, variable: str, groups: Iterable[int]) -> NDArray[np.int64]:
    """Return where each component of some groups lies in a row, (components,); -1: of others."""
    circuit = program.circuit
    out = np.full(circuit.count, -1, dtype=np.int64)
    for g in groups:
        out[circuit.starts[g] : circuit.starts[g + 1]] = program.layout.elements(g, variable)
    return out


def _check_uids(bad: Sequence[str], uids: Uids, variable: str, lenient: bool) -> None:
    """Raise, or warn, where some of the uids asked for do not update a variable."""
    if not bad:
        return
    more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
    names = ", ".join(f"'{u}'" for u in bad[:3]) + more
    text = f"record: {names}: no such component updates '{variable}'"
    if not lenient or len(bad) == len(uids):
        raise RequestError(text)
    among = f"{len(bad)} of {len(uids)} uids are left out"
    warnings.warn(f"{text}; {among}", CircuitWarning, stacklevel=3)


def _nobody(variable: str, models: Sequence[type[NDComponent]]) -> RequestError:
    """Return the error for a variable that none of some models updates."""
    own = [m for m in models if m.__module__ != POOLS]
    updated = sorted({v for m in own for v in (*m.updates, *m.pools)})
    states = sorted({v for m in own if not m.runtime.instance for v in m.states} - {*updated})
    hint = near(variable, [*updated, *states])
    for model in models:
        if variable in model.states:
            hint = f"; to record this state of {model.__name__}, name it in 'updates', too"
        if variable in model.pools:
            hint = "; it is a pool: name its groups, as in '<population>.<pool>/0', or None for all"
    among = ", ".join(updated) or "none"
    among += f", and the states {', '.join(states)}" if states else ""
    return RequestError(f"record: no component updates '{variable}'{hint}; known are {among}")
