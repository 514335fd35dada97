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
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import settings
from ..errors import NeurodriverError
from ..system import cores
from . import starting
from .channels import Channel, SendsList
from .functions import Functions, functions
from .heartbeat import Heartbeats, this_process
from .starting import leave_job
from .tasks import TASKS
from .waiting import wait_until

_STARTING = threading.Lock()
_TAG = 16
_CLOSE_SECONDS = 0.5  # what the others may need to close their files after Ctrl-C
_PRINT_SECONDS = 0.25  # until another rank has told that it prints an error


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

    @property
    def verdict(self) -> str:
        """Why the job ends, though this rank could go on; empty as long as it goes on."""
        return ""

    def check(self) -> None:
        """Raise NeurodriverError where the job ends, though this rank could go on."""

    def gather(self, value: Any, seconds: float = 0.0, at: str = "") -> list[Any]:
        """Return the values of all ranks, in their order, on every rank.

        Raises
        ------
        NeurodriverError
            Where another rank does so ``at`` another place of the script.
        """
        return [value]

    def complete(self, request: Any, seconds: float = 0.0) -> None:
        """Wait until a request of MPI is complete, or raise where it cannot be any more."""
        request.Wait()

    def agree(self, at: str, values: Mapping[str, object]) -> None:
        """Compare what ranks are asked for, by name; texts or digests.

        Raises
        ------
        NeurodriverError
            On every rank, where a value differs.
        """
        with TASKS.task(at):
            every = self.gather(dict(values), at=at)
        for name in dict.fromkeys(name for one in every for name in one):
            each = [one.get(name, "nothing") for one in every]
            for rank, value in enumerate(each):
                if value != each[0]:
                    differ = f"0 has {_short(each[0])}, rank {rank} has {_short(value)}"
                    error = NeurodriverError(f"{at}: ranks differ in {name}: rank {differ}")
                    error.known_to_all_ranks = True  # type: ignore[attr-defined]
                    self.engaged = False
                    raise error

    def limit(self, seconds: float) -> None:
        """Set the time without progress of a rank after which the job ends; 0 for never."""

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

    @property
    def functions(self) -> Functions | None:
        """What compiled code may call to exchange messages; None where it cannot."""
        return None

    def sends_of_sizes(
        self, peer: int, message: NDArray[np.uint8], sizes: Sequence[int]
    ) -> Channel:
        """Return a channel with a request for each size: it sends so many bytes as a list."""
        raise NeurodriverError("this process runs alone: there is no other rank")

    def abort(self) -> None:
        """End all ranks at once; the last resort."""
        os._exit(1)


