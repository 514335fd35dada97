"""What counts as a number where users give one."""

from __future__ import annotations

import numpy as np


def real(value: object) -> float:
    """Return one real number as float, NaN for anything else, texts and truth values included."""
    if isinstance(value, bool | np.bool_ | str | bytes) or not hasattr(value, "__float__"):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def whole(value: object) -> bool:
    """Whether a value is a whole number, numpy's included."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
