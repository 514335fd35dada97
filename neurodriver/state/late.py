"""``LateArrivals``: spikes on their way that are due after the last slot of their access.

Slots of a CPU reach as far ahead as delays differ: what is sent with the least delay lies in rows
of spikes. A spike that was sent with another weight than its connection has now cannot lie there.
It waits here until its slot is free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..model.component import Access
from .pending import PendingSpikes
from .sent import Underway


@dataclass(frozen=True, eq=False)
class LateArrivals:
    """What is due in some steps at the components of a group.

    Attributes
    ----------
    number : int
        Of the group.
    first : int
        Step at which the first row is read.
    sums : (steps, n) int64
        Multiples of the units.
    """

    number: int
    access: Access
    first: int
    sums: NDArray[np.int64]

    def enter(self, backend: Backend, step: int) -> LateArrivals | None:
        """Add what has a slot now, when ``step`` steps are done; return what has none yet."""
        pending = PendingSpikes(backend, self.number, self.access, Underway(step))
        count = min(step + pending.depth - self.first, len(self.sums))
        if count > 0:
            pending.add_to_slots(self.sums[:count], self.first)
        if count >= len(self.sums):
            return None
        rest = max(count, 0)
        return LateArrivals(self.number, self.access, self.first + rest, self.sums[rest:])
