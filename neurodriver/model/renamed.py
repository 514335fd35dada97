"""A declared model with other names for its variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from .component import NDComponent
from .language import parse, parse_expression, renamed_text

Names = tuple[tuple[str, str], ...]


def renamed(
    model: type[NDComponent], accesses: Mapping[str, str], updates: Mapping[str, str]
) -> type[NDComponent]:
    """Return a model whose accesses and updates have other variables; the same one each time.

    Parameters
    ----------
    model : NDComponent subclass
        Without states, terms and outputs.
    accesses : mapping of str to str
        Name of an access -> the variable that it is to read.
    updates : mapping of str to str
        Updated variable -> what it is to be called.
    """
    read = {access.name: access.variable for access in model.accesses}
    if accesses.items() <= read.items() and all(old == new for old, new in updates.items()):
        return model
    key: Any = model  # classes can be hashed
    return _renamed(key, tuple(accesses.items()), tuple(updates.items()))


@cache
def _renamed(model: type[NDComponent], accesses: Names, updates: Names) -> type[NDComponent]:
    read, written = dict(accesses), dict(updates)
    plain = {a.name: read.get(a.name, a.name) for a in model.accesses if not a.receptor}
    words = {**plain, **written}
    kinds: dict[str, Any] = {written.get(v, v): model.kind_of(v) for v in model.updates}
    made = []
    for access in model.accesses:
        variable = read.get(access.name, access.variable)
        each = access.each and renamed_text(
            parse_expression(access.each), {**words, access.variable: variable}
        )
        made.append(replace(access, variable=variable, each=each))
        kinds[variable] = model.kind_of(access.variable)
    own = {
        "__module__": model.__module__,
        "__doc__": model.__doc__,
        "accesses": tuple(made),
        "updates": {written.get(v, v): model.units[v] for v in model.updates},
        "kinds": kinds,
        "converts": model.converts,
        "update": renamed_text(parse(model.update), words),
    }
    return type(model.__name__, (model,), own)
