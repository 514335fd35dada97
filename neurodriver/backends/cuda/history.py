"""``Histories``: whether the spikes that wait to be delivered when due had room.

A kernel counts how many of them there were at once (`plan.spikes.due`). Each call brings the
number to the host, as it brings the record of a fault.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import NeurodriverError
from ...plan.arrays import ReceptorOwner
from ...plan.spikes.due import MOST, SIDE_BY_SIDE, is_due
from .binding import Binding


class Histories:
    """The histories of the spikes of a program, or of its copies, on a device.

    Parameters
    ----------
    bindings : sequence of Binding
        One for each copy.
    """

    def __init__(self, bindings: Sequence[Binding]) -> None:
        self._words = [
            (binding, gather.key(ReceptorOwner(number, access), "heads"), gather.limits)
            for binding in bindings
            for (number, access), gather in binding.program.gathers.items()
            if is_due(gather)
        ]
        self._most = np.zeros(0, np.int64)
        if self._words:
            self._most = bindings[0].device.pinned(len(self._words), np.int64)

    def receive(self, beside: bool) -> None:
        """Begin to copy the numbers into page-locked memory, behind a launch."""
        for i, (binding, key, _) in enumerate(self._words):
            place = binding.address(key) + 8 * MOST
            binding.device.receive(self._most[i:].ctypes.data, place, 8, beside)

    def check(self) -> None:
        """Raise NeurodriverError where spikes did not have room in a completed call."""
        for number, (binding, key, limits) in zip(self._most.tolist(), self._words, strict=False):
            room = limits["room"] - SIDE_BY_SIDE + 1
            if number <= room:
                continue
            assert isinstance(key.owner, ReceptorOwner)
            said = f"{number:,} spikes were on their way at once, {room:,} can be kept"
            if number == limits["room"] + 1:  # what a kernel says where a list had no room
                said = f"more than {limits['entries']:,} spikes were due in one step"
            group = binding.program.circuit.groups[key.owner.number]
            raise NeurodriverError(
                f"{group.name}: {said} on a GPU, so this run is wrong from then on: run it on the "
                f"CPU, or with weights or rates for which the network does not fire so much"
            )
