"""Values of a simulation between calls: read by component and name, and set.

For example ``lpu["exc"].V`` returns the membrane potentials of a population, and
``lpu["exc"].set("tau", 5.0)`` sets a parameter from the next step on.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import text
from ..circuit.axis_parts import rows_at
from ..circuit.circuit import Circuit, Group
from ..circuit.distributions import Distribution
from ..circuit.selection import space_of
from ..circuit.validate import admits, check_parameters
from ..errors import Faults, NeurodriverError, near, quoted
from ..model.component import Parameter
from ..model.vectors import elements
from ..quantities import magnitude
from .copied_values import CopiedValues, copied
from .device_values import on_host
from .drawn_values import drawn
from .live_fields import FieldPlace, field_of
from .live_places import Live, Place, Rows, Values, keep_text, place_of
from .live_pools import pool_values
from .named_values import NamedValues
from .program_cache import ProgramCache
from .shown import event_variable, shown_line

Changed = Callable[[int, str, NDArray[np.float64]], None]
"""Takes a parameter of a group whose value for all components is one number in the program."""


@dataclass(frozen=True)
class GroupPart:
    """Components of one group that are looked at.

    Attributes
    ----------
    number : int
        Of the group.
    rows : slice or array
        Components within the group.
    out : slice or array
        Where their values stand among those of all.
    """

    number: int
    rows: Rows
    out: Rows


PlacedPart = tuple[GroupPart, Place, Values | None]
"""A part, where it has the values of a name, and these values themselves where they stay there."""


def as_slice(rows: NDArray[np.int64]) -> Rows:
    """Return consecutive numbers as a slice, and others as they are."""
    if len(rows) and (len(rows) == 1 or (np.diff(rows) == 1).all()):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def parts_of(circuit: Circuit, numbers: NDArray[np.int64]) -> tuple[GroupPart, ...]:
    """Return components, by their numbers, as parts of groups."""
    which = circuit.group_of(numbers)
    return tuple(
        GroupPart(g, as_slice(numbers[mine] - circuit.starts[g]), as_slice(mine))
        for g in np.unique(which).tolist()
        for mine in (np.flatnonzero(which == g),)
    )


def numbers_of(values: Any, shape: tuple[int, ...], said: str) -> NDArray[np.float64]:
    """Return one number for each component of a shape, (n,).

    Raises
    ------
    NeurodriverError
        For what is neither a number nor so many of them.
    """
    count, numbers = math.prod(shape), None
    with contextlib.suppress(TypeError, ValueError):
        numbers = np.asarray(values, dtype=np.float64)
    if numbers is not None and numbers.shape == shape:
        numbers = numbers.reshape(-1)
    if numbers is None or numbers.shape not in ((), (count,)):
        got = f"{values!r:.60}" if numbers is None else f"an array of the shape {numbers.shape}"
        want = f"a number or {count:,} of them"
        want += f", in the shape {shape} or ({count},)" if len(shape) > 1 else ""
        raise NeurodriverError(f"{said}: {want}, got {got}")
    return np.broadcast_to(numbers, (count,))


def parts_of_vector(values: Any, shape: tuple[int, ...], size: int, said: str) -> list[Any]:
    """Return the values of each element of a vector, in the shape of the components."""
    if isinstance(values, Distribution):
        return [values] * size
    try:
        given = np.broadcast_to(np.asarray(values, np.float64), (*shape, size))
    except (TypeError, ValueError):
        want = f"a number, or an array that NumPy broadcasts to {(*shape, size)}"
        raise NeurodriverError(f"{said}: {want}, got {values!r:.60}") from None
    return [given[..., place] for place in range(size)]


class Components(NamedValues):
    """Some components of a simulation, whose values can be read and set.

    Variables, states and parameters are attributes, too: ``view.V`` reads, ``view.V = -65.0`` sets.
    An LPU makes these objects: ``lpu["exc"]``, ``lpu[["n0", "n1"]]``.

    Parameters
    ----------
    simulation : callable
        Returns the simulation, which changes when an LPU is compiled anew.
    numbers : (n,) int64
        Components of its circuit.
    changed : callable
        Compiles the circuit anew with other values of a parameter.
    said : str
        What the components are called in messages.
    parts : tuple of GroupPart, optional
        What `parts_of` returns for the numbers, where it is known.
    shape : tuple of int, optional
        Shape of a value of each component: that of a population on axes.
    found : ProgramCache, optional
        Of what the same components have been asked for before.
    """

    __slots__ = ("_changed", "_found", "_numbers", "_parts", "_said", "_shape", "_simulation")
    _simulation: Callable[[], Live]
    _numbers: NDArray[np.int64]
    _parts: tuple[GroupPart, ...]
    _changed: Changed
    _found: ProgramCache
    _said: str
    _shape: tuple[int, ...]

    def __init__(
        self,
        simulation: Callable[[], Live],
        numbers: NDArray[np.int64],
        changed: Changed,
        said: str,
        parts: tuple[GroupPart, ...] = (),
        shape: tuple[int, ...] = (),
        found: ProgramCache | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "_simulation", simulation)
        put(self, "_numbers", numbers)
        put(self, "_changed", changed)
        put(self, "_said", said)
        put(self, "_shape", shape or (len(numbers),))
        put(self, "_parts", parts or parts_of(simulation().program.circuit, numbers))
        put(self, "_found", found or ProgramCache())

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        models = ", ".join(dict.fromkeys(self._group(p).name for p in self._parts))
        return f"{self._said}: {len(self):,} components of {models}"

    @property
    def uids(self) -> NDArray[np.str_]:
        """Uids of the components, (n,)."""
        out = np.empty(len(self), object)
        for part in self._parts:
            out[part.out] = self._group(part).uids[part.rows]
        return out.astype(np.str_)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all that can be read: variables, states and parameters."""
        models = [self._group(part).model for part in self._parts]
        tables = (
            t
            for m in models
            for t in (m.updates, m.states, m.params, m.vectors, m.every_field(), m.pools)
        )
        return tuple(dict.fromkeys(name for table in tables for name in table))

    def get(self, name: str) -> Any:
        """Return a copy of the values of a variable, a state, a parameter or a field.

        It is (n,), or has the shape of a population on axes, of a part of one, or of a field.

        These are the values at the present time, ``lpu.time``. An element of the copy cannot be
        set, as that would change nothing.

        Raises
        ------
        NeurodriverError
            Where some of the components have nothing of that name.
        """
        simulation = self._simulation()
        text(name, "get: name")
        if own := self.element_names(name):
            columns = np.stack([self._read(one).reshape(self._shape) for one in own], -1)
            return columns.view(CopiedValues)
        if (field := self._field(name)) is not None:
            return copied(field.arrays(simulation))
        if len(self._parts) == 1 and name in self._group(self._parts[0]).model.pools:
            self._need_whole(name)
            return pool_values(simulation, self._parts[0].number, name).view(CopiedValues)
        return self._read(name).reshape(self._shape).view(CopiedValues)

    def show(self, rows: int = 4) -> None:
        """Print a line about the present step: time, first states, components that fired.

        For example ``t = 4 ms  V = [-63.07, -48.84, ...]  fired = [0, 3]  total = 4``. The total is
        the number of events in the steps that were shown.

        Parameters
        ----------
        rows : int
            Number of components of which states are shown. Those that fired are taken from all.
        """
        print(shown_line(self, self._simulation(), rows))

    def events(self, name: str | None = None) -> NDArray[np.int64]:
        """Return the numbers of the components that have an event at the present time, ascending.

        The step that has been computed last has sent it. For the events of many steps, record them.

        Parameters
        ----------
        name : str, optional
            Of a variable in event form. Not needed if the components update a single one.

        Raises
        ------
        NeurodriverError
            For a name that nothing has, variables without events, and where no name is given and
            the components update no variable in event form, or several.
        """
        values = self.get(event_variable(self, self._simulation(), name))
        found: NDArray[np.int64] = np.flatnonzero(np.ravel(values))
        return found

    def shared(self, name: str) -> Any:
        """Return a state, a parameter or a variable in the memory of the backend, without a copy.

        It has the shape that `get` returns. On the CPU this is an array of NumPy. On a GPU it has
        ``__cuda_array_interface__`` and ``__dlpack__``, so that ``torch.from_dlpack``,
        ``cupy.asarray`` and JAX share it. What a library does with it on the GPU's default stream
        stands before the next steps there. It is valid until the next run, and until the LPU is
        closed. The next step reads what is written to a state. Outputs that are derived from a
        state are not updated: use `set` if the model has any. Parameters, events and other
        variables are read-only; `set` changes parameters.

        Raises
        ------
        NeurodriverError
            Where the components do not lie one after the other, or share one number.
        """
        simulation = self._simulation()
        find = partial(self._lender, name)
        lend: Callable[[Live], Any] = self._found.get(simulation.program, ("shared", name), find)
        return lend(simulation).reshape(self._shape)

    def _lender(self, name: str) -> Callable[[Live], Any]:
        """Return what returns the memory of what is called so."""
        placed = self.placed_parts(name)
        if len(placed) != 1:
            raise NeurodriverError(f"{self._said}: '{name}' lies in {len(placed)} pieces of memory")
        ((part, place, _),) = placed
        return place.lender(self._simulation().program, part.rows, f"{self._said}, '{name}'")

    def set(self, name: str, values: ArrayLike, *, at: Mapping[str, Any] | None = None) -> None:
        """Set a variable that is a state, a state, a parameter, or a field.

        The next step is the first that reads it. A parameter that all components of a model share
        becomes one value each, if need be; then the circuit is compiled anew. So it is for a field
        that is a constant.

        Parameters
        ----------
        name : str
        values : float, (n,) array or distribution
            On axes also in the shape that `get` returns. Of a field: a number, or an array in its
            shape. What is drawn depends on the seed, the step, ``name`` and these components.
        at : mapping of str to index, optional
            Axis -> which part along it, of a population on axes or of a field that is an array.

        Raises
        ------
        NeurodriverError
            For what cannot be set, with the reason; for values that the model refuses. Nothing has
            been changed then.
        """
        said = f"{self._said}, '{name}'"
        values = on_host(values, self._simulation(), said)
        if (field := self._field(name)) is not None:
            field.write(self._simulation(), values, at, said, self._changed)
            return
        if at is not None:
            self._at(at).set(name, values)
            return
        if own := self.element_names(name):
            parts = parts_of_vector(values, self._shape, len(own), said)
            for element, given in zip(own, parts, strict=True):
                self.set(element, given)
            return
        numbers = _numbers(self, name, values, said)
        placed = list(self.placed_parts(name))
        for part, place, _ in placed:
            place.check_settable(self._simulation().program)
            check_values(self, part, name, numbers[part.out])
        for part, place, _ in placed:
            simulation = self._simulation()
            one = numbers[part.out]
            if place.one_for_all and not self._whole(part, one):
                column = place.read_all(simulation).astype(np.float64)
                column[part.rows] = one
                self._changed(part.number, name, column)
            else:
                place.write(simulation, part.rows, one)

    # -- inside ---------------------------------------------------------------------------------

    def _unknown(self, name: str) -> str:
        return unknown(self, name)

    def _read(self, name: str) -> Values:
        """Return a copy of the values of all components, (n,)."""
        simulation = self._simulation()
        out = np.empty(len(self), simulation.program.dtype)
        for part, place, view in self.placed_parts(name):
            out[part.out] = place.read(simulation, part.rows) if view is None else view
        return out

    def _group(self, part: GroupPart) -> Group:
        return self._simulation().program.circuit.groups[part.number]

    def _field(self, name: str) -> FieldPlace | None:
        """Return where the field of a population is; None where the name is none of a field."""
        program = self._simulation().program
        found = field_of(program, self._parts[0].number, name) if len(self._parts) == 1 else None
        if found is not None:
            self._need_whole(name)
        return found

    def _need_whole(self, name: str) -> None:
        if self._group(self._parts[0]).count != len(self):
            raise NeurodriverError(f"{self._said}: '{name}' belongs to the whole population")

    def _at(self, at: Mapping[str, Any]) -> Components:
        """Return the components at indices along the axes of their population."""
        circuit = self._simulation().program.circuit
        space = space_of(circuit, self._numbers)
        if space is not None and space.count != len(self):
            raise NeurodriverError(f"{self._said}: 'at' needs a whole population on axes")
        rows = rows_at(space, at, self._said)
        return type(self)(self._simulation, self._numbers[rows], self._changed, self._said)

    def _whole(self, part: GroupPart, values: Values) -> bool:
        """Whether all components of a group get one value."""
        return len(values) == self._group(part).count and bool((values == values[0]).all())

    def placed_parts(self, name: str) -> list[PlacedPart]:
        """Return where each part has what is called so."""
        simulation = self._simulation()
        find = partial(_placed_in, simulation, self, self._parts, name)
        return self._found.get(simulation.program, name, find)

    def element_names(self, name: str) -> list[str]:
        """Return the names of a vector's elements; none of what is no vector."""
        return elements(name, self._group(self._parts[0]).model.vectors.get(name, 0))

    def _unit(self, name: str) -> str:
        """Return the unit of what is called so, empty where there is none."""
        model = self._group(self._parts[0]).model
        return next((t[name].unit for t in (model.states, model.params) if name in t), "")


