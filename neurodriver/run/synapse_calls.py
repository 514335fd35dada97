"""Texts of rules that Python calls: they run for all synapses between two steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.validate import edge_name
from ..codegen.calls import run_call
from ..errors import Faults, NeurodriverError, near
from ..model.language import assigned
from ..model.rule_calls import calls_of
from ..state.synapses import SynapseNames, Synapses


def ready_call(
    synapses: Synapses, label: str, name: str, given: Mapping[str, Any], step: int
) -> Callable[[], None]:
    """Return what stores the numbers that a text of the rule gives.

    Parameters
    ----------
    synapses : Synapses
        Up to date before the step.
    label : str
        Of the connections.
    name : str
        Of the text.
    given : mapping of str to float
        Numbers that the text reads.
    step : int
        Steps that are done.

    Raises
    ------
    NeurodriverError
        For a name or a number that does not fit, or a synapse whose numbers would not be finite.
        Nothing has been changed then.
    """
    rule, faults = synapses.rule, Faults(f"'{label}', '{name}'")
    known = calls_of(rule.on_call)
    if name not in known:
        written = ", ".join(rule.on_call) or "none"
        raise NeurodriverError(
            f"'{label}': {type(rule).__name__} has no text '{name}' for calls{near(name, known)}; "
            f"its on_call has: {written}"
        )
    written, call = known[name]
    numbers = _checked(given, call.given, written, faults)
    if faults.count:
        raise NeurodriverError(faults.report())
    own = {one: synapses.at(one, step) for one in synapses.names}
    levels = [
        (float(level), step - int(dosed))
        for level, dosed in zip(*(synapses.modulators() if rule.doses() else ((), ())), strict=True)
    ]
    run_call(rule, name, own, numbers, levels, synapses.dt * 1e3)
    where = f"on_call['{written}']"
    changed = {one: own[one] for one in own if one in assigned(rule.checked(where).node)}
    _check_finite(synapses, changed, faults)
    if faults.count:
        raise NeurodriverError(faults.report())

    def store() -> None:
        synapses.settle(step)
        for one, values in changed.items():
            synapses.write(one, values)

    return store


def _check_finite(
    synapses: Synapses, changed: Mapping[str, NDArray[np.floating]], faults: Faults
) -> None:
    """Note the synapses whose numbers would not be finite."""
    names = SynapseNames(synapses.circuit, synapses.links)

    def said(name: str, number: int) -> str:
        value = changed[name][number]
        return f"{edge_name(*names[number])}: '{name}' would be {value:g}; nothing was changed"

    for name, values in changed.items():
        faults.add_for(np.flatnonzero(~np.isfinite(values)), partial(said, name))


def _checked(
    given: Mapping[str, Any], wanted: tuple[str, ...], written: str, faults: Faults
) -> dict[str, float]:
    """Return the numbers of a call; note what is wrong with them."""
    for name in given:
        if name not in wanted:
            faults.add(f"{written} reads no number '{name}'{near(name, wanted)}")
    numbers = {}
    for name in wanted:
        if name not in given:
            faults.add(f"{written} needs the number '{name}'")
            continue
        try:
            numbers[name] = float(given[name])
        except (TypeError, ValueError):
            numbers[name] = math.nan
        if not math.isfinite(numbers[name]):
            faults.add(f"'{name}' must be a finite number (got {given[name]!r:.60})")
    return numbers
