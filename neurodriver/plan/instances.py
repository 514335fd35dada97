"""Groups with code of their own -> what their instances and kernels need."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..circuit.circuit import Circuit, Group
from ..circuit.initial import initial_states
from ..circuit.links import REVERSAL_NAMES
from ..errors import CircuitWarning, ModelError
from ..model.runtime import backends_of
from .arrays import Array, InstanceOwner, InstanceReceptorOwner, Key, Kind, Role, row, zeros
from .edges import edges_of
from .layout import Layout


def needs_instance(group: Group) -> bool:
    """Whether a group has an instance: its class brings code.

    Raises
    ------
    ModelError
        For a class that says nowhere what it computes.
    """
    model = group.model
    if model.needs_code and model.runtime.empty:
        message = "nothing says what it computes; declare `update`, or override run_step"
        raise ModelError(f"{model.__name__}: {message}")
    return model.runtime.instance


def check_backend(group: Group, backend: str) -> None:
    """Raise ModelError where a model does not run on a backend."""
    allowed = backends_of(group.model)
    if backend not in allowed:
        other, both = allowed[0], ", ".join(map(repr, (*allowed, backend)))
        needs = (
            "; that takes a GPU and `pip install 'neurodriver[gpu,pycuda]'`"
            if other == "cuda"
            else ""
        )
        raise ModelError(
            f"{group.name} runs on {' and '.join(allowed)}, this LPU's backend is '{backend}'; "
            f"choose backend '{other}' (NEURODRIVER_BACKEND={other}){needs}; or let a class that "
            f"runs on both say so: backends = ({both})"
        )


def instance_rows(layout: Layout, number: int) -> Iterator[Array]:
    """Yield the rows of all arrays that the instance of a group holds."""
    group, dtype = layout.circuit.groups[number], layout.dtype
    owner = InstanceOwner(number)
    for name, column in parameters(group, dtype).items():
        unit = group.model.params[name].unit if name in group.model.params else ""
        yield row(Key(owner, Kind.PARAMETER, name), column, Role.SETTABLE, column.dtype, unit)
    starts = initial_columns(group)
    for name in group.model.runtime.states if group.model.runtime.opaque else ():
        yield row(Key(owner, Kind.STATE, name), starts[name], Role.STATE, dtype)
    for access in group.model.accesses:
        receptor = InstanceReceptorOwner(number, access.name)
        yield zeros(Key(receptor, Kind.SUM, "input"), group.count, dtype)
        yield from _connections(layout, number, access.name, access.variable)


def parameters(group: Group, dtype: np.dtype) -> dict[str, NDArray[Any]]:
    """Return one array for each parameter that a group has, in the working type.

    An optional ``init...`` that some components lack is filled up with the initial value that
    the model declares; any other missing number is NaN.

    Raises
    ------
    ModelError
        When a parameter that the model asks for as int is none.
    """
    model, out = group.model, {}
    columns: dict[str, Any] = {
        name: group.params.get(name, rule.default) for name, rule in model.params.items()
    }
    columns.update({n: c for n, c in group.params.items() if n not in columns})
    starts = initial_columns(group)
    for name, column in columns.items():
        state = name.removeprefix("init")
        if name not in model.params and np.isnan(column).any():
            start = starts.get(state)
            if state not in model.states and name not in REVERSAL_NAMES:
                _warn(group, name, column, start)
            column = column if start is None else np.where(np.isnan(column), start, column)
        if name in model.runtime.integers:
            if (np.asarray(column) % 1 != 0).any():
                raise ModelError(f"{group.name}.{name}: must be whole numbers")
            out[name] = np.broadcast_to(column, (group.count,)).astype(np.int32)
        else:
            out[name] = np.broadcast_to(column, (group.count,)).astype(dtype)
    return out


def _warn(group: Group, name: str, column: Any, start: Any) -> None:
    """Report that only some components have an optional number."""
    lost = int(np.isnan(column).sum())
    value = "NaN" if start is None else f"{start[np.isnan(column)][0]:g}"
    text = f"{group.name}: '{name}' is missing on {lost} of {group.count} nodes; {value} is taken"
    warnings.warn(text, CircuitWarning, stacklevel=2)


def initial_columns(group: Group) -> dict[str, NDArray[np.float64]]:
    """Return the values before step 0 of kept states and updated variables, each (count,)."""
    model, count = group.model, group.count
    return model.runtime.starts(model, group.params, initial_states(group), count)


def _connections(layout: Layout, number: int, access: str, variable: str) -> Iterator[Array]:
    """Yield the rows of the connections of one access: sources, counts, sums of counts, numbers.

    A component without an input for a variable reads one element that stays zero.
    """
    count = layout.circuit.groups[number].count
    edges = edges_of(layout, number, access, variable, everything=True)
    lost = np.setdiff1d(np.arange(count), edges.target)
    target = np.concatenate([edges.target, lost])
    order = np.argsort(target, kind="stable")

    def one(kind: Kind, name: str, values: Any, dtype: DTypeLike) -> Array:
        key = Key(InstanceReceptorOwner(number, access), kind, name)
        return row(key, np.ascontiguousarray(values, dtype), real=dtype)

    def column(values: Any, empty: float) -> NDArray[Any]:
        made = np.broadcast_to(values, (len(edges.target),))
        whole: NDArray[Any] = np.concatenate([made, np.full(len(lost), empty)])[order]
        return whole

    degree = np.bincount(target, minlength=count)
    zero = layout.rings[variable].zero
    yield one(Kind.INDEX, "pre", column(edges.element, zero), np.int32)
    yield one(Kind.INDEX, "npre", degree, np.int32)
    yield one(Kind.INDEX, "cumpre", np.append(0, np.cumsum(degree)), np.int32)
    for name, values in edges.data.items():
        yield one(Kind.WEIGHT, name, column(values, _neutral(name)), layout.dtype)
    yield one(Kind.INDEX, "delay", column(edges.back, 0), np.int32)


def _neutral(name: str) -> float:
    return 1.0 if name == "weight" else 0.0


def events_of(circuit: Circuit, group: Group) -> list[str]:
    """Return the updated variables whose silent rows nobody reads."""
    return [name for name in group.model.updates if circuit.kinds.is_event(name)]
