"""Weighted spikes that have been sent and not been read: from slots, and from rows of spikes.

Where spikes are delivered by source, each target has a ring of slots, one for each step at which
something may arrive (`plan.spikes.fanout`). What a target will read is the content of its slots and
what spikes that are in rows of the ring will still add. Which spikes these are depends on the
backend:

* On a CPU the spikes of row r reach the slots at step r + lag.
* On a GPU a warp adds those that are due at once. The others wait in a list until the next step.
  Where spikes are delivered when due, slots are those of the next step, a list has what is due in
  the one after, and spikes wait in a history.
  Spikes that no kernel computes are summed by target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..circuit.drawn import Drawn
from ..codegen.cpu.fanout import PAGE
from ..errors import StateError
from ..model.component import Access
from ..plan.arrays import Key, Kind, ReceptorOwner
from ..plan.edges import edges_of
from ..plan.program import Program
from ..plan.spikes.due import is_due
from ..plan.spikes.fanout import delivering
from ..plan.spikes.input_lists import from_inputs
from ..plan.spikes.stencil_rows import StencilRows
from ..plan.spikes.stencils import StencilPlan
from ..plan.spikes.weights import MOST_SPIKES
from ..plan.sums.gather import Edges, Gather, stencil_part
from .sent import Underway
from .when_due import brought, forget_history, left_in_history

Sums = NDArray[np.int64]

_LINE = 8
"""Arrivals of a cache line of a calendar."""

Spikes = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Places within a row, and how many spikes each of them holds."""


