"""Energy that a GPU has taken, by its own counter."""

from __future__ import annotations

import ctypes as ct
import math


class EnergyCounter:
    """The counter of one GPU, in joules since the driver was loaded.

    NVIDIA's management library counts in millijoules (``nvmlDeviceGetTotalEnergyConsumption``). The
    counter is renewed some ten times a second, so a difference should span a second or more.
    ``read`` returns NaN where there is no such library or counter.
    """

    def __init__(self, device: int = 0) -> None:
        self._handle = ct.c_void_p()
        try:
            self._library: ct.CDLL | None = ct.CDLL("libnvidia-ml.so.1")
        except OSError:
            self._library = None
            return
        index = ct.c_uint(device)
        failed = self._library.nvmlInit_v2()
        get_handle = self._library.nvmlDeviceGetHandleByIndex_v2
        if failed or get_handle(index, ct.byref(self._handle)):
            self._library = None

    def read(self) -> float:
        """Return the energy so far, J."""
        if self._library is None:
            return math.nan
        millijoules = ct.c_ulonglong()
        failed = self._library.nvmlDeviceGetTotalEnergyConsumption(
            self._handle, ct.byref(millijoules)
        )
        return math.nan if failed else millijoules.value * 1e-3
