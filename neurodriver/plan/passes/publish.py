"""Publish: a hidden state that is recorded becomes a variable of its model.

So recorders read it like any other variable: rows of a ring, at every step.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from ...circuit.circuit import Group
from ...model.component import NDComponent
from .draft import Draft


def apply(draft: Draft) -> Draft:
    """Return a draft whose models update the states that recorders ask for."""
    asked = {variable for _, variable, _ in draft.merging.requests} if draft.merging else set()
    groups = tuple(_publishing(group, asked) for group in draft.circuit.groups)
    if all(new is old for new, old in zip(groups, draft.circuit.groups, strict=True)):
        return draft
    circuit = draft.circuit.with_parts(groups, draft.circuit.connections)
    merged = draft.merged and replace(draft.merged, circuit=circuit)
    return replace(draft, circuit=circuit, merged=merged)


def _publishing(group: Group, asked: set[str]) -> Group:
    """Return a group whose model updates some of its states, too."""
    model = group.model
    states = tuple(sorted(asked & {*model.states} - {*model.updates}))
    if not states or group.hidden or model.runtime.instance:
        return group
    key: Any = model  # classes can be hashed
    return replace(group, model=_with_updates(key, states))


@cache
def _with_updates(model: type[NDComponent], states: tuple[str, ...]) -> type[NDComponent]:
    units = {**model.units, **{name: model.states[name].unit for name in states}}
    own = {
        "__module__": model.__module__,
        "__doc__": model.__doc__,
        "updates": {name: units[name] for name in (*model.updates, *states)},
        "kinds": {name: model.kind_of(name) for name in model.updates},
    }
    return type(model.__name__, (model,), own)
