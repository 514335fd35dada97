"""Parameters of a rule that are numbers of each synapse: an array, or a law that draws them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, UnitError
from ..quantities import magnitude
from .component import Parameter
from .language import used
from .synapse_traces import taus


class Drawable(Protocol):
    """What numbers are drawn from, such as ``nd.Normal``."""

    def law(self) -> Any:
        """Return how they are drawn."""


Column = NDArray[np.float64] | Drawable
"""Numbers of each synapse, (m,), or what they are drawn from."""


def is_drawn(given: object) -> TypeGuard[Drawable]:
    """Whether somebody gives a law in place of numbers."""
    return hasattr(given, "law")


def is_column(given: object) -> bool:
    """Whether somebody gives numbers of each synapse, and not one number for all."""
    return is_drawn(given) or isinstance(given, list | tuple) or np.ndim(given) > 0  # type: ignore[arg-type]


def column_of(name: str, rule: Parameter, given: Any, faults: Faults) -> Column | None:
    """Return numbers of each synapse in the unit of a parameter; None after noting a fault."""
    if is_drawn(given):
        return given
    said = f"parameter '{name}' [{rule.unit}]"
    try:
        column = np.array(magnitude(given, rule.unit, f"parameter '{name}'"), np.float64)
    except UnitError as error:
        faults.add(str(error))
        return None
    except (TypeError, ValueError):
        faults.add(f"{said}: must be a number, or one of each synapse (got {given!r:.60})")
        return None
    if column.ndim != 1:
        faults.add(f"{said}: a number of each synapse is (m,) (got shape {column.shape})")
        return None
    bad = np.flatnonzero(misfits(rule, column))
    if len(bad):
        got = f"{column[bad[0]]:g} for synapse {bad[0]}"
        faults.add(f"{said}: must be {rule.allowed()} (got {got})")
        return None
    column.setflags(write=False)
    return column


def misfits(rule: Parameter, column: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which numbers are beyond what a parameter allows, or not finite."""
    fits = (column >= rule.at_least) & (column <= rule.at_most) & (column > rule.above)
    return ~(fits & np.isfinite(column))


def crossed_bounds(rule: Any, values: Any, columns: Any) -> str:
    """Return what is wrong with the bounds of a rule where the lower one is above the upper one.

    Parameters
    ----------
    values : mapping of str to float
        Parameters.
    columns : mapping of str to Column
        Parameters of which each synapse has a number; those that are drawn are not looked at.
    """
    if rule.bounds is None or any(is_drawn(columns.get(one)) for one in rule.bounds):
        return ""
    names = [repr(one) for one in rule.bounds if isinstance(one, str)]
    given = [columns.get(one, values.get(one, one)) for one in rule.bounds]
    if len({len(one) for one in given if np.ndim(one)}) > 1:
        return f"{' and '.join(names)}: one number for each synapse is needed in both"
    low, high = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in given))
    bad = np.flatnonzero(~(low <= high))
    if not len(bad):
        return ""
    of_synapse = f" for synapse {bad[0]}" if low.ndim else ""
    low, high = np.ravel(low)[bad[0]], np.ravel(high)[bad[0]]
    return f"{' and '.join(names)}: weights would lie between {low:g} and {high:g}{of_synapse}"


def unfit_times(rule: Any, values: Any) -> Iterator[str]:
    """Yield which intervals and time constants of a rule are not above 0."""
    found = dict.fromkeys(rule.every, "an interval")
    for attribute in ("pre", "post", "modulators"):
        for name, one in getattr(rule, attribute).items():
            found.setdefault(getattr(one, "tau", ""), f"the time constant of {attribute}['{name}']")
    for name, tau in taus(rule.synapse).items():
        found.setdefault(tau, f"the time constant of synapse['{name}']")
    for name, what in found.items():
        if values.get(name, 1.0) <= 0:
            got = f"{values[name]:g}"
            yield f"parameter '{name}' [ms]: must be above 0, as it is {what} (got {got})"


def shared_numbers(cls: Any) -> dict[str, str]:
    """Return the parameters that are one number for all synapses of a projection, and why.

    A neuron has one trace for all its synapses, so its time constant and its jump are shared. So
    are the numbers of modulators, intervals, and times by which values come late.
    """
    out: dict[str, str] = {}

    def add(given: Any, why: str) -> None:
        if given in cls.params:
            out.setdefault(given, why)
        elif given in cls.constants:
            for name in used(cls.checked(f"constants['{given}']").node):
                add(name, why)

    for attribute in ("pre", "post", "modulators"):
        for name, one in getattr(cls, attribute).items():
            for given in (getattr(one, "tau", None), getattr(one, "jump", None)):
                add(given, f"all synapses of a neuron share {attribute}['{name}']")
    for name, tau in taus(cls.synapse).items():
        add(tau, f"the trace '{name}' decays alike in all synapses")
    for name in cls.every:
        add(name, "all synapses have the same intervals")
    for value, time in cls.late.items():
        add(time, f"all synapses see {value} equally late")
    return out
