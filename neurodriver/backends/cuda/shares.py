"""Which warps work for which set of connections that learn."""

from __future__ import annotations

from collections.abc import Sequence

SMALL = 8
"""A small set of connections that learn needs at most this fraction of all warps: 1 / SMALL."""


def shares_of(wanted: Sequence[int], warps: int) -> list[tuple[int, int]]:
    """Return which warps work for each set of connections: the first one, and how many.

    Small sets have the first warps, which have no components in most circuits. If possible, a warp
    works for one small set only. At least half of the warps are left to large sets.

    Parameters
    ----------
    wanted : sequence of int
        Warps that find something to do in each set.
    """
    small = [n for n in wanted if n * SMALL <= warps]
    own = min(sum(small), warps if len(small) == len(wanted) else warps // 2)
    left = warps - own
    out, at = [], 0
    for n in wanted:
        if n * SMALL > warps:
            out.append((own, left))
            continue
        n = min(n, own)
        at = 0 if at + n > own else at
        out.append((at, n))
        at += n
    return out
