"""``SpikeDelivery``: the window, the delivering warps and the list of pieces of a circuit on a GPU.

`plan_delivery` chooses how many steps lie between barriers and how much memory the list of pieces
needs. `codegen.simt.spike_delivery` writes the text that delivers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from ...codegen.generate import Generated, Task
from ...codegen.kernel import Kernel
from ...codegen.simt.device import Part
from ...codegen.simt.shape import Shape
from ...codegen.simt.spike_delivery import Sent, few, sent_by
from ...plan.program import Program
from ...plan.spikes.due import is_due
from ...plan.spikes.learning import LearningPlan
from ...plan.spikes.stencils import LISTED
from ...plan.sums.gather import Gather
from . import schedule, warp_items
from .device import Device, Loaded, Pool
from .import_delivery import sends_late
from .items import WARP, Items
from .shares import shares_of

if TYPE_CHECKING:
    from .binding import Binding

PIECE_BYTES = 16
LIST_BYTES = 512 << 20
"""Size that both lists may have in any case; longer windows are shortened until the lists fit."""

LIST_SHARE = 0.5
"""Or this share of the connections' own size, at four bytes each."""

MOST_WARPS = 1 << 14
"""Largest number of warps of a launch."""

FIRING = 4
"""Pieces of all sources for each warp that delivers while others learn: few fire at once."""

WORTH = 4
"""Shortest window that is worth its two barriers."""

MANY = 256
"""Connections of a source that are due in the next step; one warp should not deliver more."""


