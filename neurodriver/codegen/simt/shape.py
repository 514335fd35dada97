"""``Shape``: how the text of a circuit is to be run on a device."""

from __future__ import annotations

from dataclasses import dataclass

ROOMY = 384
"""Threads of a block at most that have 160 registers each."""

OUTGOING_BYTES = 24
"""Size of an ``nd_outgoing`` (spike_delivery.cuh)."""

QUEUE_BYTES = 388
"""Size of an ``nd_queue`` (queued_spikes.cuh), one for each warp."""

CACHE_BYTES = 47 << 10
"""Shared memory of a block for cached ``nd_outgoing``; a kilobyte is left for tables."""


@dataclass(frozen=True)
class Shape:
    """How a text is to be run.

    Attributes
    ----------
    threads : int
        Of a block.
    resident : int
        Blocks of a multiprocessor at once.
    holds : bool
        Whether a warp has one item of components at most and keeps them in registers.
    ahead : int
        Values of a thread that may be in flight to shared memory.
    record : int
        Largest ``record`` of the kernels.
    stay : int
        Rounds of records that stay in shared memory: all that the kernels have, or none.
    timers : bool
        Whether warps count the cycles of the parts of the steps, for a profile.
    window : int
        Steps between barriers. After a window there are two barriers, and between them the warps
        deliver its spikes. 0: one barrier a step; the spikes of a step are delivered in the next,
        or with lookahead in their own.
        What is due of spikes of earlier steps is delivered before the first barrier.
    lookahead : bool
        Whether threads send the spikes of a step at the end of the step before. Then all warps wait
        at one more barrier before the first step of a launch.
    marks : bool
        Whether rows that hold events are marked: some kernel or instance reads the marks.
    gates : bool
        Whether a launch may wait for other processes.
    learns : bool
        Whether there are connections that learn.
    every : bool
        Whether something happens to them at intervals.
    direct : bool
        Whether their turns have no scan: see ``learning_direct.cuh``.
    sums : tuple of tuple of int
        Steps of the intervals of each set of connections whose texts read sums over synapses.
    waiting : int
        Bytes of shared memory of a warp for synapses that have spikes to apply.
    caches_dirty : bool
        Whether threads cache in registers which rows of a ring hold events of their components,
        instead of reading the dirty bitmap.
    copies : int
        Of a batch: groups of blocks, one for each copy, whose tables are in shared memory.
    stages : int
        Parts of a step, with a barrier between them.
    looks_again : bool
        Whether spikes that come from other parts are delivered when due: at the begin of a window.
    due : bool
        Whether spikes are delivered when they are due: warps note places of them in shared memory.
    patches : int
        Bytes of shared memory for patches of columns.
    sources : int
        Bytes that keep where the values of patches are; 0 where each step reads it from memory.
    cells : int
        Bytes that keep the numbers of their cells from step to step; 0 where memory does.
    adds : bool
        Whether some components add to pools.
    """

    threads: int = 256
    resident: int = 1
    holds: bool = False
    ahead: int = 16
    record: int = 8
    stay: int = 0
    timers: bool = False
    window: int = 0
    lookahead: bool = False
    marks: bool = True
    gates: bool = False
    learns: bool = False
    every: bool = False
    direct: bool = False
    sums: tuple[tuple[int, ...], ...] = ()
    waiting: int = 0
    caches_dirty: bool = False
    copies: int = 0
    stages: int = 1
    looks_again: bool = False
    due: bool = False
    patches: int = 0
    sources: int = 0
    cells: int = 0
    adds: bool = False

    @property
    def team(self) -> int:
        """Bytes a thread of what the threads of a warp share."""
        return max(2 * self.ahead // 16 + 1, self.stay) * self.record

    @property
    def keeps(self) -> bool:
        """Whether threads cache where the outgoing connections of their components lie."""
        return self.holds and self.window != 1

    @property
    def in_shared_memory(self) -> bool:
        """Whether that cache is shared memory: registers are few, or windows need them."""
        return self.threads > ROOMY or self.window > 1

    def cached(self, outgoing: int, tables: int = 0) -> int:
        """Return how many ``nd_outgoing`` of a block shared memory caches, ``outgoing`` a thread.

        0 where registers hold them, or where they do not fit beside ``tables`` bytes.
        """
        number = self.threads * outgoing
        fits = number * OUTGOING_BYTES + tables <= CACHE_BYTES
        return number if self.keeps and self.in_shared_memory and fits else 0

    def barriers(self, first: int, last: int) -> int:
        """Return the number of barriers in steps ``first`` to ``last - 1``."""
        if last <= first:
            return 0
        within = (self.stages - 1) * (last - first)
        if not self.window:
            return within + last - first + self.lookahead
        turns = (last - 1) // self.window - first // self.window + 1
        if not self.learns:
            return within + 2 * turns
        if self.direct:
            return within + 2 * turns + 2
        longer = last - 1 > max(first, (last - 1) // self.window * self.window)
        due = {n for one in self.sums for steps in one for n in _multiples(steps, first, last)}
        sums = 2 * self.texts * len(due)
        return within + 3 * turns - 1 + longer + 2 + self.every + sums

    def sums_due(self, step: int) -> bool:
        """Whether a text that reads sums may run in a step."""
        return step > 0 and any(step % steps == 0 for one in self.sums for steps in one)

    @property
    def texts(self) -> int:
        """Texts of intervals that read sums, of one set of connections at most."""
        return max(map(len, self.sums), default=0)

    def scratch(self, word: int) -> int:
        """Return the bytes of shared memory of a block, for numbers of ``word`` bytes."""
        return self.threads * (self.ahead * word + self.team)

    def shared(self, word: int, records: bool) -> int:
        """Return the bytes of shared memory that a launch asks for.

        ``records``: whether some kernel shares records within its warps.
        """
        return self.patches_at(word, records) + self.patches + self.cells + self.sources

    @property
    def sources_at(self) -> int:
        """The byte behind `patches_at` at which the numbers of sources begin; -1: nowhere."""
        return self.patches + self.cells if self.sources else -1

    def patches_at(self, word: int, records: bool) -> int:
        """Return the byte of shared memory at which patches begin, a multiple of 16."""
        return self.scratch(word) * records + self.threads // 32 * self.waiting


def _multiples(steps: int, first: int, last: int) -> range:
    """Return the multiples of a number, above 0, from ``first`` to ``last - 1``."""
    return range(max(-(-first // steps), 1) * steps, last, steps)
