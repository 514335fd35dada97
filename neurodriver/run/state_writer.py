"""``StateWriter``: sets a state of all components, again and again.

A program that sets a state between two calls spends most of its time on looking up where its values
are, and what they may be. A writer looks this up once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..backends.live import StateWrites
from ..plan.arrays import Key, PopulationOwner, Role
from .live import GroupPart
from .live_places import Live, Place, Rows
from .program_cache import ProgramCache
from .state_reader import behind, components_of

if TYPE_CHECKING:
    from .live_fields import FieldPlace
    from .live_values import LiveValues


@dataclass(frozen=True)
class WritePlaces:
    """Where values go that are set together.

    Attributes
    ----------
    shape : tuple of int
        Of the values of a copy.
    whole : bool
        Whether they are whole numbers.
    parts : sequence of (slice or array, Key, slice)
        Which of the values, and where they go.
    writes : StateWrites or None
        What sets them in all copies. None: values that `LPU.set` has to set.
    kept : bool
        Whether the circuit has them as well, and must know that they have changed.
    """

    shape: tuple[int, ...]
    whole: bool
    parts: Sequence[tuple[Rows, Key, slice]]
    writes: StateWrites | None
    kept: bool = False


class StateWriter:
    """Sets a state of all components that have it, or a field of the circuit, as `LPU.set` does.

    Parameters
    ----------
    lpu : LPU
        One that is not divided between devices.
    name : str
        What is set. States that are no variables are fast, and so are fields from which no weights
        follow; others are left to `LPU.set`.
    populations : sequence of str, optional
        Set it in these populations, one after the other; by default in all that have it.

    Examples
    --------
    >>> write = StateWriter(lpu, "Ext")  # doctest: +SKIP
    >>> write(np.zeros(1000))  # doctest: +SKIP
    """

    def __init__(self, lpu: LiveValues, name: str, populations: Sequence[str] = ()) -> None:
        self._lpu, self.name, self._found = lpu, name, ProgramCache()
        self._populations = populations

    def __call__(self, values: ArrayLike) -> None:
        """Set the values: (n,), or (copies, n) in a batch; of a field its array, for all copies.

        Raises
        ------
        NeurodriverError
            As `LPU.set`; nothing has been changed then.
        """
        places: WritePlaces = self._found.get(self._lpu.simulation.program, "parts", self._prepared)
        numbers = np.asarray(values)
        copies: Sequence[Live] = self._lpu.simulation.copies
        one_for_all = places.kept or self._lpu.variants is None
        shape = places.shape if one_for_all else (len(copies), *places.shape)
        if places.writes is None or numbers.shape != shape or not _fits(numbers, places.whole):
            self._set(values)  # it says what is wrong
            return
        flat = numbers.reshape(-1) if one_for_all else numbers.reshape(len(copies), -1)
        places.writes.write([flat[..., out] for out, _, _ in places.parts])
        for copy in copies if places.kept else ():
            copy.changed.update(key for _, key, _ in places.parts)

    def _prepared(self) -> WritePlaces:
        """Find out where the values go; without a place `LPU.set` sets them."""
        field = None if self._populations else self._lpu._shared_field(self.name)
        if field is not None:
            return self._of_field(field)
        count, found, fast = 0, [], True
        for components in components_of(self._lpu, self.name, self._populations):
            fast &= not components.element_names(self.name)
            for part, place, _ in components.placed_parts(self.name) if fast else ():
                key, rows = self._state(part, place)
                if key is None or not isinstance(rows, slice):
                    fast = False
                    break
                found.append((behind(part.out, count), key, rows))
            count += len(components)
        parts = found if fast else []
        return WritePlaces((count,), False, parts, self._writes(parts))

    def _of_field(self, field: FieldPlace) -> WritePlaces:
        values, all_of = field.value.values, slice(0, field.value.values.size)
        fixed = field.fixed or field.value.shapes
        parts = [] if fixed else [(all_of, field.key, all_of)]
        return WritePlaces(values.shape, field.rule.whole, parts, self._writes(parts), kept=True)

    def _writes(self, parts: Sequence[tuple[Rows, Key, slice]]) -> StateWrites | None:
        wanted = [(key, rows) for _, key, rows in parts]
        first, *others = (copy.backend.live for copy in self._lpu.simulation.copies)
        return first.writes(wanted, others) if wanted else None

    def _set(self, values: ArrayLike) -> None:
        """Set the values as `LPU.set` does."""
        if not self._populations:
            self._lpu.set(self.name, values)
            return
        components = components_of(self._lpu, self.name, self._populations)
        ends = np.cumsum([len(one) for one in components])[:-1]
        for one, part in zip(components, np.split(np.asarray(values), ends, axis=-1), strict=True):
            one.set(self.name, part)

    def _state(self, part: GroupPart, place: Place) -> tuple[Key | None, Rows]:
        """Return the array of a state from which nothing else follows, and which elements."""
        program, array = self._lpu.simulation.program, place.array
        place.check_settable(program)
        derived = bool(program.circuit.groups[part.number].model.outputs) or place.variable
        if array is None or array.role is not Role.STATE or place.one_for_all or derived:
            return None, part.rows
        own = isinstance(array.key.owner, PopulationOwner)
        return (array.key if own else None), place.places_of(program, part.rows)


def _fits(numbers: np.ndarray, whole: bool) -> bool:
    """Whether values can be set as they are."""
    if whole:
        return numbers.dtype.kind == "i" and bool(np.abs(numbers).max(initial=0) < 2**31)
    if numbers.dtype.kind != "f" or not numbers.size:
        return numbers.dtype.kind == "f"
    return bool(-np.inf < numbers.min() and numbers.max() < np.inf)  # nan is neither
