"""Events in memory: any number of blocks, in one piece of memory or more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from neurodriver.recorders import event_memory
from neurodriver.recorders.event_memory import EventMemory


@pytest.mark.parametrize("worth", [1 << 18, 3])
@pytest.mark.parametrize("first", [1, 50, 10_000])
@pytest.mark.parametrize("most", [None, 3000])
def test_what_was_appended(
    first: int, most: int | None, worth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fits into the first piece; what was read on the way stays as it was."""
    monkeypatch.setattr(event_memory, "_FIRST", first)
    monkeypatch.setattr(event_memory, "_WORTH", worth)
    monkeypatch.setattr(event_memory, "cores", lambda: 3)
    rng, memory, times, read = np.random.default_rng(1), EventMemory(most), [], []
    for count in (3, 0, 7, 500, 1, 900):
        times.append(rng.random(count))
        memory.append(times[-1], np.arange(count, dtype=np.int32))
        read.append(memory.so_far())
    memory.trim()
    time, index = memory.whole()
    assert time.base is not None and len(time.base) <= max(4 * len(time), first)
    memory.append(np.ones(2000), np.ones(2000, np.int32))  # changes nothing of what was read
    assert time.dtype == np.float64 and index.dtype == np.int32
    assert memory.whole()[0][: len(time)].tobytes() == time.tobytes()
    assert len(memory.whole()[0]) == len(time) + 2000
    np.testing.assert_array_equal(time, np.concatenate(times))
    np.testing.assert_array_equal(index, np.concatenate([np.arange(len(t)) for t in times]))
    for some, steps in read:
        np.testing.assert_array_equal(some, time[: len(some)])
        np.testing.assert_array_equal(steps, index[: len(steps)])


def test_little_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is none for a large piece, a smaller one does."""
    asked, empty = [], np.empty

    def scarce(count: int, *kind: Any) -> Any:
        asked.append(count)
        if count > 1 << 23:
            raise MemoryError
        return empty(count, *kind)

    monkeypatch.setattr(event_memory.np, "empty", scarce)
    memory = EventMemory()
    memory.append(np.ones(5), np.ones(5, np.int32))
    assert asked == [1 << 25, 1 << 24, 1 << 23, 1 << 23]
    assert len(memory.whole()[0]) == 5


def test_later_events_lie_behind_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not all copied whenever somebody reads them."""
    monkeypatch.setattr(event_memory, "_FIRST", 8)
    memory, read = EventMemory(), []
    for _ in range(100):
        memory.append(np.ones(5), np.ones(5, np.int32))
        memory.trim()
        read.append(memory.whole()[0].base)
    assert len(memory.whole()[0]) == 500 and len({id(one) for one in read}) < 12
