"""One pair of spikes: each shipped rule changes the weight by its closed form, for any lag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from learning import Trains, learned
from numpy.typing import NDArray

import neurodriver as nd

LAGS = np.array([-80, -40, -17, -5, -1, 1, 3, 10, 25, 60])
"""ms from the arrival to the spike of the target."""

FIRST, AT = 0.4, 100

Form = Callable[[Any, NDArray[np.float64]], NDArray[np.float64]]


def exp(h: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
    return np.exp(-h / tau)


def up(p: Any, h: NDArray[np.float64]) -> NDArray[np.float64]:
    v = FIRST / p.w_max
    return p.learning_rate * p.w_max * (1 - v) ** p.mu_plus * exp(h, p.tau_plus)


def down(p: Any, h: NDArray[np.float64]) -> NDArray[np.float64]:
    v = FIRST / p.w_max
    return -p.alpha * p.learning_rate * p.w_max * v**p.mu_minus * exp(h, p.tau_minus)


CHANGES: dict[str, tuple[Form, Form]] = {
    "PairSTDP": (
        lambda p, h: p.A_plus * p.w_max * exp(h, p.tau_plus),
        lambda p, h: -p.ratio * p.A_plus * p.w_max * exp(h, p.tau_minus),
    ),
    "WeightedSTDP": (up, down),
    "NearestSTDP": (up, down),
    "RestrictedSTDP": (up, down),
    "CentredSTDP": (up, down),
    "PowerLawSTDP": (
        lambda p, h: p.learning_rate * p.w_0 ** (1 - p.mu) * FIRST**p.mu * exp(h, p.tau_plus),
        lambda p, h: -p.learning_rate * p.alpha * FIRST * exp(h, p.tau_minus),
    ),
    "TripletSTDP": (
        lambda p, h: p.A2_plus * exp(h, p.tau_plus),
        lambda p, h: -p.A2_minus * exp(h, p.tau_minus),
    ),
    "NearestTripletSTDP": (
        lambda p, h: p.A2_plus * exp(h, p.tau_plus),
        lambda p, h: -p.A2_minus * exp(h, p.tau_minus),
    ),
    "InhibitorySTDP": (
        lambda p, h: p.eta * (exp(h, p.tau) - 2e-3 * p.rho_0 * p.tau),
        lambda p, h: p.eta * (exp(h, p.tau) - 2e-3 * p.rho_0 * p.tau),
    ),
    "DiehlCookSTDP": (lambda p, h: 0 * h, lambda p, h: -p.nu_pre * exp(h, p.tau_1)),
    "ShortTerm": (lambda p, h: 0 * h, lambda p, h: 0 * h),
    "RewardedSTDP": (
        lambda p, h: p.A_plus * exp(h, p.tau_plus),
        lambda p, h: -p.A_minus * exp(h, p.tau_minus),
    ),
}
CHANGES["NormalisedSTDP"] = CHANGES["PairSTDP"]
CHANGES["HomeostaticSTDP"] = CHANGES["PairSTDP"]
CHANGES["IntervalRewardedSTDP"] = CHANGES["RewardedSTDP"]
"""Rule -> change where the arrival comes first, and where the spike of the target does.

