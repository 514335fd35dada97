"""A ``Snapshot`` -> the memory of a backend, whatever its plans and storage order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..errors import Faults, StateError, near, quoted
from ..plan.arrays import PopulationOwner
from ..plan.program import Program
from ..plan.sorting import times_before
from .late import LateArrivals
from .learned import check_learned, put_learned
from .looped import check_looped, put_looped
from .pending import PendingSpikes, computed, delivered_accesses
from .sent import NoPorts, Placed, Ports
from .snapshot import GroupState, InjectedRows, Snapshot
from .taking import (
    Targets,
    check_readable,
    elements,
    is_empty,
    is_ragged,
    state_rows,
    storage,
    sub_unit_places,
)

_MERGED = (
    "; synapses of one neuron and equal kinetics were computed as one: record the same from the "
    "first step on, or make both LPUs with merge=False"
)


def put(
    backend: Backend, snapshot: Snapshot, targets: Targets, ports: Ports | None = None
) -> list[LateArrivals]:
    """Let a backend go on from a snapshot; it has been published and not been run.

    Returns what has to enter the backend's slots later on.

    Parameters
    ----------
    backend : Backend
    snapshot : Snapshot
    targets : sequence of (variable, uids)
        What inputs inject, as the program knows it.
    ports : Ports, optional
        Of LPUs that are simulated together.

    Raises
    ------
    StateError
        With all that does not fit, before anything is changed.
    """
    program, ports = backend.program, ports or NoPorts()
    if snapshot.step:
        check_readable(program)
    _check_numbers(program, snapshot)
    found = _matched(program, snapshot, ports.groups)
    late: list[LateArrivals] = []
    for number, state in found.items():
        _put_states(backend, number, state)
    _put_rows(backend, snapshot, found, targets, ports.placed(snapshot))
    put_learned(backend, snapshot)
    put_looped(backend, snapshot)
    underway = ports.underway(snapshot.step)
    for number, state in found.items():
        known = state.rows.keys() - state.partial
        outputs = program.circuit.groups[number].model.outputs
        if any(v not in known for v in outputs if _published(program, number, v)):
            backend.live.recompute(number, snapshot.step)
        for access in delivered_accesses(program, number):
            pending = PendingSpikes(backend, number, access, underway)
            rows = pending.fill(state.arrivals[access.name].in_units(pending.unit()))
            if len(rows):
                late.append(LateArrivals(number, access, snapshot.step + pending.depth, rows))
    return late


def _check_numbers(program: Program, snapshot: Snapshot) -> None:
    faults = Faults("state")
    mine = {"dt": program.dt, "dtype": program.dtype.name, "seed": program.seed}
    for name, value in mine.items():
        saved = getattr(snapshot, name)
        if saved != value:
            faults.add(f"{name} was {saved!r} when it was saved, and is {value!r} here")
    if faults.count:
        raise StateError(faults.report())


def _matched(program: Program, snapshot: Snapshot, apart: frozenset[int]) -> dict[int, GroupState]:
    """Return the state of each group but some, in the order of its components."""
    faults, out = Faults("state"), {}
    index = _Index(snapshot)
    for number, group in enumerate(program.circuit.groups):
        if number in apart or is_empty(program, number):
            continue
        which = computed(program, number)
        state, lost = index.find(group.name, group.full_uids[which])
        if state is None:
            names = [one.name for one in snapshot.groups]
            others = f"{len(lost):,} of {len(which):,}" if len(lost) else "all"
            some = f", {quoted(lost[0])} for instance" if len(lost) else near(group.name, names)
            advice = _MERGED if number in program.merged.computed else ""
            faults.add(f"{others} components of {group.name} were not saved{some}{advice}")
            continue
        wanted = {
            "state": {r.key.name for r in state_rows(program, number)},
            "variable": {
                v for v, ring in program.layout.rings.items() if str(number) in ring.segments
            },
            "access": {a.name for a in delivered_accesses(program, number)},
        }
        held = {
            "state": {*state.states, *state.sub_units},
            "variable": state.rows.keys() - state.partial,
            "access": set(state.arrivals),
        }
        for kind, names_ in wanted.items():
            lacking = names_ - held[kind]
            if kind == "state":  # a state that is a variable, too, has rows alone
                lacking -= set(state.rows)
            if kind == "variable":  # what follows from states
                lacking -= {*state.states, *group.model.outputs}
            faults.add_each(
                (f"the {kind} {quoted(name)} of {group.name} was not saved" for name in lacking),
                len(lacking),
            )
        more = held["access"] - wanted["access"]
        faults.add_each(
            (
                f"spikes are on their way to {quoted(name)} of {group.name} by their sources; make "
                f"the LPU with the same 'plans' as the one that was saved"
                for name in more
            ),
            len(more),
        )
        out[number] = state
    check_learned(program, snapshot, faults)
    check_looped(program, snapshot, faults)
    if faults.count:
        raise StateError(faults.report())
    return out


def _published(program: Program, number: int, variable: str) -> bool:
    ring = program.layout.rings.get(variable)
    return ring is not None and str(number) in ring.segments


class _Index:
    """Finds components of a snapshot by model and uid."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._groups = snapshot.groups

    def find(self, name: str, uids: NDArray[np.str_]) -> tuple[GroupState | None, NDArray[Any]]:
        """Return the states of some components of a model, or None and those that lack."""
        lost: NDArray[Any] = np.empty(0, "U1")
        for state in self._groups:
            if state.name != name:
                continue
            if np.array_equal(state.uids, uids):
                return state, lost
            order = np.argsort(state.uids, kind="stable")
            at = np.minimum(np.searchsorted(state.uids[order], uids), len(order) - 1)
            missing = state.uids[order][at] != uids
            if not missing.any():
                return state.taken(order[at]), lost
            lost = uids[missing]
        return None, lost


