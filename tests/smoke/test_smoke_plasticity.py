"""Smoke test: each shipped rule learns, and one of one's own."""

from __future__ import annotations

import numpy as np
import pytest
from learning import Trains, learned

import neurodriver as nd

RULES = (
    nd.CentredSTDP, nd.DiehlCookSTDP, nd.InhibitorySTDP, nd.IntervalRewardedSTDP, nd.NearestSTDP,
    nd.NearestTripletSTDP, nd.NormalisedSTDP, nd.PairSTDP, nd.PowerLawSTDP, nd.RestrictedSTDP,
    nd.RewardedSTDP, nd.ShortTerm, nd.TripletSTDP, nd.WeightedSTDP,
)  # fmt: skip


class Counting(nd.Plasticity):
    """Each spike carries how many came close before it."""

    params = {"tau": nd.Parameter("ms", default=10.0, above=0.0)}
    pre = {"recent": nd.Trace("tau")}
    modulators = {"reward": nd.Doses("tau")}
    on_arrival = "weight = recent + reward; send(weight);"


@pytest.mark.parametrize("rule", [*RULES, Counting], ids=lambda rule: rule.__name__)
def test_a_rule_changes_what_spikes_carry(rule: type[nd.Plasticity]) -> None:
    """Two pairs of spikes, each source first, then target; then one more from the source."""
    one, none = np.ones(1, int), np.zeros(1, int)
    trains = Trains([[3, 30, 60]], [[8, 35]], none, none, 0.5 * one, one, none, none, 80)
    with trains.lpu(rule()) as lpu:
        lpu.run(steps=80)
        carried = np.asarray(lpu.recording["V"])[[4, 31, 61]].ravel()
        assert np.unique(carried).size > 1
        changed = learned(lpu) != 0.5
    assert changed.all() == (rule is not nd.ShortTerm)
