"""What the ends of a projection are given as -> component numbers."""

from __future__ import annotations

import inspect

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError, Faults, near, quoted
from ..model.component import NDComponent
from ..model.plasticity import Plasticity
from .circuit import Circuit
from .members import Members
from .numbers import whole
from .selection import has_populations

Components = range | tuple[int, int] | str | type[NDComponent] | Members


def end_name(components: object) -> str:
    if isinstance(components, range):
        return f"{components.start}:{components.stop}"
    if isinstance(components, tuple):
        return ":".join(map(str, components))
    if isinstance(components, Members):
        return components.name
    return components.__name__ if isinstance(components, type) else str(components)


def numbers_of_end(given: object, end: str, circuit: Circuit, faults: Faults) -> range:
    """Return component numbers; an empty range is a fault already noted."""
    none = range(0)
    models = [group.name for group in circuit.groups]
    if isinstance(given, str) and given not in models and has_populations(circuit):
        given = circuit.populations.get(given, given)
    if isinstance(given, Members):
        return _neighbours(given, end, circuit, faults)
    if isinstance(given, str) or inspect.isclass(given):
        name = end_name(given)
        found = [i for i, group in enumerate(circuit.groups) if group.name == name]
        if len(found) == 1:
            start, stop = circuit.starts[found[0] : found[0] + 2].tolist()
            return range(start, stop)
        if found:
            faults.add(f"'{end}': {len(found)} groups are of {name}; give component numbers")
        else:
            named = [*circuit.populations] if has_populations(circuit) else []
            among = ", ".join(dict.fromkeys(models))
            among += f", and no population, but {', '.join(named)}" if named else ""
            hint = near(name, [*models, *named])
            faults.add(f"'{end}': no group is of {quoted(name)}, but of {among}{hint}")
        return none
    pair = (given.start, given.stop) if isinstance(given, range) else given
    step = given.step if isinstance(given, range) else 1
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(map(whole, pair)):
        want = "a population, a range, (first, stop) or the name of a model"
        faults.add(f"'{end}' must be {want} (got {given!r:.60})")
    elif step != 1 or not 0 <= pair[0] < pair[1] <= circuit.count:
        want = f"neighbours from 0 to {circuit.count - 1}, at least one of them"
        faults.add(f"'{end}' must be {want} (got {given!r:.60})")
    else:
        return range(int(pair[0]), int(pair[1]))
    return none


def _neighbours(given: Members, end: str, circuit: Circuit, faults: Faults) -> range:
    """Return the component numbers of a population, a part of one or a selection."""
    try:
        numbers = given.numbers_in(circuit)
    except CircuitError as error:
        faults.add(f"'{end}': {error}")
        return range(0)
    if not len(numbers):
        faults.add(f"'{end}': {given.name} has no components")
    elif (np.diff(numbers) != 1).any():
        want = "must be neighbours in their order, as those of a population or a slice of it are"
        faults.add(f"'{end}': the components of {given.name} {want}; for others give Connections")
    else:
        return range(int(numbers[0]), int(numbers[-1]) + 1)
    return range(0)


def with_uids(rule: Plasticity, variable: str, circuit: Circuit, faults: Faults) -> Plasticity:
    """Return a rule whose modulators are released by components with uids of a circuit.

    What does not fit is noted: unknown components, or models that do not update the variable.
    """
    if not rule.released_by:
        return rule
    found, doses = {}, rule.doses()
    for name, given in rule.released_by.items():
        if isinstance(given, np.ndarray) and given.dtype.kind == "U":
            found[name] = given
            continue
        numbers = numbers_of_end(
            given, f"{type(rule).__name__}, modulator '{name}'", circuit, faults
        )
        found[name] = circuit.uids[numbers.start : numbers.stop]
        for group, first in zip(circuit.groups, circuit.starts.tolist(), strict=False):
            reached = first < numbers.stop and first + group.count > numbers.start
            if reached and name in doses and variable not in group.model.updates:
                faults.add(f"modulator '{name}': {group.name} does not update '{variable}'")
    for name, level in rule.levels().items():
        _check_level(name, level.variable, found[name], circuit, faults)
    return rule.released(found)


def _check_level(
    name: str, variable: str, uids: NDArray[np.str_], circuit: Circuit, faults: Faults
) -> None:
    """Note what is wrong with the component whose variable is a modulator."""
    if len(uids) != 1:
        got = f"got {len(uids):,} components"
        faults.add(f"modulator '{name}': it is the value of one component ({got})")
        return
    number = int(circuit.find(uids)[0])
    if number < 0:  # it is in another LPU, or nowhere
        return
    group = circuit.groups[int(circuit.group_of(number))]
    if variable not in group.model.updates:
        faults.add(f"modulator '{name}': {group.name} does not update '{variable}'")
