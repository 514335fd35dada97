"""``SynapsePlace``: where numbers of synapses are, and texts run: the host, or a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

ALONE, PACKS, ADDS = range(3)
"""How a run takes part in adding up the counts of several GPUs: not at all, or it packs what it has
counted for the others, or it adds what the others have packed before. ``packed_counts.cuh``."""


class Stored(Protocol):
    """An array in the memory of a place."""

    address: int
    nbytes: int

    def read(self) -> NDArray[Any]:
        """Return a copy of the values."""

    def write(self, values: NDArray[Any]) -> None:
        """Set all values."""

    def write_first(self, values: NDArray[Any]) -> None:
        """Set the values of the first row."""


class SynapsePlace(Protocol):
    """Memory, and what runs the texts."""

    def store(self, values: NDArray[Any]) -> Stored:
        """Return an array with these values."""

    def find_greatest(self, units: Stored, count: int) -> None:
        """Find the greatest values of the states of some units, or begin to.

        Parameters
        ----------
        units : Stored
            Structures `nd_units` of ``codegen/synapse_texts.h``.
        count : int
            How many there are.
        """

    def run(
        self,
        sets: Stored,
        begin: Stored,
        count: int,
        work: NDArray[np.int64],
        light: bool,
        share: int = ALONE,
    ) -> None:
        """Run the texts of some sets, or begin to: all that is read later is complete.

        Parameters
        ----------
        sets : Stored
            As `nd_synapses`.
        begin : Stored of (sets + 1,) int64
            Number of the first row of each set.
        count : int
            Number of sets.
        work : (rows + 1,) int64
            Synapses before each row.
        light : bool
            Whether no text reads vectors of the sources.
        share : {ALONE, PACKS, ADDS}
            `PACKS` and `ADDS` need `reach` before. A run that adds waits until all other ranks have
            called it, too.
        """

    def wait(self) -> None:
        """Wait until all texts have run.

        Raises
        ------
        NeurodriverError
            Where the counts of another rank are missing.
        """

    def synchronize(self) -> None:
        """Wait until all that uses the memory is done, also what others have begun."""

    def offer(self, rows: int, synapses: int, ranks: int) -> bytes:
        """Return a handle of the memory in which other ranks pack; empty if they cannot reach it.

        Parameters
        ----------
        rows, synapses : int
            Of all sets.
        """

    def reach(self, offers: Sequence[bytes], own: int) -> bool:
        """Open what all ranks offer, of which this is number ``own``; return whether it can."""

    def close(self) -> None:
        """Give the memory back."""
