"""Sums in whole multiples of 2^-40: they do not depend on the order of items, threads or ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

UNIT = 2.0**-40
"""Changes of weights and averages are rounded to whole multiples of this."""


def whole(values: Reals) -> Counts:
    """Return the nearest whole multiples of the unit."""
    return np.rint(values / UNIT).astype(np.int64)


def real(counts: Counts) -> Reals:
    """Return the numbers that are so many units."""
    return counts * np.float64(UNIT)
