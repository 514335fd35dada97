"""Ranks of a job started by ``mpiexec``, or this process alone; the one place that needs mpi4py.

Nothing here blocks without a deadline: every wait is a loop of tests.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError

_LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "PMIX_RANK")
_SPIN = 2e-4
_NAP = 1e-4


class World:
    """This process alone: every collective gives back what it was given."""

    rank = 0
    size = 1
    local_size = 1
    engaged = False
    """Whether other ranks count on this one: its process must not end without telling them."""

    def gather(self, value: Any, seconds: float = 0.0) -> list[Any]:
        """Return the values of all ranks, in their order, on every rank."""
        return [value]

    def spread(self, value: Any, seconds: float = 0.0) -> Any:
        """Return the value of rank 0."""
        return self.gather(value if self.rank == 0 else None, seconds)[0]

    def tell(self, message: Any) -> None:
        """Send a message to all other ranks, whatever they are doing."""

    def heard(self) -> Any:
        """Return a message that another rank has told, or None."""
        return None

    def channel(
        self, peer: int, out: Sequence[NDArray[Any]], into: Sequence[NDArray[Any]]
    ) -> Channel:
        """Return buffers that are exchanged with a rank again and again."""
        raise NeurodriverError("this process runs alone: there is no other rank")

    def abort(self) -> None:
        """End all ranks at once; the last resort."""
        os._exit(1)


class Channel:
    """Persistent requests for buffers between two ranks.

    Parameters
    ----------
    mpi : module
    requests : sequence
        Of MPI.
    """

    def __init__(self, mpi: Any, requests: Sequence[Any]) -> None:
        self._mpi = mpi
        self._requests = list(requests)

    def start(self) -> None:
        """Begin to exchange the buffers; they must not be touched until ``done``."""
        self._mpi.Prequest.Startall(self._requests)

    def done(self) -> bool:
        """Whether all buffers have arrived."""
        return bool(self._mpi.Request.Testall(self._requests))

    def free(self) -> None:
        """Let go of the requests, cancelling what is under way."""
        for request in self._requests:
            if not request.Test():
                request.Cancel()
            request.Free()


class MPIWorld(World):
    """The ranks of ``MPI.COMM_WORLD``, on communicators of our own."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._comm = MPI.COMM_WORLD.Dup()
        self._notes = MPI.COMM_WORLD.Dup()
        self.rank, self.size = self._comm.rank, self._comm.size
        self.local_size = self._comm.Split_type(MPI.COMM_TYPE_SHARED).size
        self._told: list[Any] = []
        _abort_on_uncaught(self)
        atexit.register(self._leave_script)

    def gather(self, value: Any, seconds: float = 0.0) -> list[Any]:
        data = np.frombuffer(pickle.dumps(value), dtype=np.uint8)
        sizes = np.zeros(self.size, dtype=np.int64)
        own = np.array([len(data)], dtype=np.int64)
        self._finish(self._comm.Iallgather(own, sizes), seconds)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        everything = np.empty(int(starts[-1]), dtype=np.uint8)
        spec = [everything, sizes, starts[:-1], self._mpi.BYTE]
        self._finish(self._comm.Iallgatherv([data, self._mpi.BYTE], spec), seconds)
        return [pickle.loads(everything[a:b].tobytes()) for a, b in pairwise(starts)]

    def _leave_script(self) -> None:
        """Where a script ends in the middle (``sys.exit``), end the others, too."""
        if self.engaged:
            print(f"rank {self.rank} ended before the run did", file=sys.stderr)
            self.abort()

    def _finish(self, request: Any, seconds: float) -> None:
        wait_until(request.Test, seconds, "the other ranks")

    def tell(self, message: Any) -> None:
        for rank in range(self.size):
            if rank != self.rank:
                self._told.append(self._notes.isend(message, rank, tag=1))

    def heard(self) -> Any:
        if self._notes.Iprobe(self._mpi.ANY_SOURCE, 1):
            return self._notes.recv(source=self._mpi.ANY_SOURCE, tag=1)
        return None

    def channel(
        self, peer: int, out: Sequence[NDArray[Any]], into: Sequence[NDArray[Any]]
    ) -> Channel:
        # messages of one tag arrive in the order in which they were sent
        requests = [self._comm.Recv_init(buffer, peer, tag=2) for buffer in into]
        requests += [self._comm.Send_init(buffer, peer, tag=2) for buffer in out]
        return Channel(self._mpi, requests)

    def abort(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._mpi.COMM_WORLD.Abort(1)


def wait_until(ready: Callable[[], bool], seconds: float, whom: str) -> None:
    """Test until it is so: first without pause, then giving way to other processes.

    Parameters
    ----------
    ready : callable
    seconds : float
        Deadline; 0 waits for ever.
    whom : str
        Who is waited for, for the message.

    Raises
    ------
    NeurodriverError
        When the deadline has passed.
    """
    begin = time.perf_counter()
    while not ready():
        waited = time.perf_counter() - begin
        if seconds and waited > seconds:
            raise NeurodriverError(f"no answer from {whom} within {seconds:g} s")
        if waited < _SPIN:
            os.sched_yield()
        else:
            time.sleep(_NAP)


@cache
def world() -> World:
    """Return the ranks of this job; one process where no launcher started it."""
    if not any(name in os.environ for name in _LAUNCHED):
        return World()
    try:
        found = MPIWorld()
    except ImportError as error:
        raise NeurodriverError(
            f"started by an MPI launcher, but mpi4py cannot be imported ({error}); "
            f"install neurodriver[mpi]"
        ) from error
    return found if found.size > 1 else World()


def _abort_on_uncaught(own: MPIWorld) -> None:
    """Let an exception that ends the script of one rank end the others, too."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        if not getattr(error, "known_to_all_ranks", False):
            own.abort()

    sys.excepthook = hook
