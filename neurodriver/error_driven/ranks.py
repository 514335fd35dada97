"""``TrainingRanks``: the processes that train a network together."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError
from ..mpi import World, library, world
from .network import Network
from .whole import Counts

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

OfItem = TypeVar("OfItem")


class TrainingRanks(World):
    """The ranks of a communicator, or this process alone.

    Where it has all ranks of the job, a rank that fails or leaves ends the others, too, as in other
    calls of this package.

    Parameters
    ----------
    communicator : mpi4py communicator or None
    """

    def __init__(self, communicator: Intracomm | None) -> None:
        self.communicator, self._job, self._shown = communicator, World(), 0
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

    def note(self, shown: Mapping[str, NDArray[Any]]) -> None:
        """Note what all items of all ranks are shown: ranks compare it when the trial has ended."""
        self._shown = 0
        for name, values in shown.items() if self.size > 1 else ():
            self._shown = zlib.crc32(name.encode(), self._shown)
            self._shown = zlib.crc32(np.ascontiguousarray(values).data, self._shown)

    def of_all(self, rows: list[OfItem]) -> list[OfItem]:
        """Return what each item of all ranks has, in the order of the ranks.

        Raises
        ------
        NeurodriverError
            On every rank, where their environments differ.
        """
        found = self.gather((self._shown, rows), at="the end of a trial")
        for rank, (shown, _) in enumerate(found):
            if shown != found[0][0]:
                want = "each one needs the same environment, and shows its own items of it"
                error = NeurodriverError(
                    f"Trainer: ranks 0 and {rank} are shown different items; {want}: draw random "
                    f"numbers with the same seed on each rank"
                )
                error.known_to_all_ranks = True  # type: ignore[attr-defined]
                raise error
        return [row for _, some in found for row in some]


def compared(network: Network, **more: object) -> dict[str, object]:
    """Return what all ranks must have in common of a network that they train."""
    out: dict[str, object] = {**more, "the seed of the network": network.seed}
    out["the phases"] = f"{network.interval}, {network.minus}, {network.plus}"
    for what, some in (("layer", network.layers), ("path", network.paths)):
        out[f"the {what}s"] = ", ".join(some)
        for name, one in some.items():
            out |= {f"'{n}' of {name}": v for n, v in network.parameters(one).items()}
    for name, layer in network.layers.items():
        out[f"the shape of {name}"] = layer.shape
    for name, path in network.paths.items():
        ends = hashlib.sha256(path.pairs.pre.tobytes() + path.pairs.post.tobytes())
        out[f"the synapses of {name}"] = ends.hexdigest()
    return out
