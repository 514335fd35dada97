"""Variables of synapses that texts of targets write: from a backend into a snapshot, and back.

On every backend they are ordered by target, and within a target as in the circuit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..backends.base import Backend
from ..errors import Faults, quoted
from ..plan.arrays import ReceptorOwner
from ..plan.program import Program
from ..plan.sums.listed import ListedConnections
from .snapshot import LearnedState, Snapshot


def take_looped(backend: Backend) -> dict[str, LearnedState]:
    """Return the variables of synapses, by the place of their targets in the circuit."""
    found = {}
    for name, owner, plan in _plans(backend.program):
        own = {
            one: np.array(backend.live.read(plan.key(owner, one), slice(0, plan.edges)))
            for one in plan.written
        }
        none, empty = np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
        level = np.zeros(0, backend.program.dtype)
        found[name] = LearnedState(True, 0, own, none, none, {}, none, empty, {}, level, none)
    return found


def check_looped(program: Program, snapshot: Snapshot, faults: Faults) -> None:
    """Note variables of synapses that a snapshot does not have."""
    for name, _, plan in _plans(program):
        state = snapshot.learned.get(name)
        if state is None:
            faults.add(f"the variables of the synapses of {quoted(name)} were not saved")
            continue
        held = {len(column) for column in state.synapses.values()}
        if {*state.synapses} != {*plan.written} or held != {plan.edges}:
            got = f"{', '.join(sorted(state.synapses))} of {max(held, default=0):,} synapses"
            want = f"{', '.join(sorted(plan.written))} of {plan.edges:,}"
            faults.add(f"synapses of {quoted(name)}: there are {want}, but {got} were saved")


def put_looped(backend: Backend, snapshot: Snapshot) -> None:
    """Let the synapses of a backend go on with the variables that a snapshot has."""
    for name, owner, plan in _plans(backend.program):
        for one, values in snapshot.learned[name].synapses.items():
            backend.live.write(plan.key(owner, one), values, slice(0, plan.edges))


def _plans(program: Program) -> Iterator[tuple[str, ReceptorOwner, ListedConnections]]:
    for (number, access), plan in program.gathers.items():
        if isinstance(plan, ListedConnections) and plan.written and plan.edges:
            group = program.circuit.groups[number].name
            yield f"{group} {number} {access}", ReceptorOwner(number, access), plan
