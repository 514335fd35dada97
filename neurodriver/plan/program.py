"""Circuit + step -> ``Program``: memory, plans and kernels, ready for a backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Port
from ..circuit.random_keys import component_keys
from ..circuit.seconds import doubt_step
from ..codegen.component import Shape
from ..codegen.cpu.fused import fused_kernel
from ..codegen.cpu.tile_draws import columns
from ..codegen.cpu.update import update_kernel
from ..codegen.reactions import one_by_one, reaction_kernel
from ..codegen.simt.thread_reactions import thread_reactions
from ..codegen.simt.threads import spread, thread_kernel
from ..custom.plan import Custom, needs_instance
from ..model.component import EVENT_VARIABLES, Access
from ..model.language import used
from ..profiling.phases import phased
from .delays import Spread, longest
from .edges import edges_of
from .fusion import Fused, find_fusions
from .injection import Slots, make_slots
from .memory import LANES, MemoryManager, padded
from .ordering import by_rows, by_target
from .passes.aggregate import insert_aggregators
from .passes.merge import Merged, Recorded, merge
from .spikes.delivery import fans
from .spikes.drawn import Placed, looked_back, place_drawn
from .spikes.fanout import fan_out, narrow, spread_accesses, window
from .spikes.weights import add_units, is_whole, whole_weights
from .subunits import place
from .sums.events import add_events
from .sums.gather import Gather, plan
from .target import CPU, Target
from .unit import Unit as Unit

_CALLS = ("exp", "tanh", "cosh", "pow", "log", "sin", "cos", "normal", "poisson")


@dataclass
class Program:
    """A compiled circuit.

    Attributes
    ----------
    circuit : Circuit
        With its Aggregators.
    memory : MemoryManager
    units : list of Unit
    slots : Slots
    positions : dict of int to (count,) int64
        Storage order of the groups that are stored in another order than the circuit's.
    gathers : dict of (group number, access) to Gather
    custom : list of Custom
        Groups with instances; the kernels of templates are made with these.
    merged : Merged or None
        Which synapses are computed as one.
    spread : frozenset of (group number, access)
        Accesses that spikes reach by their sources.
    window : int
        Steps for which threads need not meet.
    placed : dict of (group number, access) to Placed
        Connections that are drawn already, before they have their plan.
    fans : list of Unit
        What deals out spikes on a GPU; they have no components.
    """

    circuit: Circuit
    dt: float
    dtype: np.dtype
    seed: int
    memory: MemoryManager
    slots: Slots
    units: list[Unit] = field(default_factory=list)
    positions: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    gathers: dict[tuple[int, str], Gather] = field(default_factory=dict)
    custom: list[Custom] = field(default_factory=list)
    merged: Merged | None = None
    spread: Spread = frozenset()
    window: int = 1
    placed: dict[tuple[int, str], Placed] = field(default_factory=dict)
    fans: list[Unit] = field(default_factory=list)

    def places(self, number: int) -> int:
        """Return how many components of a group are computed, as far as they are stored."""
        place = self.positions.get(number)
        return self.circuit.groups[number].count if place is None else int(place.max()) + 1

    def elements(self, number: int, variable: str) -> NDArray[np.int64]:
        """Return where the components of a group stand in a variable's row, (count,)."""
        segment = self.memory.segment(number, variable)
        order = self.positions.get(number)
        count = self.circuit.groups[number].count
        return segment.start + (np.arange(count) if order is None else order)


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
    """
    doubt_step(circuit, dt)
    full = insert_aggregators(circuit)
    slots = make_slots(full, targets)
    merged = merge(full, dt, slots, merging) if merging else Merged(full, slots)
    full, slots = merged.circuit, merged.slots
    spread = spread_accesses(full, target, slots) if plans else frozenset()
    placed = place_drawn(full, spread, slots, dt, dtype, target.threads)
    known = looked_back(full, placed)
    depths = longest(full, dt, spread, known)
    steps = window(full, dt, spread, placed, known) if not slots.count and not depth else 1
    if steps > 1:  # rows of one window are read while those of the next are written
        shared = {*recorded, *EVENT_VARIABLES, *(links.variable for links in full.connections)}
        depths |= {v: max(depths.get(v, 1), steps) + steps - 1 for v in shared}
    if not depth:
        depths |= dict.fromkeys(_own_affairs(full) - recorded - set(slots.count), 0)
    for variable, rows in (depth or {}).items():
        depths[variable] = rows(depths.get(variable, 1) + 1) - 1
    fusions = find_fusions(full, dt, slots) if plans and target.fuses else {}
    silent = frozenset((f.synapse, "g") for f in fusions.values() if "g" not in recorded)
    silent |= {(number, "g") for number in merged.gone}
    drawn = [links for one in placed.values() for links in one.drawn]
    ordered = by_target(full, drawn) if plans and target.threads else {}
    grids = by_rows(full, ordered, merged.places) if plans and target.threads else {}
    places = {f.synapse: f.capacity for f in fusions.values()} | merged.places
    places |= {number: int(place[-1]) + 1 for number, place in grids.items()}
    memory = MemoryManager(full, np.dtype(dtype), depths, slots.count, silent, places, target)
    program = Program(full, dt, np.dtype(dtype), seed, memory, slots, merged=merged)
    program.spread, program.window, program.placed = spread, steps, placed
    for fused in fusions.values():
        assert fused.gather.place is not None
        program.positions[fused.synapse] = fused.gather.place
    program.positions |= ordered | grids | merged.positions
    members = {f.synapse for f in fusions.values()} | merged.gone
    for number, group in enumerate(full.groups):
        if group.model is Port or number in members:
            continue
        if needs_instance(group):
            _custom(program, number, plans)
        elif number in fusions:
            program.units.append(_fused_unit(program, number, fusions[number], plans))
        else:
            program.units.append(_unit(program, number, plans))
    program.fans = fans(program)
    return program


def _own_affairs(circuit: Circuit) -> set[str]:
    """Return variables that no connection reads: a component may write over its own value."""
    if any(needs_instance(group) for group in circuit.groups):
        return set()
    updated = {variable for group in circuit.groups for variable in group.model.updates}
    return updated - EVENT_VARIABLES - {links.variable for links in circuit.connections}


def _unit(program: Program, number: int, plans: bool) -> Unit:
    group, count = program.circuit.groups[number], program.places(number)
    values: dict[str, Any] = {}
    shape = _shape(program, number, count, values, "", plans)
    cost = _work(shape, count)
    if program.memory.target.threads:
        if shape.model.sub_units is None:
            kernel, alone = thread_kernel(shape), spread(shape)
            idle = all(access.variable in EVENT_VARIABLES for access in shape.model.accesses)
            return Unit(kernel, (number,), count, values, cost, spread=alone, idle=idle)
        stored, cost = place(group, shape.substeps, 1, cost, program.memory)
        values |= stored
        kernel = thread_reactions(shape)
        return Unit(kernel, (number,), count, values, cost, grain=1, spread=True)
    if shape.model.sub_units is not None:
        kernel, grain = reaction_kernel(shape), 1 if one_by_one(shape) else LANES
        stored, cost = place(group, shape.substeps, grain, cost, program.memory)
        return Unit(kernel, (number,), group.count, values | stored, cost, grain=grain)
    kernel = update_kernel(shape)
    values |= columns(kernel.pointers, padded(count))
    return Unit(kernel, (number,), count, values, cost)


def _custom(program: Program, number: int, plans: bool) -> None:
    """Plan a group with an instance: around its kernel, or around nothing."""
    group = program.circuit.groups[number]
    one = Custom(number, stepwise=group.model.runtime.stepwise)
    if group.model.runtime.kernel:
        gathers, published = _gathers(program, number, group.count, one.values, "", plans, {})
        substeps = group.model.substeps(program.dt)
        one.values.update(dt=program.dt / substeps, components=group.count)
        alone = program.memory.kept
        model, dtype = group.model, program.dtype.name
        none: frozenset[str] = frozenset()
        one.shape = Shape(model, dtype, substeps, none, published, gathers, alone, group.count)
        one.cost = _work(one.shape, group.count)
    elif group.model.runtime.declared:
        unit = _unit(program, number, plans)
        unit.stepwise = one.stepwise
        program.units.append(unit)
    program.custom.append(one)


def _fused_unit(program: Program, number: int, fused: Fused, plans: bool) -> Unit:
    group = program.circuit.groups[number]
    values: dict[str, Any] = {}
    outer = _shape(program, number, group.count, values, "", plans, {"g": fused.gather})
    inner = _shape(program, fused.synapse, fused.capacity, values, "synapse.", plans)
    kernel = fused_kernel(outer, inner)
    each = _work(inner, fused.capacity)
    entries = np.add.reduceat(
        np.append(each, 0.0), np.minimum(fused.gather.arrays["start"][:-1] // LANES, len(each))
    )
    return Unit(kernel, (number, fused.synapse), group.count, values, entries + LANES)


def _shape(
    program: Program,
    number: int,
    capacity: int,
    values: dict[str, Any],
    prefix: str,
    plans: bool,
    given: dict[str, Gather] | None = None,
) -> Shape:
    """Plan the accesses of a group and fill in the values of its arguments."""
    model = program.circuit.groups[number].model
    substeps = model.substeps(program.dt)
    gathers, published = _gathers(program, number, capacity, values, prefix, plans, given or {})
    values[f"{prefix}dt_ms"] = program.dt * 1000.0 / substeps
    values["seed"] = program.seed
    values[f"{prefix}count"] = padded(capacity)
    uniform = _numbers(program, number, capacity, values, prefix)
    for variable in published & EVENT_VARIABLES if program.memory.target.threads else ():
        slices = padded(capacity) // LANES
        values[f"{prefix}slices:{variable}"] = slices
        # which slices of which rows may hold something else than zeros: all, at first
        depth = program.memory.rings[variable].depth
        values[f"{prefix}written:{variable}"] = np.ones(depth * slices, np.uint8)
    for state in model.states:
        if state not in published:
            values[f"{prefix}state:{state}"] = np.zeros(padded(capacity), program.dtype)
    if model.draws_random():
        values[f"{prefix}keys"] = _placed(
            program, number, component_keys(program.circuit, number), capacity
        )
    return Shape(
        model,
        program.dtype.name,
        substeps,
        frozenset(uniform),
        published,
        gathers,
        program.memory.kept,
        capacity,
        frozenset(v for v in published if program.memory.rings[v].depth == 1),
    )


def _gathers(
    program: Program,
    number: int,
    capacity: int,
    values: dict[str, Any],
    prefix: str,
    plans: bool,
    given: dict[str, Gather],
) -> tuple[dict[str, Gather], frozenset[str]]:
    """Plan the accesses of a group and find its segments; fill in the values of both."""
    memory, model = program.memory, program.circuit.groups[number].model
    gathers = dict(given)
    for access in model.accesses:
        if access.name not in gathers:
            gathers[access.name] = _gather(program, number, access, capacity, plans)
        _gather_values(gathers[access.name], access.name, values, prefix)
        gathers[access.name].place = None
        program.gathers[number, access.name] = gathers[access.name]
    published = set()
    for variable in model.updates:
        ring = memory.rings.get(variable)
        if ring and str(number) in ring.segments:
            published.add(variable)
            values[f"{prefix}segment:{variable}"] = ring.segments[str(number)].start
    return gathers, frozenset(published)


def _gather(program: Program, number: int, access: Access, capacity: int, plans: bool) -> Gather:
    """Choose how one access is summed."""
    memory = program.memory
    if (drawn := program.placed.pop((number, access.name), None)) is not None:
        made = narrow(drawn.gather(program, access.variable))
        add_units(made, drawn.units)
        return made
    edges = edges_of(program, number, access.name, access.variable)
    threads = plans and memory.target.threads
    events = plans and not threads and access.variable in EVENT_VARIABLES
    units = None
    if is_whole(program.circuit.groups[number].model, access) and len(edges.target):
        multiple, units = whole_weights(edges, capacity, program.dtype.name)
        edges = replace(edges, data={"weight": multiple.astype(np.float64)})
    if units is not None and (number, access.name) in program.spread:
        made = narrow(fan_out(program, edges, capacity, access.variable, units))
    else:
        zero = memory.rings[access.variable].zero if len(edges.target) else 0
        made = plan(edges, capacity, zero, lattice=plans and not events, threads=threads)
        if events and made.form == "sliced" and units is None:
            add_events(made, edges, capacity, zero)
    if units is not None:
        add_units(made, units)
    return made


def _placed(program: Program, number: int, column: NDArray[Any], capacity: int) -> NDArray[Any]:
    """Put a column of a group into storage order; spare places repeat the first value."""
    out = np.full(padded(capacity), column[0], dtype=column.dtype)
    order = program.positions.get(number)
    out[: len(column)] = column if order is None else out[: len(column)]
    if order is not None:
        out[order] = column
    return out


def _numbers(
    program: Program, number: int, capacity: int, values: dict[str, Any], prefix: str
) -> set[str]:
    """Store parameters, one number where all share it; return the names of those."""
    group = program.circuit.groups[number]
    uniform = set()
    fixed = group.model.fixed_params()
    for name in fixed:
        default = group.model.params[name].default
        column = np.asarray(group.params.get(name, default), dtype=np.float64)
        if column.ndim == 0 or (column == column[0]).all():
            uniform.add(name)
            values[f"{prefix}param:{name}"] = float(column.reshape(-1)[0])
        else:
            placed = _placed(program, number, column, capacity)
            values[f"{prefix}param:{name}"] = placed.astype(program.dtype)
    for name, text in group.model.constants.items():
        needs = used([*fixed, *group.model.constants], [text])
        if uniform.issuperset(needs):
            uniform.add(name)
            values[f"{prefix}constant:{name}"] = 0.0
        else:
            values[f"{prefix}constant:{name}"] = np.zeros(padded(capacity), program.dtype)
    return uniform


def _gather_values(gather: Gather, access: str, values: dict[str, Any], prefix: str) -> None:
    for name, array in gather.arrays.items():
        values[f"{prefix}{access}:{name}"] = array
    if "first" in gather.arrays:
        values[f"{prefix}first:{access}"] = int(gather.arrays["first"][0])
    for name, blank in gather.blanks.items():
        values[f"{prefix}{access}:{name}"] = blank
    if gather.parts is not None:
        values[f"{prefix}{access}:parts"] = gather.parts
    for name, most in gather.limits.items():
        values[f"{prefix}{access}:{name}"] = most
    if gather.back is not None:
        values[f"{prefix}back:{access}"] = gather.back
    for name, number in gather.uniform.items():
        values[f"{prefix}data:{access}:{name}"] = number


def calls_in(text: str) -> int:
    """Return how many costly functions a text calls."""
    return sum(text.count(f"{name}(") for name in _CALLS)


def _work(shape: Shape, count: int) -> NDArray[np.float64]:
    """Estimate the work of each slice, in units of one stored connection."""
    text = " ".join(
        [shape.model.update, *shape.model.terms.values(), *shape.model.outputs.values()]
    )
    own = shape.substeps * (1.0 + 3.0 * calls_in(text))
    slices = -(-count // LANES)
    return sum((g.cost for g in shape.gathers.values()), np.full(slices, own * LANES))
