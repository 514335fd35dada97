"""Events that leave a GPU as bits: their steps and columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from neurodriver.backends.cuda import bits
from neurodriver.backends.cuda.bits import Bits, EventList, before, events_by_numpy
from neurodriver.errors import CompileError

LONG = 2 * 512 + 1
"""Words of a row from which it is more than two pieces."""


def packed(events: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return (steps, 32 * words) as bits."""
    return np.packbits(events, axis=1, bitorder="little").view(np.uint32).reshape(-1)


def assert_found(found: EventList, events: NDArray[np.bool_]) -> None:
    """Fail where the events are not those that were packed, in their order."""
    for got, expected, kind in zip(found, np.nonzero(events), (np.int64, np.int32), strict=True):
        assert got.dtype == kind
        np.testing.assert_array_equal(got, expected)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 40) | st.integers(LONG - 2, LONG + 40) | st.integers(2 * LONG, 2 * LONG + 2),
    st.lists(
        st.tuples(st.integers(0, 12), st.sampled_from([0.0, 1e-3, 0.01, 0.1, 0.6, 1.0])),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 31),
    st.integers(0, 1 << 30),
)
def test_found(words: int, calls: list[tuple[int, float]], unused: int, seed: int) -> None:
    """Call after call, few or many events, in rows of any length whose last word is not full."""
    rng = np.random.default_rng(seed)
    finder = Bits(words)
    made, found = [], []
    for steps, density in calls:
        events = rng.random((steps, 32 * words)) < density
        events[:, 32 * words - unused :] = False
        flat = packed(events)
        steps_and_columns = finder.found(flat)
        assert_found(steps_and_columns, events)
        assert_found(events_by_numpy(flat, words), events)
        made.append(events)
        found.append((steps_and_columns[0].copy(), steps_and_columns[1]))
    for events, one in zip(made, found, strict=True):
        assert_found(one, events)  # later calls leave columns alone


def test_every_bit_alone() -> None:
    """The first, the last and any other bit of a row of three words is where it stands."""
    events = np.eye(96, dtype=bool)
    assert_found(Bits(3).found(packed(events)), events)


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host without one gets the same."""

    def none() -> None:
        raise CompileError("no C++ compiler found")

    events = np.random.default_rng(5).random((30, 160)) < 0.1
    bits._library.cache_clear()
    monkeypatch.setattr(bits, "find_compiler", none)
    try:
        finder = Bits(5)
    finally:
        bits._library.cache_clear()
    assert finder._library is None
    assert_found(finder.found(packed(events)), events)


def test_events_of_a_call_that_ended_early() -> None:
    """Those of later rows are left out, whatever their columns are."""
    found = np.array([0, 0, 3, 4, 4, 7]), np.array([5, 9, 1, 0, 8, 2], np.int32)
    for steps, count in ((0, 0), (1, 2), (4, 3), (5, 5), (8, 6), (99, 6)):
        some = before(found, steps)
        assert [len(one) for one in some] == [count, count]
        assert (some[0] < steps).all() and (some[1] == found[1][:count]).all()
