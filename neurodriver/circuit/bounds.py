"""What laws may draw, and what parameters allow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import Faults
from ..model.component import Parameter
from .distributions import Law


def check_law(key: str, law: Law, factors: Any, rule: Parameter | None, faults: Faults) -> None:
    """Note what a law may draw, times some factors, and a rule refuses; None takes only 1."""
    ends = np.array([law.least, law.most])[:, None] * np.asarray(factors).reshape(-1)
    if not ends.size:
        return
    least, most = float(ends.min()), float(ends.max())
    if rule is None:
        if (least, most) != (1.0, 1.0):
            got = f"{least:g}" if least == most else f"{least:g} to {most:g}"
            faults.add(f"'{key}' is {got}, but no target's access takes a weight; leave it out")
    elif text := out_of_bounds(rule, least, most):
        faults.add(f"'{key}' {text}")


def out_of_bounds(rule: Parameter, least: float, most: float) -> str:
    """Return what is wrong with numbers from ``least`` to ``most``, "" where a rule takes all."""
    if least >= rule.at_least and least > rule.above and most <= rule.at_most:
        return ""
    got = f"{least:g}" if least == most else f"{least:g} to {most:g}"
    hint = "; give bounds, 'low' and 'high'" if least < most else ""
    return f"must be {rule.allowed()} (got {f'{got} {rule.unit}'.rstrip()}{hint})"
