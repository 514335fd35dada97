"""Inputs whose events kernels take from lists, so that no row of a ring has to hold them.

Example: a `PoissonInput` into weighted ``spike_state``. The kernel of its targets reads the list of
the events of a step, and adds their weights to the slots of the targets. Nobody else reads the row,
so nobody writes it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..layout import Layout
from ..sums.gather import Gather


def listed_inputs(layout: Layout, gathers: Mapping[tuple[int, str], Gather]) -> tuple[bool, ...]:
    """Return for each place of `Slots.places` whether kernels take its events from a list.

    All connections of its slots must deliver by source, without lag; others read rows.
    """
    slots = layout.slots
    taken: set[str] = set()
    left = {v: np.zeros(n, np.int64) for v, n in slots.count.items()}  # connections that read rows
    for links in slots.connections:
        left[links.variable] += np.bincount(links.source, minlength=len(left[links.variable]))
    for (number, name), gather in gathers.items():
        accesses = layout.circuit.groups[number].model.accesses
        variable = next((a.variable for a in accesses if a.name == name), "")
        if gather.parts is None or variable not in left:
            continue
        taken.add(variable)
        start = layout.rings[variable].segments["inputs"].start
        for element, degree in gather.parts.taken_at_once():
            if 0 <= (first := element - start) < len(left[variable]):
                mine = left[variable][first : first + len(degree)]
                mine -= degree[: len(mine)]
    return tuple(
        n > 0 and v in taken and not left[v][first : first + n].any()
        for v, first, n in slots.places
    )
