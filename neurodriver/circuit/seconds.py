"""Times that are legal but look like milliseconds: they are seconds here, tables often say ms."""

from __future__ import annotations

import math

import numpy as np

from ..errors import Faults
from ..model.kinds import VariableKind
from .circuit import Circuit, Group
from .intervals import check_intervals
from .step_length import warn_of_overshoot

SUBSTEPS = 1000
"""Sub-steps of a model in a step that nobody wants: 100 are those of a step of 1 ms where ions
flow through channels."""

MOST_SUBSTEPS = 1_000_000
"""Sub-steps of a model in a step that take minutes or for ever."""

LONG = 5e-3
"""Seconds of a step from which spikes, and what decays in milliseconds, are worth a look."""

DELAY = 0.5
"""Seconds that no axon delays a spike: at 0.1 m/s, the slowest, they are 5 cm."""


def warn_of_step(circuit: Circuit, dt: float) -> None:
    """Warn of models that take very many sub-steps in a step of ``dt`` seconds, or overshoot.

    Also of a step that is longer than what they do in it, where nothing else is wrong, and of
    intervals of rules that are no whole number of steps.

    Raises
    ------
    CircuitError
        For models that have another step, or would take too many sub-steps; for intervals that are
        shorter than a step.
    """
    faults = Faults(circuit.name)
    for model in dict.fromkeys(group.model for group in circuit.groups):
        fixed = model.fixed_dt
        if fixed is not None and not math.isclose(dt, fixed, rel_tol=1e-9):
            say = f"{model.__name__} is written for steps of {fixed:g} s (got {dt:g} s)"
            faults.add(f"{say}; give dt={fixed:g}")
        elif (many := model.substeps(dt)) > MOST_SUBSTEPS:
            say = f"{model.__name__} would take {many:,} sub-steps a step of dt = {dt:g} s"
            faults.add(f"{say}; {MOST_SUBSTEPS:,} are allowed: dt is in seconds")
        elif many >= SUBSTEPS:
            faults.warn(
                f"{model.__name__} takes {many:,} sub-steps a step: dt = {dt:g} is in seconds"
            )
    check_intervals(faults, circuit, dt)
    if not faults.count:
        warn_of_overshoot(faults, circuit, dt)
    if not (faults.count or faults.warnings) and dt >= LONG:
        for text in dict.fromkeys(filter(None, (_too_short(one, dt) for one in circuit.groups))):
            faults.warn(f"{text} a step of dt = {dt:g}: dt is in seconds, 0.1 ms is dt=1e-4")
    faults.finish()


def _too_short(group: Group, dt: float) -> str:
    """Return what of some components is too short for a step; empty where nothing is."""
    model, rules = group.model, group.model.params
    units = {rule.unit for rule in rules.values()}
    if group.is_port or group.hidden or not group.count:
        return ""
    for name in model.fixed_params():
        if rules[name].unit == "ms":
            longest = np.max(group.params.get(name, rules[name].default), initial=0.0)
            if 0 < longest < dt * 1e3:
                return f"{model.__name__}: {name} = {longest:g} ms is shorter than"
    spikes = any(model.kind_of(name) is VariableKind.EVENT for name in model.updates)
    if spikes and model.states and "s" not in units:
        return f"{model.__name__} fires once at most in"
    return ""


def warn_of_delay(faults: Faults, connections: str, delay: float, dt: float) -> None:
    """Note a warning where the longest of some delays, in seconds, is very long."""
    if delay >= DELAY:
        said = f"{connections}, 'delay': up to {delay:g}, {delay / dt:,.0f} steps"
        faults.warn(f"{said}: delays are in seconds")
