"""Connections of an access in the order of their sources, which form blocks.

The sources of one group form one block: a range of elements. So do the slots of inputs, and what
comes from other ranks: the step loop marks their events as dirty. The lag of a block is its least
latency, less one: step k delivers the spikes of row k - lag, to slots that lie
``latency - 1 - lag`` steps ahead. On a GPU all lags are zero: spikes are delivered as soon as they
are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...native.buffers import padded
from ..layout import Layout
from ..sorting import stable_order
from ..sums.gather import Edges


@dataclass(frozen=True)
class SourceRows:
    """Connections in the order of their sources; their targets ascend among those of a source.

    Attributes
    ----------
    blocks : (blocks, 4) int64
        Lag, first element, end, first source.
    first : (sources + 1,) int64
        Where the connections of each source begin.
    source, code, multiple : (m,) array
        Source, slot as steps ahead times ``width`` plus target, and weight of each connection.
    near : (sources,) int64
        How many connections of each source act in the next step: on a GPU, where they come first.
    ahead : int
        Steps that a slot lies ahead at most.
    back : (m,) int64
        Delay of each connection in steps, less one, where they are sorted by it; else empty.
    """

    blocks: NDArray[np.int64]
    first: NDArray[np.int64]
    source: NDArray[np.int64]
    code: NDArray[np.int32]
    multiple: NDArray[np.float64]
    near: NDArray[np.int64]
    ahead: int
    back: NDArray[np.int64]


def source_rows(
    layout: Layout, edges: Edges, variable: str, width: int, by_delay: bool = False
) -> SourceRows:
    """Return connections by their sources.

    Parameters
    ----------
    edges : Edges
        Their weights are multiples.
    width : int
        Slots of a step.
    by_delay : bool
        Whether those of a source are sorted by their delay, and codes are targets.
    """
    back = np.broadcast_to(edges.back, edges.element.shape)
    threads = layout.target.threads
    blocks, source, lag = blocks_of(layout, edges.element, back, variable)
    later = back if threads else back - lag[source]
    # targets ascend already; on a GPU, first those whose spikes are due at once
    key = 2 * source + (back > 0) if threads else source
    order = np.lexsort((back, source)) if by_delay else stable_order(key)
    source, place = source[order], edges.target[order].astype(np.int32)
    first = np.zeros(len(lag) + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=len(lag)), out=first[1:])
    code = place if by_delay else (later[order] * width + place).astype(np.int32)
    weight = edges.data["weight"] if len(order) else np.zeros(0)
    multiple = np.broadcast_to(weight, edges.target.shape)[order]
    due = source[back[order] == 0] if threads else source[:0]
    near = np.bincount(due, minlength=len(lag))
    ahead = int(later.max(initial=0))
    sorted_back = back[order] if by_delay else back[:0]
    return SourceRows(blocks, first, source, code, multiple, near, ahead, sorted_back)


def blocks_of(
    layout: Layout, element: NDArray[np.int64], back: NDArray[np.int64], variable: str
) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Return blocks, each connection's source, and each source's lag.

    A block is (lag, first element, end, first source).
    """
    ring = layout.rings[variable]
    blocks, lags = [], []
    source = np.full(len(element), -1, dtype=np.int64)
    sources = 0
    for segment in ring.segments.values():
        inside = (element >= segment.start) & (element < segment.start + segment.count)
        mine = np.flatnonzero(inside)
        if not len(mine):
            continue
        lag = int(back[mine].min())
        size = padded(segment.count)
        blocks.append((lag, segment.start, segment.start + size, sources))
        source[mine] = sources + element[mine] - segment.start
        lags.append(np.full(size, lag))
        sources += size
    lag_of = np.concatenate(lags) if lags else np.zeros(0, np.int64)
    return np.array(blocks, np.int64).reshape(-1, 4), source, lag_of
