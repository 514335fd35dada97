"""Numbers with units of other packages -> plain numbers in the unit that is wanted.

Quantities of pint, astropy and the package `quantities` are known by their methods, so that none of
these is imported here.
"""

from __future__ import annotations

import math
import re
from typing import Any

from .arguments import number
from .errors import UnitError


def is_quantity(value: object) -> bool:
    """Whether a value carries a unit, or is a list of such."""
    if type(value) is float:  # as most are
        return False
    if isinstance(value, list | tuple):
        kinds = set(map(type, value))
        nested = bool(kinds & {list, tuple}) and any(map(is_quantity, value))
        return nested or any(map(has_unit, kinds))
    return has_unit(type(value))


def has_unit(kind: type) -> bool:
    """Whether values of a type carry a unit."""
    pint_like = hasattr(kind, "magnitude") and hasattr(kind, "units")
    astropy_like = hasattr(kind, "to") and hasattr(kind, "unit")
    return pint_like or astropy_like or hasattr(kind, "get_best_unit")  # the last one: Brian2


def magnitude(value: Any, unit: str | None, name: str) -> Any:
    """Return the number or array of a quantity in a unit; what is no quantity comes back as it is.

    Parameters
    ----------
    unit : str or None
        Such as ``"mS/cm^2"``; ``""`` and ``"1"`` are those of plain numbers. None: not declared.
    name : str
        What the value is, for messages.

    Raises
    ------
    UnitError
        The quantity has another dimension, or the wanted unit is not known.
    """
    if not is_quantity(value):
        return value
    if isinstance(value, list | tuple):
        return type(value)(magnitude(one, unit, name) for one in value)
    if hasattr(type(value), "get_best_unit"):
        hint = f"in {unit}: divide it by the unit of Brian2" if unit else "without a unit"
        raise UnitError(f"{name}: quantities of Brian2 are not taken; give a number {hint}")
    if unit is None or re.search(r"\^[A-Za-z]", unit):
        why = "its unit is not declared" if unit is None else f"its unit {unit} is not fixed"
        raise UnitError(f"{name}: {why}; give a plain number (got {shown_quantity(value)})")
    try:
        return _converted(value, spelled(unit))
    except Exception as error:  # each package has errors of its own
        want = f"a quantity in {unit}" if unit not in ("", "1") else "a number without a unit"
        got = shown_quantity(value)
        raise UnitError(f"{name}: must be {want} (got {got}: {error})") from None


def bare(value: Any, name: str) -> Any:
    """Return the numbers of a quantity in its own unit; the values of a list must share one."""
    if isinstance(value, list | tuple) and is_quantity(value):
        return type(value)(bare(one, name) for one in value)
    if not is_quantity(value):
        return value
    if hasattr(type(value), "get_best_unit"):
        return magnitude(value, None, name)  # raises what says why
    return value.magnitude if hasattr(value, "magnitude") else value.value


def seconds(value: Any, name: str) -> Any:
    """Return a time in seconds; see `magnitude`."""
    return magnitude(value, "s", name)


def number_of_seconds(value: Any, name: str) -> float:
    """Return a time in seconds that is one finite number."""
    return number(seconds(value, name), name, "a finite number of seconds")


def point_in_time(value: Any, name: str) -> float:
    """Return a time in seconds, which may be infinite."""
    found = seconds(value, name)
    if isinstance(found, float) and math.isinf(found):
        return found
    return number(found, name, "seconds")


def spelled(unit: str) -> str:
    """Return a unit as the packages read it."""
    return "" if unit == "1" else unit.replace("Ohm", "ohm").replace(" ", "*")


def shown_quantity(value: Any) -> str:
    """Return a quantity as messages show it."""
    return " ".join(f"{value!s}".split())[:60]


def _converted(value: Any, unit: str) -> Any:
    if hasattr(value, "rescale"):
        return value.rescale(unit or "dimensionless").magnitude
    changed = value.to(unit)
    return changed.magnitude if hasattr(changed, "magnitude") else changed.value
