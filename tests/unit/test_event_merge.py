"""Events of parts in the order of the whole, by compiled loops and by NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from neurodriver.parallel import event_merge
from neurodriver.parallel.event_merge import ColumnsOfPart, Events, merged

DT = 1e-4


def parts_of(
    time: np.ndarray, column: np.ndarray, of: np.ndarray
) -> list[tuple[list[Events], ColumnsOfPart]]:
    """Return what each part has of the events; ``of``: the part of each column."""
    out = []
    for part in range(of.max() + 1):
        place = np.flatnonzero(of == part)
        mine = of[column] == part
        index = np.searchsorted(place, column[mine]).astype(np.int32)
        ends = [0, len(index) // 3, len(index)]  # two pieces
        pieces = [(time[mine][a:b], index[a:b]) for a, b in pairwise(ends)]
        out.append((pieces, ColumnsOfPart(place)))
    return out


@pytest.mark.parametrize("worth", [1 << 17, 1])
@pytest.mark.parametrize("loops", ["runs", "places", "numpy"])
@pytest.mark.parametrize("dealt", ["side by side", "at random"])
@pytest.mark.parametrize(("parts", "events"), [(1, 40_000), (2, 40_000), (5, 40_000), (3, 100)])
def test_order_of_the_whole(
    parts: int, events: int, dealt: str, loops: str, worth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(parts)
    key = np.unique(rng.integers(0, 3_000_000 * 300, events))  # steps from 3,000,000,000 on
    step, column = key // 300 + 3_000_000_000, (key % 300).astype(np.int32)
    of = rng.integers(0, parts, 300)
    if dealt == "side by side":
        of = np.repeat(rng.permutation(30) % parts, 10)
    monkeypatch.setattr(event_merge, "RUNS", 1 << 10 if loops == "runs" else 0)
    monkeypatch.setattr(event_merge, "EVENTS_WORTH", worth)
    monkeypatch.setattr(event_merge, "cores", lambda: 3)
    if loops != "numpy":
        monkeypatch.setattr(event_merge, "MANY", 1)
        assert event_merge._compiled() is not None
    else:
        monkeypatch.setattr(event_merge, "MANY", 1 << 60)
    time, index = merged(parts_of(step * DT, column, of))
    assert time.tobytes() == (step * DT).tobytes()
    assert index.tobytes() == column.tobytes()


def test_threads_share_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where a list has fewer steps than there are threads, nor where one is empty."""
    monkeypatch.setattr(event_merge, "EVENTS_WORTH", 1)
    monkeypatch.setattr(event_merge, "cores", lambda: 4)
    steps = np.repeat([0.0, 1.0, 2.0], [5, 1, 30])
    for other in (np.zeros(0), np.repeat([1.0, 2.0], [40, 2])):
        cuts = [*event_merge._cuts(steps, other)]
        assert len(cuts) == 5 and cuts[0] == (0, 0) and cuts[-1] == (len(steps), len(other))
        for (a, b), (c, d) in pairwise(cuts):
            assert a <= c and b <= d
            assert not {*steps[a:c], *other[b:d]} & {*steps[:a], *other[:b]}


def test_no_events() -> None:
    time, index = merged([])
    assert time.dtype == float and index.dtype == np.int32 and not len(time) and not len(index)
