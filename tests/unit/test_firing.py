"""Rates, irregularity and synchrony of spikes whose statistics are known."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.errors import NeurodriverError
from neurodriver.results import train_measures
from neurodriver.results.firing import Activity, activity, count_dispersion, described

RNG = np.random.default_rng(5)


def test_a_gamma_process_has_its_own_rate_and_cv() -> None:
    """Gamma intervals of shape k: CV 1 / sqrt(k); two populations with two shapes and rates."""
    time, index = [], []
    for neuron in range(300):
        shape, rate = (4, 20.0) if neuron < 200 else (1, 50.0)
        times = np.cumsum(RNG.gamma(shape, 1 / (shape * rate), int(rate * 60)))
        time.append(times[times < 40.0])
        index.append(np.full(time[-1].size, neuron))
    mixed = RNG.permutation(sum(t.size for t in time))
    when, who = np.concatenate(time)[mixed], np.concatenate(index)[mixed]
    found = activity(when, who, {"clock": range(200), "chance": range(200, 300)}, 40.0, 20.0)
    assert [a.population for a in found] == ["clock", "chance"]
    assert [a.neurons for a in found] == [200, 100]
    assert found[0].rate == pytest.approx(20.0, rel=0.01)
    assert found[1].rate == pytest.approx(50.0, rel=0.01)
    assert found[0].cv == pytest.approx(0.5, abs=0.01)
    assert found[1].cv == pytest.approx(1.0, abs=0.01)
    assert found[1].synchrony == pytest.approx(1.0, abs=0.06)


def test_a_clock_has_no_variation_and_volleys_are_synchronous() -> None:
    """10 neurons that fire together every 30 ms: counts of 0 and 10 in bins of 3 ms."""
    time = np.repeat(0.001 + 0.03 * np.arange(20), 10)
    index = np.tile(np.arange(10), 20)
    (one,) = activity(time, index, {"all": range(10)}, 0.6)
    assert one.rate == pytest.approx(20 / 0.6)
    assert one.cv == pytest.approx(0.0, abs=1e-12)
    counts = np.tile([10] + [0] * 9, 20)
    assert one.synchrony == pytest.approx(counts.var() / counts.mean())


def test_by_hand() -> None:
    """Intervals 1, 2, 3 s: CV sqrt(2/3) / 2; one interval alone has none."""
    time = [7.0, 1.0, 2.0, 4.0, 1.0, 5.0, 3.0]
    index = [3, 3, 3, 3, 8, 8, 5]
    found = {a.population: a for a in activity(
        time, index, {"a": [4, 2, 3], "b": range(8, 9), "none": range(20, 22)}, 10.0)}  # fmt: skip
    assert found["a"].cv == pytest.approx(math.sqrt(2 / 3) / 2)
    assert found["a"].rate == pytest.approx(4 / 3 / 10.0)
    assert found["b"].rate == pytest.approx(0.2) and math.isnan(found["b"].cv)
    assert found["none"].rate == 0 and math.isnan(found["none"].synchrony)


def test_the_window_takes_its_begin_and_not_its_end() -> None:
    time, index = [0.1, 0.2, 0.3], [0, 0, 0]
    (one,) = activity(time, index, {"n": range(1)}, stop=0.3, start=0.1)
    assert one.rate == pytest.approx(2 / 0.2)


def test_times_on_the_edge_of_a_bin_belong_to_the_bin_that_begins() -> None:
    """3 k * 0.1 ms is not 3 ms k in binary; one spike a bin has no variance."""
    time = np.arange(0, 3000, 30) * 1e-4
    assert count_dispersion(time, 0.0, 0.3) == 0.0


def test_text() -> None:
    text = described(activity([0.1, 0.2, 0.4], [0, 0, 0], {"E": range(2000)}, 1.0))
    head, line = text.splitlines()
    assert head.split() == ["population", "neurons", "rate", "Hz", "CV", "synchrony"]
    assert line.split()[:4] == ["E", "2,000", "0.00", "0.33"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([0.1], [0, 1], {"n": range(1)}, 1.0), r"got \(1,\) times and \(2,\) neurons"),
        (([0.1], [0], {"n": range(1)}, 0.0), "from 0 to 0 s is empty"),
        (([0.1], [0], {"n": range(1)}, math.inf), "endless"),
        (([0.1], [0], {"n": range(0)}, 1.0), "population 'n': needs numbers of neurons"),
        (([0.1], [0], {"n": [0.0]}, 1.0), r"got float64 of shape \(1,\)"),
        (([0.1], [0], {"n": [4, 5, 4]}, 1.0), "population 'n': 1 of 3 numbers repeat"),
    ],
)
def test_mistakes(given: tuple, said: str) -> None:
    with pytest.raises(NeurodriverError, match=said):
        activity(*given)


def test_spikes_of_a_recording_are_given_whole(tmp_path: Path) -> None:
    """They know their populations and their time; as columns they say the same."""
    sources = [nd.Population("PoissonSource", 5, name=name, rate=200.0) for name in "ab"]
    with nd.LPU(nd.Circuit(sources), 1e-3) as lpu:
        spikes = lpu.run(duration=0.5, record=["spike_state"]).recording.spikes
    assert dict(spikes)["time"].size == len(spikes) > 0
    given = {"populations": spikes.populations, "stop": 0.5}
    whole = activity(spikes)
    assert [one.population for one in whole] == ["a", "b"]

    def same(one: list[Activity], other: list[Activity]) -> bool:
        return repr(one) == repr(other)

    assert same(whole, activity(spikes.time, spikes.index, **given))
    assert same(whole, activity(**spikes, **given))
    assert same(activity(spikes["b"]), whole[1:])
    rates = train_measures(spikes)["b"]["rate"]
    assert np.array_equal(rates, train_measures(**spikes, **given)["b"]["rate"])
    assert nd.plot_populations(spikes, whole, spikes.populations, tmp_path / "f.png").exists()


def test_what_spikes_do_not_know() -> None:
    """It is named: a window of time is no whole recording, and columns know nothing."""
    source = nd.Population("PoissonSource", 5, name="a", rate=200.0)
    with nd.LPU(nd.Circuit([source]), 1e-3) as lpu:
        spikes = lpu.run(duration=0.5, record=["spike_state"]).recording.spikes
    for call, match in (
        (lambda: activity(spikes.between(0.1, 0.2)), "stop is missing"),
        (lambda: activity(spikes, {"a": [1]}), "write activity.spikes, populations="),
        (lambda: activity([0.1], [0]), "populations is missing"),
        (lambda: activity([0.1]), "index is missing"),
        (lambda: activity({"time": [0.1]}), "the spikes have no index"),
    ):
        with pytest.raises(NeurodriverError, match=match):
            call()
