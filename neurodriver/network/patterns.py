"""A pattern between two LPUs -> the crossings of its directions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError
from .routes import Crossing


def crossings(
    pattern: Any, ids: tuple[str, str], interfaces: tuple[int, int], delay: float
) -> Callable[[float], list[Crossing]]:
    """Return what a pattern connects, once dt is known.

    Parameters
    ----------
    pattern : Pattern
    ids : (str, str)
        The LPUs.
    interfaces : (int, int)
        The interfaces of the pattern that stand for them.
    delay : float
        Seconds on top of the one step that every crossing takes.

    Raises
    ------
    CircuitError
        For something else than a pattern, or interfaces that it does not have.
    """
    from ..ports import Pattern

    if not isinstance(pattern, Pattern):
        kind = type(pattern).__name__
        raise CircuitError(f"Manager.connect: the third argument must be a Pattern, got {kind}")
    known = sorted(pattern.interface.interface_ids)
    bad = [i for i in interfaces if i not in known]
    if bad or interfaces[0] == interfaces[1]:
        want = f"two different ones of {', '.join(map(str, known))}"
        got = f"{interfaces[0]} and {interfaces[1]}"
        raise CircuitError(f"Manager.connect: the interfaces must be {want}, got {got}")
    if not (math.isfinite(delay) and delay >= 0):
        raise CircuitError(f"Manager.connect: delay must be seconds, at least 0, got {delay!r}")
    links = pattern.sorted_links()
    of = np.asarray(pattern.interface.labels["interface"].values())
    on = np.asarray(links.column("conn") != 0, dtype=bool)  # unset counts as connected
    source, target = links.src[on], links.dst[on]

    def direction(a: int, b: int) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
        rows = (of[source] == interfaces[a]) & (of[target] == interfaces[b])
        names = pattern.interface.ids
        return tuple(np.asarray(names.take(end[rows]).texts(), dtype=np.str_)
                     for end in (source, target))  # type: ignore[return-value]  # fmt: skip

    ends = {(a, b): direction(a, b) for a, b in ((0, 1), (1, 0))}

    def make(dt: float) -> list[Crossing]:
        steps = np.asarray(round(delay / dt), dtype=np.int64)
        return [
            Crossing(ids[a], ids[b], out_ports, in_ports, steps)
            for (a, b), (out_ports, in_ports) in ends.items()
            if len(out_ports)
        ]

    return make
