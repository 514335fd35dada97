"""``LiveMemory``: what changes the arrays of a program between calls of its backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError

if TYPE_CHECKING:
    from ..model.synapse_texts import SynapseTexts
    from ..plan.arrays import Key, Owner
    from ..plan.sums.gather import Gather
    from .synapse_place import SynapsePlace

At = slice | NDArray[np.int64]
"""Elements of an array."""

ALL = slice(None)


class StateReads(Protocol):
    """Reads elements of some arrays again and again."""

    def begin(self) -> Callable[[], Sequence[NDArray[Any]]]:
        """Begin to read all values.

        Returns
        -------
        callable
            Waits for the values, and returns those of each group, (copies, elements). Nothing
            changes them later. Call it before the next step, and before states are set.
        """


class StateWrites(Protocol):
    """Sets elements of some arrays again and again."""

    def write(self, values: Sequence[NDArray[Any]]) -> None:
        """Set the elements of each array: (copies, elements), or (elements,) for all copies."""


class LiveMemory(Protocol):
    """Reads and writes the memory of one backend; the next step reads what has been written.

    Attributes
    ----------
    place : (int, int)
        Type and number of the device that has the memory, as DLPack gives them.
    """

    place: tuple[int, int]

    def copy_out(self, address: int, out: NDArray[Any]) -> None:
        """Copy what another library has on this device into an array of the host."""

    def read(self, key: Key, at: At) -> NDArray[Any]:
        """Return elements of an array; they are valid until anything else is read or written."""

    def lasting(self, key: Key, at: At) -> NDArray[Any] | None:
        """Return elements of a state that show its present values as long as the backend lives.

        None where they are not in the memory of the host, or no neighbours.
        """

    def reads(
        self, wanted: Sequence[Sequence[tuple[Key, slice]]], others: Sequence[Self] = ()
    ) -> StateReads:
        """Return what reads elements of some states again and again.

        Parameters
        ----------
        wanted : sequence of sequence of (Key, slice)
            Groups of arrays of one type, whose elements come one array after the other.
        others : sequence of LiveMemory
            Of further copies of the program, which are read, too.
        """

    def writes(
        self, wanted: Sequence[tuple[Key, slice]], others: Sequence[Self] = ()
    ) -> StateWrites:
        """Return what sets elements of some arrays again and again, also in further copies."""

    def address(self, key: Key) -> int:
        """Return where an array is in the memory that `synapses` can read."""

    def synapses(self, texts: SynapseTexts, threads: int) -> SynapsePlace:
        """Return memory for numbers of synapses beside the program, and what runs texts there."""

    def read_row(self, variable: str, step: int, at: At) -> NDArray[Any]:
        """Return elements of the row of a step; they are valid as those of `read` are."""

    def number(self, key: Key) -> float:
        """Return a number of the program, as it has been set."""

    def write(self, key: Key, values: Any, at: At = ALL) -> None:
        """Set a number, or elements of an array."""

    def write_row(self, variable: str, step: int, at: At, values: Any) -> None:
        """Set elements of the row of a step; events cannot be set so."""

    def share(self, key: Key, at: slice) -> Any:
        """Return elements of an array without a copy: NumPy's, or a `SharedArray` of a GPU."""

    def share_row(self, variable: str, step: int, at: slice) -> Any:
        """Return elements of the row of a step without a copy."""

    def fill(self, variable: str, step: int, rows: NDArray[Any]) -> None:
        """Set rows of a variable, (rows, width): row j is that of step ``step - j``.

        Any element of them may be an event.
        """

    def catch_up(self, step: int) -> None:
        """Bring all synapses that learn up to date: with all that they saw before a step.

        Nothing else changes: they would do the same later.
        """

    def stored_order(self, owner: Owner) -> NDArray[np.int64] | None:
        """Return the number of each stored synapse in the order of its plan.

        None where they have this order.
        """

    def recompute(self, group: int, step: int | None = None) -> None:
        """Compute the constants of a group's kernel again; with a step, its outputs in that row."""

    def lists_spikes(self, gather: Gather) -> bool:
        """Whether spikes of the last step wait in a list to be delivered in the next one."""


class Unchangeable:
    """A memory that can be read and cannot be changed.

    Parameters
    ----------
    memory : LiveMemory
        What is read.
    reason : str
        The message of the error.
    """

    def __init__(self, memory: LiveMemory, reason: str) -> None:
        self.read, self.read_row, self.number = memory.read, memory.read_row, memory.number
        self.lasting, self.reads = memory.lasting, memory.reads
        self.place, self.stored_order = memory.place, memory.stored_order
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        raise NeurodriverError(self._reason)
