"""What a backend has measured of the steps, joined with what each kernel moves."""

from __future__ import annotations

from typing import Any

from ..plan.program import Program
from ..profiling.measured import Measured, Row
from .traffic import bytes_of


def measured(backend: Any, program: Program, steps: int) -> Measured:
    """Return times, bytes and the peak of a backend that has done ``steps`` steps."""
    times = backend.profile_times()
    units = backend.generated.tasks
    rows = [
        Row(name, seconds, unit.count, bytes_of(program, unit))
        for (name, seconds), unit in zip(times, units, strict=False)
    ]
    rows += [Row(name, seconds) for name, seconds in times[len(units) :]]
    words = backend.worker, backend.peak_by
    return Measured(backend.threads, steps, rows, backend.peak_bandwidth(), *words)
