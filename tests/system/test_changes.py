"""Circuits with stimuli, without connections, with other numbers; and runs side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import HH2, IAF, model

import neurodriver as nd
from neurodriver.errors import CircuitWarning, NeurodriverError

DT = 1e-4
LIF = {"resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0}
LIF["refractory_period"] = 5.0
CURRENT = {**LIF, "time_constant": 10.0, "capacitance": 250.0, "tau_exc": 2.0, "tau_inh": 4.0}
CONDUCTANCE = {**LIF, "leak_conductance": 10.0, "capacitance": 250.0, "tau_exc": 2.0}
CONDUCTANCE |= {"tau_inh": 4.0, "E_exc": 0.0, "E_inh": -80.0}

KINDS = {
    "LeakyIAFShiu": ({}, "kick"),
    "LeakyIAFDelta": ({**LIF, "time_constant": 10.0}, "spike_state"),
    "LeakyIAFExpCurrent": (CURRENT, "exc"),
    "LeakyIAFExpConductance": (CONDUCTANCE, "exc"),
    "Izhikevich": ({"a": 0.02, "b": 0.2, "c": -65.0, "d": 8.0}, "spike_state"),
    "LeakyIAF": (IAF, "I"),
    "HodgkinHuxley2": (HH2, "I"),
}
"""Model -> parameters, and where a stimulus enters."""


def zoo() -> nd.Circuit:
    """Return three cells of each kind, without connections."""
    groups = [
        (model(name), 3, given, [f"{name}/{i}" for i in range(3)], {"kind": name})
        for name, (given, _) in KINDS.items()
    ]
    return nd.Circuit.from_arrays(groups, name="zoo")


def chain(count: int = 3) -> nd.Circuit:
    """Return fly neurons in a row, each of which makes the next one fire."""
    links = nd.Connections(
        "spike_state", "syn", np.arange(count - 1), np.arange(1, count), 1.8e-3, {"weight": 200.0}
    )
    types = {"type": [f"t{i}" for i in range(count)]}
    uids = [f"n{i}" for i in range(count)]
    return nd.Circuit.from_arrays([(model("LeakyIAFShiu"), count, {}, uids, types)], [links])


def spikes_of(circuit: nd.Circuit, duration: float = 0.5, seed: int = 0) -> nd.Recording:
    """Return what all components that are not hidden fire."""
    with nd.LPU(circuit, DT, seed=seed) as lpu:
        lpu.run(duration=duration, record=["spike_state"])
        return lpu.recording


def test_every_kind_of_neuron_fires() -> None:
    """About each event of a source is a spike, whatever the model takes."""
    circuit = zoo()
    excited = circuit.stimulate(circuit.select(), rate=20.0)
    assert circuit.count == 21 and excited.count == 42  # the circuit itself does not change
    assert_array_equal(excited.uids[:21], circuit.uids)
    assert len(excited.select()) == 21  # sources are hidden
    for links in excited.connections:
        targets = {excited.uids[t].partition("/")[0] for t in links.target}
        assert {KINDS[name][1] for name in targets} == {links.access}
    sources = [f"stimulus/{uid}" for uid in circuit.uids]
    pulses = [uid for uid in sources if "LeakyIAF/" in uid or "Huxley" in uid]
    events = [uid for uid in sources if uid not in pulses]
    recorder = nd.MemoryRecorder(
        [("spike_state", [*circuit.uids, *events]), ("I", pulses)],
    )
    with nd.LPU(excited, DT, recorders=[recorder]) as lpu:
        lpu.run(duration=2.0)
    fired = recorder.recording.spikes()
    sent = {uid: len(fired[uid]) for uid in events}
    current = recorder.recording.I[:] > 0
    begun = (current[1:] & ~current[:-1]).sum(axis=0)
    sent |= dict(zip(pulses, begun.tolist(), strict=True))
    for uid in circuit.uids:
        number = sent[f"stimulus/{uid}"]
        assert 20 <= number <= 65
        assert 0.8 * number - 2 <= len(fired[uid]) <= 1.3 * number + 2, uid
    alone = spikes_of(circuit).spikes()  # gates that start at 0 make a first spike
    assert not any((times > 5e-3).any() for times in alone.values())


def test_weights_and_receptors_that_are_given() -> None:
    """A weight, a receptor, a delay and rates of each neuron are taken as they are."""
    circuit = chain()
    made = circuit.stimulate(["n2", "n0"], [7.0, 9.0], [3.0, 4.0], "syn", 5e-3, "poisson")
    links, group = made.connections[-1], made.groups[-1]
    assert group.uids.tolist() == ["poisson/n2", "poisson/n0"] and group.hidden
    assert group.params["rate"].tolist() == [7.0, 9.0] and float(links.delay) == 5e-3
    assert links.target.tolist() == [2, 0] and links.data["weight"].tolist() == [3.0, 4.0]
    usual = circuit.stimulate(circuit.select(type="t0"), 9.0).connections[-1]
    assert usual.access == "kick" and float(usual.delay) == 1.8e-3
    assert 70.0 <= float(usual.data["weight"]) < 75.0  # threshold - rest is 7 mV


def test_the_rate_of_a_stimulus_can_be_injected() -> None:
    """A source of the rate 0 fires while an input gives it a rate."""
    made = chain().stimulate(["n0"], 0.0)
    rate = nd.StepInput("rate", ["stimulus/n0"], 200.0, start=0.1, stop=0.2)
    with nd.LPU(made, DT, rate) as lpu:
        lpu.run(duration=0.3, record=["spike_state"])
        times = lpu.recording.spikes["n0"]
    assert 8 <= len(times) <= 32 and times.min() >= 0.1 and times.max() < 0.21


def test_stimulated_circuits_are_kept(tmp_path: Path) -> None:
    """A file keeps sources and that they are hidden."""
    made = chain().stimulate(["n0"], 100.0)
    made.save(tmp_path / "c.h5")
    again = nd.Circuit.from_file(tmp_path / "c.h5")
    assert again.digest == made.digest and again.groups[-1].hidden
    with pytest.raises(NeurodriverError, match=r"'stimulus/n0' is hidden.*save it as \.h5"):
        made.save(tmp_path / "c.gexf")
    (uids, _), (others, _) = ((spikes_of(c).spikes.read()) for c in (made, again))
    assert_array_equal(uids, others)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"who": ["n9"], "rate": 1.0}, "no component 'n9'"),
        ({"who": ["n0", "n0"], "rate": 1.0}, "component 'n0' is named twice"),
        ({"who": ["n0"], "rate": -1.0}, "rate must be at least 0 Hz"),
        ({"who": ["n0"], "rate": [1.0, 2.0]}, "rate must be a number or 1 of them"),
        ({"who": ["n0"], "rate": np.nan}, "rate must be finite"),
        ({"who": ["n0"], "rate": 1.0, "delay": -1.0}, "delay must be seconds, at least 0"),
        ({"who": ["n0"], "rate": 1.0, "receptor": "kik"}, "no receptor 'kik'.*kick"),
        ({"who": ["g"], "rate": 1.0}, "GradedNeuron.*makes a resting cell fire|takes neither"),
        ({"who": ["p"], "rate": 1.0}, "PhotoreceptorModel"),
        ({"who": ["s"], "rate": 1.0, "weight": 2.0}, "takes no weights; leave out weight="),
    ],
)
def test_faults(given: dict[str, object], said: str) -> None:
    """What a stimulus cannot do is refused, with the reason."""
    retina = {"num_microvilli": 10, "init_V": -82.0}
    groups = [
        (model("LeakyIAFShiu"), 1, {}, ["n0"]),
        (model("GradedNeuron"), 1, {"time_constant": 5.0}, ["g"]),
        (model("PhotoreceptorModel"), 1, retina, ["p"]),
        (model("SpikeSource"), 1, {}, ["s"]),
    ]
    circuit = nd.Circuit.from_arrays(groups)
    with pytest.raises(nd.CircuitError, match=said):
        circuit.stimulate(**given)  # type: ignore[arg-type]
    twice = circuit.stimulate(["n0"], 1.0)
    with pytest.raises(nd.CircuitError, match="'stimulus/n0' already; give this stimulus another"):
        twice.stimulate(["n0"], 1.0)
    assert twice.stimulate(["n0"], 1.0, name="more").count == 6


def test_silence() -> None:
    """Connections from, into, or from and into components are left out."""
    circuit = chain(4)
    pairs = {
        "outgoing": [(0, 1), (2, 3)],
        "incoming": [(1, 2), (2, 3)],
        "both": [(2, 3)],
    }
    for which, expected in pairs.items():
        left = circuit.silence(["n1"], which)  # type: ignore[arg-type]
        (links,) = left.connections
        assert list(zip(links.source.tolist(), links.target.tolist(), strict=True)) == expected
    assert not circuit.silence(circuit.select()).connections
    assert circuit.silence(["n3"]).digest == circuit.digest  # it has no outgoing ones
    a = nd.Population("LeakyIAFShiu", 5, name="a")
    b = nd.Population("LeakyIAFShiu", 5, name="b")
    drawn = nd.Circuit([a, b], [nd.Projection(a, b, nd.AllToAll(), receptor="syn", weight=2.0)])
    assert len(drawn.silence(a[:2]).connections[0]) == 15
    assert drawn.silence(b).connections[0] is drawn.connections[0]
    with pytest.raises(nd.CircuitError, match="which must be 'outgoing', 'incoming' or 'both'"):
        circuit.silence(["n1"], "out")  # type: ignore[arg-type]
    with pytest.raises(nd.CircuitError, match="no component 'x'"):
        circuit.silence(["x"])


def test_copy() -> None:
    """Parameters, weights and the name of a copy differ, and nothing else."""
    circuit = chain()
    other = circuit.copy(
        "cold",
        {"tau": 8.0, (circuit.select(type="t1"), "threshold"): -44.0},
        weight_scale=0.5,
    )
    assert (other.name, circuit.name) == ("cold", "circuit")
    params = other.groups[0].params
    assert float(params["tau"]) == 8.0 and params["threshold"].tolist() == [-45.0, -44.0, -45.0]
    assert other.connections[0].data["weight"] == 100.0
    assert circuit.copy().digest == circuit.digest and "tau" not in circuit.groups[0].params
    for given, said in (
        ({"params": {"treshold": 1.0}}, r"no parameter 'treshold'.*'threshold'"),
        ({"params": {"tau": -1.0}}, "tau"),
        ({"params": {"tau": [1.0, 2.0]}}, r"tau: expected a number or 3 of them"),
        ({"params": {(("n9",), "tau"): 1.0}}, "no component 'n9'"),
        ({"weight_scale": "much"}, "weight_scale must be a number"),
    ):
        with pytest.raises(nd.CircuitError, match=said):
            circuit.copy(**given)  # type: ignore[arg-type]


def test_compare(tmp_path: Path) -> None:
    """Rates by type are those that are counted by hand, over trials, from all kinds of runs."""
    brain = chain()
    excited = brain.stimulate(["n0"], 50.0)
    silenced = excited.silence(["n1"])
    trials = [spikes_of(excited, seed=seed) for seed in (1, 2)]
    with nd.LPU(silenced, DT, batch=2, seed=[1, 2]) as lpu:
        lpu.run(duration=0.5, record=["spike_state"])
        found = nd.compare({"control": trials, "silenced": lpu}, brain, by="type")
    assert found.conditions == ("control", "silenced") and found.groups == ("t0", "t1", "t2")
    assert found.trials.tolist() == [2, 2] and found.components.tolist() == [1, 1, 1]
    counts = np.array([[len(one.spikes[f"n{i}"]) for i in range(3)] for one in trials])
    assert_array_equal(found.rates[0], counts.mean(axis=0) / 0.5)
    assert_array_equal(found.deviations[0], (counts / 0.5).std(axis=0, ddof=1))
    assert found.rates[0, 2] > 20.0 and found.rates[1, 2] == 0.0
    assert_array_equal(found.rates[0, :2], found.rates[1, :2])  # the same trains
    assert found.order.tolist()[0] == 2 and repr(found).splitlines()[1].startswith("t2")
    assert "<td>t2</td>" in found._repr_html_()
    frame = found.to_pandas()
    assert frame.loc["t2", "silenced"] == 0.0 and frame.index.name == "type"
    path = tmp_path / "run.h5"
    recorder = nd.HDF5Recorder(path, [("spike_state", None)])
    with nd.LPU(excited, DT, recorders=[recorder], seed=1) as lpu:
        lpu.run(duration=0.5)
    groups = {"first": ["n0"], "rest": brain.select(type=["t1", "t2"])}
    late = nd.compare({"file": path}, by=groups, start=0.1, stop=0.3)
    each = [trials[0].spikes[f"n{i}"] for i in range(3)]
    inside = [((times >= 0.1) & (times < 0.3)).sum() for times in each]
    assert_allclose(late.rates[0], [inside[0] / 0.2, (inside[1] + inside[2]) / 2 / 0.2])
    assert np.isnan(late.deviations).all() and late.by == "group"
    figure = found.plot()
    ax = figure.axes[0]
    assert found.plot(tmp_path / "rates.png") == tmp_path / "rates.png"
    assert (tmp_path / "rates.png").stat().st_size > 5000 and ax.get_xlabel() == "rate (Hz)"
    assert ax.get_yticklabels()[0].get_text() == "t2 (1)"
    assert late.plot(ax=ax) is ax
    a = nd.Population("PoissonSource", 4, name="a", rate=50.0)
    assert nd.compare({"x": spikes_of(nd.Circuit([a]))}).groups == ("a",)


def test_comparisons_that_cannot_be() -> None:
    """What is missing is named."""
    run = spikes_of(chain(), 0.01)
    with nd.LPU(chain(), DT) as lpu:
        lpu.run(duration=0.01, record=["V"])
        silent = lpu.recording
    for runs, more, said in (
        ({}, {}, "a mapping of conditions"),
        ({"a": []}, {}, "condition 'a' has no run"),
        ({"a": run}, {"by": "type"}, "needs circuit="),
        ({"a": run}, {"by": "typ", "circuit": chain()}, "typ"),
        ({"a": silent}, {}, "a: .*holds no spike_state; record it"),
        ({"a": run}, {"start": 0.5}, "no time from 0.5 to 0.01 s"),
        ({"a": 3}, {}, "a recording, a file, an LPU"),
        ({"a": run}, {"by": {"x": ["n7"]}}, "no recorded component belongs to a group"),
    ):
        with pytest.raises(NeurodriverError, match=said):
            nd.compare(runs, **more)  # type: ignore[arg-type]


def test_events_that_are_too_weak_are_told() -> None:
    """A Poisson input into a fly neuron has the weight 1 mV; a warning says what it takes."""
    circuit = chain()
    train = nd.PoissonInput("spike_state", circuit, 100.0)
    with pytest.warns(CircuitWarning, match=r"LeakyIAFShiu at its receptor 'syn'.*takes 4\d\."):
        nd.LPU(circuit, DT, train).close()
