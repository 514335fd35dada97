"""What counts as a number where users give one, and columns of such numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, UnitError, shown
from ..quantities import has_unit, magnitude


def real(value: object) -> float:
    """Return one real number as float, NaN for anything else, texts and truth values included."""
    if isinstance(value, bool | np.bool_ | str | bytes) or not hasattr(value, "__float__"):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, numpy's included."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def plain(value: Any, unit: str | None, name: str, faults: Faults, bad: Any = 0.0) -> Any:
    """Return a value, a quantity in a unit; one that does not fit is a fault and ``bad``."""
    try:
        return magnitude(value, unit, name)
    except UnitError as error:
        faults.add(str(error))
        return bad


def column(
    values: list[Any],
    faults: Faults,
    name: Callable[[int], str],
    bad: float = np.nan,
    unit: str | None = None,
) -> NDArray[np.float64]:
    """Return values as float64, NaN for None; what else is no number is a fault and ``bad``.

    Quantities are converted to ``unit``.
    """
    lost = []
    if any(map(has_unit, set(map(type, values)))):
        converted = [plain(v, unit, name(i), faults, None) for i, v in enumerate(values)]
        lost = [i for i, v in enumerate(converted) if v is None and values[i] is not None]
        values = converted
    if set(map(type, values)) <= {float, int}:
        try:
            out = np.array(values, dtype=np.float64)
            if not np.isnan(out).any():
                return out
        except OverflowError:
            pass
    out = np.fromiter(map(real, values), np.float64, len(values))
    wrong = [i for i in np.flatnonzero(np.isnan(out)).tolist() if values[i] is not None]
    say = "must be a finite number"
    faults.add_for(wrong, lambda i: f"{name(i)}: {say} (got {shown(values[i])})")
    out[wrong + lost] = bad
    return out
