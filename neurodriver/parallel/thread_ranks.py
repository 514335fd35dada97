"""Threads of one process as ranks: they exchange values as the ranks of MPI do.

A message is a copy in a queue from one rank to another; a channel sends all its buffers as one.
Requests have the functions of persistent requests of MPI. So `Channel` starts and tests both in the
same way. A test that finds nothing sleeps until a message is sent, for a millisecond at most: a
thread that tests again and again would keep the interpreter from the others.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ..mpi import Channel, World

Queue = deque[NDArray[Any]]


@dataclass
class Team:
    """What the ranks of a process share.

    Attributes
    ----------
    queues : dict of (sender, receiver, kind of message) to deque of arrays
    alarmed : Event
        Set where one of them has failed.
    sent : Condition
        Notified of each message.
    """

    size: int
    queues: dict[tuple[int, int, int], Queue] = field(default_factory=lambda: defaultdict(deque))
    alarmed: threading.Event = field(default_factory=threading.Event)
    sent: threading.Condition = field(default_factory=threading.Condition)

    def ranks(self) -> list[ThreadRank]:
        """Return the ranks."""
        return [ThreadRank(self, rank) for rank in range(self.size)]


class ThreadRank(World):
    """One thread of a team as a rank."""

    def __init__(self, team: Team, rank: int) -> None:
        self.team, self.rank, self.size = team, rank, team.size
        self.local_rank, self.local_size = rank, team.size

    def tell(self) -> None:
        self.team.alarmed.set()

    def alarm(self) -> bool:
        return self.team.alarmed.is_set()

    def channel(
        self,
        peer: int,
        out: Sequence[NDArray[Any]],
        into: Sequence[NDArray[Any]],
        apart: bool = False,
    ) -> Channel:
        if peer == self.rank:
            return super().channel(peer, out, into)
        queues = self.team.queues
        here, there = queues[peer, self.rank, int(apart)], queues[self.rank, peer, int(apart)]
        requests: list[_Taking | _Sending] = (
            [_Taking(here, _side_by_side(into), self.team.sent)] if into else []
        )
        requests += [_Sending(there, _side_by_side(out), self.team.sent)] if out else []
        return Channel(requests=requests, buffers=(out, into), within=_Functions)

    def channel_of_lists(
        self, peer: int, write: Callable[[], NDArray[Any]] | None, into: NDArray[Any] | None
    ) -> Channel:
        queues = self.team.queues
        sent, here = self.team.sent, queues[peer, self.rank, _LISTS]
        requests = [] if into is None else [_Taking(here, [into], sent)]
        if write is None:
            return Channel(requests=requests, within=_Functions)
        there, written = queues[self.rank, peer, _LISTS], write

        def post() -> _Sending:
            made = _Sending(there, [written()], sent)
            made.Start()
            return made

        return Channel(requests=requests, within=_Functions, posts=[post])


_LISTS = 2
"""Kind of messages that are lists, beside those of fixed length (0, and 1: apart)."""

_SLEEP = 1e-3
"""Seconds of a test that finds nothing."""


def _side_by_side(buffers: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return buffers as few arrays: those that follow each other in memory as one."""
    out: list[NDArray[Any]] = []
    for one in (buffer.reshape(-1) for buffer in buffers):
        last = out[-1] if out else one[:0]
        if len(last) and last.ctypes.data + last.nbytes == one.ctypes.data:
            out[-1] = as_strided(last, (len(last) + len(one),))
        else:
            out.append(one)
    return out


class _Request:
    """A persistent request, with the names that MPI gives its functions."""

    def Cancel(self) -> None:
        """Do nothing: nobody waits for it any more."""

    def Free(self) -> None:
        """Do nothing."""


@dataclass
class _Sending(_Request):
    """Sends what buffers hold when it is started."""

    queue: Queue
    buffers: list[NDArray[Any]]
    sent: threading.Condition

    def Start(self) -> None:
        message = np.concatenate(self.buffers)
        with self.sent:
            self.queue.append(message)
            self.sent.notify_all()

    def Test(self) -> bool:
        return True


@dataclass
class _Taking(_Request):
    """Fills buffers with the next message."""

    queue: Queue
    buffers: list[NDArray[Any]]
    sent: threading.Condition
    waits: bool = False

    def Start(self) -> None:
        self.waits = True

    def Test(self) -> bool:
        if self.waits and self.queue:
            message = self.queue.popleft()
            for buffer in self.buffers:
                part, message = message[: len(buffer)], message[len(buffer) :]
                buffer[: len(part)] = part  # a list may be shorter
            self.waits = False
        return not self.waits

    def sleep(self) -> None:
        """Sleep until there is a message, but not for long."""
        with self.sent:
            if not self.queue:
                self.sent.wait(_SLEEP)


class _Functions:
    """What `Channel` calls of MPI."""

    class Prequest:
        @staticmethod
        def Startall(requests: Sequence[_Taking | _Sending]) -> None:
            for one in requests:
                one.Start()

    class Request:
        @staticmethod
        def Testall(requests: Sequence[_Taking | _Sending]) -> bool:
            for one in requests:  # in order, as messages come
                if isinstance(one, _Taking) and not one.Test():
                    one.sleep()
                    return one.Test() and _Functions.Request.Testall(requests)
            return True
