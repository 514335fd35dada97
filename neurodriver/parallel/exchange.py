"""Moves the rows of exported values between ranks, a window of steps at a time.

Small blocks are gathered into one message for each peer and window. A large block goes row by row,
straight from the ring where its elements lie side by side there, and straight into the ring of the
receiver where one variable of it is read and rows need no note of their spikes.

Every message begins with a status word. A rank that fails, or is asked to stop, says so in one
more exchange with each peer that is still there; so all leave, and none waits for ever.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

from ..backends.base import Backend
from ..errors import NeurodriverError
from ..mpi import Channel, World, wait_until
from ..plan.passes.join import Joined
from .buffers import Array, Buffers, Sends, Takes
from .hosting import Host
from .native_exchange import NativeExchange, connected, list_channels
from .routes import Routes
from .spike_lists import SpikeLists
from .window import Timing

GOOD, LEAVING = 0.0, 1.0

LEAVE_SECONDS = 2.0
"""How long a rank that leaves waits for others, who may be gone, too."""


class Left(NeurodriverError):
    """Another rank has left the run."""


class Exchange:
    """Buffers and requests of one rank.

    Attributes
    ----------
    spent : float
        Seconds of exchanging.
    received : int
        Bytes that came from other ranks.
    gated : bool
        Whether the backend asks for exchanges within a call.
    gate : callable
        Lets the backend do so in windows from a step on, if it can.
    native : int
        Exchanges that compiled code did by itself.
    waits : bool
        Whether a call has to complete before the next one begins.
    unchanged : bool
        Whether nobody has set values since the last run, so a run that goes on may keep its rows.
    imports, exports : list of InputTable, list of Probe
    first : int
        The step at which the run begins; windows count from there.
    """

    def __init__(
        self,
        world: World,
        routes: Routes,
        joined: Joined,
        backend: Backend,
        timing: Timing,
        host: Host | None = None,
    ) -> None:
        self.timing, self.window = timing, timing.window
        self.seconds = 0.0  # to wait for another rank; 0 for as long as it is there
        self.gated, self.waits, self.unchanged, self.first = False, True, False, 0
        self.gate: Callable[[int], bool] = lambda first: False
        self.spent, self.received, self.native = 0.0, 0, 0
        self._world, self._host = world, host
        self._number = 0  # of the next message
        self._peers = sorted({b.rank for b in (*routes.incoming, *routes.outgoing)})
        self._whom = f"rank {', '.join(map(str, self._peers))}"
        self._gone: set[int] = set()
        self._leaving = False
        self._in_flight: tuple[set[int], Channel | NativeExchange] | None = None
        self._native: NativeExchange | None = None
        self.sends = Sends(routes, joined, backend, timing, self._peers)
        self.takes = Takes(routes, joined, backend, timing, self._peers)
        self.lists = SpikeLists(self.sends, self.takes)
        self.exports = self.sends.probes
        self.imports = [*self.lists.tables, *self.takes.tables]
        pairs = zip(self.sends.messages, self.takes.messages, strict=True)
        self._heads = [
            {p: world.channel(p, [out[p]], [into[p]]) for p in self._peers} for out, into in pairs
        ]
        self._lists = [
            {p: self._world.channel_of_lists(p, *ends) for p, ends in self.lists.ends(slot).items()}
            for slot in range(timing.slots)
        ]
        self._channels = [one for some in self._heads + self._lists for one in some.values()]
        self._list_channels = list_channels(world, self.lists) if world.functions else {}
        self._channels += self._list_channels.values()
        self._moving: list[Channel] = []  # of rows; another run from another step has others
        self._messages: dict[int, tuple[list[tuple[int, Channel]], Channel]] = {}
        self._period = math.lcm(self.sends.period, self.takes.period, timing.slots)
        dense = [b for i, b in enumerate(self.takes.blocks) if i not in self.takes.listed]
        others = sum(len(b) for b in dense if b.rank != world.rank)
        self._window_bytes = others * timing.window * backend.program.dtype.itemsize

    @property
    def asking(self) -> str | None:
        """Id of the Module whose code runs; None when none does."""
        return self._host.asking if self._host else None

    def fill(self) -> None:
        """Give imports the rows before step 0, which are like row 0 while no value is set."""
        self.takes.fill(self._swapped(self.sends.latest(self._peers, 0, 1), 1))

    def begin(self, steps: int | None, step: int) -> None:
        """Exchange the rows that imports do not have; `fill` was called once before."""
        if step != self.first:  # windows count from here
            self.first, self._number, self._native = step, 0, None
            self._messages.clear()
            Channel.together(self._moving).free()
            self._moving.clear()
            if self.gated:
                self.gate(step)
        if self.gated and self._native is None:
            self._native = self._connected()
        out = self.sends.latest(self._peers, step, rows := self.timing.ahead)
        if self._host:
            self._host.begin(steps, self.sends.of_modules(self.sends.parts(out, rows)))
        came = self._swapped(out, rows)
        self.takes.begin(came, step)
        self.lists.begin(self.takes)
        if self._host:
            self._host.take(-1, self.takes.of_modules(came))

    def latest(self, step: int) -> list[Array]:
        """Exchange the rows that imports do not have at a step; every rank does so at that step.

        Returns
        -------
        list of (rows, n) array
            Of each block that comes in; row j is that of the source at step ``step - j``.
        """
        self._finish()
        rows = self.timing.ahead
        return self._swapped(self.sends.latest(self._peers, step, rows), rows)

    def _connected(self) -> NativeExchange | None:
        """Let compiled code exchange at gates; None where it cannot."""
        if self._host or self.timing.slots > 1:
            return None
        given = self._world, self.lists, self._list_channels, [*self.takes.messages[0].values()]
        return connected(*given, lambda number: self._message(number)[1], self._period)

    def _catch_up(self) -> bool:
        """Account for what compiled code has exchanged; return whether it has begun to."""
        if self._native is None:
            return False
        done, seconds, size, pending = self._native.taken()
        self._number += done + pending
        self.spent += seconds
        self.received += size + done * self._window_bytes
        self.native += done
        if done:
            self.lists.read(0)
        if pending:
            self._in_flight = set(self._peers), self._native
        return pending

    def _swapped(self, out: Buffers, rows: int) -> list[Array]:
        """Exchange some rows of all blocks, apart from the messages of windows."""
        into = self.takes.room(self._peers, rows)
        channel = Channel.together(
            [self._world.channel(p, [out[p]], [into[p]]) for p in self._peers]
        )
        channel.start()
        self._wait(channel)
        channel.free()
        return self.takes.parts(into, rows)

    def left(self, step: int) -> int:
        """Return how many steps a call may take; gated ones exchange within."""
        done = step - self.first
        if self.gated and done >= self.timing.slots * self.window:  # imports are in buffers by then
            return sys.maxsize
        return self.window - done % self.window

    def due(self, step: int) -> bool:
        """Whether a window ends at a step."""
        self._catch_up()
        return (step - self.first) % self.window == 0

    def stage(self, first: int, steps: int) -> None:
        """Point the backend's tables at what came, and its exports at what goes next."""
        window, row = divmod(first - self.first, self.window)
        if self._host:
            self._host.step(first, self.sends.of_modules(self.sends.views[0]))
        self.sends.stage(window, 0 if self.gated else row)
        self.takes.stage(window, row, steps)
        self.lists.stage(window, row, first)

    def swap(self, step: int) -> None:
        """Exchange at the end of a window, when ``step`` steps are done.

        Raises
        ------
        Left
            When another rank has left; call ``leave`` then.
        """
        begin = time.perf_counter()
        if not self._catch_up():
            self.lists.write(step)
            if self.timing.lag:
                self._finish()
            self._start(GOOD)
        if not self.timing.lag:
            self._finish()
            self.lists.pass_on(step)
        self.spent += time.perf_counter() - begin
        self.received += self._window_bytes + self.lists.received
        if self._host:
            self._host.take(step - 1, self.takes.of_modules(self.takes.views[0]))

    def end(self, step: int) -> None:
        """Exchange for the last time, at the end of the run; raise `Left` as ``swap`` does."""
        self.swap(step)
        self._finish()

    def leave(self) -> None:
        """Tell every peer that is still there; never raise."""
        if self._world.verdict:  # all ranks know
            return
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
            Channel.together([*self._channels, *self._moving]).free()
            self._channels, self._moving = [], []

    def _start(self, status: float) -> None:
        channels, together = self._message(self._number)
        if self._leaving:  # one that has not answered in time is gone
            self._gone.update(peer for peer, channel in channels if not channel.done())
        if status != GOOD:
            for message in self.sends.messages[self._number % self.timing.slots].values():
                message[0] = status
        if self._gone:
            channels = [(p, c) for p, c in channels if p not in self._gone]
            together = Channel.together([c for _, c in channels])
        self._number += 1
        if self._native is not None:
            self._native.follow(self._number)
        self._in_flight = {peer for peer, _ in channels}, together
        together.start()

    def _message(self, number: int) -> tuple[list[tuple[int, Channel]], Channel]:
        """Return the channels of a message, with their peers, and all of them as one."""
        if number % self._period not in self._messages:
            channels = []
            for peer in self._peers:
                out, into = (one.rows(peer, number, self.first) for one in (self.sends, self.takes))
                head = self._heads[number % self.timing.slots][peer]
                self._moving.append(moving := self._world.channel(peer, out, into))
                channels += [(peer, head), (peer, moving)]
                if lists := self._lists[number % self.timing.slots].get(peer):
                    channels.append((peer, lists))
            together = Channel.together([channel for _, channel in channels])
            self._messages[number % self._period] = channels, together
        return self._messages[number % self._period]

    def _finish(self) -> None:
        """Wait for the message in flight, if there is one."""
        if self._in_flight is None:
            return
        peers, channel = self._in_flight
        self._in_flight = None
        slot = (self._number - 1) % self.timing.slots
        try:
            self._wait(channel)
        except Left:
            self._in_flight = peers, channel
            raise
        gone = {p for p in peers if self.takes.messages[slot][p][0] != GOOD}
        if gone:
            self._gone |= gone
            raise Left(f"rank {', '.join(map(str, sorted(gone)))} has left the run")
        self.lists.read(slot)

    def _wait(self, channel: Channel | NativeExchange) -> None:
        wait_until(channel.done, self.seconds, self._whom, self._listen, self._world.crowded)

    def _listen(self) -> None:
        """While a peer takes long: maybe it waits for a third one that has failed."""
        if not self._leaving and self._world.alarm():
            raise Left(self._world.verdict or "another rank has failed")
