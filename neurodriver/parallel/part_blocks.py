"""``PartRecorder``: the blocks that a part has recorded, until they are put together."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..recorders.base import (
    Block,
    Columns,
    Recorder,
    RecordingPlan,
    RecordingProgress,
    settled,
)

PartColumns = Mapping[str, Columns]
"""Variable -> the columns of one part."""


class PartRecorder(Recorder):
    """Keeps the blocks of one part until they are taken.

    One thread may append while another one takes.

    Parameters
    ----------
    whole : Recorder
        The recorder of the whole circuit.
    record : sequence of (variable, uids)
        What this part records of it.

    Attributes
    ----------
    step : int
        Steps done when the last block was taken.
    arrived : callable
        Called after each block.
    """

    copies = False

    def __init__(self, whole: Recorder, record: Sequence[tuple[str, Any]]) -> None:
        super().__init__(record, whole.sample_interval)
        self.lenient = whole.lenient
        self._blocks: deque[Block] = deque()
        self.step, self._taken, self.arrived = 0, 0, settled

    def columns(self) -> PartColumns:
        """Return the columns of the open recording."""
        return {one.variable: one for one in self.plan.columns}

    def take(self, step: int) -> list[Block]:
        """Return the blocks since the last call, up to a step."""
        taken = []
        while self._blocks and self._blocks[0].step <= step:
            taken.append(self._blocks.popleft())
            self._taken = taken[-1].step
        if self._blocks and self._taken < step:
            early, self._blocks[0] = divided(self._blocks[0], step, self.plan)
            taken.append(early)
            self._taken = step
        return taken

    def _open(self, plan: RecordingPlan) -> None:
        self._blocks.clear()
        self.step = self._taken = plan.first_step

    def _reopen(self, plan: RecordingPlan, step: int) -> RecordingProgress:
        self.step = self._taken = step
        return self._progress

    def _append(self, block: Block, rows: int) -> None:
        self._blocks.append(block)
        self.step = block.step
        self.arrived()

    def _close(self) -> None:
        """Keep what has not been taken."""


def divided(block: Block, step: int, plan: RecordingPlan) -> tuple[Block, Block]:
    """Return what of a block is from before a step, and the rest."""
    early, late = {}, {}
    for name, (time, index) in block.events.items():
        cut = int(np.searchsorted(time, (step - 0.5) * plan.dt))
        early[name], late[name] = (time[:cut], index[:cut]), (time[cut:], index[cut:])
    rows = max(plan.rows_before(step) - block.first_row, 0)
    first, rest = ({name: one[where] for name, one in block.rows.items()}
                   for where in (slice(rows), slice(rows, None)))  # fmt: skip
    return (
        Block(block.first_row, first, early, step),
        replace(block, first_row=block.first_row + rows, rows=rest, events=late),
    )
