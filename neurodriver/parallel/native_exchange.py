"""Exchanges at gates that compiled code does by itself, without the interpreter.

Compiled code writes the lists of spikes, starts the persistent requests of MPI, tests them, and
lets the inputs read the lists that have come. If a message takes long, or its status word says that
a rank leaves, `Exchange` goes on with what has begun.
"""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import ExchangingBackend
from ..backends.tables import RingTable
from ..errors import NeurodriverError
from ..mpi import Channel, World
from ..mpi.functions import Functions
from .spike_lists import SpikeLists

_i64, _ptr = ct.c_longlong, ct.c_void_p

MOST_REQUESTS = 1 << 12
"""Requests of all messages at most; rows in a deep ring would take more."""

SMALLEST, GROWTH = 256, 4
"""Bytes of the shortest message with lists, and how many times as long the next one is."""

SPIN, PATIENCE = 20_000, 1_000_000
"""Nanoseconds of testing without a pause, and until the interpreter waits with naps."""


class _ListedBlock(ct.Structure):
    _fields_ = [("ring", RingTable), ("column", _ptr), ("low", _i64), ("high", _i64)]


class _Outbox(ct.Structure):
    _fields_ = [("message", _ptr), ("values", _ptr), ("blocks", _i64), ("block", _ptr),
                ("sizes", _i64), ("size", _ptr), ("request", _ptr)]  # fmt: skip


class _Inbox(ct.Structure):
    _fields_ = [("message", _ptr), ("follows", _i64), ("inputs", _i64), ("input", _ptr)]


class _Messages(ct.Structure):
    _fields_ = [("start", _ptr), ("test", _ptr)]
    _fields_ += [(name, _i64) for name in ("window", "handle", "requests", "period")]
    _fields_ += [("request", _ptr), ("statuses", _ptr), ("heads", _i64), ("head", _ptr)]
    _fields_ += [("outboxes", _i64), ("inboxes", _i64), ("outbox", _ptr), ("inbox", _ptr)]
    names = ("spin", "patience", "number", "pending", "error", "nanoseconds", "bytes", "done")
    _fields_ += [(name, _i64) for name in names]


class ListChannel(Channel):
    """Sends the first bytes of a message, with a request for each number of them."""

    def __init__(self, channel: Channel, message: NDArray[np.uint8], sizes: Sequence[int]) -> None:
        super().__init__(requests=channel.requests, buffers=message)
        self.message, self.sizes = message, list(sizes)


def list_channels(world: World, lists: SpikeLists) -> dict[int, ListChannel]:
    """Return for each rank that gets lists the requests that send one, by its size."""
    out = {}
    for peer, some in lists.written.items():
        message = np.zeros(sum(lists.most(one.count) for one in some), np.uint8)
        sizes = [min(SMALLEST, len(message))]
        while sizes[-1] < len(message):
            sizes.append(min(GROWTH * sizes[-1], len(message)))
        channel = world.sends_of_sizes(peer, message, sizes)
        out[peer] = ListChannel(channel, message, sizes)
    return out