def _numbers(components: Components, name: str, values: Any, said: str) -> NDArray[np.float64]:
    """Return one number for each of some components, (n,), which may be drawn."""
    unit, cells = components._unit(name), components._numbers
    if isinstance(values, Distribution):
        values = drawn(values, components._simulation(), cells, name, unit, said)
    return numbers_of(magnitude(values, unit, said), components._shape, said)


def check_values(
    components: Components, part: GroupPart, name: str, values: NDArray[np.float64]
) -> None:
    """Raise NeurodriverError for values that a parameter or a state of a part refuses."""
    group, faults = components._group(part), Faults(components._said)
    given = name in group.model.params and name not in group.model.states
    if admits(group.model.params[name] if given else Parameter(), values):
        return
    uids, more = group.uids[part.rows], ""
    if len(values) > 1 and np.array_equal(values, values[:1].repeat(len(values)), equal_nan=True):
        more = f"; the same for {len(values) - 1:,} more"
        values, uids = values[:1], uids[:1]
    if given:
        some = replace(group, params={name: values}, count=len(values), names=uids)
        check_parameters(some, faults)
    else:
        faults.add_for(
            np.flatnonzero(~np.isfinite(values)),
            lambda i: f"'{name}' of {quoted(uids[i])}: must be finite (got {values[i]})",
        )
    if faults.count:
        raise NeurodriverError(faults.report() + more)


