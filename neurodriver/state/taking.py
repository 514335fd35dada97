"""The state of a simulation on a backend -> ``Snapshot``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..errors import StateError, quoted
from ..plan.arrays import Array, InstanceOwner, Key, Kind, PopulationOwner, Role
from ..plan.pool_models import POOLS
from ..plan.program import Program
from .late import LateArrivals
from .learned import take_learned
from .looped import take_looped
from .pending import PendingSpikes, computed, delivered_accesses
from .sent import NoPorts, Ports, Underway
from .snapshot import Arrivals, GroupState, InjectedRows, Ragged, Snapshot

Targets = Sequence[tuple[str, Sequence[str]]]
"""Variable and uids of each target of the inputs, in the order of the program's slots."""

FIRST_SUB_UNIT = "first sub-unit"


def take(
    backend: Backend,
    step: int,
    targets: Targets,
    late: Sequence[LateArrivals] = (),
    ports: Ports | None = None,
) -> Snapshot:
    """Return the state of a simulation.

    Parameters
    ----------
    backend : Backend
    step : int
        Steps done.
    targets : sequence of (variable, uids)
        What inputs inject, as the program knows it.
    late : sequence of LateArrivals
        What `put` returned and has not entered yet.
    ports : Ports, optional
        Of LPUs that are simulated together.

    Raises
    ------
    StateError
        Where a class with code of its own holds a state that nobody else can read.
    """
    program = backend.program
    if step:  # before the first step it is as classes make it
        check_readable(program)
    ports = ports or NoPorts()
    underway = ports.underway(step)
    groups = [
        _group(backend, number, underway, [one for one in late if one.number == number])
        for number in range(len(program.circuit.groups))
        if number not in ports.groups and not is_empty(program, number)
    ]
    return Snapshot(
        step,
        program.dt,
        program.dtype.name,
        program.seed,
        tuple(groups),
        _injected(backend, step, targets),
        ports.kept(step),
        learned={**take_learned(backend, step), **take_looped(backend)},
    )


def check_readable(program: Program) -> None:
    """Raise StateError where the state of a class is not in arrays of the program."""
    hidden = [
        program.circuit.groups[one.number].name
        for one in program.custom
        if not program.circuit.groups[one.number].model.runtime.kernel
        and not keeps_arrays(program.circuit.groups[one.number].model)
    ]
    if hidden:
        names = ", ".join(quoted(name) for name in dict.fromkeys(hidden))
        raise StateError(
            f"the state of {names} cannot be saved: run_step may keep it anywhere; "
            f"give the class the attribute state_in_arrays = True, if all of it is in "
            f"self.internal_states"
        )


def keeps_arrays(model: Any) -> bool:
    """Whether a class with ``run_step`` says that its state is in ``internal_states`` alone."""
    return bool(getattr(model, "state_in_arrays", False))


def is_empty(program: Program, number: int) -> bool:
    """Whether nothing of a group is computed or kept; pools are computed anew in each step."""
    pool = program.circuit.groups[number].model.__module__ == POOLS
    return pool or not len(computed(program, number))


def state_rows(program: Program, number: int) -> list[Array]:
    """Return the rows of the states of a group."""
    owners = PopulationOwner(number), InstanceOwner(number)
    return [row for owner in owners for row in program.arrays.select(owner, role=Role.STATE)]


def storage(program: Program, number: int) -> NDArray[np.int64]:
    """Return where each computed component of a group is stored, (n,)."""
    which = computed(program, number)
    places = program.layout.positions.get(number)
    return which if places is None else places[which]


def elements(program: Program, number: int, variable: str) -> NDArray[np.int64]:
    """Return where each computed component of a group stands in the rows of a variable, (n,)."""
    return program.layout.elements(number, variable)[computed(program, number)]


def sub_unit_places(program: Program, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first place of each component's sub-units, and how many places it has."""
    key = Key(PopulationOwner(number), Kind.INDEX, FIRST_SUB_UNIT)
    first = np.asarray(program.arrays[key].value)
    count = program.circuit.groups[number].count
    size = _sub_units(program, number)
    return first[:count], np.diff(np.append(first, size))[:count]


def _sub_units(program: Program, number: int) -> int:
    key = Key(PopulationOwner(number), Kind.RANDOM, "clock")
    return program.arrays[key].size


def is_ragged(program: Program, number: int, row: Array) -> bool:
    """Whether a state has values for each sub-unit."""
    owner = PopulationOwner(number)
    if Key(owner, Kind.INDEX, FIRST_SUB_UNIT) not in program.arrays:
        return False
    return row.key.kind is Kind.SUB_UNIT or row.key == Key(owner, Kind.RANDOM, "clock")


def _group(
    backend: Backend, number: int, underway: Underway, late: Sequence[LateArrivals]
) -> GroupState:
    program, step = backend.program, underway.step
    group, places = program.circuit.groups[number], storage(program, number)
    states: dict[str, NDArray[Any]] = {}
    sub_units: dict[str, Ragged] = {}
    for row in state_rows(program, number):
        values = backend.array(row.key)
        if is_ragged(program, number, row):
            first, counts = sub_unit_places(program, number)
            whole = Ragged(values, np.diff(np.append(first, len(values))))
            sub_units[row.key.name] = Ragged(whole.values[: counts.sum()].copy(), counts)
        else:
            at = places if isinstance(row.key.owner, PopulationOwner) else slice(group.count)
            states[row.key.name] = values[at].copy()
    rows = {
        variable: _rows(backend, variable, elements(program, number, variable), step)
        for variable, ring in program.layout.rings.items()
        if str(number) in ring.segments
    }
    arrivals = {}
    for access in delivered_accesses(program, number):
        pending = PendingSpikes(backend, number, access, underway)
        sums = pending.sums()
        for one in late:
            if one.access.name == access.name:
                sums = _together(sums, one.sums, one.first - step)
        arrivals[access.name] = Arrivals(sums, pending.unit())
    uids = group.full_uids[computed(program, number)]
    return GroupState(group.name, uids, states, sub_units, rows, arrivals)


def _together(sums: NDArray[np.int64], more: NDArray[np.int64], ahead: int) -> NDArray[np.int64]:
    """Return sums of arrivals with others that begin some steps ahead."""
    out = np.zeros((max(len(sums), ahead + len(more)), sums.shape[1]), np.int64)
    out[: len(sums)] = sums
    out[ahead : ahead + len(more)] += more
    return out


def _rows(
    backend: Backend, variable: str, elements: NDArray[np.int64], step: int, depth: int = 0
) -> NDArray[Any]:
    """Return the last rows of some elements, the newest first."""
    depth = depth or backend.program.layout.rings[variable].depth
    out = np.empty((depth, len(elements)), backend.program.dtype)
    for back in range(depth):
        out[back] = backend.row(variable, step - back)[elements]
    return out


def _injected(backend: Backend, step: int, targets: Targets) -> dict[str, InjectedRows]:
    layout = backend.program.layout
    out = {}
    for variable, ring in layout.rings.items():
        segment = ring.segments.get("inputs")
        if segment is None or ring.depth < 3:  # the newest row is injected again
            continue
        uids = [np.asarray(uids, np.str_) for name, uids in targets if name == variable]
        elements = segment.start + np.arange(segment.count)
        rows = _rows(backend, variable, elements, step - 1, ring.depth - 1)
        out[variable] = InjectedRows(np.concatenate(uids), rows)
    return out
