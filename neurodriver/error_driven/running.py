"""``RunningVariance``: mean and variance of values that come one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass

TAU = 20.0
"""Trials after which a value counts 1/e of what it counted at first."""


@dataclass
class RunningVariance:
    """Mean and variance in which each value counts less than the ones after it.

    With ``a = 1 / tau``, the newest value has the weight a, the one before a (1 - a), and so on.
    The first one has all that is left. Source: T. Finch, Incremental calculation of weighted mean
    and variance, University of Cambridge (2009), section 9.

    Parameters
    ----------
    tau : float
        Number of values.

    Attributes
    ----------
    mean, variance : float
        NaN before the first value.
    """

    tau: float = TAU
    mean: float = math.nan
    variance: float = math.nan

    def add(self, value: float) -> None:
        """Add a value; NaN stands for none."""
        if math.isnan(value):
            return
        if math.isnan(self.mean):
            self.mean, self.variance = value, 0.0
            return
        apart = value - self.mean
        change = apart / self.tau
        self.mean += change
        self.variance = (1 - 1 / self.tau) * (self.variance + apart * change)
