"""Smoke test: each shipped rule learns, and one of one's own."""

from __future__ import annotations

import numpy as np
import pytest
from learning import Trains, learned

import neurodriver as nd

RULES = (
    nd.CentredSTDP, nd.DiehlCookSTDP, nd.HomeostaticSTDP, nd.InhibitorySTDP,
    nd.IntervalRewardedSTDP, nd.NearestSTDP, nd.NearestTripletSTDP, nd.NormalisedSTDP, nd.PairSTDP,
    nd.PowerLawSTDP, nd.RestrictedSTDP, nd.RewardedSTDP, nd.ShortTerm, nd.TripletSTDP,
    nd.WeightedSTDP,
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


@pytest.mark.parametrize("rule", [nd.BCMRule, nd.CovarianceRule, nd.HebbRule, nd.OjaRule])
def test_a_rule_of_rates_changes_weights(rule: type[nd.Plasticity]) -> None:
    """Two graded neurons, the first of which is active and drives the second one."""
    cells = nd.Population("GradedNeuron", 2, time_constant=5.0, bias=[1.0, 0.2])
    learning = nd.Projection(
        cells[:1], cells[1:], nd.AllToAll(), weight=0.5, plasticity=rule(), name="learning"
    )
    with nd.LPU(nd.Circuit([cells], [learning]), 1e-3) as lpu:
        lpu.run(steps=100)
        assert lpu["learning"].get("weight")[0] != 0.5


class Gated(nd.HebbRule):
    """Learns as far as another neuron is active."""

    modulators = {"gain": nd.Level("r")}
    on_step = "weight = clip(weight + 0.1 * gain * pre.value);"


def test_a_component_gates_a_rule() -> None:
    """One of two neurons with the same input learns."""
    cells = nd.Population("GradedNeuron", 3, time_constant=5.0, bias=[1.0, 0.2, 0.0])
    links = [
        nd.Projection(cells[:1], cells[1:2], nd.AllToAll(), weight=0.5, name=f"by {n}",
                      plasticity=Gated(gain=cells[n : n + 1]))
        for n in (0, 2)
    ]  # fmt: skip
    with nd.LPU(nd.Circuit([cells], links), 1e-3) as lpu:
        lpu.run(steps=100)
        assert lpu["by 0"].get("weight")[0] > 0.5 == lpu["by 2"].get("weight")[0]


class Filtered(nd.NDComponent):
    """Leaky neuron with low-passes of its potential."""

    accesses = (nd.Weighted("spike_state", "arrivals"),)
    updates = {"spike_state": "1", "V": "mV", "u_plus": "mV", "u_minus": "mV"}
    states = {name: nd.State("mV", -70.0) for name in ("V", "u_plus", "u_minus")}
    update = """
        V += 0.1 * (-70.6 - V) + arrivals;
        u_plus += 0.2 * (V - u_plus);
        u_minus += 0.1 * (V - u_minus);
        spike_state = V > -40 ? 1 : 0;
    """


def test_potentials_change_weights() -> None:
    """High ones potentiate."""
    sources = nd.Population("PoissonSource", 50, rate=100.0)
    cell = nd.Population(Filtered, 1)
    rule = nd.ClopathSTDP(delay_u=2.0)
    learning = nd.Projection(
        sources, cell, nd.AllToAll(), weight=1.0, plasticity=rule, name="learning"
    )
    with nd.LPU(nd.Circuit([sources, cell], [learning]), 1e-3, backend="cpu") as lpu:
        lpu.run(steps=200)
        assert lpu["learning"].get().max() > 1.0


def test_weights_are_recorded() -> None:
    """A recorder of synapses has a row at each interval."""
    sources = nd.Population("PoissonSource", 5, rate=100.0)
    cell = nd.Population("LeakyIAFDelta", 1, resting_potential=-70.0, threshold=-60.0,
                         reset_potential=-70.0, time_constant=20.0)  # fmt: skip
    learning = nd.Projection(
        sources, cell, nd.AllToAll(), weight=3.0, plasticity=nd.PairSTDP(w_max=4.0), name="learning"
    )
    weights = nd.SynapseRecorder(None, "learning", synapses=[0, 3], interval=0.1)
    with nd.LPU(nd.Circuit([sources, cell], [learning]), 1e-3, recorders=[weights]) as lpu:
        lpu.run(duration=0.5)
    rows = np.asarray(weights.recording.weight)
    assert rows.shape[1] == 2 and len(rows) >= 5
    assert np.unique(rows).size > 2
