"""``PeerExchange``: kernels of GPUs of one host write rows into each other's memory.

Each rank has a receive buffer on its GPU, with room for the rows of two windows of each block that
comes in, and for one row more, as kernels may send spikes a step early. The number of rows is a
power of two, the same on all ranks. When a run begins, ranks exchange where these buffers are. Then
kernels exchange the rows by themselves (``codegen/simt/peers.cuh``), and a call advances many
windows. Messages of the host begin and end a run.

A kernel may overwrite a row when it has one that its receiver sent later. So each of two ranks
sends something to the other one: where nothing else goes, one word.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend, Peered
from ..backends.tables import InputTable, PeerRows, Probe
from ..errors import CircuitWarning, NeurodriverError
from ..mpi import Channel, World
from ..plan.passes.join import Joined
from .exchange import Exchange, Left
from .routes import Routes, ValueBlock
from .window import Timing

FAILED_SECONDS = 20.0
"""How long a rank that closes after an error waits until the others close, too."""

Numbers = NDArray[np.int64]


class PeerExchange(Exchange):
    """The exchange of one rank; arguments are those of `Exchange`.

    Attributes
    ----------
    shared : bool
        Whether other processes may have the receive buffer open.
    """

    def __init__(
        self, world: World, routes: Routes, joined: Joined, backend: Backend, timing: Timing
    ) -> None:
        super().__init__(world, routes, joined, backend, timing)
        self._kernels, self._sent, self._until = cast(Peered, backend).peers, 0, 0
        self.waits = False
        self._kept = 1 << (2 * self.window).bit_length()
        self._one = np.zeros(1, np.int32)  # the first element of any row
        self._nothing = np.full(1, -1, np.int32)
        self._comes, self._goes = (
            {p: _blocks(side.blocks, p) for p in self._peers} for side in (self.takes, self.sends)
        )
        self._words = [  # of peers that send no block
            InputTable(-1, 0, 1, None, None, 0, timing.back) for p in self._peers
            if not self._comes[p]
        ]  # fmt: skip
        self.imports = [*self._words, *self.imports]
        word = 0, 1, self._one.ctypes.data, True, 1, None, timing.window, 1
        no_block = [p for p in self._peers if not self._goes[p]]
        self.exports = [*self.exports, *(Probe(*word) for _ in no_block)]
        self.shared = False
        self._forms: tuple[_Forms, _Forms] | None = None  # of what comes, and of what goes
        self._buffer: tuple[int, NDArray[np.uint8]] = 0, np.empty(0, np.uint8)

    # -- receive buffers -------------------------------------------------------------------------

    def _exchange_arrays(
        self, sent: Mapping[int, NDArray[Any]], came: Mapping[int, NDArray[Any]]
    ) -> None:
        """Exchange messages of known lengths with all peers."""
        channel = Channel.together(
            [self._world.channel(p, [sent[p]], [came[p]]) for p in self._peers]
        )
        channel.start()
        self._wait(channel)
        channel.free()

    def _agree(self) -> tuple[_Forms, _Forms]:
        """Tell the others how blocks go to them; return this of all blocks that come, and go.

        Where kernels have no room for all tables, all values are copied.
        """
        goes = {
            i: self._kernels.crossing(self.sends.blocks[i].variable, elements)
            for i, elements in self.sends.elements.items()
        }
        many = max(len(self.takes.sources), len(goes)) > self._kernels.most
        sent, came = {}, {}
        for p in self._peers:
            forms = [[many], *([goes[i][1], goes[i][2], *_long(goes[i][3], self.sends.blocks[i])]
                              for i in self._goes[p])]  # fmt: skip
            sent[p] = np.concatenate(forms).astype(np.int64)
            size = 1 + sum(2 + len(self.takes.blocks[i]) for i in self._comes[p])
            came[p] = np.zeros(size, np.int64)
        self._exchange_arrays(sent, came)
        comes = {}
        for p in self._peers:
            at = 1
            for i in self._comes[p]:
                end = at + 2 + len(self.takes.blocks[i])
                width, spikes = map(int, came[p][at : at + 2])
                comes[i] = PeerRows(0, width, spikes, came[p][at + 2 : end])
                at = end
            if many or came[p][0]:
                goes |= dict.fromkeys(self._goes[p], PeerRows(0))
                comes |= dict.fromkeys(self._comes[p], PeerRows(0))
        return comes, goes

    def _places(self, blocks: Sequence[int], forms: _Forms, side: Any) -> tuple[list[int], int]:
        """Return where the rows of a rank's blocks begin in a receive buffer, and where all end."""
        sizes = [self._kernels.bytes_of(forms[i], len(side.blocks[i]), self._kept) for i in blocks]
        one = self._kernels.bytes_of(PeerRows(0), 1, self._kept)
        *begins, end = accumulate(sizes or [one], initial=0)
        return begins, end

    def _connect(self) -> tuple[list[PeerRows], list[PeerRows]]:
        """Exchange where the receive buffers are; return the rows of imports and of exports."""
        if self._forms is None:
            self._forms = self._agree()
        comes, goes = self._forms
        inside = {p: self._places(self._comes[p], comes, self.takes) for p in self._peers}
        *firsts, size = accumulate((end for _, end in inside.values()), initial=0)
        if not self._buffer[0]:
            self._buffer = self._kernels.receive_buffer(size)
        self.shared = True
        address, offer = self._buffer
        own = dict(zip(self._peers, firsts, strict=True))
        sent = {p: np.concatenate([offer, np.array([own[p]]).view(np.uint8)]) for p in self._peers}
        came = {p: np.zeros_like(sent[p]) for p in self._peers}
        self._exchange_arrays(sent, came)
        self._kernels.part()  # what the last run has opened
        imports, words_in = {}, []
        exports, words_out = {}, []
        for p in self._peers:
            begin = address + own[p]
            for i, place in zip(self._comes[p], inside[p][0], strict=False):
                imports[i] = comes[i]._replace(address=begin + place)
            words_in += [] if self._comes[p] else [PeerRows(begin)]
            there = int(came[p][len(offer) :].view(np.int64)[0])
            begin = self._kernels.reach(came[p][: len(offer)]) + there
            places, _ = self._places(self._goes[p], goes, self.sends)
            for i, place in zip(self._goes[p], places, strict=False):
                exports[i] = goes[i]._replace(address=begin + place)
            words_out += [] if self._goes[p] else [PeerRows(begin)]
        given = [*words_in, *(imports[i] for i in self.takes.sources)]
        return given, [*(exports[i] for i in self.sends.staged), *words_out]

    # -- a run ------------------------------------------------------------------------------------

    def begin(self, steps: int | None, step: int) -> None:
        """Exchange the rows that imports do not have yet, by messages of the host.

        Kernels have already sent these rows if nothing is changed since the last run.
        """
        if not self.unchanged:
            self._sent += self._until - self.first
            self._until = step
        words = self._connect()
        if not self.unchanged:
            super().begin(steps, step)
        self._kernels.exchange(*words, self._sent, self._kept)

    def due(self, step: int) -> bool:
        """Return that the host has nothing to exchange."""
        return False

    def stage(self, first: int, steps: int) -> None:
        """Point the tables at what the first window needs."""
        if steps > len(self._nothing):
            self._nothing = np.full(2 * steps, -1, np.int32)
        for table in self._words:
            table.row_of_step = self._nothing.ctypes.data
        super().stage(first, steps)
        windows = (first + steps - self.first) // self.window
        windows -= (self._until - self.first) // self.window
        self.received += windows * self._window_bytes
        self._until = first + steps

    def swap(self, step: int) -> None:
        """Raise `Left` where a rank has left the run."""
        if self._leaving:  # no kernel waits for others any more
            raise Left("this rank has left the run")
        self._listen()

    def end(self, step: int) -> None:
        """Let go of the memory of the others, and take leave of them."""
        self.part()
        super().swap(step)
        self._finish()
        self.shared = False

    def part(self) -> None:
        """Let go of the memory of the others."""
        self._kernels.part()

    def failed(self) -> bool:
        """Whether the run has ended with an error, here or elsewhere."""
        return self._leaving

    def close(self) -> None:
        """Give the receive buffer back, unless others may have it open."""
        super().close()
        self.part()
        if self.shared:
            self._kernels.keep()
        self._kernels.free()


