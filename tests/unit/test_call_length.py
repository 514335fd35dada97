"""How many steps one call into compiled code takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from neurodriver.run.call_length import AHEAD_SECONDS, CALL_SECONDS, CallLength


def lengths(steps: int, seconds: float, ahead: bool = False, **more: Any) -> list[int]:
    """Return the lengths of the calls of so many steps."""
    backend: Any = SimpleNamespace(longest=more.pop("longest", 10**6))
    calls: Any = SimpleNamespace(seconds_per_step=seconds, ahead=backend if ahead else None)
    length = CallLength(backend, calls, [], 10**6, **more)
    found: list[int] = []
    while sum(found) < steps:
        found.append(length.steps(sum(found), steps - sum(found)))
    return found


def test_the_first_call_is_short() -> None:
    assert lengths(1000, 0.0)[0] == 16


@pytest.mark.parametrize(
    ("steps", "expected"),
    [(30, [30]), (45, [45]), (46, [30, 16]), (75, [30, 45]), (76, [30, 30, 16])],
)
def test_the_last_call_may_be_longer(steps: int, expected: list[int]) -> None:
    """By half: a short one after it would have as much work for the host."""
    assert lengths(steps, CALL_SECONDS / 30) == expected


def test_limits_of_memory_hold_for_the_last_call() -> None:
    assert lengths(45, CALL_SECONDS / 30, longest=40) == [30, 15]


def test_calls_ahead_become_shorter_at_the_end() -> None:
    """So the host has little left to take when the device is done."""
    found = lengths(1000, AHEAD_SECONDS / 100, ahead=True)
    assert max(found) == 100 and sum(found) == 1000 and found[-1] < 10
    assert sorted(found, reverse=True) == found
