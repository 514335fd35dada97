"""Timers of a profiled run on a GPU: the seconds of each unit and of the other parts of the steps.

Warps count clock cycles for each part. `DeviceTimers` converts them to seconds: the time of the
launches is divided in proportion to the cycles.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ...codegen.generate import Task
from ...codegen.simt.device import TIMER_ROWS
from .device import Device, Loaded
from .probe import copy_bandwidth

REST = ("spikes", "recording", "inputs", "barrier")
"""Parts of a step beside the units, in the order of the columns on the device."""

_COPY = 1 << 31
"""Bytes of the copy whose bandwidth is the peak; less where less is free."""

_PEAKS: dict[int, float] = {}
"""Number of a GPU -> its bandwidth."""


class DeviceTimers:
    """Converts the cycles that warps have counted into seconds.

    The clock rate of a processor changes, so cycles alone give no seconds. They give shares of the
    time of the launches, during which all warps run at the same time.

    Parameters
    ----------
    units : sequence of Unit
        All of a program; those that are ``stepwise`` are launched by instances.
    code : Loaded, optional
        Where the cycles are; None where nothing is measured.
    """

    def __init__(self, device: Device, units: Sequence[Task], code: Loaded | None) -> None:
        self._device, self._units, self._code = device, units, code
        self._launched = dict.fromkeys(range(len(units)), 0.0)

    @contextmanager
    def launched(self, number: int) -> Iterator[None]:
        """Add the time of a block, which waits for its launch, to a unit."""
        begin = time.perf_counter()
        yield
        self._launched[number] += time.perf_counter() - begin

    def times(self, seconds: float, warps: int) -> list[tuple[str, float]]:
        """Return name and seconds of each unit, then of the rest; all warps together.

        Parameters
        ----------
        seconds : float
            Duration of the launches.
        warps : int
            Number of warps that run at the same time.
        """
        names = [unit.kernel.name for unit in self._units]
        columns = len(names) + len(REST)
        cycles = np.zeros((TIMER_ROWS, columns), np.uint64)
        if self._code is not None:
            with self._device.current():
                self._device.download(self._code.address("nd_timers"), cycles)
        elapsed = cycles.sum(axis=0).astype(np.float64)
        alone = [number for number, unit in enumerate(self._units) if unit.stepwise]
        elapsed[alone] = 0
        elapsed *= seconds * warps / (elapsed.sum() or 1.0)
        if self._code is not None:  # while one of these is launched, nothing else is
            elapsed[alone] = [self._launched[number] * warps for number in alone]
        return list(zip((*names, *REST), elapsed.tolist(), strict=True))


def peak_bandwidth(device: Device) -> float:
    """Return the bandwidth of a copy within a GPU's memory, in bytes a second; measured once."""
    if device.number not in _PEAKS:
        with device.current():
            most = device.free() // 4
        _PEAKS[device.number] = copy_bandwidth(min(_COPY, most), device.number)
    return _PEAKS[device.number]
