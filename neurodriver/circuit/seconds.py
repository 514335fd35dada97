"""Times that are legal but look like milliseconds: they are seconds here, tables often say ms."""

from __future__ import annotations

import math

from ..errors import Faults
from .circuit import Circuit
from .intervals import check_intervals
from .step_length import warn_of_overshoot

SUBSTEPS = 1000
"""Sub-steps of a model in a step that nobody wants: 100 are those of a step of 1 ms where ions
flow through channels."""

MOST_SUBSTEPS = 1_000_000
"""Sub-steps of a model in a step that take minutes or for ever."""

DELAY = 0.5
"""Seconds that no axon delays a spike: at 0.1 m/s, the slowest, they are 5 cm."""


def warn_of_step(circuit: Circuit, dt: float) -> None:
    """Warn of models that take very many sub-steps in a step of ``dt`` seconds, or overshoot.

    Warn of intervals of rules that are no whole number of steps, too.

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
    faults.finish()


def warn_of_delay(faults: Faults, connections: str, delay: float, dt: float) -> None:
    """Note a warning where the longest of some delays, in seconds, is very long."""
    if delay >= DELAY:
        said = f"{connections}, 'delay': up to {delay:g}, {delay / dt:,.0f} steps"
        faults.warn(f"{said}: delays are in seconds")