@dataclass(frozen=True)
class SpikeDelivery:
    """What the delivery of spikes needs beside connections and slots.

    Attributes
    ----------
    window : int
        Steps between barriers (see `codegen.simt.device.Shape`).
    pieces : int
        Largest number of pieces of one turn: a step or a window.
    edges : int
        Connections along which spikes are delivered.
    learns : bool
        Whether some of them learn.
    looked_at : int
        See `schedule.SpikeLoad.learning`.
    due : bool
        Whether some are delivered when they are due: see `plan.spikes.due`.
    looks_again : bool
        See `codegen.simt.shape.Shape`.
    stepwise : bool
        Whether each launch is a part of one step.
    lookahead : bool
        Whether threads send spikes a step early: see `codegen.simt.thread_lookahead`.
    """

    window: int = 0
    pieces: int = 0
    edges: int = 0
    learns: bool = False
    looked_at: int = 0
    due: bool = False
    looks_again: bool = False
    stepwise: bool = False
    lookahead: bool = False

    def shaped(self, shape: Shape) -> Shape:
        """Return a shape with what the delivery needs."""
        same = "window", "looks_again", "due", "lookahead"
        return replace(shape, **{name: getattr(self, name) for name in same})

    def ahead_in(self, generated: Generated, plan: schedule.LaunchPlan) -> SpikeDelivery:
        """Return the delivery, with lookahead where that is possible.

        All threads that send keep their components, and all spikes go through the list. Those of
        inputs do not, as threads deliver them.
        """
        numbers = {n for one in generated.deliveries for _, n in one.sources}
        senders = [unit for unit in generated.tasks if numbers & {*unit.groups}]
        able = (
            plan.shape.holds,
            self.delivers and not (self.window or self.stepwise),
            all(unit.kernel.lookahead for unit in senders),
            all(sent_by(one.gather) == "pieces" for one in generated.deliveries),
        )
        return replace(self, lookahead=all(able))

    @property
    def load(self) -> schedule.SpikeLoad:
        """What a launch has to provide."""
        listed = self.delivers or self.learns or self.due
        return schedule.SpikeLoad(self.edges, listed, self.window, self.looked_at)

    @property
    def delivers(self) -> bool:
        """Whether there is a list of pieces."""
        return self.pieces > 0

    @property
    def capacity(self) -> int:
        """Pieces that a list holds; each warp loads one before it knows how many there are."""
        return self.pieces + MOST_WARPS

    def wanted(self) -> dict[str, int]:
        """Return the bytes of the lists: key -> bytes."""
        if not self.delivers:
            return {}
        return {"pieces": 2 * PIECE_BYTES * self.capacity, "numbers of pieces": 16}

    def bring(self, device: Device, code: Loaded, pool: Pool) -> None:
        """Write the addresses of the lists into the constant memory of the kernel."""
        if self.delivers:
            where = pool.address["pieces"], pool.address["numbers of pieces"]
            table = np.array([*where, self.capacity], np.uint64)
            device.upload(code.address("nd_spike_list"), table)

    def delivery_items(
        self, plan: schedule.LaunchPlan, units: Sequence[Task], taken: int = 0
    ) -> Items:
        """Return an item for each delivering warp: those without components, less some.

        In a window all warps deliver, and so they do where a warp has many components in turn.
        What is due in a window is no item, as all warps share it.
        """
        if not (self.delivers or (self.due and not self.window)):
            return np.zeros((0, 4), np.int32)
        idle = plan.warps if self.window else warp_items.idle_warps(plan, units) - taken
        enough = -(-self.pieces // FIRING) if self.learns else idle
        return warp_items.delivery_items(max(min(idle, enough), plan.blocks))


def plan_delivery(program: Program, stepwise: bool) -> SpikeDelivery:
    """Plan the delivery of the spikes of a program.

    Where all connections take several steps, so many steps form a window. Where a source has many
    targets that it reaches in the next step, there are two barriers a step, so that all warps can
    deliver. So there are where spikes are delivered when due. Stepwise launches have no windows.
    Where synapses learn there is always a window, of one step at least: they learn between barriers
    of their own.
    """
    plans = [g for g in program.gathers.values() if isinstance(g, LearningPlan)]
    learning = sum(g.edges for g in plans)
    looked_at = sum(g.edges if g.alone else g.rows_of_sources for g in plans)
    forms = "fanout", "stencil"
    gathers = [g for g in program.gathers.values() if g.form in forms and "near" in g.limits]
    listed = [g for g in gathers if not few(g)]
    near = max((g.limits["near"] / _sources(g) for g in listed), default=0.0)
    each = sum(g.limits["pieces"] for g in listed)
    late = [g for g in program.gathers.values() if is_due(g)]
    edges = sum(g.edges for g in [*gathers, *late]) + learning
    window = 0
    if not stepwise:
        stored = edges - sum(g.edges for g in gathers if g.form == "stencil")
        least = LIST_BYTES if stored == edges else 2 * PIECE_BYTES * LISTED
        allowed = max(least, int(LIST_SHARE * 4 * stored))
        most = allowed // (2 * PIECE_BYTES * each) if each else program.window
        longest = min(program.window, most)
        window = longest if gathers and longest >= WORTH else int(near > MANY)
        window = longest if learning else window
        window = 1 if late else window
    if any(g.form == "patches" for g in program.gathers.values()):
        window = min(window, 1)  # what a patch reads changes in each step
    if window == 0 and not any(g.limits["far"] for g in listed):
        each = 0
    pieces = each * max(window, 1)
    again = sends_late(program)
    return SpikeDelivery(
        window, pieces, edges, learning > 0, looked_at, bool(late), again, stepwise
    )


def _sources(gather: Gather) -> int:
    """Return the number of sources of a plan, at least 1."""
    own = gather.limits.get("sources")
    return max(len(gather.arrays["near"]) if own is None else own, 1)


def with_learning(shape: Shape, learning: Sequence[Kernel], blocks: int) -> Shape:
    """Return a shape with what the texts of connections that learn need.

    Their turns have no scan where each thread looks at one piece at most.
    """
    every = any(kernel.every for kernel in learning)
    waiting = max((kernel.waiting for kernel in learning), default=0)
    sums = tuple(kernel.sums for kernel in learning if kernel.sums)
    shares = shares_of([kernel.warps for kernel in learning], blocks * shape.threads // WARP)
    direct = bool(learning) and shape.window <= 1
    for kernel, (_, own) in zip(learning, shares, strict=True):
        direct = direct and 0 < kernel.pieces <= WARP * own
    waiting += direct * sum(kernel.looked for kernel in learning)
    return replace(
        shape, learns=bool(learning), every=every, sums=sums, waiting=waiting, direct=direct
    )


def parts_of(generated: Generated, plan: schedule.LaunchPlan, binding: Binding) -> list[Part]:
    """Return the parts of a program's text."""
    parts = []
    for unit, own in zip(generated.tasks, plan.own, strict=True):
        sends: dict[str, list[Sent]] = {}
        for number, delivery in enumerate(generated.deliveries, len(generated.tasks)):
            for (variable, group), first in delivery.sources.items():
                if group in unit.groups:
                    sends.setdefault(variable, []).append((number, first, sent_by(delivery.gather)))
        crowd = unit.count > schedule.CROWD * plan.blocks
        known = binding.known(unit.kernel)
        parts.append(Part(unit.kernel, own, known, sends=sends, crowd=crowd, stage=unit.stage))
    deliveries = [
        Part(delivery.kernel, 1, binding.known(delivery.kernel), delivery=True)
        for delivery in generated.deliveries
    ]
    shares = shares_of([kernel.warps for kernel in generated.learning], plan.warps)
    looked = list(accumulate((kernel.looked for kernel in generated.learning), initial=0))
    first = max((kernel.waiting for kernel in generated.learning), default=0)
    learning = [
        Part(kernel, 1, binding.known(kernel), learning=True, warps=(*share, first + at))
        for kernel, share, at in zip(generated.learning, shares, looked, strict=False)
    ]
    return [*parts, *deliveries, *learning]
