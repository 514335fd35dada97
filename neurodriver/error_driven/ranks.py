"""``TrainingRanks``: the processes that train a network together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..mpi import World, library, world
from .whole import Counts

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm


class TrainingRanks(World):
    """The ranks of a communicator, or this process alone.

    Where it has all ranks of the job, a rank that fails or leaves ends the others, too, as in other
    calls of this package.

    Parameters
    ----------
    communicator : mpi4py communicator or None
    """

    def __init__(self, communicator: Intracomm | None) -> None:
        self.communicator, self._job = communicator, World()
        if communicator is not None:
            self.rank, self.size = communicator.Get_rank(), communicator.Get_size()
            MPI = library()
            if MPI.Comm.Compare(communicator, MPI.COMM_WORLD) in (MPI.IDENT, MPI.CONGRUENT):
                self._job = world()

    def gather(self, value: Any, seconds: float = 0.0, at: str = "") -> list[Any]:
        if self.communicator is None or self._job.size == self.size:
            return self._job.gather(value, seconds, at)
        return self.communicator.allgather(value)

    def total(self, counts: Counts) -> Counts:
        """Return the sum of some counts over all ranks."""
        if self.communicator is None:
            return counts
        out = np.empty_like(counts)
        self._job.complete(self.communicator.Iallreduce(counts, out))
        return out