def _put_states(backend: Backend, number: int, state: GroupState) -> None:
    program = backend.program
    places = storage(program, number)
    for row in state_rows(program, number):
        values = np.array(backend.array(row.key))
        if is_ragged(program, number, row):
            _, counts = sub_unit_places(program, number)
            ragged = state.sub_units[row.key.name]
            if not np.array_equal(ragged.counts, counts):
                name = program.circuit.groups[number].name
                raise StateError(f"state: {name} had another number of sub-units when saved")
            values[: counts.sum()] = ragged.values
        else:
            count = program.circuit.groups[number].count
            at = places if isinstance(row.key.owner, PopulationOwner) else slice(count)
            saved = state.states.get(row.key.name)
            values[at] = state.rows[row.key.name][0] if saved is None else saved
        backend.live.write(row.key, values)


def _put_rows(
    backend: Backend,
    snapshot: Snapshot,
    found: dict[int, GroupState],
    targets: Targets,
    placed: Mapping[str, Sequence[Placed]],
) -> None:
    program = backend.program
    for variable, ring in program.layout.rings.items():
        rows = np.repeat(backend.row(variable, 0)[None, :], ring.depth, axis=0)
        for number, state in found.items():
            if str(number) not in ring.segments:
                continue
            places = elements(program, number, variable)
            saved = state.rows.get(variable)
            if saved is None and variable not in state.states:
                continue
            if saved is None:  # nobody kept them, as a kernel read its own states alone
                saved = state.states[variable][None, :]
            most = min(len(saved), ring.depth)
            rows[:most, places] = saved[:most]
        segment = ring.segments.get("inputs")
        injected = snapshot.injected.get(variable)
        if segment is not None and injected is not None:
            _put_injected(rows, segment.start, injected, variable, targets)
        for one in placed.get(variable, ()):
            one.put(rows)
        backend.live.fill(variable, snapshot.step, rows)


def _put_injected(
    rows: NDArray[Any], start: int, injected: InjectedRows, variable: str, targets: Targets
) -> None:
    """Put what was injected into the slots of the same components, one after the other."""
    uids = np.concatenate([np.asarray(u, np.str_) for name, u in targets if name == variable])
    here, saved = _numbered(uids), _numbered(injected.uids)
    _, mine, theirs = np.intersect1d(here, saved, assume_unique=True, return_indices=True)
    most = min(len(injected.rows), len(rows) - 1)
    rows[1 : 1 + most, start + mine] = injected.rows[:most, theirs]


def _numbered(uids: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return uids with the number of times that each was named before."""
    return np.strings.add(np.strings.add(uids, "\n"), times_before(uids).astype("U"))
