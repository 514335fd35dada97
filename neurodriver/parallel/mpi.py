"""Ranks of a job started by ``mpiexec``, or this process alone; the one place that needs mpi4py.

Nothing here blocks without a deadline: every wait is a loop of tests.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from types import TracebackType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError

_LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "PMIX_RANK")
_SPIN = 1e-4
"""Seconds of testing without pause where every rank has a core of its own."""

_YIELD = 2e-3
"""Seconds of giving way between tests there, before naps begin."""

_NAP = 5e-5
_LONGEST_NAP = 2e-3
_LISTEN_SECONDS = 0.1
_TAG = 16
_CLOSE_SECONDS = 0.5  # what the others may need to close their files after Ctrl-C


def library() -> Any:
    """Return the module ``MPI`` of mpi4py.

    Raises
    ------
    NeurodriverError
        Where it cannot be imported.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        message = f'mpi4py cannot be imported ({error}); pip install "neurodriver[mpi]"'
        raise NeurodriverError(message) from error
    return MPI


class World:
    """This process alone: every collective gives back what it was given.

    Attributes
    ----------
    rank, size : int
    local_rank, local_size : int
        Among the ranks of its host.
    engaged : bool
        Whether other ranks count on this one: its process must not end without telling them.
    leading : bool
        Whether only rank 0 runs the script, and tells the others what to do.
    number : int
        Jobs begun; messages of an earlier one mean nothing to a later one.
    """

    rank = 0
    size = 1
    local_rank = 0
    local_size = 1
    crowded = False
    """Whether this host has more ranks than cores."""

    engaged = False
    leading = False
    number = 0

    def gather(self, value: Any, seconds: float = 0.0) -> list[Any]:
        """Return the values of all ranks, in their order, on every rank."""
        return [value]

    def spread(self, value: Any, seconds: float = 0.0) -> Any:
        """Return the value of rank 0."""
        return self.gather(value if self.rank == 0 else None, seconds)[0]

    def tell(self) -> None:
        """Alarm all other ranks, whatever they are doing: this job goes no further."""

    def alarm(self) -> bool:
        """Whether another rank has told so."""
        return False

    def channel(
        self, peer: int, out: Sequence[NDArray[Any]], into: Sequence[NDArray[Any]]
    ) -> Channel:
        """Return buffers that are exchanged with a rank again and again."""
        if peer != self.rank:
            raise NeurodriverError("this process runs alone: there is no other rank")
        return Channel(out, into)

    def abort(self) -> None:
        """End all ranks at once; the last resort."""
        os._exit(1)


class Channel:
    """Buffers of a process that sends to itself.

    Parameters
    ----------
    out, into : sequence of array
    """

    busy = False
    """Whether the buffers are under way."""

    def __init__(self, out: Sequence[NDArray[Any]], into: Sequence[NDArray[Any]]) -> None:
        self._out, self._into = out, into

    def start(self) -> None:
        """Begin to exchange the buffers; they must not be touched until ``done``."""
        for out, into in zip(self._out, self._into, strict=True):
            into[:] = out

    def done(self) -> bool:
        """Whether all buffers have arrived."""
        return True

    def free(self) -> None:
        """Let go of what is held."""


class MPIChannel(Channel):
    """Persistent requests for buffers between two ranks.

    Parameters
    ----------
    mpi : module
    requests : sequence
        Of MPI.
    out, into : sequence of array
    """

    _lost: ClassVar[list[Any]] = []  # buffers that something may still be written to

    def __init__(
        self,
        mpi: Any,
        requests: Sequence[Any],
        out: Sequence[NDArray[Any]],
        into: Sequence[NDArray[Any]],
    ) -> None:
        super().__init__(out, into)
        self.mpi = mpi
        self.requests = list(requests)

    def start(self) -> None:
        self.busy = True
        self.mpi.Prequest.Startall(self.requests)

    def done(self) -> bool:
        if self.busy:
            self.busy = not self.mpi.Request.Testall(self.requests)
        return not self.busy

    def free(self) -> None:
        """Let go of the requests, cancelling what is under way."""
        if not self.done():
            self._lost.append((self._out, self._into))
        for request in self.requests:
            if self.busy and not request.Test():
                request.Cancel()
            request.Free()


class Together(Channel):
    """Channels that begin and end together: one call of MPI for all of them.

    Parameters
    ----------
    channels : sequence of Channel
    """

    def __init__(self, channels: Sequence[Channel]) -> None:
        super().__init__([], [])
        self._distant = [c for c in channels if isinstance(c, MPIChannel)]
        self._own = [c for c in channels if not isinstance(c, MPIChannel)]
        self._requests = [request for c in self._distant for request in c.requests]

    def start(self) -> None:
        for channel in self._own:
            channel.start()
        if self._distant:
            for channel in self._distant:
                channel.busy = True
            self.busy = True
            self._distant[0].mpi.Prequest.Startall(self._requests)

    def done(self) -> bool:
        if self.busy and self._distant[0].mpi.Request.Testall(self._requests):
            self.busy = False
            for channel in self._distant:
                channel.busy = False
        return not self.busy


