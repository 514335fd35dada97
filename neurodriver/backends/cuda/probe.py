"""What a GPU can do at best: copying within its memory."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from .device import Device

_COPIES, REPEATS = 10, 5


def copy_bandwidth(nbytes: int = 1 << 31, number: int = 0) -> float:
    """Return the bandwidth of a copy within a GPU's memory, in bytes a second.

    Parameters
    ----------
    nbytes : int
        Size of the copy; the bytes read and the bytes written count.
    number : int
        Of the GPU.
    """
    device = Device(number)
    with device.current():
        source, target = device.allocate(nbytes), device.allocate(nbytes)

        def copy() -> None:
            for _ in range(_COPIES):
                device.duplicate(int(target), int(source), nbytes)

        try:
            copy()  # warm
            spent = statistics.median(device_seconds(device, copy) for _ in range(REPEATS))
        finally:
            device.stream.synchronize()
            source.free()
            target.free()
    return 2.0 * nbytes * _COPIES / spent


def device_seconds(device: Device, work: Callable[[], None]) -> float:
    """Return the device's seconds from the start to the end of some work."""
    begin, end = device.event(), device.event()
    begin.record(device.stream)
    work()
    end.record(device.stream)
    end.synchronize()
    milliseconds: float = begin.time_till(end)
    return milliseconds * 1e-3
