"""How many blocks and warps a program needs: from one block to the whole device.

An item is a piece of work that a warp does in every step: 32 components of a unit, or a part of
what is injected, recorded, exported or delivered. `warp_items` gives the items to the warps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...codegen.generate import Task
from ...codegen.simt.shape import ROOMY, Shape
from .items import WARP, tiles
from .patches import with_patches

LARGE_THREADS = 512
"""Of a block where memory is what takes time."""

MANY_THREADS = 1024
"""The same where sums by place wait for memory, one load after the other. No spikes are delivered
then: queues and histories of so many warps do not fit into shared memory."""

HEAVY_WORDS, HEAVY_THREADS = 64, 256
"""Registers for the numbers of a component, and the same if it needs more: they would spill."""

FEW_WORDS = 8
"""Registers for the numbers of a component, if such a block has so many threads."""

KEPT_WORDS = 16
"""Registers for the numbers of all components of a thread, where it has many in turn."""

DRAWING_WORDS = 20
"""The same where Poisson numbers are looked up in shared memory: more look-ups wait together."""

UNEVEN = 1.05
"""Threads get fewer components only where warps are then busy for this factor more of the time."""

SIDE = (8, 4, 2)
"""Cells side by side of a thread, at most."""

CLUSTER = 16
"""Blocks of a cluster."""

SHARED = 200 << 10
"""Bytes of shared memory of a multiprocessor that blocks may take."""

BLOCK_WARPS = 22
"""Warps of a block whose threads keep their components in registers: there are some 90 for each."""

SHORT_WARPS = 28
"""The same in single precision, where spikes are sent."""

MOST_LIGHT = 8
"""Components of a thread at most that keeps no number of them, where a step has several stages."""

DELIVERY_WARPS = 4
"""Warps of a block that deliver spikes while the others compute."""

LONG_DELIVERY_WARPS = 12
"""Warps of a block where all of them deliver; with more of them registers would spill."""

LEARNING_WARPS = 16
"""The same where synapses learn: with 12 of them `hpc_benchmark` takes 5 % longer."""

WIDE = 1 << 20
"""Connections of spikes from which the whole device delivers."""

LEARNING = 1 << 14
"""Connections that learn, or rows of them, from which a cluster is used; a grid from 8 times on."""

CROWD = 128
"""Components of a block, a warp for each scheduler; with more, others work while one waits."""

WIDTHS = ("alone", "block", "cluster", "grid")


@dataclass(frozen=True)
class LaunchPlan:
    """The shape of a launch: number of blocks, and components of a thread.

    Attributes
    ----------
    width : {"block", "cluster", "grid"}
    shape : Shape
    own : tuple of int
        Components of a thread, for each unit.
    """

    width: str
    blocks: int
    shape: Shape
    own: tuple[int, ...]

    @property
    def warps(self) -> int:
        """Warps of the launch."""
        return self.blocks * self.shape.threads // WARP


def finished(plan: LaunchPlan, units: Sequence[Task], word: int) -> LaunchPlan:
    """Complete a plan: stages, values in flight, and whether threads cache dirty bits."""
    stages = 1 + max((unit.stage for unit in units), default=0)
    dirty = caches_dirty(plan.width, plan.shape)
    adds = any(unit.kernel.adds for unit in units)
    shape = replace(plan.shape, caches_dirty=dirty, stages=stages, adds=adds)
    shape = with_patches(shape, units, plan.blocks)
    return with_ahead(replace(plan, shape=shape), units, word)


def caches_dirty(width: str, shape: Shape) -> bool:
    """Whether threads cache in registers which rows of a ring hold events.

    They do in windows, if registers are many, and where many warps of a grid look at once.
    """
    return shape.window > 1 if shape.threads <= ROOMY else width == "grid" and shape.holds


def with_ahead(plan: LaunchPlan, units: Sequence[Task], word: int) -> LaunchPlan:
    """Return a plan with as many values in flight as fit into shared memory.

    Records of a lattice stay there if all do, which is worth more than the last values.

    Parameters
    ----------
    word : int
        Bytes of a number.
    """
    record = max([unit.kernel.record for unit in units], default=0)
    if not record:
        return plan
    rounds = max(unit.kernel.rounds for unit in units) if plan.shape.holds else 0
    stays = [(ahead, rounds) for ahead in (64, 48, 32) if rounds]
    for ahead, stay in (*stays, (64, 0), (48, 0), (32, 0), (16, 0)):
        shape = replace(plan.shape, ahead=ahead, record=record, stay=stay)
        if shape.scratch(word) * shape.resident + shape.patches <= SHARED:
            break
    return replace(plan, shape=shape)


@dataclass(frozen=True)
class SpikeLoad:
    """What the delivery of spikes needs of a launch.

    Attributes
    ----------
    edges : int
        Connections along which spikes are delivered.
    listed : bool
        Whether there is a list of pieces.
    window : int
        See `codegen.simt.device.Shape`.
    learning : int
        Connections that are looked at together: all that learn, where rules have intervals or
        modulators; else their rows.
    """

    edges: int = 0
    listed: bool = False
    window: int = 0
    learning: int = 0

    @property
    def blocks(self) -> int:
        """Blocks that suffice: 1, a cluster, or no limit (0)."""
        if self.edges >= WIDE or self.learning >= 8 * LEARNING:
            return 0
        return 1 if self.learning < LEARNING else CLUSTER

    @property
    def long(self) -> int:
        """Warps of a block where all of them deliver."""
        return LEARNING_WARPS if self.learning else LONG_DELIVERY_WARPS

    def most(self, word: int) -> int:
        """Return how many warps of a block may have components, for numbers of ``word`` bytes.

        Single precision takes fewer registers, and a thread's second component sends its spikes
        after those of the first one.
        """
        if self.listed and self.window:
            return self.long - 1
        warps = SHORT_WARPS if self.edges and word == 4 else BLOCK_WARPS
        return warps - (DELIVERY_WARPS - 1 if self.listed else 0)

    def warps(self, busy: int) -> int:
        """Return the warps of a block that has ``busy`` ones with components."""
        if self.listed and self.window:
            return max(busy + 1, self.long)
        return max(busy + (DELIVERY_WARPS if self.listed else 1), 4)


def choose(
    units: Sequence[Task],
    processors: int,
    clusters: bool,
    word: int = 8,
    load: SpikeLoad | None = None,
) -> LaunchPlan:
    """Choose the number of blocks: one block, a cluster of blocks, or the whole device.

    Parameters
    ----------
    units : sequence of Unit
    processors : int
        Multiprocessors of the device.
    clusters : bool
        Whether the device has clusters of 16 blocks.
    word : int
        Bytes of a number.
    load : SpikeLoad, optional
    """
    load = load or SpikeLoad()
    if any(unit.patches for unit in units):
        return _by_patches(units, processors, word)
    ones = tuple(1 for _ in units)
    small = _pairs(units, 1, most := load.most(word), load)
    if load.blocks == 1 and _total(units, small) <= most:
        each = load.warps(_total(units, small))
        return LaunchPlan("block", 1, Shape(each * WARP, 1, True), small)
    wide = _pairs(units, CLUSTER, most, load)
    if load.blocks and clusters and _total(units, wide) <= CLUSTER * most:
        each = load.warps(-(-_total(units, wide) // CLUSTER))
        return LaunchPlan("cluster", CLUSTER, Shape(each * WARP, 1, True), wide)
    own = _pairs(units, processors, most, load)
    if _total(units, own) <= processors * most:
        each = load.warps(-(-_total(units, own) // processors))
        return LaunchPlan("grid", processors, Shape(each * WARP, 1, True), own)
    if any(unit.kernel.record for unit in units):
        return LaunchPlan("grid", processors, Shape(384, 1, False), ones)
    many = processors * LARGE_THREADS // WARP
    side = {stage: _side_by_side(units, stage, many) for stage in {u.stage for u in units}}
    large = tuple(
        1 if u.spread else side[u.stage] if u.side else _many(u, many, word) for u in units
    )
    heavy = any(unit.kernel.kept * word // 4 > HEAVY_WORDS for unit in units)
    waits = not load.edges and all(_waits(unit, word) for unit in units)
    threads = MANY_THREADS if waits else LARGE_THREADS
    threads = HEAVY_THREADS if heavy else threads
    return LaunchPlan("grid", processors, Shape(threads, 1, False), large)


def _by_patches(units: Sequence[Task], processors: int, word: int) -> LaunchPlan:
    """Return the plan where some units are cut into patches: no warp keeps its components.

    Patches leave little shared memory to units that have records there.
    """
    records = any(unit.kernel.record for unit in units)
    threads = LARGE_THREADS // 2 if records else LARGE_THREADS
    warps = processors * threads // WARP
    ones = [1 if records or u.spread or u.side else _many(u, warps, word) for u in units]
    cut = [u.patches.limits["own"] if u.patches else 0 for u in units]
    own = tuple(a or b for a, b in zip(cut, ones, strict=True))
    return LaunchPlan("grid", processors, Shape(threads, 1, False), own)


def _waits(unit: Task, word: int) -> bool:
    """Whether the threads of a unit mostly wait for memory, and need few registers."""
    words = unit.kernel.kept * word // 4
    return unit.near and unit.side is None and not unit.spread and words <= FEW_WORDS


def _side_by_side(units: Sequence[Task], stage: int, warps: int) -> int:
    """Return how many cells side by side a thread has: so many that all warps have some left."""
    mine = [unit for unit in units if unit.stage == stage and unit.side]
    sizes = (s for s in SIDE if _total(mine, [s] * len(mine)) > warps)
    return next(sizes, 1)


def _many(unit: Task, warps: int, word: int) -> int:
    """Return components of a thread where they are streamed: as many loads as memory takes at once.

    So many that there are more than two items for each of ``warps``, and that registers suffice.
    Fewer where the items then divide more evenly among the warps.
    """
    if unit.near:
        return 1
    words = max(unit.kernel.kept, 1) * word // 4
    room = DRAWING_WORDS if "nd_counts<" in unit.kernel.text else KEPT_WORDS
    sizes = (s for s in (16, 8, 4, 2) if s * words <= room and tiles(unit, s) > 2 * warps)
    most = next(sizes, 1)

    def busy(size: int) -> float:
        """Return the share of the time in which warps have items."""
        items = tiles(unit, size)
        return items / (-(-items // warps) * warps)

    fewer = max(range(most // 2 + 1, most + 1), key=lambda size: (busy(size), size))
    return fewer if busy(fewer) > UNEVEN * busy(most) else most


def _pairs(units: Sequence[Task], blocks: int, most: int, load: SpikeLoad) -> tuple[int, ...]:
    """Return components of a thread: more than one where the items would not fit otherwise.

    Sums that take long get a warp, or a thread, each. Where they are idle, a warp has several
    sooner than threads have few registers. In a step of several stages, the warps of a unit wait
    for all other stages. So threads have more of light components sooner than of heavy ones. At
    most ``most`` warps of each of so many ``blocks`` have components.
    """
    own = [1] * len(units)
    idle = [8 if u.spread and u.idle else 1 for u in units]
    _pack(units, own, idle, blocks * min(most, ROOMY // WARP - 1), load)
    plain = 4 if load.window else 2
    light = MOST_LIGHT if any(u.stage for u in units) else plain
    most_of = [plain if u.kernel.kept else light for u in units]
    pairs = [1 if u.spread or u.kernel.record else n for u, n in zip(units, most_of, strict=True)]
    _pack(units, own, pairs, blocks * most, load)
    return tuple(own)


def _pack(
    units: Sequence[Task], own: list[int], most: Sequence[int], warps: int, load: SpikeLoad
) -> None:
    """Give threads more components, each at most so many, until no more warps than these do."""
    staged = any(unit.stage for unit in units)

    def more(i: int) -> int:
        return own[i] + (1 if load.window else own[i])

    while _total(units, own) > warps:
        now = {i: tiles(units[i], own[i]) for i in range(len(units)) if own[i] < most[i]}
        left = [i for i in now if tiles(units[i], more(i)) < now[i]]
        if not left:
            return
        best = min(left, key=lambda i: (staged * more(i) * (1 + units[i].kernel.kept), -now[i]))
        own[best] = more(best)


def _total(units: Sequence[Task], own: Sequence[int]) -> int:
    return sum(tiles(unit, o) for unit, o in zip(units, own, strict=True))
