"""``Channel``: buffers that are exchanged with other ranks again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray

from .starting import library


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

    @property
    def requests(self) -> Sequence[Any]:
        """The persistent requests."""
        return self._requests

    @property
    def copied(self) -> bool:
        """Whether something is sent from this process to itself."""
        return bool(self._copies)

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


class SendsList:
    """Sends the list that is written at each call; keeps it until the next one."""

    def __init__(self, comm: Any, peer: int, tag: int, write: Callable[[], NDArray[Any]]) -> None:
        self._comm, self._peer, self._tag, self._write = comm, peer, tag, write
        self._kept: Any = None

    def __call__(self) -> Any:
        """Begin to send; return the request."""
        self._kept = self._write()
        return self._comm.Isend(self._kept, self._peer, self._tag)
