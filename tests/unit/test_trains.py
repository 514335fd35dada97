"""Measures of spike trains: by hand, and those of elephant, with which ours agree."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from neurodriver.errors import NeurodriverError
from neurodriver.results import activity, train_measures

INTERVALS = (0.01, 0.03, 0.02, 0.06)
"""Of neuron 3, which begins at 0.1 s; neuron 4 has one interval."""


def spikes() -> tuple[np.ndarray, np.ndarray]:
    """Return times and neurons, in no order."""
    time = [*(0.1 + np.cumsum((0.0, *INTERVALS))), 0.3, 0.4]
    order = np.random.default_rng(1).permutation(len(time))
    return np.array(time)[order], np.array([3] * 5 + [4, 4])[order]


def test_by_hand() -> None:
    """Rate and CV of each neuron; NaN with one interval, and without a spike."""
    found = train_measures(*spikes(), {"a": [4, 3], "b": [0]}, stop=0.5)
    assert found["a"]["rate"] == pytest.approx([10.0, 4.0])
    assert found["a"]["cv"][0] == pytest.approx(np.std(INTERVALS) / np.mean(INTERVALS))
    assert math.isnan(found["a"]["cv"][1]) and math.isnan(found["b"]["cv"][0])
    assert found["b"]["rate"].tolist() == [0.0]


def test_the_mean_is_that_of_activity() -> None:
    """Populations of gamma processes: means over neurons are what `activity` tells."""
    rng = np.random.default_rng(2)
    time, index = rng.random(4000) * 2.0, rng.integers(0, 30, 4000)
    populations = {"a": range(0, 20), "b": range(20, 30)}
    found = train_measures(time, index, populations, 1.5, 0.25)
    for one in activity(time, index, populations, 1.5, 0.25):
        mine = found[one.population]
        assert mine["rate"].mean() == pytest.approx(one.rate)
        assert mine["cv"].mean() == pytest.approx(one.cv)


def test_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown measure; one of elephant, where that is missing."""
    with pytest.raises(NeurodriverError, match=r"unknown measure 'cv3' .*'cv'.*there are rate, cv"):
        train_measures(*spikes(), {"a": [3]}, 0.5, measures="cv3")
    monkeypatch.setitem(sys.modules, "elephant", None)
    monkeypatch.setitem(sys.modules, "elephant.statistics", None)
    with pytest.raises(NeurodriverError, match=r"elephant .* pip install .*\[statistics"):
        train_measures(*spikes(), {"a": [3]}, 0.5, measures="lv")


def test_elephant_agrees() -> None:
    """Rate, CV and synchrony are those of elephant; its own are those by their formulas."""
    statistics = pytest.importorskip("elephant.statistics", reason="of the extra 'statistics'")
    neo, pq = pytest.importorskip("neo"), pytest.importorskip("quantities")
    rng = np.random.default_rng(3)
    trains = [np.cumsum(rng.gamma(2.0, 0.02, 60)) for _ in range(8)]
    trains = [train[train < 2.0] for train in trains]
    time, index = np.concatenate(trains), np.repeat(np.arange(8), [len(t) for t in trains])
    measures = ["rate", "cv", "cv2", "lv", "lvr"]
    found = train_measures(time, index, {"all": range(8)}, 2.0, measures=measures)["all"]
    blocks = [neo.SpikeTrain(train * pq.s, t_stop=2.0 * pq.s) for train in trains]
    for number, train in enumerate(trains):
        gap = np.diff(train)
        pairs, sums = np.abs(np.diff(gap)), gap[1:] + gap[:-1]
        products = 4 * gap[1:] * gap[:-1] / sums**2
        by_formula = {
            "rate": float(statistics.mean_firing_rate(blocks[number]).rescale("Hz")),
            "cv": float(statistics.cv(statistics.isi(blocks[number]).rescale("s").magnitude)),
            "cv2": np.mean(2 * pairs / sums),
            "lv": 3 * np.mean((pairs / sums) ** 2),
            "lvr": 3 * np.mean((1 - products) * (1 + 4 * 0.005 / sums)),
        }
        for name, value in by_formula.items():
            assert found[name][number] == pytest.approx(value), name
    (one,) = activity(time, index, {"all": range(8)}, 2.0)
    counts = statistics.time_histogram(blocks, 3 * pq.ms, output="counts").magnitude.ravel()
    counts = counts[:666]  # whole bins
    assert one.synchrony == pytest.approx(counts.var() / counts.mean(), rel=1e-6)