def part_all(exchanges: Iterable[Exchange | None], world: World) -> None:
    """Let go of the memory of other ranks, and wait until these have done so; all ranks do this.

    Where an error has ended the run, or is on its way, the others may never come. So the wait ends
    with a warning then, and what they may have open stays until the process ends.
    """
    mine = [one for one in exchanges if isinstance(one, PeerExchange)]
    if not mine:
        return
    for one in mine:
        one.part()
    failed = sys.exc_info()[0] is not None or any(one.failed() for one in mine)
    try:
        world.gather(None, FAILED_SECONDS if failed else 0.0, at="LPU.close")
    except NeurodriverError as error:
        text = f"LPU.close: {error}; memory of the GPU that other ranks write into stays in use"
        warnings.warn(f"{text} until this process ends", CircuitWarning, stacklevel=2)
        return
    for one in mine:
        one.shared = False


_Forms = dict[int, PeerRows]
"""Of each block: how it is sent, without an address."""


def _long(places: Numbers, block: ValueBlock) -> Numbers:
    """Return as many places as a block has values, zeros where it has none."""
    return places if len(places) else np.zeros(len(block), np.int64)


def _blocks(blocks: Sequence[ValueBlock], rank: int) -> list[int]:
    """Return the numbers of the blocks of a rank."""
    return [i for i, one in enumerate(blocks) if one.rank == rank]
