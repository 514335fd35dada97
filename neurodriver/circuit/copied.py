"""A copy of a circuit with other numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Faults, near, quoted
from .arrays import floats, unit_of
from .builders import builds
from .circuit import Circuit, Connections, Group
from .stimulate import Numbers, numbers_of
from .validate import checked


@builds("copy")
def copy(
    circuit: Circuit, name: str | None, params: Mapping[Any, ArrayLike], weight_scale: float
) -> Circuit:
    """Return the circuit of `Circuit.copy`."""
    faults = Faults(f"{circuit.name}: copy")
    groups = list(circuit.groups)
    for key, values in params.items():
        who, parameter = key if isinstance(key, tuple) and len(key) == 2 else (None, key)
        _set(circuit, groups, who, str(parameter), values, faults)
    scale = np.asarray(weight_scale)
    if scale.shape or scale.dtype.kind not in "fiu" or not np.isfinite(scale):
        faults.add(f"weight_scale must be a number (got {weight_scale!r:.60})")
    faults.finish()
    links = circuit.connections
    if weight_scale != 1.0:
        links = tuple(_scaled(one, float(scale)) for one in links)
    made = circuit.with_parts(tuple(groups), links)
    if name is not None:
        made = made.changed(name=str(name), source=str(name))
    return checked(made, False) if params or weight_scale != 1.0 else made


def _set(
    circuit: Circuit, groups: list[Group], who: Any, name: str, values: ArrayLike, faults: Faults
) -> None:
    """Give some components another value of a parameter, in ``groups``."""
    models = [g.model for g in groups]
    has = [name in m.params or name in m.initial_names() for m in models]
    if who is None:
        parts = [np.arange(a, b) for a, b in zip(circuit.starts, circuit.starts[1:], strict=False)]
        numbers: Numbers = np.concatenate(
            [p for p, h in zip(parts, has, strict=True) if h] or [np.zeros(0)]
        )
        numbers = numbers.astype(np.int64)
    else:
        numbers = numbers_of(circuit, who, faults)
        if not len(numbers):
            return  # it is told already
    which = circuit.group_of(numbers)
    lacks = sorted({models[g].__name__ for g in np.unique(which) if not has[g]})
    if lacks or not len(numbers):
        known = sorted({p for m in models for p in (*m.params, *m.initial_names())})
        say = f"no parameter {quoted(name)}" + (f" of {', '.join(lacks)}" if lacks else "")
        faults.add(f"{say}{near(name, known)}")
        return
    given = floats(values, name, faults, unit_of(models[int(which[0])], name))
    if given.shape not in ((), (len(numbers),)):
        want = f"a number or {len(numbers)} of them"
        faults.add(f"{name}: expected {want}, got shape {given.shape}")
        return
    for g in np.unique(which).tolist():
        mine = which == g
        rows, group = numbers[mine] - circuit.starts[g], groups[g]
        new = given[mine] if given.ndim else given
        if not given.ndim and len(rows) == group.count:
            column = given
        else:
            rule = group.model.params.get(name)
            default = np.nan if rule is None or rule.default is None else rule.default
            old = group.params.get(name, np.asarray(default))
            column = np.broadcast_to(old, (group.count,)).copy()
            column[rows] = new
        groups[g] = replace(group, params={**group.params, name: column})


def _scaled(links: Connections, scale: float) -> Connections:
    if "weight" not in links.expanded().data:
        return links
    whole = links.expanded()
    return replace(whole, data={**whole.data, "weight": whole.data["weight"] * scale})
