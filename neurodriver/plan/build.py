"""``ProgramBuilder``: the layout of a circuit -> units, plans and rows of the array table.

The builder takes the groups one by one. For each group it plans the sums of its accesses, makes the
unit of its kernel, and adds the rows of its parameters, states and connections to the array table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..circuit.random_keys import component_keys
from ..model.language import tree
from ..model.language.words import ARCS
from ..model.texts import texts_of
from ..native.buffers import LANES, padded
from .access import AccessPlanner
from .arrays import (
    SEED,
    Array,
    ArrayTable,
    FieldOwner,
    Key,
    Kind,
    PopulationOwner,
    ReceptorOwner,
    Role,
    SegmentOwner,
    depth,
    row,
    width,
)  # fmt: skip
from .cells_by_thread import side_by_side, splits
from .delays import Spread
from .diagnostics import OFF, Diagnostics, prints_of_step, records
from .fusion import Fused
from .instances import instance_rows, needs_instance
from .layout import Layout
from .passes.draft import Merged
from .places import Surroundings, field_row, place_of, place_rows
from .population_rows import NONE, number_rows, state_rows, stored
from .program import Custom, Program
from .spikes.delivery import deliveries
from .spikes.drawn import DrawnBySource
from .spikes.stencil_set import StencilAccesses
from .subunits import place
from .sums.gather import Gather, input_part, learning_part, outside, stencil_part
from .unit import KernelSpec, Unit

_CALLS = ("exp", "tanh", "cosh", "pow", "log", "sin", "cos", *ARCS, "normal", "poisson")

_TEMPLATE_CALLS = 4
"""Estimated number of costly functions that a template calls."""


class ProgramBuilder:
    """Plans the groups of a circuit and collects what they need.

    Parameters
    ----------
    plans : bool
        Whether special plans may be chosen.
    spread : frozenset of (group number, access)
        Accesses whose spikes are delivered by source.
    drawn_accesses : mapping of (group number, access) to DrawnBySource
        Projections that are drawn by source already.
    watch : Diagnostics
        What the kernels watch.
    apart : mapping of int to frozenset of str
        Parameters of a group that get a value for each component, even if all are equal.
    stencils : mapping of (group number, access) to list of StencilSpikes
        Projections whose connections are not stored.
    """

    def __init__(
        self,
        layout: Layout,
        seed: int,
        plans: bool,
        spread: Spread,
        drawn_accesses: Mapping[tuple[int, str], DrawnBySource],
        watch: Diagnostics = OFF,
        apart: Mapping[int, frozenset[str]] | None = None,
        stencils: StencilAccesses | None = None,
    ) -> None:
        self.apart = apart or {}
        self.layout, self.seed, self.spread, self.watch = layout, seed, spread, watch
        self.planner = AccessPlanner(layout, plans, spread, drawn_accesses, stencils or {})
        self._rows: list[Array] = [row(SEED, seed & 0xFFFF_FFFF_FFFF_FFFF)]
        self._units: list[Unit] = []
        self._templates: list[Unit] = []
        self._custom: list[Custom] = []
        self._gathers: dict[tuple[int, str], Gather] = {}
        self._claims: dict[str, int] = {}
        self._fields: set[Key] = set()
        self._rows += watch.rows(prints_of_step(layout.circuit, layout.dt))
        for variable, ring in layout.rings.items():
            self._rows += [row(depth(variable), ring.depth), row(width(variable), ring.width)]

    def group(self, number: int, fused: Fused | None) -> None:
        """Plan a group, together with the synapses that are fused with it."""
        group = self.layout.circuit.groups[number]
        stepwise = False
        if needs_instance(group):
            stepwise = group.model.runtime.stepwise
            self._custom.append(Custom(number, stepwise))
        if group.model.runtime.kernel:
            self._template(number, stepwise)
        elif fused is not None:
            self._fused(number, fused)
        elif group.model.runtime.declared or not needs_instance(group):
            self._units.append(replace(self._unit(number), stepwise=stepwise))

    def program(self, merged: Merged) -> Program:
        """Return the program of all groups."""
        layout = self.layout
        for one in self._custom:
            self._rows += instance_rows(layout, one.number)
        for gather in self._gathers.values():
            if gather.claim:
                need = sum(blank.nbytes for blank in gather.blanks.values())
                self._claims[gather.claim] = self._claims.get(gather.claim, 0) + need
        units = tuple(sorted(map(self._ordered, (*self._units, *self._templates)), key=_phase))
        return Program(
            layout, self.seed, ArrayTable(self._rows), units, self._gathers, merged,
            deliveries(layout, units), tuple(self._custom), self.spread, self._claims,
        )  # fmt: skip

    def _ordered(self, unit: Unit) -> Unit:
        """Return a unit with its place in the order of a step."""
        number = unit.specs[0].number
        phase, stage = self.layout.circuit.groups[number].phase, self.layout.stages[number]
        return replace(unit, phase=phase, stage=stage) if phase else unit

    # -- units ----------------------------------------------------------------------------------

    def _unit(self, number: int) -> Unit:
        group, count = self.layout.circuit.groups[number], self.layout.capacity(number)
        spec = self._spec(number, count)
        cost = _work(spec, count)
        threads = self.layout.target.threads
        if spec.model.sub_units is not None:
            grain = 1 if threads or spec.apart else LANES
            stored, cost, what = place(number, group, spec.substeps, grain, cost)
            self._rows += stored
            self._claims[what] = sum(one.nbytes for one in stored)
            return Unit((spec,), count, cost, grain=grain, spread=threads)
        if threads:
            accesses = spec.model.accesses
            idle = bool(accesses) and all(spec.is_event(one.variable) for one in accesses)
            return Unit((spec,), count, cost, spread=spec.shared_by_warp, idle=idle)
        return Unit((spec,), count, cost)

    def _fused(self, number: int, fused: Fused) -> None:
        group = self.layout.circuit.groups[number]
        outer = self._spec(number, group.count, {fused.variable: fused.gather})
        inner = self._spec(fused.synapse, fused.capacity)
        each = _work(inner, fused.capacity)
        entries = np.add.reduceat(
            np.append(each, 0.0), np.minimum(fused.gather.arrays["start"][:-1] // LANES, len(each))
        )
        self._units.append(Unit((outer, inner), group.count, entries + LANES))

    def _template(self, number: int, stepwise: bool) -> None:
        """Plan the kernel around a user's template, whose text comes later."""
        layout, group = self.layout, self.layout.circuit.groups[number]
        model, substeps = group.model, group.model.substeps(self.layout.dt)
        gathers, published = self._sums(number, group.count, {})
        spec = KernelSpec(
            number, model, layout.circuit.kinds, layout.dtype.name, substeps, frozenset(),
            published, gathers, layout.kept, group.count,
        )  # fmt: skip
        self._rows += [
            row(spec.key(Kind.STEP, "dt"), layout.dt / substeps),
            row(spec.key(Kind.SIZE, "components"), group.count),
        ]
        own = LANES * substeps * 3.0 * _TEMPLATE_CALLS
        cost = _work(spec, group.count) + own
        unit = Unit((spec,), group.count, cost, stepwise)
        if layout.target.threads:
            unit = replace(unit, spread=spec.shared_by_warp)
        self._templates.append(unit)

    def _spec(
        self, number: int, capacity: int, given: Mapping[str, Gather] | None = None
    ) -> KernelSpec:
        """Plan the accesses of a group and collect the rows of its kernel."""
        layout, group = self.layout, self.layout.circuit.groups[number]
        model, owner = group.model, PopulationOwner(number)
        dt = layout.dt * group.every
        substeps = model.substeps(dt)
        gathers, published = self._sums(number, capacity, given or {})
        rows = [
            row(Key(owner, Kind.STEP, "dt_ms"), dt * 1000.0 / substeps),
            row(Key(owner, Kind.SIZE, "count"), padded(capacity)),
        ]
        numbers, uniform = number_rows(layout, number, capacity, self.apart.get(number, NONE))
        rows += [*numbers, *state_rows(layout, number, capacity, published)]
        if model.draws_random():
            keys = stored(layout, number, component_keys(layout.circuit, number), capacity)
            rows.append(row(Key(owner, Kind.RANDOM, "keys"), keys))
        adds = tuple(one for one in layout.member_sums.values() if one.members == number)
        rows += [one for pool in adds for one in pool.rows(layout)]
        self._rows += [*rows, *self._numbering(number, capacity)]
        place = self._place(number)
        divided = layout.target.threads and self.planner.plans and substeps == 1
        divided = divided and not self.watch.debug and number not in layout.positions
        divided = divided and not adds
        side = side_by_side(model, place) if divided else None
        return KernelSpec(
            number,
            model,
            layout.circuit.kinds,
            layout.dtype.name,
            substeps,
            uniform,
            published,
            gathers,
            layout.kept,
            capacity,
            frozenset(v for v in published if layout.rings[v].depth == 1),
            self.watch,
            number in layout.positions,
            place=place,
            plans=self.planner.plans,
            every=group.every,
            first=group.first,
            side=side,
            split=divided and side is None and splits(model, place, capacity),
            adds=adds,
        )

    def _place(self, number: int) -> Surroundings | None:
        """Return what the text of a group reads beside its own cells; collect its rows."""
        layout, group = self.layout, self.layout.circuit.groups[number]
        place = place_of(layout, number)
        if place is None:
            return None
        for one in place_rows(layout, place):
            self._rows.append(one)
        for name, (key, value) in place.fields.items():
            if isinstance(key.owner, FieldOwner) and key not in self._fields:
                self._fields.add(key)
                unit = group.model.every_field()[name].unit
                self._rows.append(field_row(key, value, layout.dtype, unit))
        return place

    # -- rows -----------------------------------------------------------------------------------

    def _sums(
        self, number: int, capacity: int, given: Mapping[str, Gather]
    ) -> tuple[dict[str, Gather], frozenset[str]]:
        """Plan the accesses of a group and find its segments; collect the rows of both."""
        layout, model = self.layout, self.layout.circuit.groups[number].model
        gathers = dict(given)
        for access in model.accesses:
            if access.name not in gathers:
                gathers[access.name] = self.planner.gather(number, access, capacity)
            gather = gathers[access.name]
            gather.place = None
            if gather.outside is not None:
                gather.outside.place = None
            for name, one in ((access.name, gather), (outside(access.name), gather.outside)):
                if one is not None:
                    self._rows += one.rows(ReceptorOwner(number, name), layout.dtype)
                    self._gathers[number, name] = gathers[name] = one
            parts = [(learning_part(access.name, i), p) for i, p in enumerate(gather.learning)]
            parts += [(stencil_part(access.name, i), p) for i, p in enumerate(gather.stencils)]
            parts += [(input_part(access.name), gather.inputs)] if gather.inputs else []
            for name, plan in parts:
                self._rows += plan.rows(ReceptorOwner(number, name), layout.dtype)
                self._gathers[number, name] = gathers[name] = plan
        published = frozenset(
            v
            for v in model.updates
            if v in layout.rings and str(number) in layout.rings[v].segments
        )
        for variable in published:
            self._rows += self._segment(number, variable, capacity)
        return gathers, published

    def _segment(self, number: int, variable: str, capacity: int) -> list[Array]:
        """Return the rows of a group's segment of a variable."""
        owner, ring = SegmentOwner(number, variable), self.layout.rings[variable]
        rows = [row(Key(owner, Kind.SIZE, "start"), ring.segments[str(number)].start)]
        if self.layout.target.threads and ring.is_event:
            slices = padded(capacity) // LANES
            rows.append(row(Key(owner, Kind.SIZE, "slices"), slices))
            # which slices of which rows may hold something else than zeros: all, at first
            written = np.ones(ring.depth * slices, np.uint8)
            rows.append(row(Key(owner, Kind.ACTIVITY, "dirty"), written, Role.RING))
        return rows

    def _numbering(self, number: int, capacity: int) -> list[Array]:
        """Return the rows that lead from a place in memory to a component of the circuit."""
        if self.watch == OFF:
            return []
        owner, order = PopulationOwner(number), self.layout.positions.get(number)
        first = int(self.layout.circuit.starts[number])
        rows = [row(Key(owner, Kind.SIZE, "first component"), first)]
        rows.append(row(Key(owner, Kind.SIZE, "infinite constants"), 0))
        if self.watch.debug:
            prints = prints_of_step(self.layout.circuit, self.layout.dt)
            rows.append(row(Key(owner, Kind.SIZE, "records"), records(prints)))
        if order is not None:
            component = np.full(padded(capacity), -1, np.int32)
            component[order] = np.arange(len(order))
            component[np.bincount(order, minlength=padded(capacity)) > 1] = -1  # no one's own
            rows.append(row(Key(owner, Kind.INDEX, "order"), component))
        return rows


def _phase(unit: Unit) -> int:
    return unit.phase


def _work(spec: KernelSpec, count: int) -> NDArray[np.float64]:
    """Estimate the work of each slice, in units of one stored connection."""
    nodes = (node for part in texts_of(spec.model).step() for node in part.tree.walk())
    calls = sum(isinstance(node, tree.Call) and node.name in _CALLS for node in nodes)
    own = spec.substeps * (1.0 + 3.0 * calls)
    slices = -(-count // LANES)
    return sum((g.cost for g in spec.gathers.values()), np.full(slices, own * LANES))