class PendingSpikes:
    """What is on its way to one access, in a program on a backend.

    Parameters
    ----------
    number : int
        Of the group.
    access : Access
        One of `delivered_accesses`. A plan without slots sums by target what comes from outside.
    underway : Underway
        At the step that has been reached.
    """

    def __init__(self, backend: Backend, number: int, access: Access, underway: Underway) -> None:
        self.backend, self.program = backend, backend.program
        self.underway, self.step = underway, underway.step
        self.newest = underway.newest(access.variable)
        self.number, self.access = number, access
        self.owner = ReceptorOwner(number, access.name)
        self.gather = self.program.gathers[number, access.name]
        limits, which = self.gather.limits, computed(self.program, number)
        self.places = self.program.layout.positions.get(number, which)
        if number in self.program.layout.positions:
            self.places = self.places[which]
        self.has_slots = self.gather.form == "fanout"
        self.depth = limits["depth"] if self.has_slots else 0
        self.width = limits["ahead"] if self.has_slots else int(self.places.max(initial=0)) + 1

    def unit(self) -> NDArray[np.float64]:
        """Return the unit of each component's weights, (n,)."""
        key = Key(self.owner, Kind.WEIGHT, "unit")
        value = np.asarray(self.program.arrays[key].value, dtype=np.float64)
        if value.ndim == 0:
            return np.full(len(self.places), float(value))
        return np.ascontiguousarray(value[self.places])

    def sums(self) -> Sums:
        """Return all that is pending, (steps, n); row d is read at step k + d."""
        sums = self.in_slots()
        self.add_undelivered(sums)
        for owner, plan in _when_due(self.owner, self.gather):
            ahead, target, sent = left_in_history(self.backend, owner, plan, self.step)
            np.add.at(sums, (ahead, self._column[target]), sent)
        stored = self.has_slots and self.gather.edges and not is_due(self.gather)
        if stored and self.backend.live.lists_spikes(self.gather):
            self._add_listed(sums)
        if self.program.target.threads:
            listed = [one for one in self.gather.stencils if self.backend.live.lists_spikes(one)]
            self._add_rows(listed, sums, self.step, late=True)
        used = np.flatnonzero(sums.any(axis=1))
        return sums[: int(used[-1]) + 1 if len(used) else 1]

    # -- slots ----------------------------------------------------------------------------------

    def in_slots(self) -> Sums:
        """Return what the slots hold, (steps, n)."""
        if not self.has_slots:
            return np.zeros((self._longest(), len(self.places)), np.int64)
        slots = self.backend.array(self._key("slots")).astype(np.int64)
        if "calendar" in self.gather.blanks and not self.program.target.threads:
            memory = self.backend.array(self._key("calendar"))
            _add_calendar(memory, self.backend.threads, self.gather, slots)
        rows = slots.reshape(self.depth, self.width)[:, self.places]
        ahead = np.arange(self.depth)
        longest = max(self.depth, self._longest())
        out = np.zeros((longest, len(self.places)), np.int64)
        out[: self.depth] = rows[(self.step + ahead) % self.depth]
        return out

    def fill(self, sums: Sums) -> Sums:
        """Write slots such that ``sums`` are pending; the rows of spikes have been written before.

        Returns
        -------
        late : (steps, n) int64
            What has no slot yet: row d is read at step k + depth + d.
        """
        whole = np.zeros((max(len(sums), self.depth, self._longest()), len(self.places)), np.int64)
        undelivered = np.zeros_like(whole)
        self.add_undelivered(undelivered)
        whole[: len(sums)] = sums
        whole -= undelivered
        dtype = self.gather.blanks["slots"].dtype if self.has_slots else np.int64
        if np.abs(whole).max(initial=0) > np.iinfo(dtype).max // 2:
            raise too_large(self.program.circuit.groups[self.number].name, self.access.name)
        used = np.flatnonzero(whole[self.depth :].any(axis=1))
        late = whole[self.depth : self.depth + int(used[-1]) + 1 if len(used) else self.depth]
        if not self.has_slots:
            return late
        slots = np.zeros((self.depth, self.width), np.int64)
        rows = (self.step + np.arange(self.depth)) % self.depth
        slots[rows[:, None], self.places[None, :]] = whole[: self.depth]
        for owner, plan in _when_due(self.owner, self.gather):
            forget_history(self.backend, owner, plan)
        self.backend.live.write(self._key("slots"), slots.reshape(-1).astype(dtype))
        if "dirty" in self.gather.blanks:
            size = self.gather.blanks["dirty"].size
            self.backend.live.write(self._key("dirty"), np.ones(size, np.uint8))
        return late

    def add_to_slots(self, sums: Sums, first: int) -> None:
        """Add what is read at step ``first`` and the following ones; their slots reach so far."""
        slots = self.backend.array(self._key("slots")).copy()
        rows = (first + np.arange(len(sums))) % self.depth
        slots.reshape(self.depth, self.width)[rows[:, None], self.places[None, :]] += sums.astype(
            slots.dtype
        )
        self.backend.live.write(self._key("slots"), slots)
        if "dirty" in self.gather.blanks:
            size = self.gather.blanks["dirty"].size
            self.backend.live.write(self._key("dirty"), np.ones(size, np.uint8))

    def _key(self, name: str) -> Key:
        return self.gather.key(self.owner, name)

    def _longest(self) -> int:
        """Return how many steps ahead anything may arrive, and one more."""
        ahead = self.newest - self.step
        if not self.has_slots:
            return self.program.layout.rings[self.access.variable].depth + 1 + ahead
        if is_due(self.gather):
            return self.gather.limits["turns"] + 1 + ahead
        lag = int(self.gather.arrays["block"][:, 0].max(initial=0))
        lags = [_plan(one).longest - 1 for one in self.gather.stencils]
        longest = max([lag + int(self.gather.arrays["code"].max(initial=0)) // self.width, *lags])
        return longest + 2 + ahead

    # -- spikes in rows -------------------------------------------------------------------------

    def add_undelivered(self, sums: Sums) -> None:
        """Add what spikes in rows of the ring will bring by themselves when the run goes on."""
        if self.program.target.threads:
            if self.gather.outside is not None or not self.has_slots:
                self._add_outside(sums)
            if self.has_slots:
                self._add_relayed(sums)
            return
        for one in self.gather.stencils:
            self._add_stencils(one, sums)
        ring = self.program.layout.rings[self.access.variable]
        segment = ring.segments.get("inputs")
        for lag, begin, end, source in self.gather.arrays["block"].tolist():
            fresh = segment is not None and begin >= segment.start
            inside = fresh and segment is not None and begin < segment.start + segment.count
            for row in range(max(self.step - lag, 0), self.newest + 1):
                if inside and row == self.step:  # inputs enter row k at step k
                    continue
                places, counts = self._spikes(row, slice(begin, end))
                self._add(sums, source + places, counts, row + lag, _first(self.gather))

    def _add_stencils(self, plan: Gather, sums: Sums) -> None:
        """Add what spikes in rows of the ring will bring along stencils."""
        assert isinstance(plan, StencilPlan)
        for number, block in enumerate(plan.arrays["block"].astype(np.int64).tolist()):
            lag, begin, end, source = block[:4]
            for row in range(max(self.step - lag, 0), self.newest + 1):
                places, counts = self._spikes(row, slice(begin, end))
                which, target, multiple, later = plan.sent(number, source + places)
                due = row + lag - self.step + later
                np.add.at(sums, (due, self._column[target]), multiple * counts[which])

    def _add_listed(self, sums: Sums) -> None:
        """Add what the last step's spikes left in the lists of pieces of a GPU."""
        near = self.gather.arrays["near"].astype(np.int64)
        for _, begin, end, source in self.gather.arrays["block"].tolist():
            if _comes(self.program, self.access.variable, begin):
                continue
            places, counts = self._spikes(self.step, slice(begin, end))
            self._add(sums, source + places, counts, self.step, near)

    def _add_relayed(self, sums: Sums) -> None:
        """Add what kernels of a GPU will bring of spikes that are on their way to them."""
        for _, begin, end, source in self.gather.arrays["block"].tolist():
            comes = _comes(self.program, self.access.variable, begin)
            for row in self.underway.rows(self.access.variable, 0 if comes else self.step + 1):
                places, counts = self._spikes(row, slice(begin, end))
                self._add(sums, source + places, counts, row, _first(self.gather))
        for row in range(self.step + 1, self.newest + 1):
            self._add_rows(self.gather.stencils, sums, row, late=False)

    def _add_rows(self, plans: Sequence[Gather], sums: Sums, row: int, late: bool) -> None:
        """Add what the spikes of a row bring along stencils on a GPU; maybe what is late alone."""
        for plan in plans:
            assert isinstance(plan, StencilRows)
            (block,) = plan.arrays["block"].astype(np.int64).tolist()
            places, counts = self._spikes(row, slice(*block[1:3]))
            which, target, multiple, back = plan.arrivals(places, late)
            due = row + back - self.step
            np.add.at(sums, (due, self._column[target]), multiple * counts[which])

    def _add_outside(self, sums: Sums) -> None:
        """Add what spikes that no kernel of a GPU computes will bring."""
        edges = outside_edges(self.program, self.number, self.access)
        if not len(edges.target):
            return
        unit = np.ones(self.width)
        unit[self.places] = self.unit()
        back = np.broadcast_to(edges.back, edges.element.shape)
        weight = np.broadcast_to(edges.data["weight"], edges.element.shape)
        multiple = np.rint(weight / unit[edges.target]).astype(np.int64)
        column = np.full(self.width, -1)
        column[self.places] = np.arange(len(self.places))
        segment = self.program.layout.rings[self.access.variable].segments.get("inputs")
        for row in range(max(self.step - int(back.max()), 0), self.newest + 1):
            due = row + back - self.step
            values = self._values(row)[edges.element]
            live = np.flatnonzero((values != 0) & (due >= 0))
            if row == self.step and segment is not None:  # inputs enter row k at step k
                element = edges.element[live]
                live = live[(element < segment.start) | (element >= segment.start + segment.count)]
            more = multiple[live] * counted(values[live])
            np.add.at(sums, (due[live], column[edges.target[live]]), more)

    @cached_property
    def _column(self) -> NDArray[np.int64]:
        """The component at each place, -1 where there is none."""
        column = np.full(self.width, -1)
        column[self.places] = np.arange(len(self.places))
        return column

    def _values(self, row: int) -> NDArray[np.floating]:
        return self.underway.row(self.backend, self.access.variable, row)

    def _spikes(self, row: int, elements: slice) -> Spikes:
        values = self._values(row)[elements]
        places = np.flatnonzero(values)
        return places, counted(values[places])

    def _add(
        self,
        sums: Sums,
        sources: NDArray[np.int64],
        counts: NDArray[np.int64],
        step: int,
        begin: NDArray[np.int64],
    ) -> None:
        """Add the connections of sources, from ``begin`` on, whose spikes are sent at a step."""
        if not len(sources):
            return
        if is_due(self.gather):
            back, target, sent = brought(self.gather, sources, counts)
            np.add.at(sums, (step + back - self.step, self._column[target]), sent)
            return
        end = _first(self.gather)[sources + 1]
        begin = begin[sources]
        number = end - begin
        which = np.repeat(np.arange(len(sources)), number)
        edge = np.repeat(begin - (np.cumsum(number) - number), number) + np.arange(len(which))
        code = self.gather.arrays["code"][edge].astype(np.int64)
        multiple = self._multiples(edge, sources[which]) * counts[which]
        due = step + code // self.width - self.step
        np.add.at(sums, (due, self._column[code % self.width]), multiple)

    def _multiples(self, edge: NDArray[np.int64], source: NDArray[np.int64]) -> Sums:
        arrays = self.gather.arrays
        if "multiple" in arrays:
            return arrays["multiple"][edge].astype(np.int64)
        if "of_source" in arrays:
            return arrays["of_source"][source].astype(np.int64)
        return np.full(len(edge), int(self.gather.uniform["weight"]), np.int64)


def _when_due(owner: ReceptorOwner, gather: Gather) -> Iterator[tuple[ReceptorOwner, Gather]]:
    """Yield the plans of an access that deliver when due, and to whom their arrays belong."""
    parts = [(stencil_part(owner.access, i), one) for i, one in enumerate(gather.stencils)]
    for part, plan in [(owner.access, gather), *parts]:
        if is_due(plan):
            yield ReceptorOwner(owner.number, part), plan


def _comes(program: Program, variable: str, begin: int) -> bool:
    """Whether the block from an element on has sources in other parts, whose spikes are sent."""
    groups = program.circuit.groups
    return any(
        name != "inputs" and groups[int(name)].sends and segment.start == begin
        for name, segment in program.layout.rings[variable].segments.items()
    )


def _first(gather: Gather) -> NDArray[np.int64]:
    """Return where the connections of each source begin."""
    parts = gather.parts
    return parts.first if parts is not None else gather.arrays["begin"].astype(np.int64)


def too_large(group: str, access: str) -> StateError:
    """Return what is told of sums that were sent with other weights and have no room in slots."""
    return StateError(
        f"the weights into {access} of {group} are so small that spikes on their "
        f"way with the weights before cannot be counted; run the longest delay with "
        f"weights of 0 first"
    )


def _plan(gather: Gather) -> StencilPlan:
    assert isinstance(gather, StencilPlan)
    return gather


def _add_calendar(memory: Sums, threads: int, gather: Gather, slots: Sums) -> None:
    """Add the arrivals that wait in the calendars of the threads (``nd_calendar``) to slots."""
    pages = ((len(slots) - 1) >> PAGE) + 1
    share = gather.limits["postponed"] // threads // _LINE * _LINE
    head = -(-pages // _LINE) * _LINE
    room = (share - head) // pages if share > head else 0
    for thread in range(threads if room else 0):
        part = memory[thread * share : (thread + 1) * share]
        for page in range(pages):
            begin = head + page * room
            waiting = part[begin : begin + int(part[page])].view(np.int32).reshape(-1, 2)
            np.add.at(slots, waiting[:, 0].view(np.uint32), waiting[:, 1])


def computed(program: Program, number: int) -> NDArray[np.int64]:
    """Return which components of a group are computed, not merged with others, (n,)."""
    flags = program.merged.computed.get(number)
    count = program.circuit.groups[number].count
    return np.arange(count) if flags is None else np.flatnonzero(flags)


def counted(values: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return how many spikes kernels take values for."""
    limited = np.clip(values, -MOST_SPIKES, MOST_SPIKES)
    counts: NDArray[np.int64] = np.floor(limited + values.dtype.type(0.5)).astype(np.int64)
    return counts


def outside_edges(program: Program, number: int, access: Access) -> Edges:
    """Return the connections of an access that a GPU sums by target."""
    layout, circuit = program.layout, program.circuit
    drawn = all(
        isinstance(links, Drawn) or links.access != access.name for links in circuit.connections
    )
    if drawn:  # then inputs alone come from outside
        layout = replace(layout, circuit=circuit.with_parts(circuit.groups, ()))
    edges = edges_of(layout, number, access.name, access.variable)
    if not len(edges.target):
        return edges
    by_source = delivering(layout, access.variable, edges)
    if program.gathers[number, access.name].inputs is not None:
        by_source |= from_inputs(layout, access.variable, edges)
    return edges.where(~by_source)


def delivered_accesses(program: Program, number: int) -> Iterator[Access]:
    """Yield the accesses of a group whose spikes are delivered by source, on some backend."""
    for access in program.circuit.groups[number].model.accesses:
        gather = program.gathers.get((number, access.name))
        if gather is not None and gather.integer and (number, access.name) in program.spread:
            yield access
