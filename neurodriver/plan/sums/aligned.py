"""Components that read the elements beside them, in one segment of a row or in several.

Example: two currents are injected into each neuron. Neuron i reads elements i and 1,000 + i. Where
an input has one value for all its slots, a CPU reads the first of them for all neurons.
"""

from __future__ import annotations

import numpy as np

from ...native.buffers import LANES
from ..layout import Layout
from .gather import Edges, Gather

MOST_ENDS = 4
"""Elements beside a component up to which their sum is written out."""


def aligned_plan(edges: Edges, count: int, slices: int) -> Gather | None:
    """Return the plan of ``count`` components that each read several elements, or None.

    Connections have one delay and no data.
    """
    ends = len(edges.target) // count
    if edges.data or edges.back.ndim or not 1 < ends <= MOST_ENDS:
        return None
    if not np.array_equal(edges.target, np.repeat(np.arange(count), ends)):
        return None
    element = edges.element.reshape(count, ends)
    if not (element == element[0] + np.arange(count)[:, None]).all():
        return None
    made = Gather("aligned", ends * count, {"first": element[0].copy()}, int(edges.back))
    made.limits |= {f"beside {e}": int(element[0, e] - element[0, 0]) for e in range(1, ends)}
    made.cost = np.full(slices, 0.25 * ends * LANES)
    return made


def add_inputs(gather: Gather, layout: Layout, variable: str, count: int) -> None:
    """Say of which input each element of an aligned plan is, where the rows hold inputs alone."""
    if gather.form != "aligned" or variable not in layout.kept:
        return
    start = layout.rings[variable].segments["inputs"].start
    places = [(first, n) for name, first, n in layout.slots.places if name == variable]
    gather.limits["inputs"] = len(places)
    for end, element in enumerate((gather.arrays["first"] - start).tolist()):
        for number, (first, n) in enumerate(places):
            if first <= element and element + count <= first + n:
                gather.limits[f"input {end}"] = number