class NativeExchange:
    """What compiled code needs for exchanges at gates.

    Parameters
    ----------
    messages : sequence of Channel
        All messages of an exchange, apart from lists that are sent; they take turns.
    heads : sequence of array
        The messages that come, with their status words.
    channels : dict of int to ListChannel
        Rank -> what sends lists to it.
    crowded : bool
        Whether ranks share cores, so that it is better to wait with naps soon.
    """

    def __init__(
        self,
        functions: Functions,
        messages: Sequence[Channel],
        heads: Sequence[NDArray[Any]],
        lists: SpikeLists,
        channels: dict[int, ListChannel],
        crowded: bool,
    ) -> None:
        self._kept: list[Any] = [messages, heads, lists, channels]
        boxes = [self._outbox(functions, lists, peer, one) for peer, one in channels.items()]
        requests = len(messages[0].requests) + len(boxes)
        table = np.zeros((len(messages), requests, functions.request), np.uint8)
        for one, message in zip(table, messages, strict=True):
            one[: len(message.requests)] = functions.handles(message.requests)
        statuses = np.zeros(requests * functions.status, np.uint8)
        inboxes = self._inboxes(lists)
        addresses = np.array([one.ctypes.data for one in heads], np.uint64)
        self._kept += [table, statuses, addresses]
        self._given = _Messages(
            functions.start, functions.test, lists.timing.window, functions.request, requests,
            len(messages), table.ctypes.data, statuses.ctypes.data, len(heads),
            addresses.ctypes.data, len(boxes), len(inboxes), self._array(_Outbox, boxes),
            self._array(_Inbox, inboxes), SPIN, SPIN if crowded else PATIENCE,
        )  # fmt: skip
        self._arrived = lists.backend.runtime.nd_arrived  # type: ignore[attr-defined]
        self._reported = 0, 0, 0

    @property
    def address(self) -> int:
        """Address of the table for compiled code."""
        return ct.addressof(self._given)

    def _array(self, kind: type[ct.Structure], rows: Sequence[Any]) -> int:
        made = (kind * max(len(rows), 1))(*rows)
        self._kept.append(made)
        return ct.addressof(made)

    def _outbox(
        self, functions: Functions, lists: SpikeLists, peer: int, channel: ListChannel
    ) -> _Outbox:
        some = lists.written[peer]
        blocks = [_ListedBlock(one.ring, one.column.ctypes.data, one.low, one.high) for one in some]
        values = np.empty(max(one.count for one in some) * lists.timing.window, lists.dtype)
        sizes = np.array(channel.sizes, np.int64)
        requests = functions.handles(channel.requests)
        self._kept += [values, sizes, requests]
        where = channel.message.ctypes.data, values.ctypes.data, len(blocks)
        return _Outbox(*where, self._array(_ListedBlock, blocks), len(sizes), sizes.ctypes.data,
                       requests.ctypes.data)  # fmt: skip

    def _inboxes(self, lists: SpikeLists) -> list[_Inbox]:
        out = []
        for peer, some in lists.into.items():
            for i, block in enumerate(some):
                inputs = np.array(lists.inputs_of(block), np.int64)
                self._kept.append(inputs)
                message = lists.came[0][peer].ctypes.data
                out.append(_Inbox(message, int(i > 0), len(inputs), inputs.ctypes.data))
        return out

    def follow(self, number: int) -> None:
        """Note how many exchanges have begun, here or elsewhere."""
        self._given.number = number

    def taken(self) -> tuple[int, float, int, bool]:
        """Return what was exchanged since the last call of this function.

        Returns
        -------
        int
            Exchanges that are complete.
        float
            Seconds of all.
        int
            Bytes of lists.
        bool
            Whether one has begun that is not complete; it is left to the caller.
        """
        given = self._given
        before, self._reported = self._reported, (given.done, given.nanoseconds, given.bytes)
        done, nanoseconds, size = (b - a for a, b in zip(before, self._reported, strict=True))
        pending, given.pending = bool(given.pending), 0
        return done, nanoseconds / 1e9, size, pending

    def done(self) -> bool:
        """Whether the messages of the exchange that has begun are there."""
        found = bool(self._arrived(ct.byref(self._given)))
        if self._given.error:
            raise NeurodriverError(f"MPI has failed with error {self._given.error}")
        return found


def connected(
    world: World,
    lists: SpikeLists,
    channels: dict[int, ListChannel],
    heads: Sequence[NDArray[Any]],
    message: Callable[[int], Channel],
    period: int,
) -> NativeExchange | None:
    """Let a backend exchange at gates by itself; None where it cannot.

    Parameters
    ----------
    world : World
    lists : SpikeLists
    channels : dict of int to ListChannel
    heads : sequence of array
        The messages that come.
    message : callable
        Returns what the exchange of a number moves, apart from lists that are sent.
    period : int
        After so many exchanges the same is moved again.
    """
    functions, backend, first = world.functions, lists.backend, message(0)
    requests = period * len(first.requests)
    ascending = all(one.ascending for some in lists.written.values() for one in some)
    if functions is None or not isinstance(backend, ExchangingBackend):
        return None
    if first.copied or not ascending or not 0 < requests <= MOST_REQUESTS:
        return None
    messages = [message(number) for number in range(period)]
    made = NativeExchange(functions, messages, heads, lists, channels, world.crowded)
    backend.runtime.nd_set_messages(_ptr(backend.handle), _ptr(made.address))
    return made
