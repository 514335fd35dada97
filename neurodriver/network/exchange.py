"""Moves the rows of exported values between ranks, a window of steps at a time.

Row k of the imports holds what the sources had in row k - 1. All connections from imports take at
least ``least`` steps, so row k is read at step ``k + least - 1`` first, and the rows of many steps
can come in one message. With a window of W steps, the rows (w - 1) W + 1 to w W that window w - 1
has computed are needed

* in window w itself (``lag`` 0) when W = least + 1, or
* only in window w + 1 (``lag`` 1) when 2 W = least + 1: the message travels while window w is
  computed.

Every message begins with a status word. A rank that fails, or is asked to stop, says so in one
more exchange with each peer that is still there; so all leave, and none waits for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.cpu import CPUBackend, InputTable, Probe
from ..compile.delays import steps_of
from ..compile.join import Joined, port_sources
from ..compile.program import Program, element_of
from ..errors import NeurodriverError
from .mpi import World, wait_until
from .routes import Block, Routes

HEAD = 8
"""Elements before the values of a message; the first one is the status."""

LONGEST = 1024
"""Most steps of a window."""

GOOD, LEAVING = 0.0, 1.0


class Left(NeurodriverError):
    """Another rank has left the run."""


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


class Exchange:
    """Buffers and requests of one rank.

    Parameters
    ----------
    world : World
    routes : Routes
    joined : Joined
    program : Program
        The compiled joint circuit.
    least : int
        Shortest latency from imports over all ranks, in steps.
    seconds : float
        How long to wait for another rank.

    Attributes
    ----------
    window : int
        Steps between exchanges.
    imports : list of InputTable
    exports : list of Probe
    """

    def __init__(
        self,
        world: World,
        routes: Routes,
        joined: Joined,
        program: Program,
        least: int,
        seconds: float,
    ) -> None:
        self.lag = 1 if least >= 3 else 0
        self.window = min((least + 1) // (1 + self.lag), LONGEST)
        self.seconds = seconds
        self._world = world
        self._routes, self._program = routes, program
        self._slots = 1 + self.lag
        self._message = 0
        self._peers = sorted({b.rank for b in (*routes.incoming, *routes.outgoing)})
        self._gone: set[int] = set()
        self._pending: int | None = None
        # one set of buffers under way while another is in use
        self._out = self._buffers(routes.outgoing)
        self._into = self._buffers(routes.incoming)
        self._channels = [
            {p: world.channel(p, out[p], into[p]) for p in self._peers}
            for out, into in zip(self._out, self._into, strict=True)
        ]
        self._elements = [
            element_of(program, component, block.variable)
            for block, component in zip(
                routes.outgoing, _components(routes, joined, program.dt), strict=True
            )
        ]
        self._initial: list[NDArray[Any]] = []
        self._starts: list[int] = []
        self._sends = [self._places(buffers, routes.outgoing) for buffers in self._out]
        self._takes = [
            [address for address, _ in self._places(buffers, routes.incoming)]
            for buffers in self._into
        ]
        self._zeros = np.zeros(self.window, np.int32)
        self._counted = np.arange(self.window, dtype=np.int32)
        self._held: list[Any] = []
        self.exports = self._make_exports()
        self.imports, self._sources = self._make_imports(joined)

    def _buffers(self, blocks: Sequence[Block]) -> list[dict[int, NDArray[Any]]]:
        size = dict.fromkeys(self._peers, HEAD)
        for block in blocks:
            size[block.rank] += self.window * len(block)
        dtype = self._program.dtype
        return [{p: np.zeros(n, dtype) for p, n in size.items()} for _ in range(self._slots)]

    def _make_exports(self) -> list[Probe]:
        rings = list(self._program.memory.rings)
        out = []
        for block, element in zip(self._routes.outgoing, self._elements, strict=True):
            place = np.ascontiguousarray(element, dtype=np.int32)
            self._held.append(place)
            straight = bool((np.diff(place) == 1).all())
            ring = rings.index(block.variable)
            out.append(Probe(ring, len(place), place.ctypes.data, straight, 1, None, self.window))
        return out

    def _make_imports(self, joined: Joined) -> tuple[list[InputTable], list[int]]:
        """Return a table for every block and every variable that a connection reads it as."""
        tables: list[InputTable] = []
        sources: list[int] = []
        rings = self._program.memory.rings
        at = int(joined.circuit.starts[joined.imports])
        back = self._slots * self.window - 2
        for number, block in enumerate(self._routes.incoming):
            read = {
                links.variable
                for links in joined.circuit.connections
                if ((links.source >= at) & (links.source < at + len(block))).any()
            }
            first = at - int(joined.circuit.starts[joined.imports])
            for variable in sorted(read):
                start = rings[variable].segments[str(joined.imports)].start + first
                ring = list(rings).index(variable)
                tables.append(InputTable(ring, start, len(block), None, None, 0, back))
                sources.append(number)
            at += len(block)
        return tables, sources

    def _views(self, buffers: dict[int, NDArray[Any]], blocks: Sequence[Block]) -> list[Any]:
        """Return the part of each block in its message, (window, n)."""
        used = dict.fromkeys(self._peers, HEAD)
        out = []
        for block in blocks:
            begin = used[block.rank]
            used[block.rank] = end = begin + self.window * len(block)
            out.append(buffers[block.rank][begin:end].reshape(self.window, len(block)))
        return out

    def _places(
        self, buffers: dict[int, NDArray[Any]], blocks: Sequence[Block]
    ) -> list[tuple[int, int]]:
        """Return address and bytes of a row of the part of each block in its message."""
        return [(v.ctypes.data, v.strides[0]) for v in self._views(buffers, blocks)]

    def begin(self) -> None:
        """Exchange row 0, and let every earlier row of the imports be like it."""
        memory = self._program.memory
        views = self._views(self._out[0], self._routes.outgoing)
        for view, block, element in zip(views, self._routes.outgoing, self._elements, strict=True):
            view[0] = memory.get_buffer(block.variable)[0][element]
        self._start(GOOD)
        self._finish()
        views = self._views(self._into[0], self._routes.incoming)
        self._initial = [view[:1].copy() for view in views]
        self._starts = [values.ctypes.data for values in self._initial]
        names = list(memory.rings)
        for table, source in zip(self.imports, self._sources, strict=True):
            rows = memory.get_buffer(names[table.ring])
            rows[:, table.first : table.first + table.count] = self._initial[source]
        self._message = 0

    def left(self, step: int) -> int:
        """Return how many steps may be done before the next exchange."""
        return self.window - step % self.window

    def stage(self, backend: CPUBackend, first: int, steps: int) -> None:
        """Point the backend's tables at what came, and its exports at what goes next."""
        window, row = divmod(first, self.window)
        slot = self._message % self._slots
        for i, (address, stride) in enumerate(self._sends[slot]):
            backend.exports[i].rows = address + row * stride
        # the message that came `slots` windows ago lies where this window's will come
        early = window < self._slots
        takes = self._starts if early else self._takes[slot]
        rows = self._zeros if early else self._counted
        at = len(backend.inputs) - len(self.imports)
        for i, source in enumerate(self._sources):
            table = backend.inputs[at + i]
            table.table = takes[source]
            table.row_of_step = rows.ctypes.data + (0 if early else row * rows.itemsize)

    def swap(self) -> None:
        """Exchange at the end of a window.

        Raises
        ------
        Left
            When another rank has left; call ``leave`` then.
        """
        if self.lag:
            self._finish()
        self._start(GOOD)
        if not self.lag:
            self._finish()

    def end(self) -> None:
        """Exchange for the last time, at the end of the run.

        Raises
        ------
        Left
            When another rank has left instead.
        """
        self.swap()
        self._finish()

    def leave(self, seconds: float = 10.0) -> None:
        """Tell every peer that is still there; never raise."""
        self.seconds = seconds
        for status in (None, LEAVING):
            try:
                if status is not None:
                    self._start(status)
                self._finish()
            except NeurodriverError:
                continue

    def close(self) -> None:
        """Let go of the requests."""
        for channels in self._channels:
            for channel in channels.values():
                channel.free()
        self._channels = []

    def _start(self, status: float) -> None:
        slot = self._message % self._slots
        for peer in self._peers:
            if peer not in self._gone:
                self._out[slot][peer][0] = status
                self._channels[slot][peer].start()
        self._pending = slot
        self._message += 1

    def _finish(self) -> None:
        """Wait for the message under way, if there is one."""
        slot, self._pending = self._pending, None
        if slot is None:
            return
        waiting = [p for p in self._peers if p not in self._gone]

        def ready() -> bool:
            waiting[:] = [p for p in waiting if not self._channels[slot][p].done()]
            return not waiting

        peers = list(waiting)
        wait_until(ready, self.seconds, f"rank {', '.join(map(str, peers))}")
        gone = {p for p in peers if self._into[slot][p][0] != GOOD}
        if gone:
            self._gone |= gone
            raise Left(f"rank {', '.join(map(str, sorted(gone)))} has left the run")


def _components(routes: Routes, joined: Joined, dt: float) -> list[NDArray[np.int64]]:
    """Return the joint numbers of the components behind the exported ports, block by block."""
    known = {name: port_sources(part, dt) for name, part in joined.parts.items()}
    out = []
    for block in routes.outgoing:
        component = np.empty(len(block), dtype=np.int64)
        for lpu in np.unique(block.lpus).tolist():
            mine = block.lpus == lpu
            source = known[lpu]
            at = np.searchsorted(source.port, block.ports[mine])
            component[mine] = joined.numbers[lpu][source.component[at]]
        out.append(component)
    return out
