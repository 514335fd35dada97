"""In which unit components take what is injected: as their models declare it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..circuit.circuit import Circuit
from ..errors import UnitError, quoted

MOST = 4
"""Models that a message names."""


def unit_into(circuit: Circuit, variable: str, uids: Sequence[str], name: str) -> str | None:
    """Return the unit of values that are injected into components.

    Parameters
    ----------
    uids : sequence of str
        An input port stands for the components behind it.
    name : str
        Name used in messages.

    Returns
    -------
    str or None
        None where no model declares one.

    Raises
    ------
    UnitError
        Where the components take the variable in different units.
    """
    units: dict[str, list[str]] = {}
    for model, unit in _accesses(circuit, variable, uids):
        units.setdefault(unit, []).append(model)
    if len(units) > 1:
        different = [
            f"{unit or 'no declared unit'} ({', '.join(dict.fromkeys(models[:MOST]))})"
            for unit, models in units.items()
        ]
        raise UnitError(
            f"{name}: components take {quoted(variable)} in {' and in '.join(different)}; give "
            f"each of these an input of its own, or plain numbers"
        )
    return next(iter(units), "") or None


def _accesses(circuit: Circuit, variable: str, uids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield models and the units in which their components take a variable."""
    found = circuit.find(uids)
    found = found[found >= 0]
    numbers = np.unique(circuit.group_of(found))
    for group in [circuit.groups[number] for number in numbers.tolist()]:
        accesses = [one for one in group.model.accesses if one.variable == variable]
        yield from ((group.name, one.unit) for one in accesses[:1])
    ports = [number for number in numbers.tolist() if circuit.groups[number].is_port]
    for links in circuit.connections if ports else ():
        if links.variable != variable:
            continue
        behind = np.unique(links.target[np.isin(links.source, found)])
        for number in np.unique(circuit.group_of(behind)).tolist():
            group = circuit.groups[number]
            if not group.is_port:
                yield group.name, group.model.access(links.access).unit
