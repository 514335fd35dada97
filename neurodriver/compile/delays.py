"""Delays in seconds -> rows back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Connections
from ..circuit.validate import edge_name
from ..errors import Faults

LONGEST = 1_000_000
"""Longest delay in steps."""


def steps_of(links: Connections, dt: float) -> NDArray[np.int64]:
    """Return each connection's latency in steps, at least 1, () or (m,) int64.

    The ratio ``delay / dt`` is rounded half to even, so anything below 1.5 dt is one step.
    """
    ratio = np.asarray(links.delay, dtype=np.float64) / dt
    return np.maximum(np.rint(np.minimum(ratio, 2.0**53)), 1).astype(np.int64)


def longest(circuit: Circuit, dt: float) -> dict[str, int]:
    """Return the largest latency in steps of each variable.

    Raises
    ------
    CircuitError
        For a delay of more than ``LONGEST`` steps.
    """
    faults = Faults(circuit.name)
    out: dict[str, int] = {}
    for links in circuit.connections:
        if len(links):
            steps = steps_of(links, dt)
            out[links.variable] = max(out.get(links.variable, 1), int(steps.max()))
            far = np.flatnonzero(np.broadcast_to(steps > LONGEST, (len(links),)))
            delay = np.broadcast_to(links.delay, (len(links),))
            uids = circuit.uids if len(far) else links.source
            texts = (
                f"{edge_name(uids[links.source[i]], uids[links.target[i]])}, attribute 'delay': "
                f"{delay[i]:g} s are {delay[i] / dt:,.0f} steps of {dt:g} s, {LONGEST:,} are "
                f"allowed (delays are in seconds)"
                for i in far
            )
            faults.add_each(texts, len(far))
    faults.finish()
    return out
