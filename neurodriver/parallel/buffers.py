"""Where the values of an exchange lie: gathered in messages, or in the rings themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..backends.tables import InputTable, Probe
from ..plan.edges import element_of
from ..plan.passes.join import Joined, port_sources
from ..plan.program import Program
from .routes import Routes, ValueBlock

if TYPE_CHECKING:
    from .exchange import Timing

HEAD = 8
"""Elements before the values of a message; the first one is the status."""

LARGE = 4096
"""Values from which on a block goes row by row."""

Array = NDArray[Any]
Buffers = dict[int, Array]


class _Side:
    """What sends and takes have in common: messages for small blocks, rows for large ones."""

    def __init__(self, blocks: Sequence[ValueBlock], backend: Backend, timing: Timing) -> None:
        program = backend.program
        self.backend = backend
        self.blocks = list(blocks)
        self.timing = timing
        self.memory, self.layout = backend.memory, program.layout
        self.dtype = program.dtype
        self.period = timing.slots
        of_host = [b.of_modules or b.to_modules for b in blocks]
        self.large = [i for i, b in enumerate(blocks) if len(b) >= LARGE and not of_host[i]]
        self.small = [i for i in range(len(self.blocks)) if i not in self.large]
        self.hosted: list[int] = []
        """Blocks of the Modules of this process, which no ring has."""
        self.heads: list[Buffers] = []
        self.apart: dict[int, list[Array]] = {}
        """Large blocks that do not lie in a ring: their rows, for each slot."""
        self.places: dict[int, tuple[Array, int, int]] = {}
        """Large blocks in a ring: its rows, first column, row of step 0."""

    @property
    def bytes(self) -> int:
        """Bytes of one window."""
        return sum(map(len, self.blocks)) * self.timing.window * self.dtype.itemsize

    def messages(self, peers: Sequence[int]) -> list[Buffers]:
        """Make and return the buffers of the small blocks, for each slot."""
        size = dict.fromkeys(peers, HEAD)
        for i in self.small:
            size[self.blocks[i].rank] += self.timing.window * len(self.blocks[i])
        make, slots, window = self.backend.buffer, range(self.timing.slots), self.timing.window
        self.heads = [{p: make(n) for p, n in size.items()} for _ in slots]
        self.apart = {
            i: [make(window * len(self.blocks[i])).reshape(window, -1) for _ in slots]
            for i in self.large
            if i not in self.places
        }
        return self.heads

    def staged(self) -> list[int]:
        """Return the blocks of LPUs that lie in buffers, small and large ones."""
        away = {*self.places, *self.hosted}
        return [i for i in range(len(self.blocks)) if i not in away]

    def of_modules(self, parts: Mapping[int, Array] | Sequence[Array]) -> list[Array]:
        """Return the first row of each block of Modules, from the parts of all blocks."""
        return [np.atleast_2d(parts[i])[0] for i in self.hosted]

    def views(self, slot: int) -> dict[int, Array]:
        """Return the (window, n) part of each staged block."""
        used: dict[int, int] = {}
        out = {i: rows[slot] for i, rows in self.apart.items()}
        for i in self.small:
            block = self.blocks[i]
            begin = used.get(block.rank, HEAD)
            used[block.rank] = end = begin + self.timing.window * len(block)
            part = self.heads[slot][block.rank][begin:end]
            out[i] = part.reshape(self.timing.window, len(block))
        return out

    def put_in_place(self, number: int, variable: str, first: int, row: int) -> None:
        """Let a large block lie in a ring; row ``row`` is the first one of message 0."""
        rows = self.memory.get_buffer(variable)
        self.places[number] = rows, first, row
        self.period = max(self.period, len(rows) // self.timing.window)

    def rows(self, peer: int, number: int) -> list[Array]:
        """Return the rows of large blocks that a message moves to or from a peer."""
        out = []
        for i in self.large:
            if self.blocks[i].rank != peer:
                continue
            if i in self.places:
                ring, first, begin = self.places[i]
                start = begin + number * self.timing.window
                for row in range(start, start + self.timing.window):
                    out.append(ring[row % len(ring), first : first + len(self.blocks[i])])
            else:
                out += list(self.apart[i][number % self.timing.slots])
        return out

    def initial(self, peers: Sequence[int]) -> Buffers:
        """Return room for row 0 of every block, block after block."""
        size = dict.fromkeys(peers, 1)
        for block in self.blocks:
            size[block.rank] += len(block)
        return {p: np.zeros(n, self.dtype) for p, n in size.items()}

    def parts(self, buffers: Mapping[int, Array]) -> list[Array]:
        """Return the part of each block in the buffers of row 0."""
        used: dict[int, int] = {}
        out = []
        for block in self.blocks:
            begin = used.get(block.rank, 0)
            used[block.rank] = begin + len(block)
            out.append(buffers[block.rank][begin : begin + len(block)])
        return out


class Sends(_Side):
    """What goes out.

    Attributes
    ----------
    probes : list of Probe
        One for each staged block.
    """

    def __init__(self, routes: Routes, joined: Joined, backend: Backend, timing: Timing) -> None:
        super().__init__(routes.outgoing, backend, timing)
        program = backend.program
        self.hosted = [i for i, b in enumerate(self.blocks) if b.of_modules]
        own = {i: b for i, b in enumerate(self.blocks) if not b.of_modules}
        components = _components(list(own.values()), joined, program.dt)
        self.elements = {
            i: np.ascontiguousarray(element_of(program.layout, c, b.variable), dtype=np.int32)
            for (i, b), c in zip(own.items(), components, strict=True)
        }
        for i in self.large:
            if self.layout.target.hosted and _straight(self.elements[i]):
                # message 0 takes the rows 1 to window
                self.put_in_place(i, self.blocks[i].variable, int(self.elements[i][0]), 1)
        rings = list(program.layout.rings)
        self.probes = [
            Probe(
                rings.index(self.blocks[i].variable),
                len(self.blocks[i]),
                self.elements[i].ctypes.data,
                _straight(self.elements[i]),
                1,
                None,
                timing.window,
            )
            for i in self.staged()
        ]
        self._places: list[list[tuple[int, int]]] = []

    def initial(self, peers: Sequence[int]) -> Buffers:
        out = super().initial(peers)
        parts = self.parts(out)
        for i, element in self.elements.items():
            parts[i][:] = self.backend.row(self.blocks[i].variable, 0)[element]
        return out

    def stage(self, window: int, row: int) -> None:
        """Point the exports at the rows of the coming steps."""
        if not self._places:
            for slot in range(self.timing.slots):
                views = self.views(slot)
                self._places.append(
                    [(views[i].ctypes.data, views[i].strides[0]) for i in self.staged()]
                )
        for i, (address, stride) in enumerate(self._places[window % self.timing.slots]):
            self.backend.exports[i].rows = address + row * stride


class Takes(_Side):
    """What comes in.

    Attributes
    ----------
    tables : list of InputTable
        One for each staged block and variable that is read of it.
    """

    def __init__(self, routes: Routes, joined: Joined, backend: Backend, timing: Timing) -> None:
        super().__init__(routes.incoming, backend, timing)
        program = backend.program
        self.hosted = [i for i, b in enumerate(self.blocks) if b.to_modules]
        self._rings = list(program.layout.rings)
        self._reads = _reads(self.blocks, joined, program)
        for i in self.large if self.layout.target.hosted else []:
            if len(self._reads[i]) == 1 and not program.circuit.is_event(self._reads[i][0][0]):
                variable, first = self._reads[i][0]
                # row r of the imports is row r - 1 of the sender: message 0 brings 2, 3, ...
                self.put_in_place(i, variable, first, 2)
        self.tables: list[InputTable] = []
        self._sources: list[int] = []
        for i in self.staged():
            for variable, first in self._reads[i]:
                ring = self._rings.index(variable)
                block = self.blocks[i]
                back = timing.back + block.of_modules
                self.tables.append(InputTable(ring, first, len(block), None, None, 0, back))
                self._sources.append(i)
        self._zeros = np.zeros(timing.window, np.int32)
        self._zeros_at = self._zeros.ctypes.data
        self._count(timing.window)
        self._places: list[dict[int, int]] = []
        self._first: list[Array] = []
        self._first_at: list[int] = []

    def begin(self, buffers: Mapping[int, Array]) -> None:
        """Fill every row of the imports with what the sources begin with."""
        self._first = [part.copy() for part in self.parts(buffers)]
        self._first_at = [part.ctypes.data for part in self._first]
        for values, reads in zip(self._first, self._reads, strict=True):
            for variable, first in reads:
                self.backend.put(variable, slice(first, first + len(values)), values)

    def _count(self, steps: int) -> None:
        """Know the place of each step in its window, for so many steps."""
        self._counted = np.arange(steps, dtype=np.int32) % self.timing.window
        self._counted_at = self._counted.ctypes.data

    def stage(self, window: int, row: int, steps: int) -> None:
        """Point the tables at what came for the coming steps, or will at the gates among them."""
        if not self._places:
            for slot in range(self.timing.slots):
                self._places.append({i: v.ctypes.data for i, v in self.views(slot).items()})
        if not self.tables:
            return
        if row + steps > len(self._counted):
            self._count(2 * (row + steps))
        # what came `slots` windows ago lies where this window's message will come
        places = self._places[window % self.timing.slots]
        early = window < self.timing.slots
        rows = self._zeros_at if early else self._counted_at + row * self._counted.itemsize
        at = len(self.backend.inputs) - len(self.tables)
        for n, i in enumerate(self._sources):
            table = self.backend.inputs[at + n]
            table.table = self._first_at[i] if early else places[i]
            table.row_of_step = rows


def _straight(element: NDArray[np.int32]) -> bool:
    return bool((np.diff(element) == 1).all())


def _reads(
    blocks: Sequence[ValueBlock], joined: Joined, program: Program
) -> list[list[tuple[str, int]]]:
    """Return for each block the variables it is read as, and its first element in their rows."""
    base = int(joined.circuit.starts[joined.imports]) if joined.imports >= 0 else 0
    out: list[list[tuple[str, int]]] = []
    at = base
    for block in blocks:
        if block.to_modules:
            out.append([])
            continue
        variables = {
            links.variable
            for links in joined.circuit.connections
            if ((links.source >= at) & (links.source < at + len(block))).any()
        }
        rings = program.layout.rings
        out.append(
            [
                (v, rings[v].segments[str(joined.imports)].start + at - base)
                for v in sorted(variables)
            ]
        )
        at += len(block)
    return out


def _components(blocks: Sequence[ValueBlock], joined: Joined, dt: float) -> list[NDArray[np.int64]]:
    """Return the joint numbers of the components behind the exported ports, block by block."""
    known = {name: port_sources(part, dt) for name, part in joined.parts.items()}
    out = []
    for block in blocks:
        component = np.empty(len(block), dtype=np.int64)
        for lpu in np.unique(block.lpus).tolist():
            mine = block.lpus == lpu
            source = known[lpu]
            at = np.searchsorted(source.port, block.ports[mine])
            component[mine] = joined.numbers[lpu][source.component[at]]
        out.append(component)
    return out
