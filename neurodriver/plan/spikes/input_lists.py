"""Spikes of inputs that kernels add to slots, so that no row of a ring has to hold them.

Example: a `PoissonInput` into weighted ``spike_state``. On a CPU the kernel of its targets reads
the list of the events of a step, and adds their weights to the slots of the targets. On a GPU warps
do so for the next step (`input_plan`). Nobody else reads the row, so nobody writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...native.buffers import LANES, as_aligned, padded
from ..layout import Layout
from ..sums.gather import Edges, Gather
from .fanout import add_near, store_multiples
from .source_rows import source_rows


def listed_inputs(layout: Layout, gathers: Mapping[tuple[int, str], Gather]) -> tuple[bool, ...]:
    """Return for each place of `Slots.places` whether kernels add its events to slots.

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
        if variable not in left or (gather.parts is None and gather.inputs is None):
            continue
        taken.add(variable)
        start = layout.rings[variable].segments["inputs"].start
        for element, degree in _taken_at_once(gather):
            if 0 <= (first := element - start) < len(left[variable]):
                mine = left[variable][first : first + len(degree)]
                mine -= degree[: len(mine)]
    return tuple(
        n > 0 and v in taken and not left[v][first : first + n].any()
        for v, first, n in slots.places
    )


def _taken_at_once(gather: Gather) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield elements, and how many connections from each one on act in the step of their spikes."""
    if gather.parts is not None:
        yield from gather.parts.taken_at_once()
    if gather.inputs is not None:
        ((_, first, *_),) = gather.inputs.arrays["block"].tolist()
        yield first, np.diff(gather.inputs.arrays["begin"])


def from_inputs(layout: Layout, variable: str, edges: Edges) -> NDArray[np.bool_]:
    """Return which connections lead from inputs and act in the step in which their spikes enter."""
    segment = layout.rings[variable].segments.get("inputs")
    if segment is None:
        return np.zeros(len(edges.target), bool)
    after = edges.element >= segment.start
    inside = after & (edges.element < segment.start + segment.count)
    return inside & np.equal(edges.back, 0)


def input_plan(layout: Layout, variable: str, edges: Edges, count: int) -> Gather:
    """Return the plan of connections that `from_inputs` finds, by the slots of the inputs.

    Parameters
    ----------
    edges : Edges
        Their weights are multiples.
    count : int
        Targets.
    """
    width, segment = padded(count), layout.rings[variable].segments["inputs"]
    rows = source_rows(layout, replace(edges, back=np.zeros((), np.int64)), variable, width)
    gather = Gather("injected", len(rows.code), {"block": rows.blocks}, back=None)
    gather.arrays |= {"code": as_aligned(rows.code), "begin": rows.first}
    add_near(gather, rows.near)
    store_multiples(gather, rows, True, width)
    gather.limits["one each"] = int((np.diff(rows.first)[: segment.count] == 1).all())
    gather.cost = np.zeros(-(-count // LANES))
    return gather
