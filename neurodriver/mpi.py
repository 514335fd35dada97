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
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from types import TracebackType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import settings
from .errors import NeurodriverError

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
    """This process alone: every collective gives back what it was given."""

    rank = 0
    size = 1
    local_rank = 0  # among the ranks of its host
    local_size = 1
    crowded = False  # whether this host has more ranks than cores
    engaged = False  # whether others count on this rank: it must not end without an alarm
    leading = False  # whether only rank 0 runs the script, and the others serve it
    number = 0  # jobs begun; messages of an earlier one mean nothing to a later one

    def gather(self, value: Any, seconds: float = 0.0) -> list[Any]:
        """Return the values of all ranks, in their order, on every rank."""
        return [value]

    def spread(self, value: Any, seconds: float = 0.0) -> Any:
        """Return the value of rank 0."""
        return self.gather(value if self.rank == 0 else None, seconds)[0]

    def tell(self) -> None:
        """Alarm all other ranks, whatever they are doing: this job goes no further."""

    def alarm(self) -> bool:
        """Whether another rank has given the alarm."""
        return False

    def channel(
        self,
        peer: int,
        out: Sequence[NDArray[Any]],
        into: Sequence[NDArray[Any]],
        apart: bool = False,
    ) -> Channel:
        """Return buffers that are exchanged with a rank again and again.

        Those that are ``apart`` mix with no others, whatever their order.
        """
        if peer != self.rank:
            raise NeurodriverError("this process runs alone: there is no other rank")
        return Channel(copies=zip(out, into, strict=True))

    def channel_of_lists(
        self, peer: int, write: Callable[[], NDArray[Any]] | None, into: NDArray[Any] | None
    ) -> Channel:
        """Return a channel whose messages differ in length; they are not longer than ``into``.

        ``write`` returns what goes out at each start. Either may be left out.
        """
        raise NeurodriverError("this process runs alone: there is no other rank")

    def abort(self) -> None:
        """End all ranks at once; the last resort."""
        os._exit(1)


class Channel:
    """Buffers that are exchanged again and again.

    Pairs of a process that sends to itself are copied; ``requests``, persistent ones of MPI, move
    ``buffers`` between ranks. ``within`` is what has the functions of MPI for requests of another
    kind. ``posts`` begin a request each time.
    """

    _lost: ClassVar[list[Any]] = []  # buffers that something may still be written to

    def __init__(
        self,
        copies: Iterable[tuple[NDArray[Any], NDArray[Any]]] = (),
        requests: Sequence[Any] = (),
        buffers: Any = None,
        within: Any = None,
        posts: Sequence[Callable[[], Any]] = (),
    ) -> None:
        self._copies, self._requests, self._buffers = list(copies), list(requests), buffers
        self._within, self._posts = within, list(posts)
        self._posted: list[Any] = []
        self._mpi = within or library() if self._requests or self._posts else None

    @classmethod
    def together(cls, channels: Sequence[Channel]) -> Channel:
        """Return channels as one: they begin and end with one call of MPI."""
        copies = [pair for channel in channels for pair in channel._copies]
        requests = [request for channel in channels for request in channel._requests]
        within = next((channel._within for channel in channels if channel._within), None)
        posts = [post for channel in channels for post in channel._posts]
        return cls(copies, requests, [channel._buffers for channel in channels], within, posts)

    def start(self) -> None:
        """Begin to exchange the buffers; they must not be touched until ``done``."""
        for out, into in self._copies:
            into[:] = out
        if self._mpi is not None:
            self._mpi.Prequest.Startall(self._requests)
            self._posted = [post() for post in self._posts]

    def done(self) -> bool:
        """Whether all buffers have arrived; so they have before the first ``start``."""
        if self._mpi is None:
            return True
        return bool(self._mpi.Request.Testall([*self._requests, *self._posted]))

    def free(self) -> None:
        """Let go of the requests, cancelling those in flight."""
        if not self.done():
            self._lost.append(self._buffers)
        for request in self._requests:
            if not request.Test():
                request.Cancel()
            request.Free()


class MPIWorld(World):
    """The ranks of ``MPI.COMM_WORLD``, on communicators of our own."""

    def __init__(self) -> None:
        MPI = library()
        self._mpi = MPI
        self._comm = MPI.COMM_WORLD.Dup()
        self._alarms = MPI.COMM_WORLD.Dup()
        self.rank, self.size = self._comm.rank, self._comm.size
        here = self._comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.local_rank, self.local_size = here.rank, here.size
        self.crowded = self.local_size > len(os.sched_getaffinity(0))
        self._sent: list[Any] = []
        self._alarmed: set[int] = set()  # numbers of jobs
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

    def _send(self, job: int) -> None:
        """Alarm the other ranks of a job, or of having left the script (-1)."""
        others = (rank for rank in range(self.size) if rank != self.rank)
        self._sent += [self._alarms.isend(job, rank, tag=1) for rank in others]

    def _listen(self) -> None:
        status = self._mpi.Status()
        while self._alarms.Iprobe(self._mpi.ANY_SOURCE, 1, status):
            job = self._alarms.recv(source=status.source, tag=1)
            if job < 0:
                self._gone.add(status.source)
            else:
                self._alarmed.add(job)

    def alarm(self) -> bool:
        self._listen()
        return self.number in self._alarmed

    def channel(
        self,
        peer: int,
        out: Sequence[NDArray[Any]],
        into: Sequence[NDArray[Any]],
        apart: bool = False,
    ) -> Channel:
        if peer == self.rank:
            return super().channel(peer, out, into)
        # messages of one tag arrive in the order in which they were sent
        tag = _TAG + self.number % 1000 + 1000 * apart
        requests = [self._comm.Recv_init(buffer, peer, tag) for buffer in into]
        requests += [self._comm.Send_init(buffer, peer, tag) for buffer in out]
        return Channel(requests=requests, buffers=(out, into))

    def channel_of_lists(
        self, peer: int, write: Callable[[], NDArray[Any]] | None, into: NDArray[Any] | None
    ) -> Channel:
        tag = _TAG + 2000 + self.number % 1000
        requests = [] if into is None else [self._comm.Recv_init(into, peer, tag)]
        if write is None:
            return Channel(requests=requests, buffers=into)
        sent = _SendsList(self._comm, peer, tag, write)
        return Channel(requests=requests, buffers=(into, sent), posts=[sent])

    def abort(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._mpi.COMM_WORLD.Abort(1)


class _SendsList:
    """Sends the list that is written at each call; keeps it until the next one."""

    def __init__(self, comm: Any, peer: int, tag: int, write: Callable[[], NDArray[Any]]) -> None:
        self._comm, self._peer, self._tag, self._write = comm, peer, tag, write
        self._kept: Any = None

    def __call__(self) -> Any:
        """Begin to send; return the request."""
        self._kept = self._write()
        return self._comm.Isend(self._kept, self._peer, self._tag)


def wait_until(
    ready: Callable[[], bool],
    seconds: float,
    whom: str,
    listen: Callable[[], None] = lambda: None,
    crowded: bool = True,
) -> None:
    """Test until it is so: first without pause, then giving way to other processes.

    Ranks that share cores take naps soon: one that spins keeps the core from the one it waits for.
    A deadline of 0 ``seconds`` waits for ever. ``listen`` is called now and then; it may raise.
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
    if not settings.launched():
        return World()
    try:
        ranks = MPIWorld()
    except NeurodriverError as error:
        raise NeurodriverError(f"started by an MPI launcher, but {error}") from error
    return ranks if ranks.size > 1 else World()


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
