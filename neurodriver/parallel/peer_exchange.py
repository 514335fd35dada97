"""``PeerExchange``: kernels of GPUs of one host write rows into each other's memory.

Each rank has a receive buffer on its GPU, with room for two messages of each block that comes in.
When a run begins, ranks exchange where these buffers are. Then kernels exchange the rows of each
window by themselves (``codegen/simt/peers.cuh``), and a call advances many windows. Messages of the
host begin and end a run.

A kernel may overwrite a message when it has one that its receiver sent later. So each of two ranks
sends something to the other one: where nothing else goes, one word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, cast

import numpy as np

from ..backends.base import Backend, Peered
from ..backends.tables import InputTable, Probe
from ..mpi import Channel, World
from ..plan.passes.join import Joined
from .exchange import Exchange
from .routes import Routes, ValueBlock
from .window import Timing

EXCHANGING_KERNELS = True
"""Whether kernels exchange rows where they can; where not, the host does."""


class PeerExchange(Exchange):
    """The exchange of one rank; arguments are those of `Exchange`."""

    def __init__(
        self, world: World, routes: Routes, joined: Joined, backend: Backend, timing: Timing
    ) -> None:
        super().__init__(world, routes, joined, backend, timing)
        self._kernels, self._sent, self._until = cast(Peered, backend).peers, 0, 0
        self._words: tuple[list[int], list[int]] | None = None
        width = 2 * self.window * self.sends.dtype.itemsize // 4 * 8  # of a column's words, bytes
        self._comes, self._goes = (
            {p: _places(side.blocks, p, width) for p in self._peers}
            for side in (self.takes, self.sends)
        )
        self._one = np.zeros(1, np.int32)  # the first element of any row
        self._nothing = np.full(1, -1, np.int32)
        silent = [p for p in self._peers if _NOTHING in self._comes[p]]
        deaf = [p for p in self._peers if _NOTHING in self._goes[p]]
        self._awaited = [InputTable(-1, 0, 1, None, None, 0, timing.back) for _ in silent]
        self.imports = [*self._awaited, *self.imports]
        word = 0, 1, self._one.ctypes.data, True, 1, None, timing.window, 1
        self.exports = [*self.exports, *(Probe(*word) for _ in deaf)]

    # -- receive buffers -------------------------------------------------------------------------

    def _connect(self) -> None:
        """Exchange where the receive buffers are."""
        *begins, size = accumulate((one[_END] for one in self._comes.values()), initial=0)
        address, offer = self._kernels.receive_buffer(size)
        own = dict(zip(self._peers, begins, strict=True))
        sent = {p: np.concatenate([offer, np.array([own[p]]).view(np.uint8)]) for p in self._peers}
        came_of = {p: np.zeros_like(sent[p]) for p in self._peers}
        channel = Channel.together(
            [self._world.channel(p, [sent[p]], [came_of[p]]) for p in self._peers]
        )
        channel.start()
        self._wait(channel)
        channel.free()
        theirs = {
            p: self._kernels.reach(one[: len(offer)]) + int(one[len(offer) :].view(np.int64)[0])
            for p, one in came_of.items()
        }
        came = _addresses(self._comes, {p: address + begin for p, begin in own.items()})
        gone = _addresses(self._goes, theirs)
        imports = [*came[_NOTHING], *(came[i][0] for i in self.takes.sources)]
        exports = [*(gone[i][0] for i in self.sends.staged), *gone[_NOTHING]]
        self._words = imports, exports

    # -- a run ------------------------------------------------------------------------------------

    def begin(self, steps: int | None, step: int) -> None:
        """Exchange row 0, or the rows that imports do not have yet, by messages of the host."""
        self._sent += -(-(self._until - self.first) // self.window)
        self._until = step
        if self._words is None:
            self._connect()
        super().begin(steps, step)  # until all have connected
        assert self._words is not None
        self._kernels.exchange(*self._words, self._sent)

    def due(self, step: int) -> bool:
        """Return that the host has nothing to exchange."""
        return False

    def stage(self, first: int, steps: int) -> None:
        """Point the tables at what the first window needs."""
        if steps > len(self._nothing):
            self._nothing = np.full(2 * steps, -1, np.int32)
        for table in self._awaited:
            table.row_of_step = self._nothing.ctypes.data
        super().stage(first, steps)
        windows = (first + steps - self.first) // self.window
        windows -= (self._until - self.first) // self.window
        self.received += windows * self._window_bytes
        self._until = first + steps

    def swap(self, step: int) -> None:
        """Raise `Left` where another rank has left the run."""
        self._listen()

    def end(self, step: int) -> None:
        """Take leave of the others."""
        super().swap(step)
        self._finish()


_NOTHING, _END = -1, -2
"""Instead of the number of a block: the word of a rank that sends none, and the end of all."""


def _places(blocks: Sequence[ValueBlock], rank: int, width: int) -> dict[int, int]:
    """Return where in a receive buffer the blocks of a rank begin, each by its number."""
    sizes = {i: width * len(one) for i, one in enumerate(blocks) if one.rank == rank}
    sizes = sizes or {_NOTHING: width}
    return dict(zip([*sizes, _END], accumulate(sizes.values(), initial=0), strict=True))


def _addresses(places: Mapping[int, dict[int, int]], first: Mapping[int, int]) -> Any:
    """Return the addresses of each block, from those of the receive buffers of all ranks."""
    out: dict[int, list[int]] = {_NOTHING: []}
    for rank, blocks in places.items():
        for number, place in blocks.items():
            out.setdefault(number, []).append(first[rank] + place)
    return out
