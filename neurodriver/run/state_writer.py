"""``StateWriter``: sets a state of all components, again and again.

A program that sets a state between two calls spends most of its time on looking up where its values
are, and what they may be. A writer looks this up once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..plan.arrays import Key, PopulationOwner, Role
from .live import GroupPart
from .live_places import Place, Rows
from .program_cache import ProgramCache

if TYPE_CHECKING:
    from .live_values import LiveValues


class StateWriter:
    """Sets a state of all components that have it, as `LPU.set` does.

    Parameters
    ----------
    lpu : LPU
        One that is not divided between devices.
    name : str
        What is set. States that are no variables are fast; others are left to `LPU.set`.

    Examples
    --------
    >>> write = StateWriter(lpu, "Ext")  # doctest: +SKIP
    >>> write(np.zeros(1000))  # doctest: +SKIP
    """

    def __init__(self, lpu: LiveValues, name: str) -> None:
        self._lpu, self.name, self._found = lpu, name, ProgramCache()

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
            self._lpu.set(self.name, values)  # it says what is wrong
            return
        for copy, row in zip(copies, numbers.reshape(len(copies), count), strict=True):
            for out, key, rows in parts:
                copy.backend.live.write(key, row[out], rows)

    def _prepared(self) -> tuple[int, list[tuple[Rows, Key, Rows]]]:
        """Return the number of components, and where their values are; nothing for `LPU.set`."""
        components = self._lpu._having(self.name)
        placed = [] if components._elements(self.name) else components._placed(self.name)
        parts = [(part.out, *self._state(part, place)) for part, place, _ in placed]
        known = [(out, key, rows) for out, key, rows in parts if key is not None]
        return len(components), known if len(known) == len(parts) else []

    def _state(self, part: GroupPart, place: Place) -> tuple[Key | None, Rows]:
        """Return the array of a state from which nothing else follows, and which elements."""
        program, array = self._lpu.simulation.program, place.array
        place.check_settable(program)
        derived = bool(program.circuit.groups[part.number].model.outputs) or place.variable
        if array is None or array.role is not Role.STATE or place.one_for_all or derived:
            return None, part.rows
        own = isinstance(array.key.owner, PopulationOwner)
        return (array.key if own else None), place._places(program, part.rows)