class MPIWorld(World):
    """The ranks of ``MPI.COMM_WORLD``, on communicators of our own."""

    def __init__(self) -> None:
        MPI = library()
        self._mpi = MPI
        self._comm = MPI.COMM_WORLD.Dup()
        self._notes = MPI.COMM_WORLD.Dup()
        self.rank, self.size = self._comm.rank, self._comm.size
        here = self._comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.local_rank, self.local_size = here.rank, here.size
        self.crowded = self.local_size > len(os.sched_getaffinity(0))
        self._told: list[Any] = []
        self._heard: set[int] = set()
        self._gone: set[int] = set()
        if self.size > 1:
            _abort_on_uncaught(self)
            _leave_on_sigterm()
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

    def _finish(self, request: Any, seconds: float) -> None:
        wait_until(request.Test, seconds, "the other ranks", self._check_gone)

    def _check_gone(self) -> None:
        """Raise where a rank will not come any more."""
        self._listen()
        if self._gone:
            ranks = ", ".join(map(str, sorted(self._gone)))
            raise NeurodriverError(
                f"rank {ranks} has left the script, and the others wait for it; every rank must "
                f"make the same calls of the Manager"
            )

    def _leave_script(self) -> None:
        """Where a script ends in the middle (``sys.exit``), end the others, too."""
        if self.engaged:
            print(f"rank {self.rank} ended before the run did", file=sys.stderr)
            self.abort()
        self._send(-1)

    def tell(self) -> None:
        self._send(self.number)

    def _send(self, note: int) -> None:
        for rank in range(self.size):
            if rank != self.rank:
                self._told.append(self._notes.isend(note, rank, tag=1))

    def _listen(self) -> None:
        status = self._mpi.Status()
        while self._notes.Iprobe(self._mpi.ANY_SOURCE, 1, status):
            note = self._notes.recv(source=status.source, tag=1)
            if note < 0:
                self._gone.add(status.source)
            else:
                self._heard.add(note)

    def alarm(self) -> bool:
        self._listen()
        return self.number in self._heard

    def channel(
        self, peer: int, out: Sequence[NDArray[Any]], into: Sequence[NDArray[Any]]
    ) -> Channel:
        if peer == self.rank:
            return Channel(out, into)
        # messages of one tag arrive in the order in which they were sent
        tag = _TAG + self.number % 1000
        requests = [self._comm.Recv_init(buffer, peer, tag) for buffer in into]
        requests += [self._comm.Send_init(buffer, peer, tag) for buffer in out]
        return MPIChannel(self._mpi, requests, out, into)

    def abort(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._mpi.COMM_WORLD.Abort(1)


def wait_until(
    ready: Callable[[], bool],
    seconds: float,
    whom: str,
    listen: Callable[[], None] = lambda: None,
    crowded: bool = True,
) -> None:
    """Test until it is so: first without pause, then giving way to other processes.

    Ranks that share cores take naps soon: one that spins keeps the core from the one it waits for.

    Parameters
    ----------
    ready : callable
    seconds : float
        Deadline; 0 waits for ever.
    whom : str
        Who is waited for, for the message.
    listen : callable
        Called now and then during a long wait; may raise.
    crowded : bool
        Whether there are more ranks than cores.

    Raises
    ------
    NeurodriverError
        When the deadline has passed.
    """
    begin = time.perf_counter()
    listened = 0.0
    while not ready():
        waited = time.perf_counter() - begin
        if seconds and waited > seconds:
            raise NeurodriverError(f"no answer from {whom} within {seconds:g} s")
        if waited < (_NAP if crowded else _YIELD):
            if crowded or waited > _SPIN:
                os.sched_yield()
            continue
        time.sleep(min(max(_NAP, waited / 50), _LONGEST_NAP))
        if waited - listened > _LISTEN_SECONDS:
            listened = waited
            listen()


@cache
def world() -> World:
    """Return the ranks of this job; one process where no launcher started it."""
    if not any(name in os.environ for name in _LAUNCHED):
        return World()
    try:
        found = MPIWorld()
    except NeurodriverError as error:
        raise NeurodriverError(f"started by an MPI launcher, but {error}") from error
    return found if found.size > 1 else World()


def _abort_on_uncaught(own: MPIWorld) -> None:
    """Let an exception that ends the script of one rank end the others, too."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        if not getattr(error, "known_to_all_ranks", False):
            if isinstance(error, KeyboardInterrupt):
                time.sleep(_CLOSE_SECONDS)
            own.abort()

    sys.excepthook = hook


def _leave_on_sigterm() -> None:
    """Let a launcher that ends the job (Ctrl-C) end this process in an orderly way."""
    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise KeyboardInterrupt
