"""``StateWriter``: sets a state of all components, again and again.

A program that sets a state between two calls spends most of its time on looking up where its values
are, and what they may be. A writer looks this up once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..plan.arrays import Key, PopulationOwner, Role
from .live import GroupPart
from .live_places import Place, Rows
from .program_cache import ProgramCache

if TYPE_CHECKING:
    from .live import Components
    from .live_values import LiveValues


def _behind(rows: Rows, first: int) -> Rows:
    """Return places that begin ``first`` places later."""
    if isinstance(rows, slice):
        return slice(rows.start + first, rows.stop + first)
    return rows + first


class StateWriter:
    """Sets a state of all components that have it, as `LPU.set` does.

    Parameters
    ----------
    lpu : LPU
        One that is not divided between devices.
    name : str
        What is set. States that are no variables are fast; others are left to `LPU.set`.
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
        """Set the values: (n,), or (copies, n) in a batch.

        Raises
        ------
        NeurodriverError
            As `LPU.set`; nothing has been changed then.
        """
        simulation = self._lpu.simulation
        count, parts = self._found.get(simulation.program, "parts", self._prepared)
        numbers, copies = np.asarray(values), simulation.copies
        shape = (count,) if self._lpu.variants is None else (len(copies), count)
        real = numbers.dtype.kind == "f" and numbers.shape == shape
        if not parts or not real or not np.isfinite(numbers).all():
            self._set(values)  # it says what is wrong
            return
        for copy, row in zip(copies, numbers.reshape(len(copies), count), strict=True):
            for out, key, rows in parts:
                copy.backend.live.write(key, row[out], rows)

    def _prepared(self) -> tuple[int, list[tuple[Rows, Key, Rows]]]:
        """Return the number of components, and where their values are; nothing for `LPU.set`."""
        first, found = 0, []
        for components in self._components():
            placed = (
                [] if components.element_names(self.name) else components.placed_parts(self.name)
            )
            parts = [
                (_behind(part.out, first), *self._state(part, place)) for part, place, _ in placed
            ]
            known = [(out, key, rows) for out, key, rows in parts if key is not None]
            found.append(known if len(known) == len(parts) else [])
            first += len(components)
        return first, [one for parts in found for one in parts] if all(found) else []

    def _components(self) -> list[Components]:
        if not self._populations:
            return [self._lpu.having(self.name)]
        return [self._lpu[name] for name in self._populations]

    def _set(self, values: ArrayLike) -> None:
        """Set the values as `LPU.set` does."""
        if not self._populations:
            self._lpu.set(self.name, values)
            return
        components = self._components()
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
