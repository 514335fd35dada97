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
