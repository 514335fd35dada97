"""What spikes on their way still bring where a GPU delivers them when due (`plan.spikes.due`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..plan.arrays import Owner
from ..plan.spikes.due import BEGINS, CONNECTION_BITS, LISTED, arrivals, unpacked
from ..plan.spikes.stencil_rows import StencilRows
from ..plan.sums.gather import Gather

Integers = NDArray[np.int64]
Arriving = tuple[Integers, Integers, Integers]
"""Steps ahead, targets, and weights times numbers of spikes."""


def left_in_history(backend: Backend, owner: Owner, gather: Gather, step: int) -> Arriving:
    """Return what the history has left when ``step`` steps are done."""
    due, (source, number, more, home) = _waiting(backend, owner, gather, step)
    which, edge, back = arrivals(gather, source, number)
    first = gather.arrays["low"][source] + number
    ahead = due[which] + back - first[which] - step
    listed = _listed(backend, owner, gather, step + 1)
    waiting = ahead, edge, more[which], home[which]
    both = zip(waiting, listed, strict=True)
    ahead, edge, more, home = (np.concatenate(two, dtype=np.int64) for two in both)
    weight: Integers | None
    if isinstance(gather, StencilRows):
        target, weight = gather.taken(edge, home)
        weight = None if "weight" in gather.uniform else weight
    else:
        target, weight = unpacked(gather, edge)
    times: Integers = more * (1 if weight is None else weight)
    return ahead, target, times


def _waiting(
    backend: Backend, owner: Owner, gather: Gather, step: int
) -> tuple[Integers, Integers]:
    """Return the spikes that have bins left.

    Where the last launch had to end before new spikes were delivered, as another process failed,
    they are in the ring of new spikes alone.

    Returns
    -------
    due : (n,) int64
        Row in which each is due next.
    spike : (4, n) int64
        Source, number of the next bin, weight times number of spikes, and home.
    """
    names = "heads", "due", "sent", "listed"
    heads, due, sent, listed = (backend.array(gather.key(owner, name)) for name in names)
    head, begin = int(heads[0]), int(heads[BEGINS + (2 * step + 1) % 8])
    kept = sent.reshape(-1, 4)[: min(head, len(due))].astype(np.int64)
    left = kept[:, 1] >= 0
    left[np.arange(begin, head) % len(due)] = False
    entries = gather.limits["entries"]
    ring = listed.reshape(-1, 4)[2 * entries :][np.arange(begin, head) % entries].astype(np.int64)
    number = np.zeros(len(ring), np.int64)
    fresh = np.column_stack([ring[:, 0], number, ring[:, 2:]])
    which = np.flatnonzero(left)
    return np.concatenate([due[which], ring[:, 1]]), np.concatenate([kept[which], fresh]).T


def _listed(
    backend: Backend, owner: Owner, gather: Gather, row: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """Return what is listed for a row, which neurons read one step after the next.

    Returns
    -------
    ahead, edge, more, home : (m,) int64
        Of each connection: steps ahead, its number, weight times number of spikes, and home.
    """
    room = gather.limits["entries"]
    number = int(backend.array(gather.key(owner, "heads"))[LISTED + row % 4]) >> CONNECTION_BITS
    entries = slice(row % 2 * room, row % 2 * room + min(number, room))
    words = backend.array(gather.key(owner, "listed")).reshape(-1, 4)[entries].astype(np.int64)
    begin, size = words[:, 0] % 2**32 + (words[:, 1] << 32), words[:, 2]
    home = np.zeros(len(words), np.int64)
    if "homes" in gather.blanks:
        home = backend.array(gather.key(owner, "homes"))[entries].astype(np.int64)
    edge = np.repeat(begin - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))
    return np.ones_like(edge), edge, np.repeat(words[:, 3], size), np.repeat(home, size)


def forget_history(backend: Backend, owner: Owner, gather: Gather) -> None:
    """Let the history of a plan be empty."""
    heads = gather.key(owner, "heads")
    backend.live.write(heads, np.zeros_like(backend.array(heads)))


def brought(gather: Gather, source: Integers, counts: Integers) -> Arriving:
    """Return what all connections of sources bring that have sent some spikes."""
    which, edge, back = arrivals(gather, source, np.zeros_like(source))
    target, weight = unpacked(gather, edge)
    if weight is None:
        shared = gather.arrays.get("of_source")
        weight = np.full(len(edge), int(gather.uniform.get("weight", 0)), np.int64)
        weight = weight if shared is None else shared[source[which]].astype(np.int64)
    return back, target, weight * counts[which]
