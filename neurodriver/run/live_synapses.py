"""Variables of synapses between calls: what texts of targets write, by connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..circuit.circuit import Circuit
from ..errors import NeurodriverError
from ..model.texts import looped_accesses
from ..plan.arrays import Key, ReceptorOwner
from ..plan.sums.listed import ListedConnections
from .live_connections import Changed, LiveConnections, Now
from .synapse_choice import Ends

if TYPE_CHECKING:
    from .simulation import Simulation

Numbers = NDArray[np.int64]


def loops_over(circuit: Circuit, number: int) -> bool:
    """Whether the text of a model loops over some connections of a circuit."""
    access = circuit.connections[number].access
    return any(access in looped_accesses(group.model) for group in circuit.groups)


class LoopedConnections(LiveConnections):
    """Connections over which texts of their targets loop; their variables are read and set.

    Parameters
    ----------
    simulation : callable
        Returns the simulation.
    now, number, name, changed
        As `LiveConnections` takes them.
    """

    _simulation: Callable[[], Simulation]

    def __init__(
        self,
        simulation: Callable[[], Simulation],
        now: Now,
        number: int,
        name: str,
        changed: Changed,
    ) -> None:
        super().__init__(now, number, name, changed)
        self._put(_simulation=simulation)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers and variables that each connection has."""
        own = [name for plan, *_ in self._plans() for name in plan.written]
        return tuple(dict.fromkeys([*super().names, *own]))

    def get(self, name: str = "weight", of: Ends | None = None) -> NDArray[np.float64]:
        """Return a number or a variable of each connection, (m,)."""
        parts = [(key, rows, ranks) for key, rows, ranks in self._places(name)]
        if not parts:
            return super().get(name, of)
        out = np.zeros(len(self), self._one().program.dtype)
        for key, rows, ranks in parts:
            out[ranks] = self._one().backend.live.read(key, rows)
        return out if of is None else out[self.between(*self._ends(of))]

    def set(self, name: str, values: ArrayLike, *, at: Any = None, of: Ends | None = None) -> None:
        """Set a variable of each connection, or a number as `LiveConnections.set` does.

        Parameters
        ----------
        values, at, of
            As `LiveConnections.set` takes them.

        Raises
        ------
        NeurodriverError
            For values that are not finite, or of another number. Nothing has been changed then.
        """
        parts = list(self._places(name))
        if not parts:
            super().set(name, values, at=at, of=of)
            return
        numbers = self.changed(name, values, at, of)
        for key, rows, ranks in parts:
            self._one().backend.live.write(key, numbers[ranks], rows)

    def _one(self) -> Simulation:
        simulation = self._simulation()
        if simulation.variants is not None:
            say = "each copy of a batch has variables of its own, which are not read or set"
            raise NeurodriverError(f"'{self.name}': {say}")
        return simulation

    def _plans(self) -> Iterator[tuple[ListedConnections, int, str]]:
        for (number, access), plan in self._simulation().program.gathers.items():
            if isinstance(plan, ListedConnections) and (plan.sets == self._number).any():
                yield plan, number, access

    def _places(self, name: str) -> Iterator[tuple[Key, Any, Numbers]]:
        """Yield where each group has a variable: its row, places there, and the connections."""
        for plan, number, access in self._plans():
            if name in plan.written:
                rows = np.flatnonzero(plan.sets == self._number)
                yield plan.key(ReceptorOwner(number, access), name), rows, plan.ranks[rows]
