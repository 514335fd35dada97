"""Random trains that threads draw before anybody asks have the bits of those drawn at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from neurodriver import PoissonInput
from neurodriver.inputs import trains
from neurodriver.inputs.base import EventChunk

UIDS = [f"n{i}" for i in range(300)]


def opened(ahead: bool, rate: Any, dtype: str) -> PoissonInput:
    """Return an input that is ready for steps."""
    one = PoissonInput("spike_state", UIDS, rate, start=0.05, seed=3)
    one.open(1e-3, np.dtype(dtype))
    if ahead:
        one.draw_ahead()
    return one


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("some", [0, 4])
def test_the_same_events(dtype: str, some: int) -> None:
    """In calls of any length, one after the other or not; a few uids have many events."""
    rate = np.where(np.arange(300) < some, 700.0, 60.0)
    two = [opened(ahead, rate, dtype) for ahead in (False, True)]
    assert two[1]._trains._ahead is not None
    found = 0
    for first, steps in (
        (0, 10),
        (10, 700),
        (710, 1),
        (711, 90),
        (801, 900),
        (300, 5),
        (5000, 600),
    ):
        plain, ahead = (one.chunk(0, first, steps) for one in two)
        assert isinstance(plain, EventChunk) and isinstance(ahead, EventChunk)
        assert np.array_equal(np.diff(plain.begin), np.diff(ahead.begin))
        for name in ("column", "value"):
            a, b = (getattr(one, name)[one.span] for one in (plain, ahead))
            assert a.dtype == b.dtype and np.array_equal(a, b)
            found += len(a)
    assert found > 10_000


def test_few_events_need_no_threads() -> None:
    """Threads cost more than a few events a step."""
    assert opened(True, 1.0, "float64")._trains._ahead is None


def test_blocks_that_are_over_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held is the blocks of a call, and about as many that follow."""
    one = opened(True, 60.0, "float64")
    for first in range(0, 40 * trains.BLOCK, 300):
        one.chunk(0, first, 300)
    held: Any = one._trains._ahead
    assert 1 <= len(held._drawn) <= 6
