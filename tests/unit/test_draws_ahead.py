"""Random numbers that threads draw, when asked or before, have the bits of those drawn by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from neurodriver import BernoulliInput, Input, NoiseInput, PoissonInput
from neurodriver.inputs import draws, trains
from neurodriver.inputs.base import EventChunk
from neurodriver.plan.spikes.weights import MOST_SPIKES
from neurodriver.run.execution import _check_events

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
@pytest.mark.parametrize("threads", [0, 3])
def test_the_same_events(
    dtype: str, some: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In calls of any length, one after the other or not; a few uids have many events."""
    rate = np.where(np.arange(300) < some, 700.0, 60.0)
    monkeypatch.setattr(draws, "_SHARE", 1)
    two = [opened(ahead, rate, dtype) for ahead in (False, not threads)]
    assert (two[1]._trains._ahead is None) == bool(threads)
    two[1].draw_in_threads(threads)
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
        assert ahead.sound == (some == 0)
        _check_events(ahead, 300, steps, two[1])
        assert (ahead.value == np.rint(ahead.value)).all() and ahead.value.max() <= MOST_SPIKES
    assert found > 10_000


ROWS: dict[str, Callable[[], Input]] = {
    "Poisson": lambda: PoissonInput("spike_state", UIDS, 2e3, stop=0.4),
    "Bernoulli": lambda: BernoulliInput("spike_state", UIDS, 0.6, start=0.1),
    "uniform": lambda: NoiseInput("I", UIDS, 1.0, 2.0, distribution="uniform"),
    "normal": lambda: NoiseInput("I", UIDS, 1.0, 2.0, seed=3),
    "correlated": lambda: NoiseInput("I", UIDS, 0.0, 2.0, tau=0.01),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_draw_the_same_rows(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of values for each step, in calls of any length; more threads than some calls need."""
    monkeypatch.setattr(draws, "_SHARE", 1)
    inputs = [ROWS[name]() for _ in range(3)]
    for threads, one in zip((1, 3, 7), inputs, strict=True):
        one.open(1e-3, np.dtype(dtype))
        one.draw_in_threads(threads)
    rows = 0
    for first, steps in ((0, 3), (3, 500), (503, 1), (100, 40)):
        plain, *others = (one.chunk(0, first, steps) for one in inputs)
        rows += len(plain.table)
        assert not len(plain.table) or np.ptp(plain.table) > 0
        for other in others:
            assert plain.table.tobytes() == other.table.tobytes()
            assert np.array_equal(plain.row_of_step, other.row_of_step)
    assert rows > 400


def test_few_events_need_no_threads() -> None:
    """Threads cost more than a few events a step."""
    assert opened(True, 1.0, "float64")._trains._ahead is None


@pytest.mark.parametrize(("cores", "most"), [(1, 6), (4, 6), (64, 11)])
def test_blocks_that_are_over_are_forgotten(
    cores: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is held is the blocks of a call, and as many that follow, or one for each thread."""
    monkeypatch.setattr(trains, "cores", lambda: cores)
    one = opened(True, 60.0, "float64")
    for first in range(0, 40 * trains.BLOCK, 300):
        one.chunk(0, first, 300)
    held: Any = one._trains._ahead
    assert most - 2 <= len(held._drawn) <= most
