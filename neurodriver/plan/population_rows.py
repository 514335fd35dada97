"""Parameters, constants and states of a group -> rows of the array table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.initial import initial_states
from ..model.texts import named, texts_of
from ..native.buffers import padded
from .arrays import Array, Key, Kind, PopulationOwner, Role, row, zeros
from .layout import Layout

NONE: frozenset[str] = frozenset()


def stored(layout: Layout, number: int, column: NDArray[Any], capacity: int) -> NDArray[Any]:
    """Put a column of a group into storage order; spare places repeat the first value.

    Parameters
    ----------
    layout : Layout
    number : int
        Of the group.
    column : (count,) array
    capacity : int
        Places of the group.
    """
    out = np.full(padded(capacity), column[0], dtype=column.dtype)
    order = layout.positions.get(number)
    out[: len(column)] = column if order is None else out[: len(column)]
    if order is not None:
        out[order] = column
    return out


def is_uniform(column: NDArray[Any]) -> bool:
    """Whether a column of a parameter is one number."""
    return column.ndim == 0 or bool((column == column[0]).all())


def number_rows(
    layout: Layout, number: int, capacity: int, apart: Collection[str] = NONE
) -> tuple[list[Array], frozenset[str]]:
    """Return the rows of parameters and constants, and the names of those that all share.

    Parameters
    ----------
    number : int
        Of the group.
    capacity : int
        Places of the group.
    apart : collection of str
        Parameters that get a value for each component, even if all are equal.
    """
    group = layout.circuit.groups[number]
    model, real, owner = group.model, layout.dtype, PopulationOwner(number)
    rows, uniform = [], set()
    fixed = model.fixed_params()
    for name in fixed:
        rule, key = model.params[name], Key(owner, Kind.PARAMETER, name)
        column = np.asarray(group.params.get(name, rule.default), dtype=np.float64)
        if name not in apart and is_uniform(column):
            uniform.add(name)
            rows.append(row(key, float(column.reshape(-1)[0]), Role.SETTABLE, real, rule.unit))
            continue
        whole = np.broadcast_to(column, (group.count,))
        if number in layout.positions:
            whole = stored(layout, number, whole, capacity)
        shape = (padded(capacity),)
        rows.append(Array(key, np.dtype(real), shape, Role.SETTABLE, rule.unit, whole))
    texts = texts_of(model)
    for name in model.constants:
        key = Key(owner, Kind.CONSTANT, name)
        needs = named([*fixed, *model.constants], [texts[f"constants['{name}']"]])
        if uniform.issuperset(needs):
            uniform.add(name)
            rows.append(row(key, 0.0, Role.DERIVED, real))
        else:
            rows.append(zeros(key, padded(capacity), real, Role.DERIVED))
    return rows, frozenset(uniform)


def state_rows(
    layout: Layout, number: int, capacity: int, published: Collection[str]
) -> list[Array]:
    """Return the rows of the states of a group that are not published.

    Parameters
    ----------
    number : int
        Of the group.
    capacity : int
        Places of the group.
    published : collection of str
        States that are rows of a ring.
    """
    group = layout.circuit.groups[number]
    owner, model = PopulationOwner(number), group.model
    starts, rows = initial_states(group), []
    for state in model.states:
        if state in published:
            continue
        column = np.zeros(padded(capacity))
        if not model.runtime.opaque:  # its instance does that
            column[layout.positions.get(number, np.arange(group.count))] = starts[state]
        unit = model.states[state].unit
        rows.append(row(Key(owner, Kind.STATE, state), column, Role.STATE, layout.dtype, unit))
    return rows
