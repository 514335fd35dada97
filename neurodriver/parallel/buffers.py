"""Where the values of an exchange lie: gathered in messages, or in the rings themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..backends.tables import InputTable, Probe
from ..plan.edges import element_of
from ..plan.passes.join import Joined, port_sources
from .routes import Routes, ValueBlock
from .window import Timing, variables_from

HEAD = 8
"""Elements before the values of a message; the first one is the status."""

LARGE = 4096
"""Values from which on a block goes row by row."""

Array = NDArray[Any]
Buffers = dict[int, Array]
"""Rank -> array."""


class _Side:
    """What sends and takes have in common: messages for small blocks, rows for large ones.

    Attributes
    ----------
    hosted : list of int
        Blocks of the Modules of this process, which no ring has.
    places : dict of int to (ring, first column, row of message 0)
        Large blocks that lie in a ring.
    staged : list of int
        Blocks of LPUs that lie in buffers.
    messages : list of dict of rank to array
        For each slot: the status and the small blocks, window after window.
    views : list of dict of int to (window, n) array
        For each slot: the values of each block in buffers.
    period : int
        After so many messages rows lie at the same addresses again.
    """

    def __init__(self, blocks: Sequence[ValueBlock], backend: Backend, timing: Timing) -> None:
        program = backend.program
        self.blocks, self.backend, self.timing = list(blocks), backend, timing
        self.memory, self.layout, self.dtype = backend.memory, program.layout, program.dtype
        self.period = timing.slots
        self.listed = [i for i, b in enumerate(blocks) if b.listed(timing.window)]
        self.large = [
            i
            for i, b in enumerate(blocks)
            if len(b) >= LARGE and not (b.of_modules or b.to_modules or i in self.listed)
        ]
        self.hosted: list[int] = []
        self.places: dict[int, tuple[Array, int, int]] = {}

    @property
    def bytes(self) -> int:
        """Bytes of one window, without lists."""
        return (
            sum(len(b) for i, b in enumerate(self.blocks) if i not in self.listed)
            * self.timing.window
            * self.dtype.itemsize
        )

    def put_in_place(self, number: int, variable: str, first: int, row: int) -> None:
        """Let a large block lie in a ring; row ``row`` is the first one of message 0."""
        rows = self.memory.get_buffer(variable)
        self.places[number] = rows, first, row
        self.period = max(self.period, len(rows) // self.timing.window)

    def make_buffers(self, peers: Sequence[int]) -> None:
        """Make room for all blocks that lie in no ring: the small ones first, as a message."""
        every = range(len(self.blocks))
        apart = {*self.places, *self.hosted, *self.listed}
        self.staged = [i for i in every if i not in apart]
        begin: dict[int, int] = {}
        end = dict.fromkeys(peers, HEAD)
        self._lay_out([i for i in every if i not in (*self.large, *self.listed)], begin, end)
        message = dict(end)
        self._lay_out([i for i in self.large if i not in self.places], begin, end)
        self.messages, self.views = [], []
        for _ in range(self.timing.slots):
            buffers = {peer: self.backend.buffer(count) for peer, count in end.items()}
            self.messages.append({p: buffer[: message[p]] for p, buffer in buffers.items()})
            views = {}
            for i, at in begin.items():
                rank, shape = self.blocks[i].rank, (self.timing.window, len(self.blocks[i]))
                views[i] = buffers[rank][at : at + shape[0] * shape[1]].reshape(shape)
            self.views.append(views)

    def _lay_out(self, numbers: Sequence[int], begin: dict[int, int], end: dict[int, int]) -> None:
        for i in numbers:
            begin[i] = end[self.blocks[i].rank]
            end[self.blocks[i].rank] += self.timing.window * len(self.blocks[i])

    def of_modules(self, parts: Mapping[int, Array] | Sequence[Array]) -> list[Array]:
        """Return the first row of each block of Modules, from the parts of all blocks."""
        return [np.atleast_2d(parts[i])[0] for i in self.hosted]

    def rows(self, peer: int, number: int, step: int) -> list[Array]:
        """Return the rows of large blocks that a message of a run from ``step`` on moves."""
        out: list[Array] = []
        for i in self.large:
            if self.blocks[i].rank != peer:
                continue
            if i in self.places:
                ring, first, begin = self.places[i]
                start = step + begin + number * self.timing.window
                for row in range(start, start + self.timing.window):
                    out.append(ring[row % len(ring), first : first + len(self.blocks[i])])
            else:
                out += list(self.views[number % self.timing.slots][i])
        return out

    def room(self, peers: Sequence[int], rows: int) -> Buffers:
        """Return room for some rows of every block, block after block."""
        size = dict.fromkeys(peers, 1)
        for block in self.blocks:
            size[block.rank] += rows * len(block)
        return {p: np.zeros(n, self.dtype) for p, n in size.items()}

    def parts(self, buffers: Mapping[int, Array], rows: int) -> list[Array]:
        """Return the part of each block in such buffers, (rows, n)."""
        end = dict.fromkeys(buffers, 0)
        out = []
        for block in self.blocks:
            begin, end[block.rank] = end[block.rank], end[block.rank] + rows * len(block)
            out.append(buffers[block.rank][begin : end[block.rank]].reshape(rows, len(block)))
        return out


class Sends(_Side):
    """What goes out; ``probes`` has an entry for each staged block."""

    def __init__(
        self,
        routes: Routes,
        joined: Joined,
        backend: Backend,
        timing: Timing,
        peers: Sequence[int],
    ) -> None:
        super().__init__(routes.outgoing, backend, timing)
        program = backend.program
        self.hosted = [i for i, b in enumerate(self.blocks) if b.of_modules]
        own = {i: b for i, b in enumerate(self.blocks) if not b.of_modules}
        components = _components(list(own.values()), joined, program.dt)
        self.elements = {
            i: np.ascontiguousarray(element_of(program.layout, c, b.variable), dtype=np.int32)
            for (i, b), c in zip(own.items(), components, strict=True)
        }
        straight = {i: bool((np.diff(e) == 1).all()) for i, e in self.elements.items()}
        for i in self.large:
            if self.layout.target.hosted and straight[i]:
                # message 0 takes the rows 1 to window
                self.put_in_place(i, self.blocks[i].variable, int(self.elements[i][0]), 1)
        self.make_buffers(peers)
        self.probes = []
        for i in self.staged:
            ring = list(program.layout.rings).index(self.blocks[i].variable)
            where = len(self.blocks[i]), self.elements[i].ctypes.data, straight[i]
            self.probes.append(Probe(ring, *where, 1, None, timing.window, where[0]))
        self._addresses = [
            [(view[i].ctypes.data, view[i].strides[0]) for i in self.staged] for view in self.views
        ]

    def latest(self, peers: Sequence[int], step: int, rows: int) -> Buffers:
        """Return the last rows of every block of LPUs; row j is that of ``step - j``."""
        out = self.room(peers, rows)
        parts = self.parts(out, rows)
        for i, element in self.elements.items():
            for back in range(rows):
                row = self.backend.row(self.blocks[i].variable, step - back)
                parts[i][back] = row[element]
        return out

    def stage(self, window: int, row: int) -> None:
        """Point the exports at the rows of the coming steps."""
        for i, (address, stride) in enumerate(self._addresses[window % self.timing.slots]):
            self.backend.exports[i].rows = address + row * stride


class Takes(_Side):
    """What comes in; ``tables`` has an entry for each staged block and variable read of it.

    ``sources`` has the block of each table.
    """

    def __init__(
        self,
        routes: Routes,
        joined: Joined,
        backend: Backend,
        timing: Timing,
        peers: Sequence[int],
    ) -> None:
        super().__init__(routes.incoming, backend, timing)
        self._joined = joined
        self.hosted = [i for i, b in enumerate(self.blocks) if b.to_modules]
        rings = self.layout.rings
        self.reads: list[list[tuple[str, int]]] = []
        """Of each block: the variables it is read as, and its first element in their rows."""
        at = 0
        for block in self.blocks:
            count = 0 if block.to_modules else len(block)
            read = variables_from(joined, at, count)
            where = str(joined.imports)
            self.reads.append([(v, rings[v].segments[where].start + at) for v in sorted(read)])
            at += count
        for i in self.large if self.layout.target.hosted else []:
            if len(self.reads[i]) == 1 and not rings[self.reads[i][0][0]].is_event:
                # message 0 brings the rows 1, 2, ... of the sender
                self.put_in_place(i, *self.reads[i][0], 1 + timing.late)
        self.make_buffers(peers)
        self.tables: list[InputTable] = []
        self.sources: list[int] = []
        for i in self.staged:
            for variable, first in self.reads[i]:
                block, ring = self.blocks[i], list(rings).index(variable)
                back = timing.back + block.of_modules
                self.tables.append(InputTable(ring, first, len(block), None, None, 0, back))
                self.sources.append(i)
        self._places_of(timing.window)
        self._addresses = [{i: v.ctypes.data for i, v in view.items()} for view in self.views]
        self._first: list[Array] = []
        self._early = np.arange(timing.ahead, dtype=np.int32)  # a row for each step

    def fill(self, came: Sequence[Array], of_modules: bool = False) -> None:
        """Set all rows of the imports of LPUs, or of Modules, to the first row of what came."""
        blocks = list(zip(self.blocks, came, self.reads, strict=True))
        for block, rows, reads in blocks:
            for variable, first in reads if block.of_modules == of_modules else []:
                self.backend.put(variable, slice(first, first + len(block)), rows[0])
        read = [(block, rows[0]) for block, rows, _ in blocks if not block.to_modules]
        for relay in [one for one in self._joined.relays if one.imported]:
            place = relay.source - self._joined.circuit.starts[self._joined.imports]
            taken = np.concatenate([np.full(len(b), b.of_modules == of_modules) for b, _ in read])
            if (mine := taken[place]).any():
                elements = element_of(self.layout, relay.component[mine], relay.variable)
                values = np.concatenate([row for _, row in read])[place[mine]]
                self.backend.put(relay.variable, elements, values)

    def begin(self, came: Sequence[Array], step: int) -> None:
        """Take the newest rows of the sources, which follow the rows that imports have.

        What Modules give first stands for all rows before it, too.
        """
        self.fill(came, of_modules=True)
        self._first = [np.ascontiguousarray(rows[::-1]) for rows in came]
        self._first_at = [rows.ctypes.data for rows in self._first]
        for i, (ring, first, _) in self.places.items():
            at = (step + self.timing.late - np.arange(len(came[i]))) % len(ring)
            ring[at, first : first + len(self.blocks[i])] = came[i]

    def first_rows(self, number: int) -> Array:
        """Return the rows of a block that the steps take before the first message is used."""
        return self._first[number]

    def _places_of(self, steps: int) -> None:
        """Know the place of each step in its window, for so many steps."""
        self._place = np.arange(steps, dtype=np.int32) % self.timing.window
        self._place_at = self._place.ctypes.data

    def stage(self, window: int, row: int, steps: int) -> None:
        """Point the tables at what came for the coming steps, or will at the gates among them."""
        if not self.tables:
            return
        if row + steps > len(self._place):
            self._places_of(2 * (row + steps))
        # what came `slots` windows ago lies where this window's message will come
        addresses = self._addresses[window % self.timing.slots]
        early = window < self.timing.slots
        rows = self._place_at + row * self._place.itemsize
        if early:
            done = window * self.timing.window + row
            rows = self._early.ctypes.data + done * self._early.itemsize
        at = len(self.backend.inputs) - len(self.tables)
        for n, i in enumerate(self.sources):
            table = self.backend.inputs[at + n]
            table.table = self._first_at[i] if early else addresses[i]
            table.row_of_step = rows


def _components(blocks: Sequence[ValueBlock], joined: Joined, dt: float) -> list[NDArray[np.int64]]:
    """Return the joint numbers of the components behind the exported ports, block by block."""
    sources = {name: port_sources(part, dt) for name, part in joined.parts.items()}
    out = []
    for block in blocks:
        if block.components is not None:
            out.append(block.components)
            continue
        component = np.empty(len(block), dtype=np.int64)
        for lpu in np.unique(block.lpus).tolist():
            mine = block.lpus == lpu
            at = np.searchsorted(sources[lpu].port, block.ports[mine])
            component[mine] = joined.numbers[lpu][sources[lpu].component[at]]
        out.append(component)
    return out
