"""The edges of an access by their sources: a step with few spikes reads those of its spikes only.

A sliced sum keeps its form, and gets a second copy of its edges. A step's spikes are listed, and
each one adds to its targets. Every target's edges are added in their order, as the sliced sum does:
where the order of the sources is that of all targets, at once; otherwise what arrives at a target
is put in order first. A step with many spikes takes the sliced sum. So all give the same bits.
"""

from __future__ import annotations

import numpy as np

from ...native.buffers import LANES, padded
from .gather import Edges, Gather

MOST = 512
"""Spikes of a step that are listed at most."""

SHARE = 3
"""One source in so many spikes at most: beyond it the sliced sum is faster."""

COST = 0.02
"""Work of a stored connection where few spike, to that of one that is read at every step."""


def add_events(gather: Gather, edges: Edges, count: int, zero: int) -> None:
    """Give a sliced gather what ``codegen.cpu.events`` reads.

    Parameters
    ----------
    gather : Gather
    edges : Edges
        As the gather was made from.
    count : int
        Components of the group.
    zero : int
        Element that is always zero.

    Notes
    -----
    A source is an element with a latency. Sources of one latency stand side by side, from
    ``event_block`` on, padded with ones that have no edges; ``event_back`` tells the latency as
    rows back, ``event_element`` the element, ``event_first`` where the edges of a source begin,
    ``event_target`` their targets, ascending, ``event_rank`` each one's place among the edges of
    its target, where that is not the order of the sources; ``event_chain`` is room for the kernel.
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
        "event_chain": np.full(padded(count), -1, dtype=np.int32),
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
