"""``compile_circuit``: a circuit and a step -> ``Program``.

The order is: passes that rewrite the circuit, rows of rings, storage order, layout of memory, a
plan for the sums of each access, and the array table. No text is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..circuit.circuit import Circuit
from ..circuit.seconds import warn_of_step
from ..profiling.phases import phased
from . import passes
from .build import ProgramBuilder
from .diagnostics import OFF, Diagnostics
from .fusion import find_fusions
from .layout import Layout, rings_of
from .member_sums import without_memory
from .ordering import storage
from .passes.draft import Draft, Merged, Recorded
from .program import Program
from .ring_rows import Uses, ring_rows
from .spikes.drawer import Drawer
from .spikes.drawn_there import draw_by_source
from .spikes.fanout import LONGEST_WINDOW, spread_accesses
from .spikes.stencil_set import StencilSet
from .sums.by_place import without_patched
from .target import CPU, Target


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
    drawer: Drawer | None = None,
) -> Program:
    """Compile a circuit.

    Parameters
    ----------
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
    drawer : Drawer, optional
        Draws connections where they will lie; the results are the same.
    """
    warn_of_step(circuit, dt)
    draft = passes.run(Draft(circuit, dt, targets, merging))
    full, slots, merged = draft.circuit, draft.slots, draft.merged or Merged(circuit, draft.slots)
    spread = spread_accesses(full, target) if plans else frozenset()
    stencils = StencilSet(full, spread, dt, target)
    drawn_accesses = draw_by_source(stencils.others, spread, slots, dt, target.threads, drawer)
    uses = Uses.of(full, dt, recorded, slots.count, depth)
    most = min(longest_window, stencils.window)
    known = stencils.looked_back
    rows, steps = ring_rows(full, dt, spread, drawn_accesses, uses, target, most, known)
    fusions = find_fusions(full, dt, slots) if plans and target.fuses else {}
    unseen = {(f.synapse, f.variable) for f in fusions.values() if f.variable not in uses.read}
    drawn = [links for one in drawn_accesses.values() for links in one.drawn]

    def laid_out(full: Circuit, moves: bool) -> Layout:
        capacities, positions = storage(full, fusions, merged, drawn, moves)
        silent = merged.silent | unseen | without_memory(full)
        rings = rings_of(full, rows, slots.count, target, silent, capacities)
        return Layout(full, dt, np.dtype(dtype), target, rings, slots, positions, steps)

    moves = plans and target.threads
    if moves:
        full = without_patched(laid_out(full, moves=False))
    layout = laid_out(full, moves)
    given = spread, drawn_accesses, watch, apart, stencils.accesses
    builder = ProgramBuilder(layout, seed, plans, *given)
    members = {f.synapse for f in fusions.values()} | merged.gone | {*layout.member_sums}
    for number, group in enumerate(full.groups):
        if not group.is_port and number not in members:
            builder.group(number, fusions.get(number))
    return builder.program(merged)
