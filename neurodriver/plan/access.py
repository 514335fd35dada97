"""``AccessPlanner``: which plan sums the inputs of an access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..circuit.circuit import Connections
from ..circuit.plastic import plastic_of
from ..model.component import Access
from ..model.texts import looped_accesses
from .delays import Spread
from .edges import edges_of
from .layout import Layout
from .spikes.computed_rows import rows_there
from .spikes.drawn import DrawnBySource
from .spikes.due import DueChoice, all_due
from .spikes.fanout import delivering, fan_out, narrow
from .spikes.input_lists import from_inputs, input_plan
from .spikes.learning import common_units, learn_by_source
from .spikes.stencil_rows import rows_of_stencils, stencils_when_due
from .spikes.stencil_set import StencilAccesses, UnstoredSpikes
from .spikes.stencils import StencilSpikes, together
from .spikes.weights import (
    Units,
    WeightStatistics,
    add_units,
    has_integer_weights,
    integer_weights,
    multiples,
    units_of,
)
from .sums.aligned import add_inputs
from .sums.by_place import Patched, place_plan
from .sums.choice import plan
from .sums.events import add_events
from .sums.gather import Edges, Gather
from .sums.learned import learned_sum
from .sums.listed import listed_plan


class AccessPlanner:
    """Chooses a plan for each access of a circuit.

    Parameters
    ----------
    plans : bool
        Whether special plans may be chosen; the results are the same.
    spread : frozenset of (group number, access)
        Accesses whose spikes are delivered by source.
    drawn_accesses : mapping of (group number, access) to DrawnBySource
        Projections that are drawn by source already.
    stencils : mapping of (group number, access) to sequence of StencilSpikes
        Projections whose connections are not stored.
    """

    def __init__(
        self,
        layout: Layout,
        plans: bool,
        spread: Spread,
        drawn_accesses: Mapping[tuple[int, str], DrawnBySource],
        stencils: StencilAccesses,
    ) -> None:
        self.layout, self.plans, self.stencils = layout, plans, stencils
        self.spread, self.drawn_accesses = spread, drawn_accesses
        self._patched: Patched = {}

    def gather(self, number: int, access: Access, capacity: int) -> Gather:
        """Return how an access of a group is summed, for ``capacity`` storage places."""
        layout, looped = self.layout, looped_accesses(self.layout.circuit.groups[number].model)
        if access.name in looped:
            return listed_plan(layout, number, access, capacity)
        if shared := self.stencils.get((number, access.name)):
            return self._of_stencils(number, access, shared, capacity)
        learning = access.name in layout.circuit.groups[number].learning
        if self.plans and not learning:
            found = place_plan(layout, number, access, capacity, self._patched)
            if found is not None:
                return found
        drawn = self.drawn_accesses.get((number, access.name))
        if plastic := plastic_of(layout.circuit, number, access.name):
            return self._learning(number, access, plastic, drawn, capacity)
        if drawn is not None:
            beside = edges_of(layout, number, access.name, access.variable, without=drawn.drawn)
            weights = drawn.weights(beside)
            known = units_of(
                weights.bounds, weights.remainders, layout.dtype.name, measured=not learning
            )
            return self._drawn(access.variable, drawn, beside, known)
        edges = edges_of(layout, number, access.name, access.variable)
        threads = self.plans and layout.target.threads and not looped
        events = self.plans and not threads and layout.circuit.kinds.is_event(access.variable)
        if access.reduce != "sum":
            return plan(edges, capacity, 0, lattice=False, sliced=True)
        units = None
        if has_integer_weights(layout.circuit.groups[number].model, access) and len(edges.target):
            multiple, units = integer_weights(edges, capacity, layout.dtype.name, not learning)
            edges = replace(edges, data={"weight": multiple.astype(np.float64)})
        if units is not None and (number, access.name) in self.spread:
            made = self._delivered(access.variable, edges, capacity, units)
        else:
            zero = layout.rings[access.variable].zero if len(edges.target) else 0
            lattice = self.plans and not events and not looped
            made = plan(edges, capacity, zero, lattice, threads, integer=units is not None)
            if events and made.form == "sliced" and units is None:
                add_events(made, edges, capacity, zero)
            add_inputs(made, layout, access.variable, capacity)
        if units is not None:
            add_units(made, units)
        return made

    def _of_stencils(
        self, number: int, access: Access, shared: Sequence[UnstoredSpikes], count: int
    ) -> Gather:
        """Plan an access that stencils reach, and maybe connections that are stored."""
        layout, variable = self.layout, access.variable
        drawn = self.drawn_accesses.get((number, access.name))
        parts = [one.statistics(int(layout.circuit.starts[number]), count) for one in shared]
        known = [*(one.links for one in shared), *(() if drawn is None else drawn.drawn)]
        edges = edges_of(layout, number, access.name, variable, without=known)
        if drawn is not None:
            parts.append(drawn.weights(edges))
        elif len(edges.target):
            parts.append(WeightStatistics.of(edges, count))
        of_all = together(parts)
        units = units_of(of_all.bounds, of_all.remainders, layout.dtype.name)
        threads = layout.target.threads
        ahead = max(one.longest if threads else one.ahead for one in shared)
        how = DueChoice(False, "")
        if threads and drawn is None and not delivering(layout, variable, edges).any():
            how = stencils_when_due(layout, shared, count, units)
        if drawn is not None:
            made = self._drawn(variable, drawn, edges, units, ahead)
        else:
            given = variable, in_units(edges, units), count, units
            made = self._delivered(*given, ahead, how.due)
            add_units(made, units)
        made.note = made.note or how.why
        place = layout, number, variable, units
        made.stencils = tuple(
            one.gather(*place, made)
            if not threads
            else rows_of_stencils(one, *place, how.due)
            if isinstance(one, StencilSpikes)
            else rows_there(one, *place, made.limits["ahead"])
            for one in shared
        )
        made.cost = made.cost + sum(one.cost for one in made.stencils)
        return made

    def _learning(
        self,
        number: int,
        access: Access,
        plastic: list[Connections],
        drawn: DrawnBySource | None,
        count: int,
    ) -> Gather:
        """Plan an access that connections reach that learn; they deliver by source always."""
        layout, variable = self.layout, access.variable
        if not layout.circuit.kinds.is_event(variable):
            return self._graded(number, access, plastic, count)
        learns = [learn_by_source(layout, number, variable, links, count) for links in plastic]
        ahead = max(int(one.arrays["block"][:, 4].max()) for one in learns)
        without = () if drawn is None else drawn.drawn
        edges = edges_of(layout, number, access.name, variable, without=without)
        if drawn is not None:
            units = common_units(drawn.weights(edges).bounds, learns, layout.dtype.name)
            made = self._drawn(variable, drawn, edges, units, ahead)
        else:
            bounds = WeightStatistics.of(edges, count).bounds if len(edges.target) else None
            units = common_units(bounds, learns, layout.dtype.name)
            made = self._delivered(variable, in_units(edges, units), count, units, ahead)
            add_units(made, units)
        for one in learns:
            one.in_units(units, layout.dt)
        made.learning = tuple(learns)
        made.cost = made.cost + sum(one.cost for one in learns)
        return made

    def _graded(
        self, number: int, access: Access, plastic: list[Connections], count: int
    ) -> Gather:
        """Plan an access of graded values whose weights learn in each step."""
        layout, threads = self.layout, self.plans and self.layout.target.threads
        edges = edges_of(layout, number, access.name, access.variable)
        zero = layout.rings[access.variable].zero if len(edges.target) else 0
        made = plan(edges, count, zero, lattice=self.plans, threads=threads)
        made.learning = tuple(learned_sum(layout, number, access, one, count) for one in plastic)
        made.cost = made.cost + sum(one.cost for one in made.learning)
        return made

    def _drawn(
        self, variable: str, drawn: DrawnBySource, others: Edges, units: Units, ahead: int = 0
    ) -> Gather:
        """Plan an access that projections reach that are drawn by source, and other connections.

        A CPU delivers all by their sources; a GPU sums the others by their targets, but for inputs.
        """
        beside = in_units(others, units)
        threads = self.layout.target.threads
        own = beside.where(np.full(len(beside.target), not threads))
        made = self._narrow(drawn.gather(self.layout, variable, units, own, ahead), variable)
        add_units(made, units)
        if threads:
            self._add_others(made, variable, beside, drawn.count, units)
        return made

    def _narrow(self, made: Gather, variable: str) -> Gather:
        """Store indices in few bytes, and say whether inputs may give lists of events."""
        if made.parts is not None and "inputs" in self.layout.rings[variable].segments:
            made.limits["listed"] = 1
        return narrow(made)

    def _add_others(
        self, made: Gather, variable: str, edges: Edges, capacity: int, units: Units
    ) -> None:
        """Add connections to a plan of a GPU whose sources no kernel computes.

        Those of inputs that act at once deliver by source; the others are summed by their targets.
        """
        direct = from_inputs(self.layout, variable, edges) & (not all_due(made))
        if direct.any():
            made.inputs = input_plan(self.layout, variable, edges.where(direct), capacity)
        rest = edges.where(~direct)
        if len(rest.target):
            zero = self.layout.rings[variable].zero
            made.outside = plan(rest, capacity, zero, lattice=False, threads=True, integer=True)
            add_units(made.outside, units)

    def _delivered(
        self,
        variable: str,
        edges: Edges,
        capacity: int,
        units: Units,
        ahead: int | None = None,
        when_due: bool = False,
    ) -> Gather:
        """Plan an access by its sources; a GPU may sum what no kernel computes by its targets.

        ``ahead`` is how many steps others reach ahead who deliver into the same slots, and
        ``when_due`` whether they do so when due.
        """
        layout = self.layout
        if not layout.target.threads:
            return self._narrow(fan_out(layout, edges, capacity, variable, units, ahead), variable)
        own = delivering(layout, variable, edges)
        if not own.any() and ahead is None:
            zero = layout.rings[variable].zero
            return plan(edges, capacity, zero, threads=True, integer=True)
        made = self._narrow(
            fan_out(layout, edges.where(own), capacity, variable, units, ahead, when_due), variable
        )
        self._add_others(made, variable, edges.where(~own), capacity, units)
        return made


def in_units(edges: Edges, units: Units) -> Edges:
    """Return connections whose weights are multiples of units."""
    if not len(edges.target):
        return edges
    return replace(edges, data={"weight": multiples(edges, units).astype(np.float64)})
