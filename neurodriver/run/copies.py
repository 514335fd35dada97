"""What reads and sets the values of one copy of a batch, in place of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend, Batched
from ..circuit.batch import Batch
from ..circuit.circuit import Circuit
from ..circuit.validate import check_parameters
from ..errors import CircuitError, Faults, InputError, NeurodriverError, StateError
from ..inputs.base import Input
from ..plan.arrays import Key
from ..plan.copies import Variants
from ..plan.program import Program
from ..quantities import magnitude
from ..results.batch import SEEDS
from ..state.late import LateArrivals
from .live_places import Live, place_of
from .named import numbered

MOST_TEXT = 60_000
"""Characters of an attribute of a recording at most."""

if TYPE_CHECKING:
    from .simulation import Simulation


class Copied(Live, Protocol):
    """A copy of a batch, or a simulation without one.

    Attributes
    ----------
    late : list of LateArrivals
        Spikes on their way that have no slot yet.
    """

    late: list[LateArrivals]


class Copy:
    """One copy of a simulation.

    Parameters
    ----------
    simulation : Simulation
    backend : Backend
        Memory of the copy.

    Attributes
    ----------
    program : Program
    late : list of LateArrivals
        Spikes on their way that have no slot yet.
    changed : set of Key
        Parameters that have been set.
    """

    def __init__(self, simulation: Simulation, backend: Backend) -> None:
        self._simulation, self.backend = simulation, backend
        self.program: Program = backend.program
        self.late: list[LateArrivals] = []
        self.changed: set[Key] = set()

    @property
    def step(self) -> int:
        """Steps done."""
        return self._simulation.step


def copies_of(simulation: Simulation) -> list[Copied]:
    """Return the copies of a simulation of a batch."""
    return [Copy(simulation, one) for one in cast(Batched, simulation.backend).copies]


def variants_of(batch: Batch, circuit: Circuit, seed: int) -> Variants:
    """Return what differs between the copies of a circuit.

    Parameters
    ----------
    seed : int
        That of all copies, unless they have their own.

    Raises
    ------
    NeurodriverError
        With all that the circuit refuses.
    """
    faults = Faults(f"{circuit.name}, batch")
    columns: dict[tuple[int, str], NDArray[np.float64]] = {}
    for (who, name), given in batch.parameters.items():
        try:
            _add(columns, circuit, batch.copies, who, name, given)
        except NeurodriverError as error:
            faults.add(str(error))
    variants = Variants(batch.seeds or (seed,) * batch.copies, columns, batch.weight_scale)
    if not faults.count:
        _check(variants, circuit, faults)
    if faults.count:
        raise CircuitError(faults.report())
    return variants


def _add(
    columns: dict[tuple[int, str], NDArray[np.float64]],
    circuit: Circuit,
    copies: int,
    who: Any,
    name: str,
    given: Any,
) -> None:
    """Add the values of one parameter to the columns of its groups."""
    numbers = numbered(circuit, None, circuit, who)
    said = f"'{name}' of {who!s:.60}"
    which = circuit.group_of(numbers)
    models = {circuit.groups[g].model for g in np.unique(which).tolist()}
    unit = next((m.params[name].unit for m in models if name in m.params), None)
    values = np.asarray(magnitude(given, unit, said), np.float64)
    if values.ndim == 2 and values.shape[1] not in (1, len(numbers)):
        want = f"({copies},) or ({copies}, {len(numbers)})"
        raise CircuitError(f"{said}: expected {want} numbers, got shape {values.shape}")
    values = values.reshape(copies, -1)
    for number in np.unique(which).tolist():
        group, mine = circuit.groups[number], which == number
        names = [*group.model.params, *group.model.initial_names()]
        if name not in names:
            known = ", ".join(names) or "nothing"
            raise CircuitError(f"{said}: {group.name} has no such parameter; it has {known}")
        rows = numbers[mine] - circuit.starts[number]
        part = values if values.shape[1] == 1 else values[:, mine]
        if len(rows) == group.count and (part.shape[1] == 1 or (np.diff(rows) == 1).all()):
            columns[number, name] = part
            continue
        rule = group.model.params.get(name)
        default = np.nan if rule is None or rule.default is None else rule.default
        before = columns.get((number, name), np.asarray(group.params.get(name, default))[None])
        whole = np.broadcast_to(before, (copies, group.count)).astype(np.float64)
        whole[:, rows] = part
        columns[number, name] = whole


def _check(variants: Variants, circuit: Circuit, faults: Faults) -> None:
    """Note values that a model refuses, in any copy."""
    changed = sorted({number for number, _ in variants.columns})
    for copy in range(len(variants) if changed else 0):
        mine = Faults(f"copy {copy}")
        made = variants.circuit(circuit, copy)
        for number in changed:
            check_parameters(made.groups[number], mine)
        if mine.count:
            faults.add(mine.report())


def check_inputs(own: Sequence[Sequence[Input]]) -> None:
    """Raise InputError where the copies do not inject the same variables at the same places."""
    for copy, inputs in enumerate(own):
        first, mine = ([t for one in part for t in one.targets] for part in (own[0], inputs))
        if [(v, tuple(u)) for v, u in first] != [(v, tuple(u)) for v, u in mine]:
            said = [", ".join(f"{v} of {len(u):,}" for v, u in part) for part in (first, mine)]
            raise InputError(
                f"batch, inputs of copy {copy}: all copies inject the same variables into the same "
                f"components in the same order; copy 0: {said[0]}; copy {copy}: {said[1]}"
            )


def restored_batch(
    path: object, saved: Variants | None, given: Batch | int | None, circuit: Circuit
) -> Batch:
    """Return the batch of a checkpoint, with the inputs that are given for its copies.

    Raises
    ------
    StateError
        For a batch of something else than was saved.
    """
    batch = Batch(given) if isinstance(given, int) else given
    if saved is None:
        raise StateError(f"{path}: no batch was saved; restore it without batch=")
    if batch is not None and len(batch) != len(saved):
        raise StateError(f"{path}: {len(saved):,} copies were saved, batch= has {len(batch):,}")
    if batch is not None and (batch.seeds or batch.parameters or batch.weight_scale is not None):
        raise StateError(f"{path}: seeds, parameters and scales of weights stay as they were saved")
    columns = {(circuit.groups[g], name): column for (g, name), column in saved.columns.items()}
    return Batch(
        len(saved),
        seeds=saved.seeds,
        parameters=columns,
        weight_scale=saved.scales,
        inputs=batch.inputs if batch else None,
    )


def with_set_parameters(simulation: Simulation) -> Variants | None:
    """Return what differs between the copies of a simulation now, with what has been set."""
    variants, program = simulation.variants, simulation.program
    if variants is None:
        return None
    columns = dict(variants.columns)
    keys = {key for copy in simulation.copies for key in copy.changed}
    for number, group in enumerate(program.circuit.groups):
        for name in group.model.params if keys else ():
            place = place_of(program, number, name)
            if place is not None and place.array is not None and place.array.key in keys:
                parts = [place.read_all(copy) for copy in simulation.copies]
                columns[number, name] = np.stack(parts).astype(np.float64)
    return replace(variants, columns=columns)


def seeds_attribute(variants: Variants | None) -> dict[str, str]:
    """Return the attribute of recordings that holds the seed of each copy."""
    text = "" if variants is None else " ".join(map(str, variants.seeds))
    return {SEEDS: text} if 0 < len(text) < MOST_TEXT else {}
