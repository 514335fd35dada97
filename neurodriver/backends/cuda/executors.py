"""Executors: the steps of a chunk -> launches of the kernel.

``Resident`` advances all steps in one launch. ``Stepwise`` launches each unit in each step. Both
give the same results, because all launches run items of the same step loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from ...codegen.generate import Task
from ...codegen.simt.shape import Shape
from ...errors import NeurodriverError
from . import schedule, warp_items
from .device import INT, LONG, POINTER, UNSIGNED, Device, Loaded, launch
from .items import WARP, Items, unit_items
from .patches import patch_items

_BEFORE, _STEPS, _AFTER, _LEARN, _OPEN = 1, 2, 4, 8, 128
_WHOLE = _BEFORE | _STEPS | _AFTER
_SCAN, _DUE, _ARRIVE, _REST, _SETTLE, _SWEEP, _SUM, _TEXT = range(8)
"""Phases of learning (``learning.cuh``)."""
_TYPES = (POINTER, POINTER, LONG, LONG, LONG, INT, INT, UNSIGNED)

Pieces = Sequence[Sequence[Items]]
"""Items of each table of what is injected, delivered, sampled, scanned for events, exported."""


class Executor(Protocol):
    """Chooses the lists of items and launches them."""

    def lists(self, plan: schedule.LaunchPlan, units: Sequence[Task], pieces: Pieces) -> list[Any]:
        """Return the lists of its launches; the exports are in the last one."""

    def advance(self, launches: Launches, first: int, end: int, done: int = 0) -> None:
        """Queue the launches of steps ``first`` to ``end - 1``, the first one from a phase on."""


class Resident:
    """One launch advances all steps of a chunk."""

    def lists(
        self, plan: schedule.LaunchPlan, units: Sequence[Task], pieces: Pieces
    ) -> list[warp_items.Lists]:
        """Return the one list."""
        flat = [items for kind in pieces for items in kind]
        return [warp_items.distribute(plan, units, warp_items.over(flat, plan.shape.window))]

    def advance(self, launches: Launches, first: int, end: int, done: int = 0) -> None:
        """Begin the launch; all phases are in it."""
        assert not done
        launches.open([0], first)
        launches.launch(0, first, end, end, _WHOLE, launches.plan.width)


class Stepwise:
    """One launch for each kernel and step, and one for what enters and leaves."""

    def lists(
        self, plan: schedule.LaunchPlan, units: Sequence[Task], pieces: Pieces
    ) -> list[warp_items.Lists]:
        """Return what injects the first inputs, the units, and all that enters and leaves."""
        flat = [items for kind in pieces for items in kind if len(items)]
        first = [np.concatenate(pieces[0])] if pieces[0] else []
        empty = [np.zeros((0, 4), np.int32)]
        made = [warp_items.one_each(items) for items in first or empty]
        patched = patch_items(plan, units)
        made += [
            warp_items.by_warp(patched[i].items, patched[i].warp, plan.warps)
            if i in patched
            else warp_items.one_each(unit_items(u, i, o)[0])
            for i, (u, o) in enumerate(zip(units, plan.own, strict=True))
            if not u.stepwise
        ]
        return made + ([warp_items.one_each(np.concatenate(flat))] if flat else [])

    def advance(self, launches: Launches, first: int, end: int, done: int = 0) -> None:
        """Begin the launches of each step."""
        for step in range(first, end):
            self.phases(launches, step, end, done if step == first else 0)
        if launches.exports:
            launches.launch(launches.steps - 1, first, end, end, _AFTER, "alone")

    def phases(
        self, launches: Launches, step: int, end: int, low: int, high: int | None = None
    ) -> None:
        """Begin the launches of a step from phase ``low`` on: to before ``high``, or all.

        The last ones take what is recorded.
        """
        first = step == launches.first
        if low == 0 and first and not launches.empty(0):
            launches.launch(0, step, step, end, _BEFORE, "alone")
        if low == 0 and first:
            launches.open(range(1, launches.steps), step)
        for phase, lo in learning_phases(launches.plan.shape, step) if low == 0 else ():
            launches.learn(phase, step, lo)
        for number in range(1, launches.steps):
            phase = launches.phases[number]
            if phase >= low and (high is None or phase < high):
                launches.launch(number, step, step + 1, end, _STEPS, "alone")


def learning_phases(shape: Shape, step: int) -> Iterator[tuple[int, int]]:
    """Yield the phases of learning in one step, and what they get: the step, or a text's number."""
    if not shape.learns:
        return
    yield from ((phase, step) for phase in (_SCAN, _DUE))
    if shape.sums_due(step):
        yield from ((phase, i) for i in range(shape.texts) for phase in (_SUM, _TEXT))
    yield from ((phase, step) for phase in (_ARRIVE, _REST))


EXECUTORS: dict[str, Executor] = {"resident": Resident(), "stepwise": Stepwise()}


def executor_of(name: str) -> Executor:
    """Return the executor of a name."""
    if name not in EXECUTORS:
        known = " or ".join(map(repr, EXECUTORS))
        raise NeurodriverError(f"executor must be {known}, got '{name}'")
    return EXECUTORS[name]


