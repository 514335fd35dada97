"""Requests that name cells by their population: ``("s1.val", {"theta": 2})``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..circuit.axis_parts import rows_at
from ..circuit.circuit import Circuit
from ..circuit.numbered import Numbered
from ..circuit.pools import pool_groups
from ..errors import NeurodriverError, RecordingError, near


def of_population(entry: Any) -> bool:
    """Whether a request names a population, or indices along its axes."""
    pair = isinstance(entry, tuple | list) and len(entry) == 2 and isinstance(entry[0], str)
    return pair and ("." in entry[0] or isinstance(entry[1], Mapping))


def cells_asked(entry: Any, circuit: Circuit) -> Any:
    """Return a request with what has the uids of the cells that it means.

    Raises
    ------
    RecordingError
        For a population or an axis that is not there.
    """
    if not of_population(entry):
        return _spelled_out(entry, circuit)
    (said, at), (name, point, variable) = entry, entry[0].rpartition(".")
    if not point:
        want = "name a population and a variable, as in 's1.val'"
        raise RecordingError(f"record: {said!r} with {at!r:.40}; {want}")
    if name not in circuit.populations:
        among = ", ".join([*circuit.populations][:10])
        hint = near(name, circuit.populations)
        raise RecordingError(f"record: no population {name!r}{hint}; there are {among}")
    cells = circuit.populations[name]
    if at is None:
        return variable, _groups(circuit, name, variable) or cells
    if not isinstance(at, Mapping):
        raise RecordingError(f"record: {said!r} takes indices along axes, got {at!r:.40}")
    try:
        rows = rows_at(circuit.spaces.get(name), at, f"record: {said!r}")
    except NeurodriverError as error:
        raise RecordingError(str(error)) from None
    return variable, circuit.uids[cells.numbers[rows]].tolist()


def _spelled_out(entry: Any, circuit: Circuit) -> Any:
    """Return a request with the populations that it names in place of their names.

    A component that is called so is meant first.
    """
    if not (isinstance(entry, tuple | list) and len(entry) == 2):
        return entry
    variable, who = entry
    each = [who] if isinstance(who, str) else who
    if not isinstance(each, list | tuple):
        return entry
    known = circuit.populations
    if not any(isinstance(o, str) and o in known for o in each):
        return entry
    return variable, [
        known[o] if isinstance(o, str) and o in known and circuit.find([o])[0] < 0 else o
        for o in each
    ]


def _groups(circuit: Circuit, population: str, name: str) -> list[str]:
    """Return the names of the groups of a pool; none of what is no pool."""
    for group in circuit.groups:
        layer = group.layer
        if layer is not None and layer.population == population and name in group.model.pools:
            count = pool_groups(group, circuit.spaces.get(population), name).count
            return list(Numbered(((f"{population}.{name}", count),)).listed())
    return []
