"""Connections by source, beside a sliced sum: steps with few spikes read few connections.

A sliced sum keeps its form and gets a second copy of its connections, sorted by source. Each spike
of a step is added to its targets. The connections of a target are added in the order of the sliced
sum. If the order of the sources is the order of all targets, that follows; otherwise the arriving
connections of a target are sorted first. A step with many spikes takes the sliced sum. So all give
the same bits.
"""

from __future__ import annotations

import numpy as np

from ...native.buffers import LANES, padded
from .gather import Edges, Gather

MOST = 512
"""Largest number of spikes of a step that is delivered this way."""

SHARE = 3
"""The sliced sum is faster where more than one source in ``SHARE`` spikes."""

COST = 0.02
"""Estimated work of a stored connection; one that is read in every step counts as 1."""


def add_events(gather: Gather, edges: Edges, count: int, zero: int) -> None:
    """Give a sliced gather what ``codegen.cpu.events`` reads.

    Parameters
    ----------
    edges : Edges
        As the gather was made from.
    count : int
        Components of the group.
    zero : int
        Element that is always zero.

    Notes
    -----
    A source is an element with a latency. Sources of one latency stand side by side, from
    ``event_block`` on, padded with ones that have no edges; ``event_back`` holds the latency as
    rows back, ``event_element`` the element, ``event_first`` where the edges of a source begin,
    ``event_target`` their targets, ascending, ``event_rank`` each one's place among the edges of
    its target, where that is not the order of the sources; ``event_head`` is room for the kernel.
    """
    back = np.broadcast_to(edges.back, edges.element.shape)
    width = int(edges.element.max()) + 1
    known, source = np.unique(back * width + edges.element, return_inverse=True)
    latencies, number = np.unique(known // width, return_counts=True)
    block = np.concatenate([[0], np.cumsum(-(-number // LANES) * LANES)])
    place = np.arange(len(known)) + np.repeat(block[:-1] - np.cumsum(number) + number, number)
    element = np.full(block[-1], zero, dtype=np.int32)
    element[place] = known % width
    first = np.zeros(block[-1] + 1, dtype=np.int64)
    first[place + 1] = np.bincount(source)
    order = np.argsort(source, kind="stable")
    gather.arrays |= {
        "event_back": latencies.astype(np.int32),
        "event_block": block.astype(np.int32),
        "event_head": np.full(padded(count), -1, dtype=np.int32),
        "event_element": element,
        "event_first": np.cumsum(first),
        "event_target": edges.target[order].astype(np.int32),
    }
    same = edges.target[1:] == edges.target[:-1]
    if (same & (source[1:] < source[:-1])).any():
        begin = np.searchsorted(edges.target, edges.target)
        rank = np.arange(len(edges.target)) - begin
        gather.arrays["event_rank"] = rank[order].astype(np.int32)
    for name in set(edges.data) & set(gather.arrays):
        gather.arrays[f"event_{name}"] = edges.data[name][order]
    most = max(1, min(MOST, len(known) // SHARE))
    gather.limits = {"event_most": most, "event_latencies": len(latencies)}
    gather.cost = LANES + COST * gather.cost