class Launches:
    """Lists of items on a device, and the kernel that processes them.

    Parameters
    ----------
    shared : int
        Bytes of shared memory of a block.

    Attributes
    ----------
    steps : int
        Lists that advance a circuit; the others are those of units that instances launch.
    exports : bool
        Whether rows go to other processes.
    phases : list of int
        Phase of what each list advances, where it advances a single unit.
    arrivals : int
        Arrivals at the barrier of the grid, or of a copy's blocks, so far. A kernel with gates
        counts them by itself.
    """

    def __init__(
        self,
        device: Device,
        code: Loaded,
        plan: schedule.LaunchPlan,
        executor: Executor,
        shared: int,
    ) -> None:
        self.device, self.plan, self.executor = device, plan, executor
        self.steps, self.exports, self.first = 0, False, 0
        self.phases: list[int] = []
        self._shared = shared
        self._function = code.function("nd_advance")
        self._lists: list[tuple[int, int, int, Any]] = []
        self.arrivals = 0

    def distribute(self, units: Sequence[Task], pieces: Pieces) -> None:
        """Distribute the items over warps, for the launches of a step and those of instances."""
        lists = self.executor.lists(self.plan, units, pieces)
        made = [(i, u) for i, u in enumerate(units) if u.stepwise]
        self.steps, self.exports = len(lists), bool(pieces[-1])
        own = [unit.phase for unit in units if not unit.stepwise]
        last = max(own, default=0)
        self.phases = [0, *own, *[last] * len(lists)][: len(lists)]
        self._list_of = {i: self.steps + n for n, (i, _) in enumerate(made)}
        lists += [warp_items.one_each(unit_items(u, i, self.plan.own[i])[0]) for i, u in made]
        self._lists = [self._upload(one) for one in lists]

    def _upload(self, one: warp_items.Lists) -> tuple[int, int, int, Any]:
        """Copy lists to the device; return their addresses, blocks, and the memory object."""
        warps = len(one.offsets) - 1
        per_block = self.plan.shape.threads // WARP
        whole = -(-warps // per_block) * per_block  # spare warps of the last block idle
        offsets = np.concatenate([one.offsets, np.full(whole - warps, one.offsets[-1])])
        memory = self.device.allocate(max(one.items.nbytes + offsets.nbytes, 16))
        items = int(memory)
        self.device.upload(items, one.items)
        self.device.upload(items + one.items.nbytes, offsets.astype(np.int32))
        return items, items + one.items.nbytes, whole // per_block, memory

    def empty(self, number: int) -> bool:
        """Whether a list has no items."""
        return not self._lists[number][2]

    def advance(self, first: int, end: int, done: int = 0) -> None:
        """Begin to advance a chunk from step ``first`` to step ``end``.

        ``done`` phases of the first step have been advanced already.
        """
        self.first = first
        self.executor.advance(self, first, end, done)

    def follow(self, first: int, end: int) -> None:
        """Begin what `advance` does, on the default stream, where it is one launch."""
        self.launch(0, first, end, end, _WHOLE, self.plan.width, follows=True)

    def advance_phases(self, step: int, low: int, high: int) -> None:
        """Begin to advance some phases of a step, launch by launch."""
        assert isinstance(self.executor, Stepwise)
        self.first = step
        self.executor.phases(self, step, step + 1, low, high)

    def open(self, numbers: Iterable[int], step: int) -> None:
        """Begin to sum up pools that members add to, from the values of a step.

        Parameters
        ----------
        numbers : iterable of int
            Of lists that have all components.
        """
        for phase in (0, 1) if self.plan.shape.adds else ():  # all sums are cleared first
            for number in numbers:
                self.launch(number, step, step, step, _OPEN | phase << 8, "alone")

    def advance_unit(self, number: int, step: int) -> None:
        """Begin to advance a unit by one step, for its instance."""
        self.launch(self._list_of[number], step, step + 1, step + 1, _STEPS, "alone")

    def export_again(self, step: int) -> None:
        """Begin to take the rows for other processes that step ``step`` has written once more."""
        self.launch(self.steps - 1, step, step + 1, step + 1, _AFTER, "alone")

    def catch_up(self, step: int) -> None:
        """Begin to bring all synapses that learn up to date before a step."""
        for phase in (_SETTLE, _SWEEP):
            self.learn(phase, step)

    def learn(self, phase: int, step: int, lo: int | None = None) -> None:
        """Begin a phase of learning, in which all warps take part: from row ``lo`` to ``step``."""
        first = step if lo is None else lo
        values = (0, 0, first, step + 1, step + 1, _LEARN | phase << 4, 0, self.arrivals)
        self._start(self.plan.blocks, values, "alone")

    def launch(
        self,
        number: int,
        first: int,
        last: int,
        end: int,
        parts: int,
        width: str,
        follows: bool = False,
    ) -> None:
        """Start the kernel.

        Parameters
        ----------
        number : int
            Of the list.
        first, last, end : int
            Steps from ``first`` to ``last - 1``, of a chunk that ends before step ``end``.
        parts : int
            Which parts of the step loop.
        width : {"alone", "block", "cluster", "grid"}
        follows : bool
            On the default stream.
        """
        items, offsets, blocks, _ = self._lists[number]
        which = schedule.WIDTHS.index(width)
        values = (items, offsets, first, last, end, parts, which, self.arrivals)
        self._start(blocks, values, width, follows)
        if width == "grid":
            steps = self.plan.shape.barriers(first, last) if parts & _STEPS else 0
            before = 1 + self.plan.shape.looks_again
            barriers = steps + before * bool(parts & _BEFORE)
            self.arrivals = (self.arrivals + blocks * barriers) & 0xFFFF_FFFF

    def _start(
        self, blocks: int, values: tuple[Any, ...], width: str, follows: bool = False
    ) -> None:
        """Queue the kernel on the device."""
        threads = self.plan.shape.threads
        groups = width, self._shared, max(self.plan.shape.copies, 1)
        launch(self.device, self._function, blocks, threads, values, _TYPES, *groups, follows)
