"""Whether the targets of each source ascend from projection to projection."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from neurodriver.plan.spikes.drawn import ascend


def by_pairs(drawn: list[Any]) -> bool:
    """Look at all pairs."""
    for i, one in enumerate(drawn):
        for other in drawn[i + 1 :]:
            a, b = one.ends, other.ends
            sources = a.source.start < b.source.stop and b.source.start < a.source.stop
            if sources and b.target.start < a.target.stop:
                return False
    return True


def test_random_projections() -> None:
    """As all pairs say, for up to five projections of twelve components."""
    rng, found = np.random.default_rng(0), [0, 0]
    for _ in range(3000):
        ends = np.sort([[rng.choice(12, 2, replace=False) for _ in "st"]
                        for _ in range(rng.integers(1, 6))])  # fmt: skip
        drawn: Any = [
            SimpleNamespace(ends=SimpleNamespace(source=range(*s), target=range(*t)))
            for s, t in ends.tolist()
        ]
        drawn.sort(key=lambda one: one.ends.target.start)
        expected = by_pairs(drawn)
        assert ascend(drawn) == expected
        found[expected] += 1
    assert min(found) > 500
