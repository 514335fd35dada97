"""``Lane``: the results of one call in flight, from its launch until the host has them.

Two calls may be in flight: one runs while the rows of the other are copied to the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .binding import Binding
from .device import Device, Loaded
from .event_lists import EventLists
from .history import Histories
from .transfers import ChunkRecords


class Lane:
    """The CUDA events and result buffers of one call.

    Parameters
    ----------
    code : Loaded
        Of the circuit.
    copies : int
        Of a batch.
    bindings : sequence of Binding
        Of the copies whose spikes may wait until they are due.

    Attributes
    ----------
    begin, end, here : Event
        Before the launch, after it and the kernels that list events, and when rows and the numbers
        of events are in the memory of the host.
    rows : list of callable
        Functions that collect recorded rows.
    steps : range
        What the call advances.
    followed : bool
        Whether the stream has more work behind the call.
    fault : (copies * 8,) int64
        The record of the first value that is not finite (``plan.diagnostics``).
    """

    def __init__(
        self, device: Device, code: Loaded, copies: int = 1, bindings: Sequence[Binding] = ()
    ) -> None:
        self._device = device
        self.records, self.events = ChunkRecords(device), EventLists(device, code)
        self.begin, self.end, self.here = (device.event() for _ in range(3))
        self.rows: list[Callable[[], None]] = []
        self.steps = range(0)
        self.fault = device.pinned(8 * copies, np.int64)
        self._histories = Histories(bindings)
        self._beside, self.followed = True, False

    def begin_receiving(self, beside: bool) -> None:
        """Begin to copy rows and numbers of events to the host.

        Parameters
        ----------
        beside : bool
            While the next call runs.
        """
        device = self._device
        if beside:
            device.drain.wait_for_event(self.end)
        self.records.begin_receiving(beside)
        self.events.begin_receiving(beside)
        self._histories.receive(beside)
        self.here.record(device.drain if beside else device.stream)
        self._beside = beside

    def wait(self) -> None:
        """Wait for them.

        Raises
        ------
        NeurodriverError
            Where more spikes were on their way at once than there is room for.
        """
        self.here.synchronize()
        if not (self._beside or self.followed):  # then it is the last of what the stream has
            self._device.rests()
        self._histories.check()

    def free(self) -> None:
        """Give the memory back."""
        self.records.free()
        self.events.free()

    def ended(self) -> bool:
        """Whether the call has completed and its results are on the host."""
        with self._device.current():
            return bool(self.here.query())
