"""``Mail``: how spikes travel on a GPU: steps between meetings, who deals, the lists' memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...codegen.generate import Generated, Task
from ...codegen.simt.device import Part
from ...codegen.simt.spike_delivery import Sent, few
from ...plan.program import Program
from . import schedule
from .device import Device, Loaded, Pool

if TYPE_CHECKING:
    from .binding import Binding

PIECE_BYTES = 16
LIST_BYTES = 512 << 20
"""Of both lists at most, where shorter windows can help it."""

MOST_WARPS = 1 << 14
"""Of a launch, at most."""

WORTH = 4
"""Steps from which a window is worth its two meetings."""

MANY = 256
"""Connections of a source, due at once, that one warp should not deal out alone."""


@dataclass(frozen=True)
class Mail:
    """What spikes need beside connections and slots.

    Attributes
    ----------
    window : int
        Steps that warps go without each other (see `codegen.simt.device.Shape`).
    pieces : int
        Pieces of connections that may be listed in a turn.
    edges : int
        Connections that spikes are dealt out to.
    """

    window: int = 0
    pieces: int = 0
    edges: int = 0

    @property
    def load(self) -> schedule.Load:
        """What this means for a launch."""
        return schedule.Load(self.edges, self.deals, self.window)

    @property
    def deals(self) -> bool:
        """Whether there is ever a list."""
        return self.pieces > 0

    @property
    def capacity(self) -> int:
        """Places of a list: each warp looks at one before it knows how many pieces there are."""
        return self.pieces + MOST_WARPS

    def wanted(self) -> dict[str, int]:
        """Return the bytes of the lists: key -> bytes."""
        if not self.deals:
            return {}
        return {"pieces": 2 * PIECE_BYTES * self.capacity, "numbers of pieces": 16}

    def bring(self, device: Device, code: Loaded, pool: Pool) -> None:
        """Tell the kernel where the lists are."""
        if self.deals:
            where = pool.address["pieces"], pool.address["numbers of pieces"]
            table = np.array([*where, self.capacity], np.uint64)
            device.upload(code.address("nd_mail"), table)

    def dealers(self, plan: schedule.Plan, units: Sequence[Task]) -> schedule.Items:
        """Return an item for each warp that deals: those that have nothing else to do at a step.

        In a window, all have; and so they have where a warp has many components in turn.
        """
        if not self.deals:
            return np.zeros((0, 4), np.int32)
        busy = sum(schedule.tiles(u, o) for u, o in zip(units, plan.own, strict=True))
        idle = plan.warps - busy if plan.shape.holds and not self.window else plan.warps
        return schedule.dealing(max(idle, plan.blocks))


def mail_of(program: Program, stepwise: bool) -> Mail:
    """Return how the spikes of a program travel.

    Where all connections take several steps, warps go so many without each other. Where a source
    has many targets that it reaches in the next step, they meet twice a step, so that all can
    deal; so they never do stepwise.
    """
    gathers = [g for g in program.gathers.values() if g.form == "fanout" and "near" in g.limits]
    listed = [g for g in gathers if not few(g)]
    near = max((g.limits["near"] / max(len(g.arrays["near"]), 1) for g in listed), default=0.0)
    each = sum(g.limits["pieces"] for g in listed)
    window = 0
    if not stepwise:
        most = LIST_BYTES // (2 * PIECE_BYTES * each) if each else program.window
        longest = min(program.window, most)
        window = longest if gathers and longest >= WORTH else int(near > MANY)
    if window == 0 and not any(g.limits["far"] for g in listed):
        each = 0
    return Mail(window, each * max(window, 1), sum(g.edges for g in gathers))


def parts_of(generated: Generated, plan: schedule.Plan, binding: Binding) -> list[Part]:
    """Return the parts of a program's text."""
    parts = []
    for unit, own in zip(generated.tasks, plan.own, strict=True):
        sends: dict[str, list[Sent]] = {}
        for number, fan in enumerate(generated.deliveries, len(generated.tasks)):
            for (variable, group), first in fan.sources.items():
                if group in unit.groups:
                    sends.setdefault(variable, []).append((number, first, not fan.kernel.deals))
        crowd = unit.count > schedule.CROWD * plan.blocks
        parts.append(Part(unit.kernel, own, binding.known(unit.kernel), sends=sends, crowd=crowd))
    fans = [
        Part(fan.kernel, 1, binding.known(fan.kernel), fan=True) for fan in generated.deliveries
    ]
    return [*parts, *fans]
