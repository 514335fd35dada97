"""Populations that are not computed at each step: how often they are, and from which step on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Faults
from ..model.component import NDComponent
from ..model.kinds import VariableKind
from .numbers import whole

Pace = tuple[int, int]
"""``every`` and ``first``."""

LONGEST = 1_000_000
"""Largest number of steps from one to the next, and largest first step."""


def pace_of(
    model: type[NDComponent], every: Any, first: Any, params: Mapping[str, Any], where: str
) -> tuple[Pace, dict[str, Any]]:
    """Return how often a population is computed, and its parameters.

    ``every`` and ``first`` are parameters where the model declares them.

    Raises
    ------
    CircuitError
        With all faults.
    """
    given = dict(params)
    declared = getattr(model, "params", {})
    for name, value, default in (("every", every, 1), ("first", first, 0)):
        if name in declared and value is not default:
            given[name] = value
    every, first = (1 if "every" in declared else every), (0 if "first" in declared else first)
    faults = Faults(where)
    for name, value, least in (("every", every, 1), ("first", first, 0)):
        if not whole(value) or not least <= value <= LONGEST:
            want = f"a whole number of steps from {least} to {LONGEST:,}"
            faults.add(f"'{name}' must be {want} (got {value!r:.40})")
    if not faults.count and (every, first) != (1, 0):
        text = _unfit(model)
        if text:
            faults.add(f"'every' and 'first': {model.__name__} {text}")
    faults.finish()
    return (int(every), int(first)), given


def _unfit(model: type[NDComponent]) -> str:
    """Return why a model has to be computed at each step; empty where it has not."""
    events = [a.variable for a in model.accesses if model.kind_of(a.variable) is VariableKind.EVENT]
    if events:
        return f"reads events ({events[0]}), and those that arrive between its steps would be lost"
    if model.runtime.instance or model.sub_units is not None:
        return "has code or sub-units of its own, which are advanced at each step"
    return ""
