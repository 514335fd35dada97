"""``Lane``: the results of one call in flight, from its launch until the host has them.

Two calls may be in flight: one runs while the rows of the other are copied to the host.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .bits import EventList
from .device import Device
from .transfers import ChunkRecords


class Lane:
    """The CUDA events and result buffers of one call.

    Parameters
    ----------
    device : Device

    Attributes
    ----------
    begin, end, here : Event
        Before the launch, after it, and when rows and events are in the memory of the host.
    rows, events : list of callable
        Functions that collect recorded rows, and events.
    fault : (8,) int64
        The record of the first value that is not finite (``plan.diagnostics``).
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.records = ChunkRecords(device)
        self.begin, self.end, self.here = (device.cuda.Event() for _ in range(3))
        self.rows: list[Callable[[], None]] = []
        self.events: list[Callable[[], EventList]] = []
        self.fault = device.pinned(8, np.int64)

    def ended(self) -> bool:
        """Whether the call has completed and its results are on the host."""
        with self._device.current():
            return bool(self.here.query())
