"""Moves the rows of exported values between ranks, a window of steps at a time.

Row k of the imports holds what the sources had in row k - 1. All connections from imports take at
least ``least`` steps, so row k is read at step ``k + least - 1`` first, and the rows of many steps
can come in one message. With a window of W steps, the rows (w - 1) W + 1 to w W that window w - 1
has computed are needed

* in window w itself (``lag`` 0) when W = least + 1, or
* only in window w + 1 (``lag`` 1) when 2 W = least + 1: the message travels while window w is
  computed.

Where the job has Modules, W = 1: they give in step k what others read in step k + 1, one step later
than LPUs know it, so what they give goes into row k + 1 of the imports, not k + 2.

Every message begins with a status word. A rank that fails, or is asked to stop, says so in one
more exchange with each peer that is still there; so all leave, and none waits for ever.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..backends.base import Backend
from ..errors import NeurodriverError
from ..plan.delays import steps_of
from ..plan.passes.join import Joined
from .buffers import Sends, Takes
from .hosting import Host
from .mpi import Channel, Together, World, wait_until
from .routes import Routes

LONGEST = 1024
"""Most steps of a window."""

GOOD, LEAVING = 0.0, 1.0

LEAVE_SECONDS = 2.0
"""How long a rank that leaves waits for others, who may be gone, too."""


class Left(NeurodriverError):
    """Another rank has left the run."""


@dataclass(frozen=True)
class Timing:
    """When values go.

    Attributes
    ----------
    window : int
        Steps between exchanges.
    lag : {0, 1}
        Windows between an exchange and the first use of what it brings.
    """

    window: int
    lag: int

    @classmethod
    def of(cls, least: int, gates: bool = False) -> Timing:
        """Return the timing for the shortest latency from imports over all ranks, in steps.

        Parameters
        ----------
        least : int
        gates : bool
            Whether all calls may wait in their middle. Then windows are longer, and no message
            travels beside the steps: for 16 KB a step, a window's cost is what counts.
        """
        lag = 1 if least >= 3 and not gates else 0
        return cls(min((least + 1) // (1 + lag), LONGEST), lag)

    @property
    def slots(self) -> int:
        """Sets of buffers: one is under way while another is in use."""
        return 1 + self.lag

    @property
    def back(self) -> int:
        """At step k, row k - back of the imports is needed and not yet there."""
        return self.slots * self.window - 2

    def depth(self, rows: int) -> int:
        """Return how many rows a ring keeps whose rows are sent or received in place."""
        windows = max(-(-rows // self.window), self.slots)  # few rows stay in the cache
        return self.window * int(2 ** math.ceil(math.log2(windows)))


def least_latency(joined: Joined, dt: float) -> int:
    """Return the shortest latency of a connection from the imports in steps, 0 without any."""
    if joined.imports < 0:
        return 0
    first, last = joined.circuit.starts[joined.imports : joined.imports + 2]
    least = 0
    for links in joined.circuit.connections:
        mine = (links.source >= first) & (links.source < last)
        if mine.any():
            steps = int(np.broadcast_to(steps_of(links, dt), (len(links),))[mine].min())
            least = min(least, steps) if least else steps
    return least


def imported_variables(joined: Joined) -> set[str]:
    """Return the variables that connections read from the imports."""
    if joined.imports < 0:
        return set()
    first, last = joined.circuit.starts[joined.imports : joined.imports + 2]
    return {
        links.variable
        for links in joined.circuit.connections
        if ((links.source >= first) & (links.source < last)).any()
    }


class Exchange:
    """Buffers and requests of one rank.

    Small blocks are gathered into one message for each peer and window. A large block goes row by
    row, straight from the ring where its elements lie side by side there, and straight into the
    ring of the receiver where one variable of it is read and rows need no note of their spikes.

    Parameters
    ----------
    world : World
    routes : Routes
    joined : Joined
    backend : Backend
        What advances the compiled joint circuit.
    timing : Timing
    seconds : float
        How long to wait for another rank.
    host : Host, optional
        The Modules of this rank.

    Attributes
    ----------
    timing : Timing
    spent : float
        Seconds of exchanging.
    received : int
        Bytes that came from other ranks.
    gated : bool
        Whether the backend asks for exchanges within a call.
    imports : list of InputTable
    exports : list of Probe
    """

    def __init__(
        self,
        world: World,
        routes: Routes,
        joined: Joined,
        backend: Backend,
        timing: Timing,
        seconds: float,
        host: Host | None = None,
    ) -> None:
        self.timing = timing
        self.seconds = seconds
        self._host = host
        self.gated = False
        self.spent = 0.0
        self.received = 0
        self._world = world
        self._message = 0
        self._peers = sorted({b.rank for b in (*routes.incoming, *routes.outgoing)})
        self._gone: set[int] = set()
        self._leaving = False
        self._pending: list[tuple[int, Channel]] = []
        self.sends = Sends(routes, joined, backend, timing)
        self.takes = Takes(routes, joined, backend, timing)
        self._heads = [
            {p: world.channel(p, [out[p]], [into[p]]) for p in self._peers}
            for out, into in zip(
                self.sends.messages(self._peers), self.takes.messages(self._peers), strict=True
            )
        ]
        self._rows: dict[tuple[int, int], Channel] = {}
        self._messages: dict[int, tuple[list[tuple[int, Channel]], Together]] = {}
        self._together: Together | None = None
        self._period = math.lcm(self.sends.period, self.takes.period, timing.slots)
        self._whom = f"rank {', '.join(map(str, self._peers))}"
        others = sum(len(b) for b in self.takes.blocks if b.rank != world.rank)
        self._window_bytes = others * timing.window * backend.program.dtype.itemsize
        self.exports = self.sends.probes
        self.imports = self.takes.tables

    @property
    def asking(self) -> str | None:
        """Id of the Module whose code runs; None when none does."""
        return self._host.asking if self._host else None

    def begin(self, steps: int | None) -> None:
        """Exchange row 0, and let every earlier row of the imports be like it."""
        out, into = self.sends.initial(self._peers), self.takes.initial(self._peers)
        if self._host:
            self._host.begin(steps, self.sends.of_modules(self.sends.parts(out)))
        channels = [(p, self._world.channel(p, [out[p]], [into[p]])) for p in self._peers]
        for _, channel in channels:
            channel.start()
        self._wait(channels)
        for _, channel in channels:
            channel.free()
        self.takes.begin(into)
        if self._host:
            self._host.take(-1, self.takes.of_modules(self.takes.parts(into)))

    def left(self, step: int) -> int:
        """Return how many steps a call may take; gated ones exchange within."""
        window = self.timing.window
        if self.gated and step >= self.timing.slots * window:  # imports come from buffers by then
            return sys.maxsize
        return window - step % window

    def stage(self, first: int, steps: int) -> None:
        """Point the backend's tables at what came, and its exports at what goes next."""
        window, row = divmod(first, self.timing.window)
        if self._host:
            self._host.step(first, self.sends.of_modules(self.sends.views(0)))
        self.sends.stage(window, 0 if self.gated else row)
        self.takes.stage(window, row, steps)

    def swap(self, step: int) -> None:
        """Exchange at the end of a window, ``step`` steps being done.

        Raises
        ------
        Left
            When another rank has left; call ``leave`` then.
        """
        begin = time.perf_counter()
        if self.timing.lag:
            self._finish()
        self._start(GOOD)
        if not self.timing.lag:
            self._finish()
        self.spent += time.perf_counter() - begin
        self.received += self._window_bytes
        if self._host:
            self._host.take(step - 1, self.takes.of_modules(self.takes.views(0)))

    def end(self, step: int) -> None:
        """Exchange for the last time, at the end of the run.

        Raises
        ------
        Left
            When another rank has left instead.
        """
        self.swap(step)
        self._finish()

    def leave(self) -> None:
        """Tell every peer that is still there; never raise."""
        self.seconds = LEAVE_SECONDS
        self._leaving = True
        for status in (None, LEAVING):
            try:
                if status is not None:
                    self._start(status)
                self._finish()
            except NeurodriverError:
                continue

    def close(self) -> None:
        """Let the Modules clean up, and let go of the requests."""
        try:
            if self._host:
                self._host.close()
        finally:
            self._free()

    def _free(self) -> None:
        for channels in self._heads:
            for channel in channels.values():
                channel.free()
        for channel in self._rows.values():
            channel.free()
        self._heads, self._rows = [], {}

    @property
    def bytes(self) -> int:
        """Bytes that one window sends and receives."""
        return self.sends.bytes + self.takes.bytes

    def _start(self, status: float) -> None:
        channels, together = self._of_message(self._message)
        # one that has not answered in time is gone
        self._gone.update(peer for peer, channel in channels if channel.busy)
        if status != GOOD:
            for message in self.sends.heads[self._message % self.timing.slots].values():
                message[0] = status
        if self._gone:
            self._pending = [(p, c) for p, c in channels if p not in self._gone]
            for _, channel in self._pending:
                channel.start()
        else:
            self._pending = [*channels]
            self._together = together
            together.start()
        self._message += 1

    def _of_message(self, number: int) -> tuple[list[tuple[int, Channel]], Together]:
        """Return the channels of a message, with their peers, and all of them together."""
        key = number % self._period
        if key not in self._messages:
            slot = number % self.timing.slots
            channels = [
                (peer, channel)
                for peer in self._peers
                for channel in (self._heads[slot][peer], self._row_channel(peer, number))
            ]
            self._messages[key] = channels, Together([c for _, c in channels])
        return self._messages[key]

    def _row_channel(self, peer: int, number: int) -> Channel:
        """Return the requests for the rows of large blocks after a window."""
        key = peer, number % self._period
        if key not in self._rows:
            rows = self.sends.rows(peer, number), self.takes.rows(peer, number)
            self._rows[key] = self._world.channel(peer, *rows)
        return self._rows[key]

    def _finish(self) -> None:
        """Wait for the messages under way, if there are any."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        slot = (self._message - 1) % self.timing.slots
        try:
            self._wait(pending)
        except Left:
            self._pending = pending
            raise
        peers = {peer for peer, _ in pending}
        gone = {p for p in peers if self.takes.heads[slot][p][0] != GOOD}
        if gone:
            self._gone |= gone
            raise Left(f"rank {', '.join(map(str, sorted(gone)))} has left the run")

    def _wait(self, pending: Sequence[tuple[int, Channel]]) -> None:
        together, self._together = self._together, None
        if together is not None:
            ready = together.done
        else:
            waiting = list(pending)

            def ready() -> bool:
                waiting[:] = [(p, c) for p, c in waiting if not c.done()]
                return not waiting

        wait_until(ready, self.seconds, self._whom, self._listen, self._world.crowded)

    def _listen(self) -> None:
        """While a peer takes long: maybe it waits for a third one that has failed."""
        if not self._leaving and self._world.alarm():
            raise Left("another rank has failed")
