"""One of the two calls that may be under way: its events, and what brings its rows home."""

from __future__ import annotations

from collections.abc import Callable

from .bits import Found
from .device import Device
from .transfers import Records


class Lane:
    """Holds what a call leaves on the device until the host has it.

    Parameters
    ----------
    device : Device

    Attributes
    ----------
    begin, end, here : Event
        Before the launch, after it, and when rows and events are in the memory of the host.
    rows, events : list of callable
        Bring the rows to where they are wanted; find the events.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.records = Records(device)
        self.begin, self.end, self.here = (device.cuda.Event() for _ in range(3))
        self.rows: list[Callable[[], None]] = []
        self.events: list[Callable[[], Found]] = []

    def ended(self) -> bool:
        """Whether all of the call is done."""
        with self._device.current():
            return bool(self.here.query())
