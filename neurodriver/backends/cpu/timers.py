"""Timers of a profiled run: the seconds of each thread in each part of the steps."""

from __future__ import annotations

import ctypes as ct
import time
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...codegen.generate import Task
from ...native.buffers import LINE, aligned

_i64, _ptr = ct.c_longlong, ct.c_void_p


class _Times(ct.Structure):
    """What the step loop fills (``nd_times`` of runtime.cpp)."""

    _fields_ = [("stride", _i64), ("elapsed", _ptr), ("stamps", _ptr), ("ticks", _i64),
                ("nanoseconds", _i64)]  # fmt: skip


class Launch:
    """Advances all components of a kernel by one step, for an instance, and times it."""

    def __init__(self, runtime: ct.CDLL, kernel: ct.Structure, count: int) -> None:
        self._runtime, self._kernel, self._count = runtime, kernel, count
        self.seconds = 0.0

    def __call__(self, step: int) -> None:
        begin = time.perf_counter()
        span = _i64(step), _i64(0), _i64(self._count)
        self._runtime.nd_launch(ct.byref(self._kernel), *span)
        self.seconds += time.perf_counter() - begin


class StepTimers:
    """Holds the memory of the timers and converts ticks to seconds.

    Parameters
    ----------
    units : sequence of Unit
        All of a program; those that are ``stepwise`` are no part of the step loop.
    launched : mapping of group number to Launch
        What launches those.

    Attributes
    ----------
    filled : Structure
        To be given to the step loop.
    """

    def __init__(self, threads: int, units: Sequence[Task], launched: Mapping[int, Launch]) -> None:
        self._threads, self._units, self._launched = threads, units, launched
        kernels = [unit.kernel.name for unit in units if not unit.stepwise]
        self._parts = ["recording", *kernels, "inputs", "barrier"]
        line = LINE // 8
        stride = -(-(len(self._parts) + 1) // line) * line
        self._elapsed = aligned(threads * stride, np.int64)
        self._stamps = aligned(threads * stride, np.int64)
        addresses = self._elapsed.ctypes.data, self._stamps.ctypes.data
        self.filled = _Times(stride, *addresses, 0, 0)

    def _seconds(self, ticks: NDArray[np.int64], columns: int) -> NDArray[np.float64]:
        """Return seconds, (threads, columns)."""
        second = 1e-9 * int(self.filled.nanoseconds) / max(int(self.filled.ticks), 1)
        return ticks.reshape(self._threads, -1)[:, :columns].astype(np.float64) * second

    def times(self) -> list[tuple[str, float]]:
        """Return name and seconds of each unit, then of the rest; all threads together."""
        seconds = self._seconds(self._elapsed, len(self._parts)).sum(axis=0).tolist()
        recording, *kernels, inputs, barrier = seconds
        own = iter(kernels)
        units = [
            self._launched[u.groups[0]].seconds * self._threads if u.stepwise else next(own)
            for u in self._units  # while one is launched the other threads wait
        ]
        rest = [("recording", recording), ("inputs", inputs), ("barrier", barrier)]
        return [(u.kernel.name, s) for u, s in zip(self._units, units, strict=True)] + rest

    def step(self) -> list[tuple[int, str, float, float]]:
        """Return thread, name, begin and end of the parts of the step that was traced.

        In seconds since the last call began.
        """
        out = []
        stamps = self._seconds(self._stamps, len(self._parts) + 1).tolist()
        for thread, row in enumerate(stamps):
            if row[-1]:  # a call may end before that step
                parts = zip(self._parts, row, row[1:], strict=False)
                out += [(thread, name, begin, end) for name, begin, end in parts]
        return out
