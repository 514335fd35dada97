"""Groups with code of their own -> what their instances and kernels need."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Group
from ..circuit.links import REVERSAL_NAMES
from ..codegen.component import Shape
from ..errors import CircuitWarning, ModelError
from ..model.component import EVENT_VARIABLES
from ..model.runtime import backends_of
from ..plan.initial import initial_states
from .arrays import HostArray, filled

if TYPE_CHECKING:
    from ..plan.program import Program


@dataclass
class Custom:
    """A group of which there is an instance.

    Attributes
    ----------
    number : int
        Of the group.
    shape : Shape or None
        Of the kernel around a template.
    values : dict
        Argument key of that kernel -> value.
    cost : (slices,) float64
        Estimated work of each ``LANES`` components.
    stepwise : bool
        Whether the class has its own ``run_step``.
    """

    number: int
    shape: Shape | None = None
    values: dict[str, Any] = field(default_factory=dict)
    cost: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    stepwise: bool = False


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
        needs = "; that takes a GPU and `pip install 'neurodriver[gpu]'`" if other == "cuda" else ""
        raise ModelError(
            f"{group.name} runs on {' and '.join(allowed)}, this LPU's backend is '{backend}'; "
            f"choose backend '{other}' (NEURODRIVER_BACKEND={other}){needs}; or let a class that "
            f"runs on both say so: backends = ({both})"
        )


def columns_of(program: Program, backend: str) -> dict[int, dict[str, HostArray]]:
    """Return the arrays of every instance: group number -> key -> column.

    Keys: ``param:x``, ``internal:x``, ``input:<access>``, ``pre:<access>``, ``npre:...``,
    ``cumpre:...`` and ``conn:<access>:<name>``.

    Raises
    ------
    ModelError
        When a class does not run on this backend.
    """
    for one in program.custom:
        check_backend(program.circuit.groups[one.number], backend)
    return {one.number: _columns(program, one.number) for one in program.custom}


def _columns(program: Program, number: int) -> dict[str, HostArray]:
    group, dtype = program.circuit.groups[number], program.dtype
    out = {f"param:{name}": column for name, column in parameters(group, dtype).items()}
    starts = initial_columns(group)
    for name in group.model.runtime.states if group.model.runtime.opaque else ():
        out[f"internal:{name}"] = filled(starts[name], group.count, dtype)
    for access in group.model.accesses:
        out[f"input:{access.name}"] = filled(0.0, group.count, dtype)
        out.update(_connections(program, number, access.name, access.variable))
    return out


def parameters(group: Group, dtype: np.dtype) -> dict[str, HostArray]:
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
            out[name] = filled(column, group.count, np.int32)
        else:
            out[name] = filled(column, group.count, dtype)
    return out


def _warn(group: Group, name: str, column: Any, start: Any) -> None:
    """Tell that only some components have an optional number."""
    lost = int(np.isnan(column).sum())
    value = "NaN" if start is None else f"{start[np.isnan(column)][0]:g}"
    text = f"{group.name}: '{name}' is missing on {lost} of {group.count} nodes; {value} is taken"
    warnings.warn(text, CircuitWarning, stacklevel=2)


def initial_columns(group: Group) -> dict[str, NDArray[np.float64]]:
    """Return the values before step 0 of kept states and updated variables, each (count,)."""
    return group.model.runtime.starts(group, initial_states(group))


def _connections(program: Program, number: int, access: str, variable: str) -> dict[str, HostArray]:
    """Return the connections of one access: sources, counts, sums of counts, numbers.

    A component without an input for a variable reads one element that stays zero.
    """
    from ..plan.edges import edges_of

    count = program.circuit.groups[number].count
    edges = edges_of(program, number, access, variable, everything=True)
    lost = np.setdiff1d(np.arange(count), edges.target)
    target = np.concatenate([edges.target, lost])
    order = np.argsort(target, kind="stable")

    def column(values: Any, empty: float, kind: Any) -> HostArray:
        made = np.broadcast_to(values, (len(edges.target),))
        whole = np.concatenate([made, np.full(len(lost), empty)])
        return np.ascontiguousarray(whole[order], dtype=kind).view(HostArray)

    degree = np.bincount(target, minlength=count)
    zero = program.memory.rings[variable].zero
    out = {
        f"pre:{access}": column(edges.element, zero, np.int32),
        f"npre:{access}": degree.astype(np.int32).view(HostArray),
        f"cumpre:{access}": np.append(0, np.cumsum(degree)).astype(np.int32).view(HostArray),
    }
    for name, values in edges.data.items():
        out[f"conn:{access}:{name}"] = column(values, _neutral(name), program.dtype)
    out[f"conn:{access}:delay"] = column(edges.back, 0, np.int32)
    return out


def _neutral(name: str) -> float:
    return 1.0 if name == "weight" else 0.0


def events_of(group: Group) -> list[str]:
    """Return the updated variables whose silent rows nobody reads."""
    return [name for name in group.model.updates if name in EVENT_VARIABLES]