def unknown(components: Components, name: str) -> str:
    """Return what is to be said of a name that nothing has, or that is not kept."""
    for part in components._parts:
        group = components._group(part)
        if name in group.model.updates:  # it has no memory
            why = f"'{name}' is not kept, as only its Aggregator reads it"
            return f"{components._said}: {why}; {keep_text(group.name, name)}, or record it"
        if name in group.model.every_field():
            why = f"'{name}' is a field, which no component has of its own"
            return f"{components._said}: {why}; read it as .{name}, and change it with set"
    return f"{components._said}: nothing is called '{name}'{near(name, components.names)}"


def _placed_in(
    simulation: Live, components: Components, parts: Sequence[GroupPart], name: str
) -> list[PlacedPart]:
    """Return where each part of some components has what is called so in a program."""
    found, lacking, program = [], [], simulation.program
    for part in parts:
        place = place_of(program, part.number, name)
        if place is None:
            lacking.append(program.circuit.groups[part.number].name)
        else:
            found.append((part, place, place.lasting(simulation, part.rows)))
    if not found:
        raise NeurodriverError(unknown(components, name))
    if lacking:
        among = ", ".join(dict.fromkeys(lacking))
        said = components._said
        raise NeurodriverError(f"{said}: components of {among} have no '{name}'")
    return found
