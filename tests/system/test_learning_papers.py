"""The examples of networks that learn, for a short time: what must come out, and their figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
from support import example


def assert_drawn(paper: Any, folder: Path, *found: Any) -> None:
    """Draw the figure of an example, and find some colour in it."""
    paper.draw(*found, folder / "out" / "figure.png")
    figure = matplotlib.image.imread(folder / "out" / "figure.png")[..., :3]
    assert (np.ptp(figure, axis=2) > 0.2).mean() > 1e-3


def test_amplitudes_are_tsodyks_and_markram_s(tmp_path: Path) -> None:
    """Depressing and facilitating synapses at 1 to 50 Hz, within 1e-12 of the closed form."""
    paper = example("tsodyks_markram_1997")
    found, recording = paper.transmit(20.0)
    for name, rule in paper.SYNAPSES.items():
        expected = paper.stationary(rule, paper.INTERVALS * paper.DT * 1e3)
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-12)
    potential = np.asarray(recording.V["depressing targets/0"])
    assert np.max(potential) > -70.0 + 0.1
    assert_drawn(paper, tmp_path, found, recording)


def test_weights_begin_to_settle(tmp_path: Path) -> None:
    """Morrison et al.: they spread as by independent changes, and the mean falls to 44.5 pA."""
    paper = example("morrison_2007")
    course, weights = paper.settle(30.0)
    time, mean, sd = course.T
    assert weights.shape == (2000,) and time[-1] == 30.0
    assert (np.diff(sd) > 0).all() and 1.8 < sd[-1] < 2.5
    assert abs(mean[0] - paper.FIRST) < 1e-9 and 45.1 < mean[-1] < 45.6
    assert 44.4 < paper.balanced(paper.nd.PowerLawSTDP()) < 44.6
    assert_drawn(paper, tmp_path, course, weights)


def test_weights_of_a_network_spread() -> None:
    """Morrison et al., with 100 inputs: the figures are those of the published table."""
    paper = example("morrison_2007")
    (early, late), weights = paper.run_network(0.2, 1_125, 100, dtype="float64")
    assert abs(len(weights) - 90_000) < 1_500 and (early.time, late.time) == (0.1, 0.2)
    assert max(abs(one.mean - paper.FIRST) for one in (early, late)) < 0.1
    assert 0.3 < early.sd < late.sd < 1.0
    assert 10.0 < late.spikes.rate < 30.0 and late.spikes.synchrony > 5.0
    (first,), _ = paper.run_network(0.05, 1_125, 100, reads=1, first_sd=3.99)
    assert abs(first.mean - paper.FIRST) < 0.1 and abs(first.sd - 3.99) < 0.1
    lengths = {len(one.figures) for one in (early, late)}
    assert lengths == set(map(len, paper.PUBLISHED.values()))


def test_inputs_compete(tmp_path: Path) -> None:
    """Song, Miller & Abbott: 20 Hz at first drive the neuron hard, so most weights fall."""
    paper = example("song_miller_abbott_2000")
    early, fast, _ = paper.learn(20.0, 6.0)
    late, slow, _ = paper.learn(20.0, 24.0)
    assert fast > 100.0 > slow
    assert early.mean() > late.mean() + 0.05
    assert (late < 0.1).mean() > 0.2 > (late > 0.9).mean()
    assert_drawn(paper, tmp_path, {20.0: late})


def test_inhibition_begins_to_balance(tmp_path: Path) -> None:
    """Vogels et al.: the rate of excitatory neurons falls within two seconds."""
    paper = example("vogels_sprekeler_2011")
    circuit = paper.network(neurons=2_000)
    (exc, _), weights, spikes = paper.balance(circuit, 2.5)
    rates = paper.rate_of(spikes, 1_600, 2.5)
    assert 60.0 < rates[0] < 95.0 and rates[-1] < 30.0
    assert exc.rate < 30.0
    assert 0.1 < weights.mean() < 20.0 and weights.min() >= 0.0
    assert_drawn(paper, tmp_path, rates, weights)


def test_a_network_waits_for_its_reward(tmp_path: Path) -> None:
    """Izhikevich: it fires at about 1 Hz, and nearly all weights fall while rewards are rare."""
    paper = example("izhikevich_2007")
    found = paper.learn(20.0)
    assert 0.8 < found.rate < 2.0
    assert found.watched[0] == 0.0 and abs(found.mean[0] - 1.0) < 1e-3
    assert 0.9 < found.mean[-1] < 1.0
    assert found.weights.min() >= 0.0 and found.weights.max() <= 4.0
    assert_drawn(paper, tmp_path, found)


def test_a_reward_comes_1_to_3_s_after_a_pair() -> None:
    """A pair within 20 ms causes one, in the order source, then target; others none."""
    paper = example("izhikevich_2007")
    nd, steps = paper.nd, 12_000
    reward = nd.Population(paper.Reward, 1, name="reward")
    ends = nd.Population("SpikeSource", 2, name="ends")
    links = [
        nd.Projection(ends[i : i + 1], reward, nd.OneToOne(), receptor=receptor)
        for i, receptor in enumerate(("source", "target"))
    ]
    spikes = np.zeros((steps, 2))
    spikes[[100, 5000], 0] = 1.0  # source
    spikes[[110, 4990, 5030], 1] = 1.0  # target: 10 ms later; before; 30 ms later
    feed = nd.ArrayInput({"spike_state": (["ends/0", "ends/1"], spikes)})
    recorder = nd.MemoryRecorder([("spike_state", ["reward/0"])])
    with nd.LPU(nd.Circuit([reward, ends], links), paper.DT, [feed], [recorder]) as lpu:
        lpu.run(steps=steps)
        (time,) = lpu.recording.spikes.time
    assert 1.1 < time < 3.12


def test_stimuli_are_answered_and_one_is_rewarded() -> None:
    """Izhikevich: 50 neurons fire at each stimulus; dopamine follows one of them within 1 s."""
    paper = example("izhikevich_2007_conditioning")
    events = paper.drawn(300.0)
    first = events.time[events.which == 0]
    assert 1_300 < len(events.time) < 1_700 and len(np.unique(events.which)) == 100
    assert (np.diff(events.time) > 0.0985).all() and (np.diff(events.time) < 0.3015).all()
    late = events.reward - first[: len(events.reward)]
    assert len(first) > 8 and (late >= 0).all() and (late < 1.0).all()
    (found,) = paper.condition(paper.network(), paper.drawn(12.0), 12.0, [0])
    seen = found.before[found.before > 0]
    assert len(seen) > 20 and 40.0 < seen.mean() < 80.0  # 40 of them, and theirs
    assert 0.9 < found.all < 1.0


def test_responses_are_those_within_10_ms() -> None:
    """Spikes at the ends of the window, and of another stimulus, are told apart."""
    paper = example("izhikevich_2007_conditioning")
    events = paper.Events(np.array([1.0, 1.2]), np.array([0, 3]), np.zeros(0))
    rows = np.array([0, 1_001, 1_002, 1_011, 1_012, 1_202, 5_000])
    found = paper.responses(rows * paper.DT, events)
    assert found[0] == 2.0 and found[3] == 1.0 and found.sum() == 3.0


def test_pairs_in_a_network_with_delays() -> None:
    """Izhikevich's network of 10,000 neurons after 5 s: NEST and Brian2 have these figures."""
    paper = example("izhikevich_2003")
    circuit, inputs, _ = paper.network(10_000, learns=True)
    recorder = paper.nd.MemoryRecorder([("spike_state", None)])
    with paper.nd.LPU(circuit, paper.DT, inputs, [recorder], seed=0) as lpu:
        lpu.run(duration=5.0)
        weights = lpu["learning"].get("weight")
    assert abs(len(recorder.get("spike_state")["time"]) / 10_000 / 5.0 - 5.62) < 0.05
    assert abs(weights.mean() / 4.0 - 0.250) < 0.002
