"""Checkpoints at intervals of real time while a run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import NeurodriverError, StepInterrupted
from .divided import Divided

if TYPE_CHECKING:
    from .lpu import LPU

_FIRST = 64
"""Steps of the first call, before it is known how long a step takes."""


def advance_saving(
    lpu: LPU, steps: int, progress: Callable[[int], None] | None, path: Path, every: float
) -> None:
    """Advance an LPU and save it about every so many seconds, at the end, and after Ctrl-C."""
    if not every > 0:
        raise NeurodriverError(f"LPU.run: every must be positive seconds, got {every!r}")
    if isinstance(lpu.simulation, Divided):
        raise NeurodriverError("LPU.run: no checkpoint in several parts; save between two runs")
    end, saved = lpu.step + steps, time.monotonic()
    try:
        while lpu.step < end:
            each = lpu.simulation.calls.seconds_per_step
            left = every - (time.monotonic() - saved)
            wanted = int(left / each) if each else _FIRST
            lpu.advance(min(max(wanted, 1), end - lpu.step), progress)
            if lpu.step < end and time.monotonic() - saved >= 0.9 * every:
                lpu.save(path)
                saved = time.monotonic()
    except StepInterrupted:  # in the middle of a step: the last checkpoint stays
        raise
    except KeyboardInterrupt:
        lpu.save(path)
        raise
    lpu.save(path)
