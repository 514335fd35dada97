"""``PartedComponents``: components of a circuit in several parts, whose values are read and set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..circuit.circuit import Circuit, Group
from ..errors import NeurodriverError
from ..quantities import magnitude
from ..run.copied_values import CopiedValues
from ..run.live import (
    Components,
    GroupPart,
    check_values,
    numbers_of,
    parts_of,
    parts_of_vector,
    unknown,
)
from ..run.live_places import Values
from ..run.simulation import Simulation

Numbers = NDArray[np.int64]


class PartOfValues:
    """A part of this process: its simulation, and the numbers of its components in the whole."""

    def __init__(self, simulation: Simulation, own: Numbers) -> None:
        self.simulation, self.own = simulation, own

    def among(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """Return the places of own components among some, and their numbers here."""
        if not len(self.own):
            return numbers[:0], numbers[:0]
        at = np.minimum(np.searchsorted(self.own, numbers), len(self.own) - 1)
        here = np.flatnonzero(self.own[at] == numbers)
        return here, at[here]


class PartedComponents(Components):
    """Some components of the whole; each rank makes the same calls.

    Parameters
    ----------
    circuit : Circuit
        The whole.
    everywhere : callable
        Gets what this process has found, by a function; returns what all have, or raises the first
        error of any of them.
    changed, numbers, said, parts, shape
        As for `Components`.
    sets : callable
        Called with the group and the name of what is going to be set.
    """

    __slots__ = ("_circuit", "_everywhere", "_here", "_sets")
    _circuit: Circuit
    _here: Sequence[PartOfValues]
    _everywhere: Callable[[Callable[[], list[Any]]], list[Any]]
    _sets: Callable[[int, str], None]

    def __init__(
        self,
        circuit: Circuit,
        parts_here: Sequence[PartOfValues],
        everywhere: Callable[[Callable[[], list[Any]]], list[Any]],
        sets: Callable[[int, str], None],
        numbers: Numbers,
        changed: Any,
        said: str,
        parts: Sequence[GroupPart] = (),
        shape: tuple[int, ...] = (),
    ) -> None:
        own = {"_circuit": circuit, "_here": parts_here, "_everywhere": everywhere, "_sets": sets}
        for name, value in own.items():
            object.__setattr__(self, name, value)
        known = tuple(parts) or parts_of(circuit, numbers)
        super().__init__(self._no_simulation, numbers, changed, said, known, shape)

    def _no_simulation(self) -> Any:
        raise NeurodriverError(f"{self._said}: is not there in a circuit of several parts")

    def _group(self, part: GroupPart) -> Group:
        return self._circuit.groups[part.number]

    def get(self, name: str) -> Values:
        if own := self.element_names(name):
            return np.stack([np.asarray(self.get(one)) for one in own], -1).view(CopiedValues)
        self._check_name(name)
        found = self._everywhere(
            lambda: [(here, np.asarray(some.get(name)).reshape(-1)) for here, some in self._local()]
        )
        out = np.empty(len(self), found[0][1].dtype)
        for here, values in found:
            out[here] = values
        return out.reshape(self._shape).view(CopiedValues)

    def set(self, name: str, values: ArrayLike, *, at: Mapping[str, Any] | None = None) -> None:
        said = f"{self._said}, '{name}'"
        if at is not None:
            raise NeurodriverError(f"{said}: at= is not there in a circuit of several parts")
        if own := self.element_names(name):
            for element, given in zip(
                own, parts_of_vector(values, self._shape, len(own), said), strict=True
            ):
                self.set(element, given)
            return
        self._check_name(name)
        numbers = numbers_of(magnitude(values, self._unit(name), said), self._shape, said)
        for part in self._parts:
            check_values(self, part, name, numbers[part.out])
        shared = self._everywhere(lambda: [self._is_shared(name, numbers)])
        if any(shared):
            for part in self._parts:
                self._set_anew(part, name, numbers[part.out])
            return
        for part in self._parts:  # before: where one part fails, others have been set
            self._sets(part.number, name)
        self._everywhere(lambda: self._set_here(name, numbers))

    def _set_here(self, name: str, values: NDArray[np.float64]) -> list[Any]:
        for here, some in self._local():
            some.set(name, values[here])
        return []

    def _check_name(self, name: str) -> None:
        """Raise NeurodriverError where some of the components have nothing of that name."""
        models = [self._group(part).model for part in self._parts]
        known = [
            name in {*model.updates, *model.states, *model.params, *model.pools} for model in models
        ]
        if not any(known):
            raise NeurodriverError(unknown(self, name))
        lacking = [model.__name__ for model, has in zip(models, known, strict=True) if not has]
        if lacking:
            among = ", ".join(dict.fromkeys(lacking))
            raise NeurodriverError(f"{self._said}: components of {among} have no '{name}'")

    def _local(self) -> list[tuple[Numbers, Components]]:
        """Return those in the parts of this process, with their places among all."""
        out = []
        for part in self._here:
            here, numbers = part.among(self._numbers)
            if len(here):
                simulation = part.simulation
                made = Components(lambda s=simulation: s, numbers, self._changed, self._said)  # type: ignore[misc]
                out.append((here, made))
        return out

    def _is_shared(self, name: str, values: NDArray[np.float64]) -> bool:
        """Whether a program here has one number where there will be several."""
        for here, some in self._local():
            for part, place, _ in some.placed_parts(name):
                place.check_settable(some._simulation().program)
                one = values[here][part.out]
                if place.one_for_all and not some._whole(part, one):
                    return True
        return False

    def _set_anew(self, part: GroupPart, name: str, values: NDArray[np.float64]) -> None:
        """Compile the circuit anew with a column of a parameter."""
        first = int(self._circuit.starts[part.number])
        count = self._circuit.groups[part.number].count
        given = self._circuit, self._here, self._everywhere, self._sets
        every = type(self)(*given, np.arange(first, first + count), self._changed, self._said)
        column = np.array(every.get(name), np.float64).reshape(-1)
        column[part.rows] = values
        self._changed(part.number, name, column)

    def _field(self, name: str) -> None:
        return None

    def show(self, rows: int = 4) -> None:
        """Print nothing: see `NeurodriverError`."""
        self._no_simulation()

    def shared(self, name: str) -> Any:
        """Share no memory: the values lie in several parts."""
        self._no_simulation()
