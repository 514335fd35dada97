"""What the parts of the steps of a profiled run take on a device."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ...codegen.generate import Task
from ...codegen.simt.device import LAP_ROWS
from .device import Device, Loaded
from .probe import copy_bandwidth

REST = ("spikes", "recording", "inputs", "barrier")
"""Parts of a step beside the units, in the order of the columns on the device."""

_COPY = 1 << 31
"""Bytes of the copy whose bandwidth is the peak; less where less is free."""

_PEAKS: dict[int, float] = {}
"""Number of a GPU -> its bandwidth."""


class Laps:
    """Cycles that warps have counted for each part of the steps, as seconds.

    Cycles are no seconds, as the clock of a processor changes. So they are shares of the time that
    the launches took, which a launch's warps spend side by side.

    Parameters
    ----------
    device : Device
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
            What the launches took.
        warps : int
            So many count as side by side.
        """
        names = [unit.kernel.name for unit in self._units]
        columns = len(names) + len(REST)
        cycles = np.zeros((LAP_ROWS, columns), np.uint64)
        if self._code is not None:
            with self._device.current():
                self._device.download(self._code.address("nd_laps"), cycles)
        spent = cycles.sum(axis=0).astype(np.float64)
        alone = [number for number, unit in enumerate(self._units) if unit.stepwise]
        spent[alone] = 0
        spent *= seconds * warps / (spent.sum() or 1.0)
        if self._code is not None:  # while one of these is launched, nothing else is
            spent[alone] = [self._launched[number] * warps for number in alone]
        return list(zip((*names, *REST), spent.tolist(), strict=True))


def peak_bandwidth(device: Device) -> float:
    """Return the bandwidth of a copy within a GPU's memory, in bytes a second; measured once."""
    if device.number not in _PEAKS:
        with device.current():
            most = device.free() // 4
        _PEAKS[device.number] = copy_bandwidth(min(_COPY, most), device.number)
    return _PEAKS[device.number]
