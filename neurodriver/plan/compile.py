"""``compile_circuit``: a circuit and a step -> ``Program``.

The order is: passes that rewrite the circuit, delays in steps, layout of memory, a plan for the
sums of each access, and the array table. No text is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..circuit.pointers import pointers
from ..circuit.seconds import warn_of_step
from ..model.kinds import VariableKind
from ..model.texts import looped_accesses
from ..profiling.phases import phased
from . import passes
from .build import ProgramBuilder
from .delays import longest, read_by_rules
from .diagnostics import OFF, Diagnostics
from .fusion import find_fusions
from .instances import needs_instance
from .layout import Layout, rings_of
from .ordering import by_rows, by_target, groups_of
from .passes.draft import Draft, Merged, Recorded
from .program import Program
from .spikes.drawn import draw_by_source, looked_back
from .spikes.fanout import LONGEST_WINDOW, outsiders, spread_accesses, window
from .sums.by_place import never_stored
from .target import CPU, Target

Places = NDArray[np.int64]


@phased("compile")
def compile_circuit(
    circuit: Circuit,
    dt: float,
    dtype: str = "float64",
    targets: Sequence[tuple[str, Sequence[str]]] = (),
    recorded: frozenset[str] = frozenset(),
    seed: int = 0,
    plans: bool = True,
    depth: Mapping[str, Callable[[int], int]] | None = None,
    target: Target = CPU,
    merging: Recorded | None = None,
    watch: Diagnostics = OFF,
    apart: Mapping[int, frozenset[str]] | None = None,
    longest_window: int = LONGEST_WINDOW,
) -> Program:
    """Compile a circuit.

    Parameters
    ----------
    circuit : Circuit
    dt : float
        Step in seconds.
    dtype : {"float64", "float32"}
    targets : sequence of (variable, uids)
        What inputs inject.
    recorded : frozenset of str
        Variables that recorders read.
    seed : int
        Seed of the random numbers.
    plans : bool
        Whether special plans (lattice, fusion) may be chosen; the results are the same.
    depth : mapping of variable to callable, optional
        Number of rows of a ring from the number it needs, where it needs more.
    target : Target
        Backend that the program is for.
    merging : Recorded, optional
        Merge synapses, except where this says; the results differ by rounding.
    watch : Diagnostics
        What the kernels watch; the results are the same.
    apart : mapping of int to frozenset of str
        Parameters of a group that get a value for each component, even if all are equal; the
        results are the same.
    longest_window : int
        Steps from one barrier to the next at most; the results are the same.
    """
    warn_of_step(circuit, dt)
    draft = passes.run(Draft(circuit, dt, targets, merging))
    full, slots, merged = draft.circuit, draft.slots, draft.merged or Merged(circuit, draft.slots)
    pointed = pointers(full)
    recorded |= _read_by_texts(full)
    spread = spread_accesses(full, target) if plans else frozenset()
    drawn_accesses = draw_by_source(full, spread, slots, dt, dtype, target.threads)
    drawn_depths = looked_back(full, drawn_accesses)
    depths = longest(full, dt, spread, drawn_depths, outsiders(full, target))
    read = read_by_rules(full, dt)
    recorded |= read.keys()
    depths |= {v: max(depths.get(v, 1), rows) for v, rows in read.items()}
    enters = {*slots.count, *(depth or {})}
    steps = 1
    if longest_window > 1 and not (pointed or (enters and target.threads)):
        steps = min(window(full, dt, spread, drawn_accesses, drawn_depths, target), longest_window)
    depths |= _rows_of_windows(full, depths, steps, recorded, enters)
    for one in pointed:
        depths |= {v: max(depths.get(v, 1), one.history + 1) for v in one.reads}
    if not depth:
        depths |= dict.fromkeys(_own_affairs(full) - recorded - set(slots.count), 0)
    for variable, rows in (depth or {}).items():
        depths[variable] = rows(depths.get(variable, 1) + 1) - 1
    fusions = find_fusions(full, dt, slots) if plans and target.fuses else {}
    unseen = [f for f in fusions.values() if f.variable not in recorded]
    silent = merged.silent | {(f.synapse, f.variable) for f in unseen}
    drawn = [links for one in drawn_accesses.values() for links in one.drawn]
    moves = plans and target.threads
    unstored = never_stored(full) if moves else []
    ordered = _but_read(full, by_target(full, [*drawn, *unstored])) if moves else {}
    kept = {*merged.places, *groups_of(full, unstored)}
    grids = _but_read(full, by_rows(full, ordered, kept)) if moves else {}
    capacities = {f.synapse: f.capacity for f in fusions.values()} | merged.places
    capacities |= {number: int(place[-1]) + 1 for number, place in grids.items()}
    positions = {f.synapse: f.gather.place for f in fusions.values() if f.gather.place is not None}
    positions |= ordered | grids | merged.positions
    rings = rings_of(full, depths, slots.count, target, silent, capacities)
    layout = Layout(full, dt, np.dtype(dtype), target, rings, slots, positions, steps)
    builder = ProgramBuilder(layout, seed, plans, spread, drawn_accesses, watch, apart)
    members = {f.synapse for f in fusions.values()} | merged.gone
    for number, group in enumerate(full.groups):
        if not group.is_port and number not in members:
            builder.group(number, fusions.get(number))
    return builder.program(merged)


def _rows_of_windows(
    circuit: Circuit,
    depths: Mapping[str, int],
    steps: int,
    recorded: frozenset[str],
    enters: Collection[str],
) -> dict[str, int]:
    """Return how many steps rows are looked back upon where windows have several steps.

    Rows of one window are read while those of the next are written. What ``enters`` from outside
    is there before its window, while that before is computed.
    """
    if steps == 1:
        return {}
    events = circuit.kinds.updated(VariableKind.EVENT)
    shared = {*recorded, *events, *(links.variable for links in circuit.connections)}
    out = {v: max(depths.get(v, 1), steps) + steps - 1 for v in shared}
    own = {v: depths.get(v, 1) + steps - 1 for v in enters if v not in shared}
    return {v: n + (steps - 1) * (v in enters) for v, n in (out | own).items()}


def _read_by_texts(circuit: Circuit) -> set[str]:
    """Return variables of which texts read the cells of populations, their own one included."""
    own = {
        variable
        for group in circuit.groups
        if group.model.axes or group.model.pools
        for variable in group.model.updates
    }
    return own | {variable for one in pointers(circuit) for variable in one.reads}


def _but_read(circuit: Circuit, orders: Mapping[int, Places]) -> dict[int, Places]:
    """Return storage orders without those of populations whose cells are read by their numbers."""
    read = {one.group for one in pointers(circuit)}
    read |= {n for n, group in enumerate(circuit.groups) if group.layer is not None}
    read |= {n for n, group in enumerate(circuit.groups) if looped_accesses(group.model)}
    return {number: order for number, order in orders.items() if number not in read}


def _own_affairs(circuit: Circuit) -> set[str]:
    """Return variables that no connection reads: a component may write over its own value."""
    if any(needs_instance(group) for group in circuit.groups):
        return set()
    updated = {variable for group in circuit.groups for variable in group.model.updates}
    events = circuit.kinds.updated(VariableKind.EVENT)
    return updated - {*events, *(links.variable for links in circuit.connections)}
