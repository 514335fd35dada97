"""Parameters of rules that are numbers of each synapse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_circuits import DT, Pairs, told
from learning_on_cpu import LearningOnCPU
from support import started

import neurodriver as nd
from neurodriver.errors import CircuitError, ModelError, NeurodriverError
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA

STEPS, VALUES = 300, (0.02, 0.05, 0.11)


class Scaled(Pairs):
    """Constants and a first value follow from parameters of each synapse."""

    params = {"gain": nd.Parameter("1", default=1.5, above=0.0)}
    constants = {"up": "A * gain", "down": "1.05 * up", "whole": "w_max - w_min"}
    synapse = {"left": nd.State("1", "gain")}
    on_arrival = "weight = clip(weight - down * whole * y); left = 0.9 * left; send(weight);"
    on_spike = "weight = clip(weight + up * x);"


def which(count: int) -> Any:
    """Return which of the values each synapse has."""
    return np.random.default_rng(5).integers(0, len(VALUES), count)


def with_columns(circuit: nd.Circuit, **columns: Any) -> nd.Circuit:
    """Return a circuit whose connections that learn have further columns."""
    links = [
        replace(one, data={**one.data, **columns}) if one.plasticity is not None else one
        for one in circuit.connections
    ]
    return circuit.changed(connections=tuple(links))


def learned(circuit: Any, inputs: Any, names: Any = ("weight",), **options: Any) -> Any:
    """Return numbers of the synapses after a run."""
    with started(circuit, DT, inputs, None, backend="cpu", **options) as lpu:
        lpu.run(steps=STEPS)
        return [lpu["learning"].get(name) for name in names]


@pytest.mark.parametrize("rule", [Pairs, Scaled])
def test_each_synapse_has_its_own(rule: Any, dtype: str) -> None:
    """The bits that a circuit gives it where all synapses have this number."""
    circuit, inputs, _ = told(rule(), steps=STEPS)
    number = which(len(circuit.connections[1]))
    several = with_columns(circuit, A=np.array(VALUES)[number])
    options = {"dtype": dtype}
    (expected,) = np.zeros((1, len(number)))
    for i, value in enumerate(VALUES):
        one, _, _ = told(rule(A=value), steps=STEPS)
        expected[number == i] = learned(one, inputs, **options)[0][number == i]
    runs = [learned(several, inputs, threads=n, chunk=c, **options)[0]
            for n, c in ((1, None), (3, 7))]  # fmt: skip
    assert all(got.tobytes() == expected.tobytes() for got in runs)
    assert expected.tobytes() != learned(circuit, inputs, **options)[0].tobytes()


BOUNDS = (1.0, 1.15, 1.4)


@pytest.mark.parametrize(("rule", "dtype"), [(Pairs, "float64"), (Scaled, "float32")])
def test_each_synapse_has_its_own_bounds(rule: Any, dtype: str) -> None:
    """Its weight has the bits that it has where all synapses have these bounds; many reach them."""
    circuit, inputs, _ = told(rule(A=0.2), steps=STEPS)
    number = which(len(circuit.connections[1]))
    low, high = 0.1 * (number - 2.0), np.array(BOUNDS)[number]
    several = with_columns(circuit, w_min=low, w_max=high)
    got = learned(several, inputs, dtype=dtype, threads=3)[0]
    for i, value in enumerate(BOUNDS):
        one, _, _ = told(rule(A=0.2, w_max=value, w_min=0.1 * (i - 2.0)), steps=STEPS)
        expected = learned(one, inputs, dtype=dtype)[0]
        assert got[number == i].tobytes() == expected[number == i].tobytes()
        at_ends = np.isin(got[number == i], np.array([low, high], dtype)[:, number == i])
        assert at_ends.sum() >= 3


def test_bounds_between_calls() -> None:
    """They are read and set; weights stay between them; histograms reach from end to end."""
    high = nd.Uniform(2.0, 4.0)
    circuit = network(high=high, weight=nd.Uniform(0.0, 2.0), A_plus=0.2)
    counts = nd.SynapseRecorder(None, "learning", bins=4, interval=0.05)
    with nd.LPU(circuit, DT, recorders=[counts], seed=1) as lpu:
        part = lpu["learning"]
        ends = part.get("w_max")
        assert ends.min() >= 2.0 and ends.max() <= 4.0 and ends.std() > 0.4
        lpu.run(steps=200)
        weight = part.get("weight")
        assert (weight <= ends).all() and (weight == ends).sum() > 5
        assert counts.recording.weight[:].sum(axis=1).tolist() == [len(ends)] * 4
        _, edges = part.histogram(4)
        assert (edges[0], edges[-1]) == (0.0, ends.max())
        with pytest.raises(NeurodriverError, match=r"at least the weight, .* set the weight"):
            part.set("w_max", 0.5 * ends)
        with pytest.raises(
            NeurodriverError, match="must lie within the bounds of PairSTDP, 0 to 3"
        ):
            part.set("weight", 1.01 * ends[3], at=int(np.argmax(ends // 1)))
        part.set("weight", 0.5 * ends)
        part.set("w_max", 0.5 * ends)
        lpu.run(steps=200)
        assert (part.get("weight") <= 0.5 * ends).all()


def test_bounds_that_do_not_fit() -> None:
    """Told with the synapse or the edge, before anything runs."""
    with pytest.raises(ModelError, match=r"'w_min' and 'w_max'.*between 0 and -1 for synapse 1"):
        nd.PairSTDP(w_max=[1.0, -1.0])
    with pytest.raises(ModelError, match="one number for each synapse is needed in both"):
        nd.PairSTDP(w_max=[1.0, 2.0], w_min=[0.0, 0.0, 0.0])
    with pytest.raises(CircuitError, match=r"bounds of PairSTDP, 0 to .* for synapse \d+ .got"):
        network(high=nd.Uniform(0.5, 4.0))
    with pytest.raises(CircuitError, match="bounds of PairSTDP must ascend"):
        network(high=nd.Uniform(2.0, 4.0), w_min=nd.Uniform(0.0, 3.0))
    with pytest.raises(CircuitError, match=r"'w_max': one for each of the .* \(got 2 numbers"):
        network(high=[3.0, 4.0])
    circuit = told(Pairs(), steps=STEPS)[0]
    high = np.full(len(circuit.connections[1]), 1.0)
    high[7] = -0.5
    with pytest.raises(CircuitError, match=r"edge '.*', attribute 'weight'.*Pairs, 0 to -0.5"):
        made(circuit, w_max=high)


def test_first_values_that_follow_from_it() -> None:
    """A variable of synapses begins with its parameter."""
    circuit, inputs, _ = told(Scaled(), steps=STEPS, rate=0.0)
    gain = np.linspace(0.5, 2.0, len(circuit.connections[1]))
    assert np.array_equal(learned(with_columns(circuit, gain=gain), inputs, ["left"])[0], gain)
    assert (learned(circuit, inputs, ["left"])[0] == 1.5).all()


@pytest.mark.parametrize("lanes", [1, 32])
def test_text_of_a_gpu(lanes: int, dtype: str) -> None:
    """Its warps, on a CPU, have the bits of the CPU."""
    circuit, inputs, events = told(Scaled(), steps=STEPS, static=0)
    number = which(len(circuit.connections[1]))
    own = {"A": np.array(VALUES)[number], "w_max": np.array(BOUNDS)[number]}
    circuit = with_columns(circuit, **own)
    with started(circuit, DT, inputs, [("spike_state", None)], backend="cpu", dtype=dtype) as lpu:
        lpu.run(steps=STEPS)
        expected = lpu["learning"].get("weight").astype(dtype)
        rows = np.zeros((STEPS + 1, events.shape[1] + circuit.groups[1].count))
        entry: Any = lpu.recorders[0].output["spike_state"]["data"]
        rows[np.rint(entry["time"] / DT).astype(int), entry["index"]] = 1
    rows[1:, : events.shape[1]] = events
    program = compile_circuit(circuit, DT, dtype, target=CUDA)
    table = np.zeros((STEPS + 1, program.layout.rings["spike_state"].width), dtype)
    table[:, np.concatenate([program.layout.elements(g, "spike_state") for g in (0, 1)])] = rows
    one = LearningOnCPU(program, lanes)
    one.play({"spike_state": table}, [STEPS], program.gathers[1, "learned"].uniform["unit"], 5)
    one.catch_up(STEPS)
    got = np.empty(len(expected), dtype)
    got[one.plan.order] = one.of_plan("weight")
    assert got.tobytes() == expected.tobytes()


def network(high: Any = 4.0, weight: Any = None, **values: Any) -> nd.Circuit:
    """Return neurons that drive each other, by a projection that learns."""
    drive = nd.Population("PoissonSource", 30, name="drive", rate=200.0)
    cells = nd.Population("LeakyIAFDelta", 20, name="cells", resting_potential=-60.0,
                          threshold=-50.0, reset_potential=-60.0, time_constant=20.0)  # fmt: skip
    rule = nd.PairSTDP(w_max=high, **values)
    first = nd.Uniform(1.0, 3.0) if weight is None else weight
    given: dict[str, Any] = {"weight": first, "delay": nd.Uniform(1e-3, 4e-3)}
    chance = nd.FixedProbability(0.5)
    learning = nd.Projection(drive, cells, chance, **given, plasticity=rule, name="learning")
    return nd.Circuit([drive, cells], [learning], seed=4)


LAW = nd.Normal(0.05, 0.02, low=0.01)


def test_drawn_for_a_projection(tmp_path: Path) -> None:
    """From a stream of its own; stored as a law; the same as numbers that are given."""
    circuit = network(A_plus=LAW)
    (links,) = circuit.connections
    drawn = links.expanded().data
    assert drawn["A_plus"].min() >= 0.01 and abs(drawn["A_plus"].mean() - 0.05) < 0.005
    assert abs(np.corrcoef(drawn["A_plus"], drawn["weight"])[0, 1]) < 0.15
    assert abs(np.corrcoef(drawn["A_plus"], links.expanded().delay)[0, 1]) < 0.15
    expected = learned(circuit, (), ["weight", "A_plus"])
    assert np.array_equal(expected[1], drawn["A_plus"])
    circuit.save(tmp_path / "c.h5")
    again = nd.Circuit.from_file(tmp_path / "c.h5")
    assert again.digest == circuit.digest != network().digest
    given = network(A_plus=drawn["A_plus"])
    given.save(tmp_path / "given.h5")
    columns = nd.Circuit.from_columns("columns", circuit.groups, [links.expanded()])
    columns.save(tmp_path / "columns.h5")
    nd.Circuit.from_columns("graph", circuit.groups, [links.expanded()]).save(tmp_path / "g.gexf")
    files = ["given.h5", "columns.h5", "g.gexf"]
    for one in [again, given, *(nd.Circuit.from_file(tmp_path / name) for name in files)]:
        for got, wanted in zip(learned(one, (), ["weight", "A_plus"]), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
    assert np.abs(expected[0] - drawn["weight"]).max() > 0.1


def test_read_set_recorded_saved(tmp_path: Path) -> None:
    """As a variable of the synapses is."""
    circuit = network(A_plus=LAW)
    recorder = nd.SynapseRecorder(None, "learning", ["weight", "A_plus"], count=5, interval=0.05)
    with nd.LPU(circuit, DT, recorders=[recorder], seed=1) as lpu:
        assert lpu["learning"].names == ("weight", "A_plus")
        lpu.run(steps=100)
        numbers = 0.5 * lpu["learning"].get("A_plus")
        lpu["learning"].set("A_plus", numbers)
        lpu.save(tmp_path / "state.h5")
        lpu.run(steps=100)
        expected = lpu["learning"].get("weight")
        with pytest.raises(NeurodriverError, match="must be finite"):
            lpu["learning"].set("A_plus", np.nan)
    rows = recorder.recording["A_plus"][:]
    np.testing.assert_allclose(rows[-1], 0.5 * rows[0], rtol=1e-6)
    with nd.LPU.restore(tmp_path / "state.h5") as lpu:
        assert np.array_equal(lpu["learning"].get("A_plus"), numbers)
        lpu.run(steps=100)
        assert lpu["learning"].get("weight").tobytes() == expected.tobytes()


def test_graded_synapses() -> None:
    """Each learns as where all have its number."""

    def weights(eta: Any, high: Any = 1.0) -> Any:
        rates = nd.Population("GradedNeuron", 6, name="rates", time_constant=10.0)
        reader = nd.Population("GradedNeuron", 4, name="reader", time_constant=5.0)
        rule = nd.HebbRule(eta=eta, decay=0.01, w_max=high)
        links = nd.Projection(rates, reader, nd.AllToAll(), weight=nd.Uniform(0.0, 0.5),
                              plasticity=rule, name="learning")  # fmt: skip
        drive = nd.ArrayInput({"I": ([f"rates/{i}" for i in range(6)],
                                     np.random.default_rng(1).random((STEPS, 6)))})  # fmt: skip
        return learned(nd.Circuit([rates, reader], [links], seed=2), drive)[0]

    # the input of a target follows from all of its weights: so a number for each target
    number = np.tile(np.arange(4) % 3, 6)
    got = weights(np.array(VALUES)[number], np.array(BOUNDS)[number])
    for i, values in enumerate(zip(VALUES, BOUNDS, strict=True)):
        assert got[number == i].tobytes() == weights(*values)[number == i].tobytes()


def test_what_is_refused() -> None:
    """Numbers that synapses share, wrong numbers, wrong lengths."""
    with pytest.raises(ModelError, match=r"'tau_plus'.*one number, as all synapses.*pre\['x'\]"):
        nd.PairSTDP(tau_plus=np.ones(3))
    with pytest.raises(ModelError, match=r"'gain'.*must be .*got -1 for synapse 1"):
        Scaled(gain=[1.0, -1.0])
    with pytest.raises(ModelError, match=r"\(m,\).*got shape \(2, 2\)"):
        nd.PairSTDP(A_plus=np.ones((2, 2)))
    with pytest.raises(CircuitError, match=r"'A_plus': one for each of the .* \(got 3 numbers"):
        network(A_plus=np.ones(3))
    with pytest.raises(CircuitError, match="'sd' must be finite and at least 0"):
        network(A_plus=nd.Normal(0.0, -1.0))
    circuit, *_ = told(Pairs(), steps=STEPS)
    with pytest.raises(CircuitError, match=r"attribute 'gain'.*must be .*\(got -1\)"):
        bad = told(Scaled(), steps=STEPS)[0]
        made(bad, gain=-np.ones(len(bad.connections[1])))
    with pytest.raises(CircuitError, match=r"'A': a distribution is for projections"):
        made(told(Pairs(A=LAW), steps=STEPS)[0])
    with pytest.raises(CircuitError, match=r"'tau_plus': must be one number of the rule"):
        made(circuit, tau_plus=np.ones(len(circuit.connections[1])))


def made(circuit: nd.Circuit, **columns: Any) -> nd.Circuit:
    """Return a circuit with further columns, after all checks."""
    links = with_columns(circuit, **columns).connections
    groups: Any = [(g.model, g.count, dict(g.params), g.uids) for g in circuit.groups]
    return nd.Circuit.from_arrays(groups, list(links))
