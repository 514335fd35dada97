"""A pattern between two LPUs -> the crossings of its directions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import CircuitError
from ..ports import Pattern
from .routes import Crossing

LONGEST = 2**31
"""Steps of a delay are fewer."""


@dataclass(frozen=True, eq=False)
class PatternLinks:
    """What a pattern connects, in both directions."""

    ends: list[Crossing]  # without latency
    delay: float  # seconds on top of the one step that every crossing takes

    def crossings(self, dt: float) -> list[Crossing]:
        """Return them for a step of ``dt`` seconds."""
        if self.delay / dt >= LONGEST:
            ends = " and ".join(dict.fromkeys(one.source for one in self.ends))
            most = f"must be less than {LONGEST:,} steps of {dt:g} s"
            raise CircuitError(f"Manager.connect: {ends}: delay {most}, got {self.delay:g} s")
        steps = np.asarray(round(self.delay / dt), dtype=np.int64)
        return [replace(one, steps=steps) for one in self.ends]


def wiring(
    pattern: Any, ids: tuple[str, str], interfaces: tuple[int, int], delay: float
) -> PatternLinks:
    """Return what a pattern connects; its ``interfaces`` stand for the LPUs ``ids``.

    Raises
    ------
    CircuitError
        For something else than a pattern, or interfaces that it does not have.
    """
    if not isinstance(pattern, Pattern):
        kind = type(pattern).__name__
        raise CircuitError(f"Manager.connect: the third argument must be a Pattern, got {kind}")
    there = sorted(pattern.interface.interface_ids)
    bad = [i for i in interfaces if i not in there]
    if bad or interfaces[0] == interfaces[1]:
        want = f"two different ones of {', '.join(map(str, there))}"
        got = f"{interfaces[0]} and {interfaces[1]}"
        raise CircuitError(f"Manager.connect: the interfaces must be {want}, got {got}")
    if not (math.isfinite(delay) and delay >= 0):
        raise CircuitError(f"Manager.connect: delay must be seconds, at least 0, got {delay!r}")
    names = pattern.interface.ids
    kind_of = np.full(len(names), "", dtype="U5")
    for kind in ("gpot", "spike"):
        kind_of[pattern.interface.mask(type=kind)] = kind
    out = []
    for a, b in ((0, 1), (1, 0)):
        ends = pattern.between(interfaces[a], interfaces[b])
        if not len(ends[0]):
            continue
        ports = [np.asarray(names.take(end).texts(), dtype=np.str_) for end in ends]
        kinds = {"out_type": kind_of[ends[0]], "in_type": kind_of[ends[1]]}
        out.append(Crossing(ids[a], ids[b], ports[0], ports[1], **kinds))
    return PatternLinks(out, float(delay))
