"""Distributions by which simulations of one network are compared, in ``scripts/benchmarks``."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from launch import ROOT

pytest.importorskip("scipy")
sys.path.insert(0, str(ROOT / "scripts"))
from benchmarks.distributions import MEASURES, between, distributions, within

POPULATIONS = {"slow": range(0, 300), "fast": range(300, 500)}
START, STOP = 1.0, 21.0


def poisson(seed: int, fast: float = 20.0) -> tuple[np.ndarray, np.ndarray]:
    """Return spikes of independent neurons of 5 Hz and of another rate, in random order."""
    rng = np.random.default_rng(seed)
    rates = np.repeat([5.0, fast], [300, 200])
    counts = rng.poisson(rates * 22.0)
    time, index = rng.uniform(0.0, 22.0, counts.sum()), np.repeat(np.arange(500), counts)
    order = rng.permutation(time.size)
    return time[order], index[order]


def test_poisson_neurons() -> None:
    """Independent Poisson neurons have their rate, CV 1 and correlation 0."""
    found = distributions(*poisson(1), POPULATIONS, START, STOP)
    assert found["rate"]["slow"].shape == (300,) and found["rate"]["fast"].shape == (200,)
    assert found["rate"]["slow"].mean() == pytest.approx(5.0, abs=0.1)
    assert found["rate"]["fast"].mean() == pytest.approx(20.0, abs=0.3)
    assert found["cv"]["fast"].mean() == pytest.approx(1.0, abs=0.02)
    assert found["correlation"]["fast"].size == 200 * 199 // 2
    assert abs(found["correlation"]["fast"].mean()) < 1e-3


def test_a_common_drive_correlates() -> None:
    """Neurons that fire together have the correlation 1."""
    when = np.sort(np.random.default_rng(2).uniform(START, STOP, 200))
    time, index = np.tile(when, 20), np.repeat(np.arange(20), 200)
    found = distributions(time, index, {"all": range(20)}, START, STOP)
    np.testing.assert_allclose(found["correlation"]["all"], 1.0)


def test_distances() -> None:
    """Equal networks are near each other in all measures; one with other rates is not."""
    ours = [distributions(*poisson(seed), POPULATIONS, START, STOP) for seed in (1, 2)]
    other = [distributions(*poisson(3, fast=30.0), POPULATIONS, START, STOP)]
    near, far = within(ours), between(ours, other)
    assert [len(near[measure]) for measure in MEASURES] == [2, 2, 2]
    assert max(near["rate"]) < 0.15 and max(near["correlation"]) < 0.06
    assert max(far["rate"]) > 0.9
