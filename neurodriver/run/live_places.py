"""Where a program has the values of components: in rings, or in rows of the array table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..errors import NeurodriverError, StateError
from ..native.shared import as_read_only
from ..plan.arrays import Array, InstanceOwner, Key, Kind, PopulationOwner
from ..plan.program import Program
from .single_phases import phases_done

Values = NDArray[np.floating]
Rows = slice | NDArray[np.int64]


class Live(Protocol):
    """A simulation, or one copy of a batch.

    Attributes
    ----------
    backend : Backend
        Its memory.
    changed : set of Key
        Parameters that have been set.
    """

    program: Program
    backend: Backend
    changed: set[Key]

    @property
    def step(self) -> int:
        """Steps done."""


@dataclass(frozen=True)
class Place:
    """Where a program has the values of one name for the components of a group."""

    number: int
    name: str
    array: Array | None
    """State or parameter in the array table; None where the ring alone has the values."""
    variable: bool
    """Whether rows of a ring have them, too."""
    column: Values | None = None
    """A parameter that no kernel reads, as its synapses are computed as one."""

    @property
    def one_for_all(self) -> bool:
        """Whether a parameter is one number."""
        return self.array is not None and not self.array.shape

    def read(self, simulation: Live, rows: Rows) -> Values:
        """Return the values of some components; they are valid until anything else is read."""
        program = simulation.program
        if self.column is not None:
            return self.column[rows]
        if self.array is None:
            at = _elements(program, self.number, self.name, rows)
            return np.asarray(
                simulation.backend.live.read_row(self.name, self._row(simulation), at)
            )
        if self.one_for_all:
            count = program.circuit.groups[self.number].count
            value = simulation.backend.live.number(self.array.key)
            return np.broadcast_to(program.dtype.type(value), (count,))[rows]
        return np.asarray(
            simulation.backend.live.read(self.array.key, self.places_of(program, rows))
        )

    def lasting(self, simulation: Live, rows: Rows) -> Values | None:
        """Return values that are the present ones until something is compiled; None for others."""
        if self.array is None or not isinstance(self.array.key.owner, PopulationOwner):
            return None
        if self.one_for_all or self.column is not None:
            return None
        places = self.places_of(simulation.program, rows)
        return simulation.backend.live.lasting(self.array.key, places)

    def read_all(self, simulation: Live) -> Values:
        """Return the values of all components of the group."""
        return self.read(simulation, slice(0, simulation.program.circuit.groups[self.number].count))

    def lender(self, program: Program, rows: Rows, said: str) -> Callable[[Live], Any]:
        """Return what returns the memory of some components; of a state it can be written to.

        Raises
        ------
        NeurodriverError
            Where they do not lie one after the other, or share one number.
        """
        if self.one_for_all or self.column is not None:
            raise NeurodriverError(f"{said}: is one number for all; read it by get")
        if self.array is not None:
            at = self.places_of(program, rows)
        else:
            at = _elements(program, self.number, self.name, rows)
        if not isinstance(at, slice):
            raise NeurodriverError(f"{said}: is not stored in this order; read it by get")
        span, key = at, None if self.array is None else self.array.key
        settable = self.name in program.circuit.groups[self.number].model.states

        def lend(simulation: Live) -> Any:
            live = simulation.backend.live
            if key is None:
                shared = live.share_row(self.name, self._row(simulation), span)
            else:
                shared = live.share(key, span)
            return shared if settable else as_read_only(shared)

        return lend

    def check_settable(self, program: Program) -> None:
        """Raise StateError where a value follows from others, or is needed to compile."""
        group = program.circuit.groups[self.number]
        said = f"'{self.name}' of {group.name}"
        if self.number in program.merged.computed:
            keep = keep_text(group.name, self.name)
            raise StateError(f"{said} cannot be set: {_MERGED}{keep}")
        if self.array is None and self.name not in group.model.states:
            given = ", ".join(group.model.states)
            fix = f"set {given}" if given else "declare it in the model's states"
            raise StateError(f"{said} is computed in each step and cannot be set; {fix}")
        units = group.model.sub_units
        if units is not None and self.name == units.per:
            raise StateError(f"{said} cannot be set: it is the number of sub-units")
        if any(pool.by == self.name for pool in group.model.pools.values()):
            raise StateError(f"{said} cannot be set: it says which cells are a group of a pool")

    def write(self, simulation: Live, rows: Rows, values: Values) -> None:
        """Set the values of some components; a parameter that is one number gets the first."""
        backend, program = simulation.backend, simulation.program
        if self.array is not None:
            one = self.one_for_all
            what = float(program.dtype.type(values[0])) if one else values
            backend.live.write(
                self.array.key, what, slice(None) if one else self.places_of(program, rows)
            )
            if self.array.key.kind is not Kind.STATE:
                simulation.changed.add(self.array.key)
                backend.live.recompute(self.number)
                return
        if self.variable:
            at = _elements(program, self.number, self.name, rows)
            backend.live.write_row(self.name, self._row(simulation), at, values)
        if program.circuit.groups[self.number].model.outputs:
            backend.live.recompute(self.number, self._row(simulation))

    def _row(self, simulation: Live) -> int:
        """Return the row with the present values: the next one, if its phase has been advanced."""
        group = simulation.program.circuit.groups[self.number]
        return simulation.step + (group.phase < phases_done(simulation.backend))

    def places_of(self, program: Program, rows: Rows) -> Rows:
        """Return where the values of some components are in the array."""
        assert self.array is not None
        order = program.layout.positions.get(self.number)
        instance = isinstance(self.array.key.owner, InstanceOwner)
        return rows if order is None or instance else order[rows]


_MERGED = "synapses of one neuron and equal kinetics are computed as one; "


def keep_text(model: str, field: str) -> str:
    """Return what a message proposes for a field that is computed away."""
    return f"make the LPU with keep=['{model}.{field}']"


def place_of(program: Program, number: int, name: str) -> Place | None:
    """Return where the components of a group have the values of a name; None where nowhere."""
    ring = program.layout.rings.get(name)
    variable = ring is not None and str(number) in ring.segments
    model = program.circuit.groups[number].model
    kinds = (Kind.STATE, Kind.PARAMETER) if name in model.states else (Kind.PARAMETER,)
    for kind in kinds if name not in model.updates or name in model.states else ():
        for owner in (PopulationOwner(number), InstanceOwner(number)):
            found = program.arrays.get(Key(owner, kind, name))
            if found is not None:
                return Place(number, name, found, variable)
    if number in program.merged.partly:
        group = program.circuit.groups[number]
        if name in model.params and name not in model.states:
            given = group.params.get(name, model.params[name].default)
            column = np.broadcast_to(np.asarray(given, np.float64), (group.count,))
            return Place(number, name, None, False, column)
        if name in (*model.states, *model.updates):
            keep = f"that of merged synapses is not kept; {keep_text(group.name, name)}"
            raise StateError(f"'{name}' of {group.name}: {keep}, or record all of it")
    return Place(number, name, None, True) if variable else None


def _elements(program: Program, number: int, variable: str, rows: Rows) -> Rows:
    """Return where components stand in the rows of a variable."""
    order = program.layout.positions.get(number)
    start = program.layout.segment(number, variable).start
    if isinstance(rows, slice) and order is None:
        return slice(start + rows.start, start + rows.stop)
    places = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    return start + (places if order is None else order[places])
