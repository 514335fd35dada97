"""The example of predicted rewards: Rescorla-Wagner, and temporal differences."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

EXAMPLE = Path(__file__).parents[2] / "examples" / "18_reward_prediction.py"
Reals = NDArray[np.float64]


@pytest.fixture(scope="module")
def example() -> dict[str, Callable[..., Any]]:
    """Return what the example defines."""
    pytest.importorskip("matplotlib", reason="the example draws figures")
    return runpy.run_path(str(EXAMPLE))


def by_loops(active: Reals, reward: Reals, rate: float, discount: float) -> tuple[Reals, Reals]:
    """Return the error in each step, and the weights at the end."""
    weight, error = np.zeros(active.shape[1]), np.zeros(len(active))
    for n in range(1, len(active)):
        error[n] = reward[n] + discount * (weight @ active[n]) - weight @ active[n - 1]
        weight += rate * error[n] * active[n - 1]
    return error, weight


def test_rescorla_wagner(example: dict[str, Callable[..., Any]]) -> None:
    """V = l (1 - (1 - a)^n) after n trials; it falls as (1 - a)^n when the reward stops."""
    for rate, size in ((0.2, 1.0), (0.05, 3.0)):
        shown, given = example["trials"](60, 4, cue=1, reward=2, omitted=range(40, 60))
        error, weight = example["run"](shown, size * given, rate, 0.0)
        each = error.reshape(60, 4)[:, 2]
        learned = size * (1 - (1 - rate) ** np.arange(41))
        assert np.abs(size - each[:40] - learned[:40]).max() < 1e-12
        assert np.abs(each[40:] + learned[40] * (1 - rate) ** np.arange(20)).max() < 1e-12
        assert abs(weight[0] - learned[40] * (1 - rate) ** 20) < 1e-12


def test_a_predicted_reward_teaches_nothing(example: dict[str, Callable[..., Any]]) -> None:
    """A second cue, shown beside one that predicts the reward, is blocked; two new cues share."""
    shown, given = example["trials"](300, 4, cue=1, reward=2)
    both = np.repeat(shown, 2, axis=1)
    _, shared = example["run"](both, given, 0.1, 0.0)
    assert np.abs(shared - 0.5).max() < 1e-12
    both[: 200 * 4, 1] = 0
    _, blocked = example["run"](both, given, 0.1, 0.0)
    assert abs(blocked[0] - 1) < 1e-8 and 0 <= blocked[1] < 1e-8


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_temporal_differences(example: dict[str, Callable[..., Any]], discount: float) -> None:
    """Against loops; dopamine moves from the reward to the cue, and falls where none comes."""
    shown, given = example["trials"](150, 12, cue=2, reward=8, omitted=(149,))
    error, weight = example["run"](shown, given, 0.2, discount)
    expected = by_loops(shown, given, 0.2, discount)
    assert np.abs(error - expected[0]).max() < 1e-12
    assert np.abs(weight - expected[1]).max() < 1e-12
    each = error.reshape(150, 12)
    assert each[0].argmax() == 8 and each[0, 8] == 1 and np.abs(np.delete(each[0], 8)).max() == 0
    late = [row.argmax() for row in each[:148:30]]
    assert late[0] == 8 and late[-1] == 2 and (np.diff(late) <= 0).all()
    assert each[148, 2] > 0.98 * discount**6 and abs(each[148, 8]) < 0.01 and each[149, 8] < -0.98
