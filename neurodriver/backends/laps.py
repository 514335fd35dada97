"""The times that the threads of a profiled run note: which part of the steps took how long."""

from __future__ import annotations

import ctypes as ct

import numpy as np

from ..compile.buffers import LINE, aligned

_i64, _ptr = ct.c_longlong, ct.c_void_p


class Times(ct.Structure):
    """What the step loop fills (``nd_times`` of runtime.cpp)."""

    _fields_ = [("stride", _i64), ("spent", _ptr), ("stamps", _ptr), ("ticks", _i64),
                ("nanoseconds", _i64)]  # fmt: skip


class Laps:
    """Memory for the times, and what they are in seconds.

    Parameters
    ----------
    threads, kernels : int
    """

    def __init__(self, threads: int, kernels: int) -> None:
        self._parts = kernels + 3  # recording, kernels, inputs, barrier
        line = LINE // 8
        stride = -(-(self._parts + 1) // line) * line
        self._spent = aligned(threads * stride, np.int64)
        self._stamps = aligned(threads * stride, np.int64)
        addresses = self._spent.ctypes.data, self._stamps.ctypes.data
        self.times = Times(stride, *addresses, 0, 0)

    @property
    def _second(self) -> float:
        """Seconds of a tick."""
        return 1e-9 * int(self.times.nanoseconds) / max(int(self.times.ticks), 1)

    def spent(self) -> tuple[list[float], list[tuple[str, float]]]:
        """Return the seconds of each kernel, and of the other parts by name; all threads."""
        rows = self._spent.reshape(-1, self.times.stride)[:, : self._parts]
        recording, *kernels, inputs, barrier = (rows.sum(axis=0) * self._second).tolist()
        rest = [("recording", recording), ("inputs", inputs), ("barrier", barrier)]
        return kernels, rest

    def step(self, names: list[str]) -> list[tuple[int, str, float, float]]:
        """Return thread, name, begin and end of the parts of the step that was noted.

        In seconds since the last call began; ``names`` are those of the kernels.
        """
        out = []
        stamps = self._stamps.reshape(-1, self.times.stride)[:, : self._parts + 1]
        for thread, row in enumerate((stamps * self._second).tolist()):
            if row[-1]:  # a call may end before that step
                parts = zip(["recording", *names, "inputs", "barrier"], row, row[1:], strict=False)
                out += [(thread, name, begin, end) for name, begin, end in parts]
        return out
