"""Values that stay until they are injected: what injects into them becomes an access."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...circuit.circuit import Circuit, Group
from ...model.component import Access, NDComponent, Parameter
from ..injection import Targets


def with_injected(circuit: Circuit, targets: Targets) -> Circuit:
    """Return a circuit in which values that are held take what inputs inject.

    A component into which nothing is injected keeps its values.

    Parameters
    ----------
    targets : sequence of (variable, uids)
        What inputs inject.
    """
    if not any(group.model.held for group in circuit.groups):
        return circuit
    numbers = [(variable, circuit.find(uids)) for variable, uids in targets]
    groups = list(circuit.groups)
    for number, group in enumerate(groups):
        first = int(circuit.starts[number])
        given: dict[str, Any] = {}
        for variable, found in numbers:
            mine = found[(found >= first) & (found < first + group.count)] - first
            if len(mine) and variable in group.model.held:
                column = given.setdefault(variable, np.zeros(group.count))
                column[mine] = 1.0
        if given:
            groups[number] = _taking(group, given)
    return circuit.changed(groups=tuple(groups))


def _taking(group: Group, given: dict[str, Any]) -> Group:
    model: Any = group.model  # classes can be hashed
    params = {**group.params, **{f"given_{variable}": c for variable, c in given.items()}}
    return replace(group, model=_form(model, tuple(given)), params=params)


@cache
def _form(model: Any, variables: Sequence[str]) -> type[NDComponent]:
    """Return a model whose values are those that are injected, where some are."""
    texts = (f"if (given_{v} > 0) {v} = input_{v};" for v in variables)
    body = {
        "accesses": [Access(v, unit=model.units.get(v, "")) for v in variables],
        "params": {f"given_{v}": Parameter("", 0.0) for v in variables},
        "states": dict(_states(model)),
        "update": " ".join(texts),
        "__module__": model.__module__,
    }
    return type(model.__name__, (model,), body)


def _states(model: type[NDComponent]) -> Iterator[tuple[str, Any]]:
    for name in model.held:
        yield name, model.states[name]
