"""Modulators that Python sets: the bits of doses that neurons release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning import Trains

import neurodriver as nd
from neurodriver.errors import NeurodriverError

STEPS, AT = 240, 101
SMALL = {"A_plus": 0.002, "A_minus": 0.001}
RULES = nd.RewardedSTDP, nd.IntervalRewardedSTDP


def trains(doses: list[int]) -> Trains:
    """Return two sources and three targets; two rules may learn from one set of spikes."""
    rng = np.random.default_rng(1)
    rows = [np.flatnonzero(rng.random(STEPS) < 0.1) + 1 for _ in range(5)]
    ends = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    late = np.ones(6, int)
    none = np.zeros(6, int)
    return Trains(rows[:2], rows[2:], *ends, 0.5 * late, late, none, none, STEPS, doses=doses)


def run(given: Trains, rules: list[nd.Plasticity], until: int = STEPS, **options: Any) -> nd.LPU:
    lpu = given.lpu(*rules, backend="cpu", **options)
    lpu.run(steps=until)
    return lpu


@pytest.mark.parametrize("rule", RULES)
def test_a_level_is_that_of_a_dose(rule: type[nd.Plasticity], tmp_path: Path) -> None:
    """Beside another set of the same targets, whose modulator is not set; saved on the way."""
    name = rule.__name__
    other = type("Other", (nd.RewardedSTDP,), {})
    released = rule(**SMALL, dopamine=np.array(["dose"]))
    with run(trains([AT]), [released, other()], threads=3) as lpu:
        expected = {one: lpu[one].get() for one in (name, "Other")}
        level = lpu[name].get("dopamine")
    with run(trains([STEPS]), [rule(**SMALL), other()], AT, threads=2) as lpu:
        assert lpu[name].get("dopamine") == 0.0
        lpu[name].set("dopamine", 0.5)
        assert lpu[name].get("dopamine") == 0.5
        lpu.save(tmp_path / "a.h5")
        lpu.run(steps=STEPS - AT)
        assert lpu[name].get("dopamine") == pytest.approx(0.5 * np.exp(-(STEPS - AT) / 200.0))
        assert lpu[name].get("dopamine") == level
        for one, weights in expected.items():
            assert np.array_equal(lpu[one].get(), weights)
    assert np.ptp(expected[name]) > 0.01


def test_what_is_no_level_is_refused() -> None:
    """Nothing has been changed then."""
    with run(trains([STEPS]), [nd.RewardedSTDP()], 10) as lpu:
        learning = lpu["RewardedSTDP"]
        with pytest.raises(NeurodriverError, match="'dopamine': all synapses share it"):
            learning.set("dopamine", 0.5, at=[0])
        for wrong in (np.nan, [0.5], "much"):
            with pytest.raises(NeurodriverError, match="'dopamine'"):
                learning.set("dopamine", wrong)
        with pytest.raises(NeurodriverError, match=r"they have: weight, c, dopamine"):
            learning.set("dopamin", 0.5)
        assert learning.get("dopamine") == 0.0
