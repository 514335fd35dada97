"""Traces of synapses: what events leave decays, whenever it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_networks import DT, SOURCES, SYNAPSES, Pairs, learning, network, state_of, trains
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver.errors import CircuitError, ModelError, NeurodriverError
from neurodriver.plan.delays import axonal_of, times_of

TAU = 35.0
"""ms."""


class Counted(Pairs):
    """An arrival adds 1 to a trace of the synapse, a spike of the target adds 10."""

    params = {"tau_c": nd.Parameter("ms", default=TAU, above=0.0)}
    synapse = {"c": nd.Trace("tau_c", doc="events"), "k": nd.State("1", 0.0)}
    on_arrival = "c += 1; weight = clip(weight + 0.002 * c - down * y); send(weight);"
    on_spike = "c += 10; k += 1;"


class Dosed(Counted):
    """Doses are events, too, which leave the trace as it is."""

    modulators = {"level": nd.Doses("tau_c")}


class Written(Pairs):
    """The same as `Counted`, where the text says how the number decays."""

    params = Counted.params
    synapse = {"c": nd.State("", 0.0), "k": nd.State("1", 0.0)}
    between = "c *= exp(-since_event / tau_c);"
    on_arrival, on_spike = Counted.on_arrival, Counted.on_spike


def closed_form(circuit: nd.Circuit, rows: NDArray[np.bool_], step: int) -> NDArray[np.float64]:
    """Return the traces after some steps, for given rows of spikes, (m,)."""
    (links,) = (one for one in circuit.connections if one.plasticity is not None)
    ways = axonal_of(links, DT), np.rint(times_of(links, "back") / DT).astype(int)
    out = np.zeros(len(links))
    for s in range(len(links)):
        for neuron, late, size in zip(
            (links.source[s], links.target[s]), ways, (1.0, 10.0), strict=True
        ):
            seen = np.flatnonzero(rows[:, neuron]) + np.broadcast_to(late, len(links))[s]
            seen = seen[seen < step]
            out[s] += size * np.exp(-(step - seen) * DT * 1e3 / TAU).sum()
    return out


def rows_of(lpu: nd.LPU, steps: int) -> NDArray[np.bool_]:
    """Return what was recorded of all spikes, (steps, neurons)."""
    spikes = lpu.recording.spikes
    out = np.zeros((steps, lpu.circuit.count), bool)
    for i, uid in enumerate(lpu.circuit.uids.tolist()):
        out[np.rint(np.asarray(spikes[uid]) / DT).astype(int), i] = True
    return out


@pytest.mark.parametrize("rule", [Counted, Dosed])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_trace_is_read_as_it_is_now(rule: type[nd.Plasticity], threads: int) -> None:
    """Between events, and recorded; before the first event it is 0."""
    recorder = nd.SynapseRecorder(None, "learning", ["c"], synapses=[3, 40], interval=50 * DT)
    circuit, spikes = network(rule()), nd.MemoryRecorder([("spike_state", None)])
    recorders: list[nd.Recorder] = [spikes, recorder]
    options: dict[str, Any] = {"backend": "cpu", "threads": threads}
    with nd.LPU(circuit, DT, trains(circuit), recorders, **options) as lpu:
        assert not lpu["learning"].get("c").any()
        found = []
        for steps in (1, 36, 163):
            lpu.advance(steps)
            found.append((lpu.simulation.step, lpu["learning"].get("c")))
        rows = rows_of(lpu, 200)
        assert rows[:, SOURCES:].sum() > 50
        for step, values in found:
            expected = closed_form(lpu.circuit, rows, step)
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-11)
        some = np.array([closed_form(lpu.circuit, rows, n)[[3, 40]] for n in (50, 100, 150, 200)])
    assert np.ptp(found[-1][1]) > 5.0
    np.testing.assert_allclose(recorder.recording.c[:], some, rtol=0, atol=1e-11)


def test_it_is_what_the_text_would_say() -> None:
    """The same weights, bit by bit; reading stores nothing."""
    found = []
    for rule, often in ((Counted, False), (Written, False), (Counted, True)):
        with learning(rule()) as lpu:
            for _ in range(20):
                lpu.run(steps=10)
                if often:
                    lpu["learning"].get("c")
            found.append((lpu["learning"].get(), np.asarray(lpu.recording.V)))
    for one in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], one, strict=True))
    assert np.ptp(found[0][0]) > 0.2


def test_a_checkpoint_keeps_it(tmp_path: Path) -> None:
    """And while nothing is learned it stays."""
    with learning(Counted()) as lpu:
        lpu.run(steps=77)
        lpu.save(tmp_path / "a.h5")
        lpu.run(steps=70)
        whole = state_of(lpu)
        lpu["learning"].learn(False)
        before = lpu["learning"].get("c")
        lpu.run(steps=20)
        assert np.array_equal(lpu["learning"].get("c"), before)
    with learning(Counted()) as lpu:
        lpu.resume(tmp_path / "a.h5")
        lpu.run(steps=70)
        assert all(np.array_equal(whole[name], one) for name, one in state_of(lpu).items())


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "it jumps": (
        {"synapse": {"c": nd.Trace("tau_c", jump=2.0)}},
        r"synapse\['c'\]: texts of events change the trace of a synapse; leave out 'jump'",
    ),
    "no time constant": (
        {"synapse": {"c": nd.Trace("tau_d")}},
        r"synapse\['c'\], tau: no parameter or constant 'tau_d' \(did you mean 'tau_c'",
    ),
    "at an interval": (
        {"every": {"tau_c": "weight = clip(weight + c);"}},
        r"every\['tau_c'\] uses 'c', a trace of synapses, which texts of events alone know",
    ),
    "in a sum": (
        {"every": {"tau_c": "total = sum(c); weight = clip(weight + total);"}},
        r"every\['tau_c'\] uses 'c', a trace of synapses",
    ),
    "by a call": ({"on_call": {"reward()": "c = 0;"}}, r"on_call\['reward\(\)'\] uses 'c'"),
    "in each step": ({"on_step": "weight += c;"}, "on_step uses 'c', a trace of synapses"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_declarations_that_are_refused(case: str) -> None:
    """With the attribute and what to do."""
    parts, said = REFUSED[case]
    with pytest.raises(ModelError, match=said):
        type("Bad", (Counted,), parts)


def test_what_cannot_be_given() -> None:
    """A trace follows from events: nobody sets it, and its time constant is one number."""
    with pytest.raises(ModelError, match=r"'tau_c'.*one number, as the trace 'c' decays alike"):
        Counted(tau_c=np.full(SYNAPSES, 30.0))
    with learning(Counted()) as lpu:
        with pytest.raises(NeurodriverError, match="'c': it is a trace, which follows from events"):
            lpu["learning"].set("c", 1.0)
        lpu["learning"].set("k", 1.0)
    circuit = network(Counted())
    fixed, learns = circuit.connections
    data = {**learns.data, "initc": np.ones(SYNAPSES)}
    ends = learns.source, learns.target, learns.delay
    links = nd.Connections("spike_state", "learned", *ends, data, Counted(), "learning")
    groups = [(g.model, g.count, {}, g.uids.tolist()) for g in circuit.groups]
    with pytest.raises(CircuitError, match=r"'initc'.*no variable of synapses.*initk"):
        nd.Circuit.from_arrays(groups, [fixed, links])


class Listener(nd.NDComponent):
    """Spikes when it is told to; V is what arrives."""

    accesses = (nd.Weighted("spike_state", "learned"), "told")
    updates = {"spike_state": "1", "V": "mV"}
    update = "V = learned; spike_state = told > 0.5 ? 1 : 0;"


class Touched(nd.RewardedSTDP):
    """A call and an interval change the weights, which drift up to then."""

    params = {"interval": nd.Parameter("ms", default=5000.0)}
    on_call = {"scale(r)": "weight = clip(r * weight);"}
    every = {"interval": "weight = clip(0.5 * weight);"}


class AtIntervals(Touched):
    """The interval is within the run."""

    params = {"interval": nd.Parameter("ms", default=600.0)}


GIVEN = {"A_plus": 0.01, "A_minus": 0.0, "base": -0.001}
ARRIVE, SPIKE, DOSE, AGAIN, END = 10, 15, 100, 1500, 1600


def one_synapse(rule: type[nd.RewardedSTDP], **options: Any) -> nd.LPU:
    """Return an LPU with a synapse whose weight drifts most of the time."""
    source, reward = (nd.Population("SpikeSource", 1, name=name) for name in ("s", "d"))
    cell = nd.Population(Listener, 1, name="c")
    links = nd.Projection(
        source, cell, nd.AllToAll(), receptor="learned", weight=1.0,
        plasticity=rule(dopamine=reward, **GIVEN), name="learning",
    )  # fmt: skip

    def given(variable: str, uid: str, *steps: int) -> nd.ArrayInput:
        rows = np.zeros((END, 1))
        rows[[*steps]] = 1.0
        return nd.ArrayInput({variable: ([uid], rows)})

    inputs = [
        given("spike_state", "s/0", ARRIVE, AGAIN), given("told", "c/0", SPIKE),
        given("spike_state", "d/0", DOSE),
    ]  # fmt: skip
    circuit = nd.Circuit([source, cell, reward], [links])
    return nd.LPU(circuit, DT, inputs, nd.MemoryRecorder([("V", None)]), backend="cpu", **options)


def drift(begin: int, end: int) -> float:
    """Return by how much the weight drifts between two steps, by a sum of small steps."""
    fine = np.arange(begin, end, 0.01) + 0.005
    spiked, dosed = SPIKE + 1, DOSE + 1  # rows of what enters at these steps
    c = GIVEN["A_plus"] * np.exp(-(spiked - ARRIVE - 1) / 20 - (fine - spiked) / 1000)
    level = np.where(fine >= dosed, 0.5 * np.exp(-(fine - dosed) / 200), 0.0)
    return float(np.sum(np.where(fine >= spiked, c * (level - GIVEN["base"]), 0.0)) * 0.01)


def test_a_weight_that_drifts_is_read_as_it_is() -> None:
    """At any step, and by recorders; reading changes no bit of what comes later."""
    found = []
    for often in (False, True):
        with one_synapse(Touched) as lpu:
            recorder = nd.SynapseRecorder(None, "learning", ["weight", "c"], interval=0.1)
            for step in range(50, END, 50):
                lpu.run(steps=step - lpu.step, record=[recorder] if often else None)
                if often:
                    weight = lpu["learning"].get()
                    assert abs(weight[0] - 1.0 - drift(0, step)) < 1e-6
                    if step % 100 == 0:
                        assert np.array_equal(recorder.recording.weight[-1], weight)
                        c = recorder.recording.c[-1]
                        assert np.array_equal(c, lpu["learning"].get("c"))
                    lpu["learning"].set("weight", weight)
            found.append((lpu["learning"].get()[0], lpu["learning"].get("c")[0]))
    assert found[0] == found[1] and found[0][0] > 1.5


CHANGES: dict[str, tuple[Any, Any]] = {
    "set": (lambda one: one.set("weight", 0.5), lambda w: 0.5),
    "set some": (lambda one: one.set("weight", [0.5], at=[0]), lambda w: 0.5),
    "call": (lambda one: one.call("scale", r=0.5), lambda w: 0.5 * w),
    "dopamine": (lambda one: one.set("dopamine", one.get("dopamine")), lambda w: w),
    "learn": (lambda one: one.learn(True), lambda w: w),
}


@pytest.mark.parametrize("way", CHANGES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("at", [130, 700])
def test_a_weight_that_drifts_is_changed_as_it_is(way: str, dtype: str, at: int) -> None:
    """What has drifted before counts before, and nothing of it comes again later."""
    change, made = CHANGES[way]
    with one_synapse(Touched, dtype=dtype) as lpu:
        lpu.run(steps=at)
        change(lpu["learning"])
        expected = made(1.0 + drift(0, at))
        assert abs(lpu["learning"].get()[0] - expected) < 1e-5
        lpu.run(steps=AGAIN + 10 - at)
        assert abs(lpu["learning"].get()[0] - expected - drift(at, AGAIN + 10)) < 1e-5
        carried = np.asarray(lpu.recording.V)[AGAIN:].max()
        assert abs(carried - expected - drift(at, AGAIN)) < 1e-4


def test_a_weight_that_drifts_does_so_while_it_learns() -> None:
    """What would have drifted meanwhile is never learned, and arrivals carry the weight."""
    with one_synapse(Touched) as lpu:
        lpu.run(steps=120)
        lpu["learning"].learn(False)
        weight = lpu["learning"].get()[0]
        assert abs(weight - 1.0 - drift(0, 120)) < 1e-6
        c = lpu["learning"].get("c")[0]
        lpu.run(steps=AGAIN - 20)
        assert lpu["learning"].get()[0] == weight
        assert np.asarray(lpu.recording.V)[AGAIN:].max() == pytest.approx(weight, abs=1e-8)
        lpu["learning"].learn(True)
        assert lpu["learning"].get()[0] == weight and lpu["learning"].get("c")[0] == c


def test_intervals_are_events_of_what_drifts(tmp_path: Path) -> None:
    """Their texts read the weight of their step; a saved state goes on with the same bits."""
    with one_synapse(AtIntervals) as lpu:
        lpu.run(steps=1000)
        lpu.save(tmp_path / "a.h5")
        expected = 0.5 * (1.0 + drift(0, 600)) + drift(600, 1000)
        assert abs(lpu["learning"].get()[0] - expected) < 1e-6
        lpu.run(steps=END - 1000)
        expected = 0.5 * (expected + drift(1000, 1200)) + drift(1200, END)
        last = lpu["learning"].get()[0]
        assert abs(last - expected) < 1e-6
    with one_synapse(AtIntervals) as lpu:
        lpu.resume(tmp_path / "a.h5")
        lpu.run(steps=END - 1000)
        assert lpu["learning"].get()[0] == last