It is a change of the weight, or of the eligibility.
"""

GIVEN: dict[str, dict[str, float]] = {
    "WeightedSTDP": {"mu_plus": 0.3, "mu_minus": 0.8, "w_max": 2.0, "alpha": 1.2},
    "NormalisedSTDP": {"interval": 1e6},
    "HomeostaticSTDP": {"interval": 1e6},
    "IntervalRewardedSTDP": {"interval": 1e6},
    "PowerLawSTDP": {"w_0": 0.7},
    "TripletSTDP": {"A2_plus": 5e-3},
    "NearestTripletSTDP": {"A2_plus": 5e-3},
}


class Numbers:
    """The numbers of a rule as attributes."""

    def __init__(self, rule: nd.Plasticity) -> None:
        vars(self).update(rule.values)


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize("delay", [0, 6])
def test_a_pair_of_spikes(delay: int) -> None:
    """Each of ten synapses sees one pair, with axonal delays or dendritic ones."""
    rules = [getattr(nd, name)(**GIVEN.get(name, {})) for name in CHANGES]
    n = np.arange(len(LAGS))
    forward = np.where(n % 2, delay, 0)
    back = forward + 1
    arrives = AT + delay - forward
    pre = [[AT] for _ in LAGS]
    post = [[int(at)] for at in arrives + LAGS - back]
    first = np.full(len(n), FIRST)
    late = np.full(len(n), delay + 1)
    trains = Trains(pre, post, n, n, first, late, forward, back, 250)
    with trains.lpu(*rules) as lpu:
        lpu.run(steps=250)
        for rule in rules:
            name, h = type(rule).__name__, abs(LAGS).astype(float)
            p = Numbers(rule)
            after, before = (change(p, h) for change in CHANGES[name])
            variable, start = ("c", 0.0) if rule.modulators else ("weight", FIRST)
            change = trains.unsorted(learned(lpu, variable, name)) - start
            expected = np.where(LAGS > 0, after, before)
            np.testing.assert_allclose(change, expected, rtol=0, atol=2e-16, err_msg=name)


def test_every_rule_is_here() -> None:
    """Whoever adds a rule adds its closed form."""
    from neurodriver.lazy import RULES

    assert set(CHANGES) == {name for name in RULES if not getattr(nd, name).on_step}


PUBLISHED: dict[str, dict[str, float]] = {
    "PairSTDP": {"A_plus": 0.005, "ratio": 1.05, "tau_plus": 20, "tau_minus": 20},
    "WeightedSTDP": {"learning_rate": 0.01, "alpha": 1, "mu_plus": 1, "mu_minus": 1,
                     "tau_plus": 20, "tau_minus": 20},
    "PowerLawSTDP": {"learning_rate": 0.1, "alpha": 0.0513, "mu": 0.4, "w_0": 1,
                     "tau_plus": 15, "tau_minus": 30},
    "TripletSTDP": {"A2_plus": 5e-10, "A3_plus": 6.2e-3, "A2_minus": 7e-3, "A3_minus": 2.3e-4,
                    "tau_plus": 16.8, "tau_x": 101, "tau_minus": 33.7, "tau_y": 125},
    "InhibitorySTDP": {"eta": 0.01, "rho_0": 3, "tau": 20},
    "RewardedSTDP": {"A_plus": 0.1, "A_minus": 0.15, "tau_plus": 20, "tau_minus": 20,
                     "tau_c": 1000, "tau_n": 200, "dose": 0.5, "base": -0.002, "w_max": 4},
    "ShortTerm": {"U": 0.5, "tau_d": 800, "tau_f": 0},
    "DiehlCookSTDP": {"nu_pre": 1e-4, "nu_post": 0.01, "tau_x": 20, "tau_1": 20, "tau_2": 40,
                      "total": 78},
    "ClopathSTDP": {"A_LTP": 8e-5, "A_LTD": 14e-5, "theta_plus": -45.3, "theta_minus": -70.6,
                    "tau_x": 15, "delay_u": 5},
}  # fmt: skip
"""Rule -> numbers of its paper, or of the simulator that its reference names."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_defaults_are_published(name: str) -> None:
    """The page of the rules promises it."""
    values = getattr(nd, name)().values
    assert {key: values[key] for key in PUBLISHED[name]} == PUBLISHED[name]


def test_hippocampal_triplets() -> None:
    """The paper's second set of parameters."""
    values = nd.TripletSTDP.hippocampal(w_max=2.0).values
    expected = {"A2_plus": 6.1e-3, "A3_plus": 6.7e-3, "A2_minus": 1.6e-3, "A3_minus": 1.4e-3,
                "tau_x": 946.0, "tau_y": 27.0, "w_max": 2.0}  # fmt: skip
    assert {key: values[key] for key in expected} == expected


def test_a_train_through_a_synapse_that_tires() -> None:
    """Stationary amplitudes are Tsodyks and Markram's, within 1e-12, for rates of 1 to 50 Hz."""
    intervals = np.array([20, 33, 50, 100, 250, 1000])
    n, steps = np.arange(len(intervals)), 30_001
    kinds = {"depressing": (0.5, 800.0, 0.0), "facilitating": (0.15, 130.0, 530.0)}
    one, none = np.ones(len(n), int), np.zeros(len(n), int)
    trains = Trains(
        [range(1, steps, k) for k in intervals], [[] for _ in n], n, n, 2.0 * one, one, none, none,
        steps,
    )  # fmt: skip
    for share, tau_d, tau_f in kinds.values():
        rule = nd.ShortTerm(U=share, tau_d=tau_d, tau_f=tau_f)
        with trains.lpu(rule) as lpu:
            lpu.run(steps=steps)
            mine = learned(lpu, "u") * learned(lpu, "x")
        kept_d = np.exp(-intervals / tau_d)
        kept_f = np.exp(-intervals / tau_f) if tau_f else 0.0
        u = share / (1 - (1 - share) * kept_f)
        x = (1 - kept_d) / (1 - (1 - u) * kept_d)
        np.testing.assert_allclose(mine, u * x, rtol=0, atol=1e-12)
