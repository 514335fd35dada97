"""A program -> the programs of its copies, which differ in seeds, parameters and scales of weights.

The copies share the text of the program and all rows of the array table in which they are equal:
the same row object stands in the tables of all of them. For example the connections of 100 copies
are stored once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..circuit.seconds import warn_of_step
from ..errors import CircuitError
from .arrays import SEED, Array, ReceptorOwner, Role, row
from .population_rows import NONE, is_uniform, number_rows, state_rows
from .program import Program

Columns = Mapping[tuple[int, str], NDArray[np.float64]]
"""Number of a group and name of a parameter -> (copies, 1) or (copies, count)."""

Apart = dict[int, frozenset[str]]

SHARED = Role.CONSTANT, Role.SETTABLE
"""Roles of rows that no step writes."""

_SCALED = ("weight", "event_weight")


@dataclass(frozen=True)
class Variants:
    """In what the copies of a program differ.

    Attributes
    ----------
    seeds : tuple of int
        One for each copy.
    columns : Columns
        Parameters by number of the group and name.
    scales : (copies,) float64 or None
        What the weights of each copy are multiplied by.
    """

    seeds: tuple[int, ...]
    columns: Columns = field(default_factory=dict)
    scales: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def apart(self) -> Apart:
        """Parameters that differ between the components of some copy, by number of the group."""
        found: dict[int, set[str]] = {}
        for (number, name), columns in self.columns.items():
            if not all(is_uniform(one) for one in columns):
                found.setdefault(number, set()).add(name)
        return {number: frozenset(names) for number, names in found.items()}

    def circuit(self, circuit: Circuit, copy: int) -> Circuit:
        """Return the circuit of a copy, from that of all."""
        return with_columns(circuit, {key: self.of(key, copy) for key in self.columns})

    def of(self, key: tuple[int, str], copy: int) -> NDArray[np.float64]:
        """Return the column of a parameter in a copy, (count,) or ()."""
        column: NDArray[np.float64] = self.columns[key][copy]
        return column.reshape(()) if len(column) == 1 else column


def with_columns(circuit: Circuit, columns: Mapping[tuple[int, str], NDArray[Any]]) -> Circuit:
    """Return a circuit with other columns of parameters, by number of the group and name."""
    if not columns:
        return circuit
    groups = list(circuit.groups)
    for (number, name), column in columns.items():
        group = groups[number]
        groups[number] = replace(group, params={**group.params, name: column})
    return circuit.with_parts(groups, circuit.connections)


def programs_of_copies(program: Program, variants: Variants) -> list[Program]:
    """Return a program for each copy.

    Parameters
    ----------
    program : Program
        Compiled with ``apart=variants.apart``.

    Raises
    ------
    CircuitError
        For a circuit that cannot have copies, or a parameter that cannot differ between them.
    """
    _check(program, variants)
    scaled = list(_scaled_rows(program)) if variants.scales is not None else []
    apart = variants.apart
    return [_copy(program, variants, copy, scaled, apart) for copy in range(len(variants))]


def _copy(
    program: Program, variants: Variants, copy: int, scaled: Sequence[Array], apart: Apart
) -> Program:
    seed = variants.seeds[copy]
    circuit = variants.circuit(program.circuit, copy)
    layout = replace(program.layout, circuit=circuit) if variants.columns else program.layout
    if variants.columns:
        warn_of_step(circuit, program.dt)
    rows = [row(SEED, seed & 0xFFFF_FFFF_FFFF_FFFF)]
    changed = {number for number, _ in variants.columns}
    for spec in (spec for unit in program.units for spec in unit.specs if spec.number in changed):
        numbers, _ = number_rows(layout, spec.number, spec.count, apart.get(spec.number, NONE))
        rows += [*numbers, *state_rows(layout, spec.number, spec.count, spec.published)]
    if variants.scales is not None:
        scale = float(variants.scales[copy])
        rows += [_times(one, scale) for one in scaled if scale != 1.0]
    arrays = program.arrays.with_rows(rows)
    return replace(program, layout=layout, seed=seed, arrays=arrays)


def _times(one: Array, scale: float) -> Array:
    value = np.asarray(one.value, np.float64) * scale
    return replace(one, value=value if one.shape else float(value))


def _scaled_rows(program: Program) -> Iterator[Array]:
    """Yield the rows by which weights are scaled: units of integer weights, or the weights."""
    for (number, access), gather in program.gathers.items():
        if number in program.merged.groups:
            continue  # these weights are conductances of synapses
        for name in ("unit",) if gather.integer else _SCALED:
            key = gather.key(ReceptorOwner(number, access), name)
            if (found := program.arrays.get(key)) is not None:
                yield found


def _check(program: Program, variants: Variants) -> None:
    circuit = program.circuit
    names = ", ".join(dict.fromkeys(circuit.groups[one.number].name for one in program.custom))
    if names:
        raise CircuitError(
            f"{names}: a class with code of its own has one instance, so it cannot be part of a "
            f"batch; declare its mathematics in `update`, or make an LPU for each copy"
        )
    merged = {**program.merged.computed, **dict.fromkeys(program.merged.groups)}
    for number, name in variants.columns:
        group = circuit.groups[number]
        if number in merged:
            raise CircuitError(
                f"'{name}' of {group.name} cannot differ between copies: synapses of one neuron "
                f"and equal kinetics are computed as one; make the LPU with "
                f"keep=['{group.name}.{name}']"
            )
        units = group.model.sub_units
        if units is not None and name == units.per:
            raise CircuitError(
                f"'{name}' of {group.name} cannot differ between copies: it is the number of "
                f"sub-units"
            )
        if any(pool.by == name for pool in group.model.pools.values()):
            raise CircuitError(
                f"'{name}' of {group.name} cannot differ between copies: it says which cells are "
                f"a group of a pool"
            )
    if variants.scales is not None:
        for (number, access), gather in program.gathers.items():
            if gather.learning:
                raise CircuitError(
                    f"weights into {access} of {circuit.groups[number].name} cannot be scaled: "
                    f"they learn within bounds of their own"
                )
        for number in program.merged.computed:
            group = circuit.groups[number]
            if any(access.weighted for access in group.model.accesses):
                raise CircuitError(
                    f"weights into {group.name} cannot be scaled: synapses of one neuron and equal "
                    f"kinetics are computed as one; make the LPU with merge=False"
                )


def shared_bytes(programs: Sequence[Program]) -> tuple[int, int]:
    """Return the bytes of rows that all programs share, and of the others of all programs."""
    first, *others = programs
    shared = own = 0
    for key, one in first.arrays.items():
        if all(other.arrays[key] is one for other in others) and is_shared(one):
            shared += one.nbytes
        else:
            own += sum(other.arrays[key].nbytes for other in programs)
    return shared, own


def is_shared(one: Array) -> bool:
    """Whether no step writes a row, so that copies with an equal one may share its memory."""
    return one.role in SHARED and bool(one.shape)
