"""When values go from rank to rank: windows of steps, and the shortest latency that allows them.

Row k of the imports of ports holds what the sources had in row k - 1: they come ``late`` by one
step. Those of a part of a circuit hold row k. All connections from imports take at least ``least``
steps, so row k is read at step ``k + least - 1`` first, and the rows of many steps can come in one
message. With a window of W steps, the rows (w - 1) W + 1 to w W that window w - 1 has computed are
needed

* in window w itself (``lag`` 0) when W = least + late, or
* only in window w + 1 (``lag`` 1) when 2 W = least + late: the message travels while window w is
  computed.

Where the job has Modules, W = 1: they give in step k what others read in step k + 1, one step later
than LPUs know it, so what they give goes into row k + 1 of the imports, not k + 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Connections
from ..circuit.drawn import Drawn
from ..circuit.drawn_share import is_divided, least_steps
from ..plan.delays import steps_of
from ..plan.passes.join import Joined

LONGEST = 1024
"""Most steps of a window."""


@dataclass(frozen=True)
class Timing:
    """When values go."""

    window: int  # steps between exchanges
    lag: int  # 0 or 1: windows between an exchange and the first use of what it brings
    late: int = 1  # rows by which imports follow their sources

    @classmethod
    def of(cls, least: int, gates: bool = False, late: int = 1) -> Timing:
        """Return the timing for the shortest latency from imports over all ranks, in steps.

        Where all calls may wait in their middle (``gates``), windows are longer, and no message
        travels beside the steps: for 16 KB a step, a window's cost is what counts.
        """
        least += late
        lag = 1 if least >= 4 and not gates else 0
        return cls(min(least // (1 + lag), LONGEST), lag, late)

    @property
    def slots(self) -> int:
        """Sets of buffers: one is in flight while another is in use."""
        return 1 + self.lag

    @property
    def back(self) -> int:
        """At step k, row k - back of the imports is needed and not yet there."""
        return self.ahead - 1 - self.late

    @property
    def ahead(self) -> int:
        """Rows of sources that imports do not have at step k: up to row k."""
        return self.slots * self.window

    def depth(self, rows: int) -> int:
        """Return how many rows a ring keeps whose rows are sent or received in place."""
        windows = max(-(-rows // self.window), self.slots)  # few rows stay in the cache
        return self.window * int(2 ** math.ceil(math.log2(windows)))


def connections_from(joined: Joined) -> Iterator[tuple[Connections, NDArray[np.bool_]]]:
    """Yield the connections that read imports, with a mask of those rows."""
    if joined.imports < 0:
        return
    start, end = joined.circuit.starts[joined.imports : joined.imports + 2]
    for links in joined.circuit.connections:
        mine = (links.source >= start) & (links.source < end)
        if mine.any():
            yield links, mine


def variables_from(joined: Joined, first: int = 0, count: int | None = None) -> set[str]:
    """Return the variables that connections read of some imports, by default of all."""
    if joined.imports < 0:
        return set()
    start, end = map(int, joined.circuit.starts[joined.imports : joined.imports + 2])
    start += first
    end = end if count is None else start + count
    return {links.variable for links in joined.circuit.connections if links.begin_in(start, end)}


def longest_latency(joined: Joined, dt: float) -> int:
    """Return the longest latency of a connection from the imports in steps, 0 without any."""
    return max(
        (
            int(np.broadcast_to(steps_of(links, dt), (len(links),))[mine].max())
            for links, mine in connections_from(joined)
        ),
        default=0,
    )


def least_latency(joined: Joined, dt: float) -> int:
    """Return the shortest latency of a connection from the imports in steps, 0 without any."""
    return min(
        (
            int(np.broadcast_to(steps_of(links, dt), (len(links),))[mine].min())
            for links, mine in connections_from(joined)
        ),
        default=0,
    )


def least_crossing(circuit: Circuit, of: NDArray[np.int64], dt: float) -> int:
    """Return the least latency of a connection from one part to another, in steps."""
    least, divided = LONGEST, []
    for links in circuit.connections:
        if isinstance(links, Drawn) and is_divided(circuit, links):
            divided.append(links)
            continue
        across = of[links.source] != of[links.target]
        if across.any():
            steps = np.broadcast_to(steps_of(links, dt, circuit.phase_of), (len(links),))
            least = min(least, int(steps[across].min()))
    return max(least_steps(divided, of, dt, least), 1)
