"""Pulses: which value enters at which step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import IAF, alone, assert_same_bits, simulate
from test_inputs import DT, values

from neurodriver import PulseInput, StepInput
from neurodriver.errors import InputError

TIME = st.floats(-1e-3, 5e-3)


def test_pulses() -> None:
    """Each from its start to before its stop; one value for all, one each, or one each and uid."""
    starts, stops = [1e-4, 4e-4], [3e-4, 5e-4]
    uids = ["a", "b"]
    got = values(PulseInput("I", uids, starts, stops, 2.0), 7)
    assert got[:, 0].tolist() == got[:, 1].tolist() == [0, 2, 2, 0, 2, 0, 0]
    got = values(PulseInput("I", uids, starts, stops, [2.0, 3.0]), 7)
    assert got[:, 1].tolist() == [0, 2, 2, 0, 3, 0, 0]
    got = values(PulseInput("I", uids, starts, stops, [[1.0, 2.0], [3.0, 4.0]]), 7)
    assert got.tolist() == [[0, 0], [1, 2], [1, 2], [0, 0], [3, 4], [0, 0], [0, 0]]
    assert not values(PulseInput("I", uids, [], [], 1.0), 5).any()
    assert values(PulseInput("I", "a", [0.0], [np.inf], 1.0), 3)[:, 0].tolist() == [1, 1, 1]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(TIME, st.floats(0.0, 2e-3), st.floats(-9, 9)), max_size=8),
    st.lists(st.integers(1, 39), max_size=10),
)
def test_sum_of_single_pulses(pulses: list[tuple[float, float, float]], cuts: list[int]) -> None:
    """Several pulses, overlapping or not, are the sum of inputs of one pulse each, in any cut."""
    starts, stops = [s for s, _, _ in pulses], [s + w for s, w, _ in pulses]
    expected = np.zeros((40, 1))
    for start, stop, (_, _, value) in zip(starts, stops, pulses, strict=True):
        expected += values(StepInput("I", ["a"], value, start, stop), 40)
    got = values(PulseInput("I", ["a"], starts, stops, [v for _, _, v in pulses]), 40, tuple(cuts))
    np.testing.assert_array_equal(got, expected)


@settings(max_examples=200, deadline=None)
@given(
    st.floats(2e-4, 3e-3), st.floats(1e-4, 7e-3), st.floats(-2e-3, 2e-3),
    st.none() | st.integers(0, 6), st.lists(st.integers(1, 59), max_size=6),
)  # fmt: skip
def test_periodic(
    period: float, width: float, start: float, number: int | None, cuts: list[int]
) -> None:
    """Periodic pulses are pulses at start + j * period, also where they overlap."""
    many = np.arange(60 if number is None else number)
    starts = start + many * period
    listed = PulseInput("I", ["a"], starts, starts + width, 3.0)
    one = PulseInput.periodic("I", ["a"], 3.0, period, width, number, start)
    np.testing.assert_array_equal(values(one, 60, tuple(cuts)), values(listed, 60))


def test_equal_rows_are_staged_once() -> None:
    """While the set of pulses stays the same the table keeps its version, so nothing is copied."""
    one = PulseInput.periodic("I", ["a", "b"], [1.0, 2.0], 4e-4, 2e-4)
    one.open(DT, np.dtype("f8"))
    chunks = [one.chunk(0, 10 * i, 10) for i in range(5)]
    assert len({c.version for c in chunks}) == 1 and chunks[0].version > 0
    assert chunks[0].table.shape == (1, 2)


def test_a_neuron_sees_the_same(dtype: str) -> None:
    """A train of pulses drives a neuron as the same pulses in inputs of their own do."""
    circuit = alone("LeakyIAF", IAF)
    spans = [(0.001, 0.01), (0.005, 0.02), (0.03, 0.04)]
    several = [StepInput("I", ["n"], 4.0, a, b) for a, b in spans]
    record = [("V", None)]
    one = PulseInput("I", ["n"], [a for a, _ in spans], [b for _, b in spans], 4.0)
    pair = [simulate(circuit, DT, 500, i, record, dtype=dtype) for i in (one, several)]
    assert_same_bits(*pair)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: PulseInput("I", ["a"], [0.0], [], 1.0), "1 starts, but 0 stops"),
        (lambda: PulseInput("I", ["a"], [2.0], [1.0], 1.0), "pulse 0 stops at 1.0 s, before"),
        (lambda: PulseInput("I", ["a"], ["x"], [1.0], 1.0), "starts must be seconds"),
        (lambda: PulseInput("I", ["a"], [0.0], [float("nan")], 1.0), "a list of seconds"),
        (lambda: PulseInput("I", ["a"], 0.0, 1.0, 1.0), "a list of seconds"),
        (lambda: PulseInput("I", ["a"], [0.0], [1.0], [1.0, 2.0]), "a number, 1 or 1 x 1"),
        (lambda: PulseInput("I", ["a"], [0.0], [1.0], ["x"]), "values must be numbers"),
        (lambda: PulseInput("I", ["a"], [0.0], [1.0], float("inf")), "finite, got inf"),
        (lambda: PulseInput.periodic("I", ["a"], 1.0, 0.0, 1.0), "period and width"),
        (lambda: PulseInput.periodic("I", ["a"], 1.0, 1.0, -1.0), "period and width"),
        (lambda: PulseInput.periodic("I", ["a"], 1.0, 1e-9, 1.0), "a million periods"),
        (lambda: PulseInput.periodic("I", ["a"], 1.0, 1.0, 0.5, -1), "number must be whole"),
        (lambda: PulseInput.periodic("I", ["a"], [1.0, 2.0], 1.0, 0.5), "a number or 1"),
    ],
)
def test_wrong_arguments(make: Callable[[], Any], word: str) -> None:
    """What is no pulse is told when the input is made."""
    with pytest.raises(InputError, match=word):
        make()
