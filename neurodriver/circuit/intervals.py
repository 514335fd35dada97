"""Intervals that are no whole number of steps: texts and recorders run at steps alone."""

from __future__ import annotations

import math

from ..errors import Faults, quoted
from .circuit import Circuit
from .plastic import learning_connections


def rounded(interval: float, dt: float) -> str:
    """Return what an interval becomes, both in seconds; "" where it is a whole number of steps."""
    steps = interval / dt
    whole = max(round(steps), 1)
    if math.isclose(steps, whole, rel_tol=1e-6):
        return ""
    return f"{steps:.4g} steps of {dt * 1e3:g} ms; it becomes {whole * dt * 1e3:g} ms"


def check_intervals(faults: Faults, circuit: Circuit, dt: float) -> None:
    """Note intervals of rules that are shorter than a step, and warn of those that are rounded."""
    for links in learning_connections(circuit):
        rule = links.plasticity
        assert rule is not None
        for name in rule.every:
            interval = rule.values[name]
            what = f"connections {quoted(links.name)}: {type(rule).__name__}.{name}"
            if not (text := rounded(interval * 1e-3, dt)):
                continue
            if interval * 1e-3 < dt:
                say = f"an interval must be one step of {dt * 1e3:g} ms at least"
                faults.add(f"{what}: {say} (got {interval:g} ms)")
            else:
                faults.warn(f"{what} = {interval:g} ms is {text}, but texts read {interval:g}")
