"""Rows of connections that learn: shares of a source's rows lie side by side."""

from __future__ import annotations

import numpy as np
import pytest

from neurodriver.plan.spikes.learning_rows import LearningRows
from neurodriver.plan.spikes.thread_ranges import ThreadRanges
from neurodriver.plan.spikes.thread_shares import SharesByThread

BLOCKS = np.array([[1, 64, 80, 0, 0, 0], [1, 0, 32, 16, 0, 0], [4, 64, 80, 48, 0, 0]])
"""16 sources with two delays, and 32 sources before them with one."""


def rows() -> LearningRows:
    rng = np.random.default_rng(1)
    first = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 64))])
    place = [np.sort(rng.integers(0, 48, n)) for n in np.diff(first)]
    none = np.zeros(0)
    return LearningRows(BLOCKS, first, np.concatenate(place), none.astype(int), none, None)


def test_blocks_with_other_delays_have_the_same_sources() -> None:
    """Sources are counted in the order of their elements."""
    assert rows().ranges.tolist() == [[0, 0, 32, 0], [0, 64, 80, 32]]
    assert rows().sources.tolist() == [[32, 0], [0, 0], [32, 1]]


@pytest.mark.parametrize("cuts", [[0, 48], [0, 16, 48], [0, 16, 32, 48]])
def test_shares_of_a_source_lie_side_by_side(cuts: list[int]) -> None:
    """They are the same shares as those that follow the rows."""
    made = rows()
    each, place = made.beside()
    by_row = ThreadRanges(made.first, made.place, 48, BLOCKS)
    beside = ThreadRanges(made.first, made.place, 48, BLOCKS, place=place)
    assert each == 2 and len(np.unique(place)) == 64
    assert place[[0, 1, 16, 17, 48, 49]].tolist() == [64, 66, 0, 2, 65, 67]
    assert np.array_equal(beside.of(np.array(cuts))[place], by_row.of(np.array(cuts)))


@pytest.mark.parametrize("cuts", [[0, 48], [0, 16, 48], [0, 16, 32, 48]])
def test_connections_of_a_thread_lie_together(cuts: list[int]) -> None:
    """They lie by source and row, and each stands in the share of its own row and thread."""
    made, given = rows(), np.array(cuts)
    each, place = made.beside()
    shares = SharesByThread(made.first, made.place, 48, BLOCKS, place=place, rows=48 * each)
    order, begin = shares.order(given), shares.of(given)
    assert np.array_equal(np.sort(order), np.arange(len(made.place)))
    for row, at in enumerate(place):
        for thread in range(len(cuts) - 1):
            first, past = begin[thread * 48 * each + at :][:2]
            mine = np.arange(made.first[row], made.first[row + 1])
            target = made.place[mine]
            mine = mine[(target >= cuts[thread]) & (target < cuts[thread + 1])]
            assert np.array_equal(order[first:past], mine)
