"""Exact sums: values are rounded to multiples of 2^-40, and these are summed as integers.

So a sum does not depend on the order of items, threads or ranks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

UNIT = 2.0**-40
"""Changes of weights and averages are rounded to whole multiples of this."""


def whole(values: Reals) -> Counts:
    """Return values in multiples of `UNIT`, rounded to integers."""
    return np.rint(values * (1 / UNIT)).astype(np.int64)


def real(counts: Counts) -> Reals:
    """Return the values that integers in multiples of `UNIT` stand for."""
    return counts * np.float64(UNIT)