class MPIWorld(World):
    """The ranks of ``MPI.COMM_WORLD``, on communicators of our own."""

    def __init__(self) -> None:
        MPI, (self._comm, self._alarms, hearts) = starting.start(settings.timeout(), 3)
        self._mpi = MPI
        self.rank, self.size = self._comm.rank, self._comm.size
        here = self._comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.local_rank, self.local_size = here.rank, here.size
        self.crowded = self.local_size > cores()
        self._sent: list[Any] = []
        self._alarmed: set[int] = set()  # numbers of jobs
        self._gone: set[int] = set()
        self._printed: list[tuple[int, str]] = []  # by other ranks
        if self.size > 1:
            _abort_on_uncaught(self)
            _leave_on_sigterm()
            atexit.register(self._leave_script)
        self._hearts: Heartbeats | None = None
        processes = self.gather(this_process())
        starting.remove_segments(self.rank, self.local_size)
        if self.size > 1 and MPI.Query_thread() == MPI.THREAD_MULTIPLE:
            self._hearts = Heartbeats(hearts, MPI, processes, settings.timeout(), self.abort)

    @property
    def verdict(self) -> str:
        return self._hearts.verdict if self._hearts else ""

    def limit(self, seconds: float) -> None:
        if self._hearts:
            self._hearts.limit = seconds

    def gather(self, value: Any, seconds: float = 0.0, at: str = "") -> list[Any]:
        data = np.frombuffer(pickle.dumps((at, value), protocol=5), dtype=np.uint8)
        sizes = np.zeros(self.size, dtype=np.int64)
        own = np.array([len(data)], dtype=np.int64)
        self.complete(self._comm.Iallgather(own, sizes), seconds)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        everything = np.empty(int(starts[-1]), dtype=np.uint8)
        spec = [everything, sizes, starts[:-1], self._mpi.BYTE]
        self.complete(self._comm.Iallgatherv([data, self._mpi.BYTE], spec), seconds)
        found = [pickle.loads(everything[a:b].data) for a, b in pairwise(starts)]
        for rank, (there, _) in enumerate(found):
            if there != found[0][0]:
                calls = [call or "another call" for call in (found[0][0], there)]
                error = NeurodriverError(
                    f"rank 0 is at {calls[0]}, rank {rank} at {calls[1]}; every rank must make the "
                    f"same calls"
                )
                error.known_to_all_ranks = True  # type: ignore[attr-defined]
                self.engaged = False
                raise error
        return [given for _, given in found]

    def complete(self, request: Any, seconds: float = 0.0) -> None:
        wait_until(request.Test, seconds, "the other ranks", self._check_gone, self.crowded)

    def check(self) -> None:
        if self.verdict:
            error = NeurodriverError(self.verdict)
            error.printed = True  # type: ignore[attr-defined]
            raise error

    def _check_gone(self) -> None:
        """Raise where a rank will not come any more."""
        self._listen()
        self.check()
        if self._gone:
            ranks = ", ".join(map(str, sorted(self._gone)))
            raise NeurodriverError(
                f"rank {ranks} has left the script, and the others wait for it; every rank must "
                f"make the same calls"
            )

    def _leave_script(self) -> None:
        """Where a script ends in the middle (``sys.exit``), end the others, too."""
        if self._hearts and self.verdict:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the launcher's, when another one ends
            self._hearts.wait_for_end()
            self.abort()
        if self.engaged:
            print(f"rank {self.rank} ended before the run did", file=sys.stderr)
            self.abort()
        self._send(-1)
        if self._hearts:
            self._hearts.close()

    def tell(self) -> None:
        self._send(self.number)

    def prints(self, error: BaseException) -> bool:
        """Whether this rank is the one that prints an error; the others hear of it.

        A rank that ends because of another one lets that one print.
        """
        if self.verdict or getattr(error, "printed", False):
            return False
        left = getattr(error, "of_another_rank", False)
        text = str(error)
        end = time.monotonic() + (4 if left else bool(self.rank)) * _PRINT_SECONDS
        while True:
            self._listen()
            if any(left or (rank < self.rank and said == text) for rank, said in self._printed):
                return False
            if time.monotonic() >= end:
                break
            time.sleep(0.01)
        self._send(text)
        return True

    def _send(self, job: int | str) -> None:
        """Alarm the other ranks of a job, or of having left the script (-1).

        A text is an error that this rank prints.
        """
        others = (rank for rank in range(self.size) if rank != self.rank)
        self._sent += [self._alarms.isend(job, rank, tag=1) for rank in others]

    def _listen(self) -> None:
        status = self._mpi.Status()
        while self._alarms.Iprobe(self._mpi.ANY_SOURCE, 1, status):
            job = self._alarms.recv(source=status.source, tag=1)
            if isinstance(job, str):
                self._printed.append((status.source, job))
            elif job < 0:
                self._gone.add(status.source)
            else:
                self._alarmed.add(job)

    def alarm(self) -> bool:
        self._listen()
        return self.number in self._alarmed or bool(self.verdict)

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
        sent = SendsList(self._comm, peer, tag, write)
        return Channel(requests=requests, buffers=(into, sent), posts=[sent])

    @property
    def functions(self) -> Functions | None:
        return functions()

    def sends_of_sizes(
        self, peer: int, message: NDArray[np.uint8], sizes: Sequence[int]
    ) -> Channel:
        tag = _TAG + 2000 + self.number % 1000
        requests = [self._comm.Send_init(message[:size], peer, tag) for size in sizes]
        return Channel(requests=requests, buffers=message)

    def abort(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        leave_job()
        self._mpi.COMM_WORLD.Abort(1)


def _short(value: object) -> str:
    text = str(value)
    return f"{text[:60]}..." if len(text) > 80 else text


def world() -> World:
    """Return the ranks of this job; one process where no launcher started it.

    The first call starts MPI. Other threads wait for it, as a process may do so only once.
    """
    with _STARTING:
        return _started()


@cache
def _started() -> World:
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
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the launcher's, when another one ends
        interrupted = isinstance(error, KeyboardInterrupt)
        if own.prints(error):
            cause = "".join(traceback.format_exception_only(error)[-1:])
            if interrupted:
                cause = f"interrupted by {error or 'Ctrl-C'}\n"
            print(f"error on rank {own.rank}: {cause}", end="", file=sys.stderr, flush=True)
            if not interrupted:
                before(kind, error, trace)
        if not getattr(error, "known_to_all_ranks", False) and not own.verdict:
            time.sleep(_CLOSE_SECONDS if interrupted else 2 * _PRINT_SECONDS)
            own.abort()

    sys.excepthook = hook


def _leave_on_sigterm() -> None:
    """Let a launcher that ends the job (Ctrl-C) end this process in an orderly way."""
    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise KeyboardInterrupt("the launcher of MPI: another rank has ended, or Ctrl-C was pressed")
