"""Fields of a simulation between calls: read whole, and set whole or in part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..circuit.axis_parts import part
from ..circuit.circuit import Circuit
from ..circuit.drawn import Drawn
from ..circuit.groups import FieldValue
from ..circuit.layer import law_fault
from ..circuit.projections import reads_field, with_fields_of
from ..circuit.space import AxisGrid
from ..errors import NeurodriverError
from ..model.fields import Field, values_of
from ..plan.arrays import Key
from ..plan.places import field_key
from ..plan.program import Program
from ..quantities import magnitude
from .device_values import on_host

if TYPE_CHECKING:
    from .live_places import Live


ARRAY = "array"
"""In ``at=``: the number of an array of a list."""


@dataclass(frozen=True)
class FieldPlace:
    """Where a program has a field.

    Attributes
    ----------
    number : int
        Of a group that has it.
    value : FieldValue
        As it was before the first step.
    lengths : mapping of str to int
        Lengths of the axes of its population.
    weighs : bool
        Whether weights or delays of connections follow from it.
    """

    number: int
    name: str
    key: Key
    rule: Field
    value: FieldValue
    lengths: Mapping[str, int]
    weighs: bool = False

    @property
    def fixed(self) -> bool:
        """Whether another value needs another program."""
        return self.rule.constant or self.weighs

    def read(self, simulation: Live) -> NDArray[Any]:
        """Return a copy of the values, in the shape of the field; those of a list in a row."""
        size = self.value.values.size
        flat = np.array(simulation.backend.live.read(self.key, slice(0, size)))
        return flat.reshape(self.value.values.shape)

    def arrays(self, simulation: Live) -> Any:
        """Return a copy of the values: an array, or a list of arrays."""
        values = self.read(simulation)
        return replace(self.value, values=values).array

    def write(
        self,
        simulation: Live,
        given: Any,
        at: Mapping[str, Any] | None,
        said: str,
        compile_with: Callable[[int, str, NDArray[Any]], None] | None = None,
    ) -> None:
        """Set the values; nothing is changed where they do not fit.

        Parameters
        ----------
        at : mapping of str to index, optional
            Axis -> which part along it.
        said : str
            What messages call the field.
        compile_with : callable, optional
            Compiles the circuit with another value of a constant; without it these cannot be set.

        Raises
        ------
        NeurodriverError
            For a wrong shape, and numbers that the field refuses.
        """
        if self.fixed and compile_with is None:
            say = "needs another program; copies of a batch cannot change it"
            raise NeurodriverError(f"{said}: {say}")
        array = self._checked(simulation, given, at, said)
        if self.fixed and compile_with is not None:
            compile_with(self.number, self.name, array)
            return
        simulation.backend.live.write(self.key, array.reshape(-1), slice(0, array.size))
        simulation.changed.add(self.key)

    def _checked(
        self, simulation: Live, given: Any, at: Mapping[str, Any] | None, said: str
    ) -> NDArray[Any]:
        """Return the whole array with what is to be set; parameters and errors as of `write`."""
        if fault := law_fault(given):
            raise NeurodriverError(f"{said}: {fault}")
        given = on_host(given, simulation, said)
        whole = magnitude(given, self.rule.unit, said)
        shapes, shape = self.value.shapes, self.value.values.shape
        if at is not None:
            whole = self._with_part(simulation, whole, at, said)
        elif self.rule.indexed and not isinstance(whole, list | tuple) and np.ndim(whole) == 0:
            whole = [np.broadcast_to(whole, one) for one in shapes or (shape,)]
            whole = whole if shapes else whole[0]
        array, found, fault = values_of(self.rule, whole, self.lengths)
        if not fault and (found, array.shape) != (shapes, shape):
            wanted, got = (shapes, found) if shapes else (shape, array.shape)
            fault = f"expected shape{'s' if shapes else ''} {wanted}, got {got}"
        if fault:
            raise NeurodriverError(f"{said}: {fault}")
        return array

    def _with_part(
        self, simulation: Live, given: Any, at: Mapping[str, Any], said: str
    ) -> NDArray[Any] | list[NDArray[Any]]:
        """Return the values with another part; ``at`` names one array of a list."""
        values = self.arrays(simulation)
        if not self.rule.many:
            part(values, self.rule.indexed, at, given, said)
            return cast("NDArray[Any]", values)
        number = at.get(ARRAY) if isinstance(at, Mapping) else None
        if type(number) is bool or not isinstance(number, int | np.integer):
            number = -1
        if not 0 <= number < len(values):
            want = f"say which of the {len(values)} arrays: at={{'{ARRAY}': 0, ...}}"
            raise NeurodriverError(f"{said}: {want}")
        rest = {name: one for name, one in at.items() if name != ARRAY}
        part(values[number], self.rule.indexed, rest, given, said)
        return cast("list[NDArray[Any]]", values)


def field_of(program: Program, number: int, name: str) -> FieldPlace | None:
    """Return where a program has a field of a group; None where the group has no such field."""
    group = program.circuit.groups[number]
    if group.layer is None or name not in group.layer.fields:
        return None
    value = group.layer.fields[name]
    space = program.circuit.spaces.get(group.layer.population)
    lengths: dict[str, int] = {}
    if isinstance(space, AxisGrid):
        lengths = dict(zip(space.names, space.extent, strict=True))
    rule = group.model.every_field()[name]
    weighs = any(
        reads_field(links, other, own)
        for links in program.circuit.connections
        if isinstance(links, Drawn)
        for other, own in _sharing(program.circuit, number, name)
    )
    return FieldPlace(number, name, field_key(number, name, value), rule, value, lengths, weighs)


def _sharing(circuit: Circuit, number: int, name: str) -> Iterator[tuple[int, str]]:
    """Yield the groups that have the value of a field, with the names by which they do."""
    yield number, name
    layer = circuit.groups[number].layer
    shared = "" if layer is None else layer.fields[name].name
    for other, group in enumerate(circuit.groups) if shared else ():
        fields = {} if group.layer is None else group.layer.fields
        yield from ((other, own) for own, one in fields.items() if one.name == shared)


def shared_field(program: Program, name: str) -> FieldPlace | None:
    """Return where a program has a field of the circuit, or a value of several populations."""
    for number, group in enumerate(program.circuit.groups):
        for own, value in () if group.layer is None else group.layer.fields.items():
            if value.name == name:
                return field_of(program, number, own)
    return None


def changed_fields(
    circuit: Circuit, program: Program, simulation: Live
) -> Iterator[tuple[int, dict[str, FieldValue]]]:
    """Yield the number of each group whose fields have been set, and the fields as they are."""
    for number, group in enumerate(circuit.groups):
        found = {}
        for name in () if group.layer is None else group.layer.fields:
            place = field_of(program, number, name)
            if place is not None and place.key in simulation.changed:
                found[name] = replace(place.value, values=place.read(simulation))
        if found:
            yield number, found


def with_constant(circuit: Circuit, number: int, name: str, values: NDArray[Any]) -> Circuit:
    """Return a circuit with another value of a field, in all groups that share it."""
    groups = list(circuit.groups)
    layer = groups[number].layer
    assert layer is not None
    shared = layer.fields[name].name
    for other, group in enumerate(groups):
        fields = {} if group.layer is None else group.layer.fields
        mine = {
            n: FieldValue(values, shared) for n, one in fields.items()
            if (other, n) == (number, name) or (shared and one.name == shared)
        }  # fmt: skip
        if mine and group.layer is not None:
            groups[other] = replace(group, layer=replace(group.layer, fields={**fields, **mine}))
    made = circuit.changed(groups=tuple(groups))
    for other, own in _sharing(circuit, number, name):
        made = with_fields_of(made, other, own)
    return made


def with_fields(circuit: Circuit, simulation: Live) -> Circuit:
    """Return the circuit of a simulation with the fields that it has now."""
    groups = list(circuit.groups)
    for number, found in changed_fields(circuit, simulation.program, simulation):
        layer = groups[number].layer
        assert layer is not None
        kept = replace(layer, fields={**layer.fields, **found})
        groups[number] = replace(groups[number], layer=kept)
    return circuit.changed(groups=tuple(groups))
