"""Merged synapses: the same results as with a state each, whatever else is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from circuit_files import gexf, save
from cutting import assert_equal_bits, managed, random_parts, whole, with_crossings
from numpy.typing import NDArray
from support import (
    ALPHA,
    AMPA,
    DT,
    IAF,
    Record,
    Recorded,
    all_to_all,
    assert_same_bits,
    build,
    model,
    node,
    recorded,
    simulate,
    spiking_network,
    started,
)

from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    Connections,
    Manager,
    MemoryRecorder,
    Pattern,
    Recording,
    StepInput,
)
from neurodriver.__main__ import main
from neurodriver.circuit.cut import cut
from neurodriver.errors import NeurodriverError
from neurodriver.plan import access as compiling

BOUND = {"float64": 1e-12, "float32": 2e-5}
"""Largest difference of a conductance that merging makes, relative to its largest value."""

MODELS: dict[str, dict[str, float]] = {
    "AlphaSynapse": {"ar": 0.5, "ad": 0.3},
    "AlphaSynapse2": {"ar": 2.0, "ad": 0.3},
    "SynapseAMPA": {"st": 5.0},
    "SynapseGABA": {"st": 9.0},
}


def onto_one(
    name: str, synapses: int, seed: int = 0, delay: float = 0.0, **more: Any
) -> tuple[Circuit, NDArray[np.bool_]]:
    """Return a passive cell with synapses of two reversal potentials, and spikes for each."""
    rng = np.random.default_rng(seed)
    gmax = rng.uniform(0.001, 0.01, synapses)
    nodes = {"cell": node("LeakyIAF", IAF, threshold=1000.0)}
    edges = []
    for i in range(synapses):
        given = {**MODELS[name], "gmax": float(gmax[i]), "reverse": [0.0, -80.0][i % 2], **more}
        nodes[f"s{i}"] = node(name, given)
        edges.append((f"s{i}", "cell", {"delay": delay}))
    return build(nodes, edges), rng.random((400, synapses)) < 0.02


def states(name: str, train: NDArray[np.bool_], dt: float, p: dict[str, float]) -> NDArray[Any]:
    """Return x of every synapse, ``g = gmax x``, row by row, written down independently."""
    substeps = max(1, round(dt / 1e-4))
    h = dt * 1e3 / substeps
    n = train.shape[1]
    a, b, c = np.zeros(n), np.zeros(n), np.zeros(n)
    rows = [a.copy()]
    for spikes in train[:-1]:
        for substep in range(substeps):
            arrived = spikes * (substep == 0)
            if name == "AlphaSynapse":
                damping, kick = p["ar"] + p["ad"], p["ar"] * p["ad"]
                a, b, c = (
                    np.maximum(a + h * b, 0),
                    b + h * c + kick * arrived,
                    -damping * b - kick * a,
                )
            elif name == "AlphaSynapse2":
                b = b + p["ar"] * p["ad"] * arrived
                apart = (p["ar"] - p["ad"]) * h
                fall = np.exp(-p["ad"] * h)
                a, b = a * fall + b * fall * h * -np.expm1(-apart) / apart, b * np.exp(-p["ar"] * h)
            else:
                a = a * np.exp(-h / p["st"]) + arrived
        rows.append(a.copy())
    return np.array(rows)


def kernels(lpu: LPU) -> list[str]:
    """Return the names of the kernels that a step runs."""
    return [task.kernel.name for task in lpu.backend.generated.tasks]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("dt", "delay"), [(1e-4, 0.0), (1e-4, 3e-4), (3e-4, 0.0)])
def test_current_is_the_sum_over_synapses(name: str, dtype: str, dt: float, delay: float) -> None:
    """The current of 37 synapses against a sum of 37 recurrences; sub-steps and delays too."""
    circuit, train = onto_one(name, 37, delay=delay)
    given = ArrayInput({"spike_state": ([f"s{i}" for i in range(37)], train.astype(float))})
    record: Record = [("I", ["auto_0"]), ("V", None)]
    with started(circuit, dt, given, record, dtype=dtype) as lpu:
        assert lpu.program.merged is not None
        (number,) = lpu.program.merged.groups
        assert lpu.program.circuit.groups[number].count == 2
        lpu.run(steps=len(train))
        data = recorded(lpu, len(train))
    group = circuit.group(name)
    x = states(name, train, dt, MODELS[name]) * np.broadcast_to(group.params["gmax"], 37)
    back = max(round(delay / dt), 1)
    V = np.concatenate([data["V"][:1], data["V"]])[:-1].astype(float)  # of the row before
    driving = V - np.where(np.arange(37) % 2, -80.0, 0.0)
    rows = np.concatenate([np.zeros((back, 37)), x])[: len(train)]
    expected = -(rows * driving).sum(axis=1)
    assert np.abs(expected).max() > 0.1
    scale = np.abs(rows * driving).sum(axis=1).max()
    np.testing.assert_allclose(data["I"][:, 0], expected, rtol=0, atol=BOUND[dtype] * scale)


def driven(neurons: int, fan_in: int, seed: int) -> tuple[Circuit, list[Any]]:
    """Return a network whose first half spikes by itself and drives the silent second half."""
    circuit = spiking_network(neurons, fan_in, seed)
    half = neurons // 2
    links = []
    for one in circuit.connections:
        source, target = one.source, one.target
        if one.variable == "g":
            target = (half + target % (neurons - half)).astype(np.int32)
        else:
            source = (source % half).astype(np.int32)
        links.append(
            Connections(one.variable, one.access or "", source, target, one.delay, one.data)
        )
    calm = {**circuit.groups[0].params}
    calm["threshold"] = np.where(np.arange(neurons) < half, calm["threshold"], 1e3)
    groups = [(g.model, g.count, g.params, None) for g in circuit.groups]
    groups[0] = (groups[0][0], neurons, calm, None)
    made = Circuit.from_arrays(groups, links)
    currents = np.random.default_rng(seed).uniform(3.0, 6.0, half)
    return made, [StepInput("I", made.uids[:half], currents)]


def test_random_delays_and_kinetics(dtype: str) -> None:
    """Potentials and conductances with and without merging; most synapses are merged."""
    circuit, inputs = driven(60, 90, seed=5)
    record: Record = [("V", None), ("spike_state", None)]
    with started(circuit, DT, inputs, record, dtype=dtype) as lpu:
        assert lpu.program.merged is not None
        merged = sum(lpu.program.circuit.groups[n].count for n in lpu.program.merged.groups)
        assert 100 < merged < 0.2 * 60 * 90
        lpu.run(steps=600)
        found = recorded(lpu, 600)
    expected = simulate(circuit, DT, 600, inputs, record, dtype=dtype, merge=False)
    assert expected["spike_state"].sum() > 150
    assert np.array_equal(found["spike_state"], expected["spike_state"])
    limit = 1e-12 if dtype == "float64" else 2e-5
    np.testing.assert_allclose(found["V"], expected["V"], rtol=limit)
    assert not np.array_equal(found["V"], expected["V"])


def alive(data: Recorded) -> Recorded:
    """Return a recording after a look that its neurons spiked, several in one step."""
    assert data["spike_state"].sum(axis=1).max() > 3
    assert data["spike_state"].sum() > 100
    return data


@pytest.mark.parametrize(("kind", "dtype"), [("random", "float64"), ("all to all", "float32")])
def test_threads_chunks_and_lists_of_spikes_change_no_bit(
    kind: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step's spikes are added one by one or not, by any number of threads: the same bits."""
    if kind == "random":
        circuit, inputs = driven(301, 60, seed=2)
    else:
        circuit = all_to_all(131, seed=2)
        inputs = [StepInput("I", circuit.uids[:131], 20.0)]
    record: Record = [("V", None), ("spike_state", None)]
    steps = 300

    def run(**more: Any) -> Recorded:
        with started(circuit, DT, inputs, record, dtype=dtype, **more) as lpu:
            assert lpu.program.merged is not None
            assert lpu.program.merged.groups
            lpu.run(steps=steps)
            return alive(recorded(lpu, steps))

    expected = run(threads=1)
    for threads, chunk in [(2, 300), (3, 7), (5, 1)]:
        assert_same_bits(expected, run(threads=threads, chunk=chunk))
    listed = compiling.add_events
    for limit in (0, 1, 2, 3, 512):

        def limited(gather: Any, *more: Any, limit: int = limit) -> None:
            listed(gather, *more)
            gather.limits["event_most"] = min(gather.limits["event_most"], limit)

        monkeypatch.setattr(compiling, "add_events", limited)
        assert_same_bits(expected, run(threads=2))
    monkeypatch.setattr(compiling, "add_events", listed)
    monkeypatch.setattr("neurodriver.codegen.cpu.events.LISTED", 5)
    assert_same_bits(expected, run(threads=2))
    monkeypatch.setattr(compiling, "add_events", lambda *_: None)
    assert_same_bits(expected, run(threads=2))


def test_spikes_of_a_step_are_listed() -> None:
    """Where the order of the sources is not that of the edges, each edge's place is stored."""
    circuit = all_to_all(67, seed=2)
    with started(circuit, DT, (), [("V", None)], backend="cpu") as lpu:
        (gather,) = [g for g in lpu.program.gathers.values() if "event_first" in g.arrays]
        assert gather.edges == 67 * 67
        assert gather.limits == {"event_most": 67 // 3, "event_latencies": 1}
        assert "event_rank" not in gather.arrays
    circuit, inputs = driven(60, 90, seed=5)
    with started(circuit, DT, inputs, [("V", None)], backend="cpu") as lpu:
        several = [g for g in lpu.program.gathers.values() if "event_first" in g.arrays]
        assert all("event_rank" in g.arrays for g in several)
        assert [g.limits["event_latencies"] for g in several] == [19, 19]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("more", [0, 2])
def test_cut_circuits_have_the_bits_of_the_whole(seed: int, more: int, dtype: str) -> None:
    """What is merged, and in which order, does not depend on how a circuit is cut."""
    circuit = spiking_network(40, 30, seed)
    inputs = [StepInput("I", circuit.uids[:40], np.linspace(0.5, 3.0, 40))]
    part = random_parts(circuit, 3, seed)
    expected = whole(with_crossings(circuit, part, more=more), inputs, 300, dtype=dtype)
    pieces = cut(circuit, part, ["a", "b", "c"])
    man, found = managed(pieces, inputs, 300, delay=more * DT, dtype=dtype)
    program = next(iter(man.lpus.values())).program
    assert program.merged is not None
    assert len(program.merged.groups) == 2
    assert_equal_bits(expected, found, all_of=True)
    apart = whole(with_crossings(circuit, part, more=more), inputs, 300, dtype=dtype, merge=False)
    assert any((apart["V"][u] != v).any() for u, v in found["V"].items())


def test_one_lpu_may_keep_its_synapses() -> None:
    """``merge`` is each LPU's own, wherever the other one is computed."""
    circuit, train = onto_one("SynapseAMPA", 20)
    uids = [f"s{i}" for i in range(20)]
    alone = {}
    for merge in (True, False):
        inputs = ArrayInput({"spike_state": (uids, train.astype(float))})
        alone[merge] = simulate(circuit, DT, 400, inputs, [("V", None)], merge=merge)["V"]
    assert not np.array_equal(alone[True], alone[False])
    man = Manager()
    recorders = {}
    for name, merge in (("a", True), ("b", False)):
        inputs = ArrayInput({"spike_state": (uids, train.astype(float))})
        recorders[name] = MemoryRecorder([("V", None)])
        man.add(LPU, name, circuit, DT, inputs, recorders[name], merge=merge)
    man.spawn()
    man.start(steps=400)
    man.wait()
    assert np.array_equal(recorders["a"].get("V"), alone[True])
    assert np.array_equal(recorders["b"].get("V"), alone[False])


@pytest.mark.parametrize("wanted", [None, ["s3"], ["s7", "s0", "s36"]])
@pytest.mark.parametrize("name", MODELS)
def test_conductances_are_recorded_as_ever(
    name: str, wanted: Sequence[str] | None, dtype: str
) -> None:
    """The g of a merged synapse has the bits it has without merging; recording changes nothing."""
    circuit, train = onto_one(name, 37)
    given = {"spike_state": ([f"s{i}" for i in range(37)], train.astype(float))}

    def run(record: Record, **more: Any) -> Recorded:
        return simulate(circuit, DT, 400, ArrayInput(given), record, dtype=dtype, **more)

    both: Record = [("V", None), ("g", wanted)]
    found, apart, quiet = run(both), run(both, merge=False), run([("V", None)])
    assert_same_bits({"g": apart["g"]}, {"g": found["g"]})
    assert found["g"].shape[1] == (37 if wanted is None else len(wanted))
    assert_same_bits({"V": quiet["V"]}, {"V": found["V"]})
    np.testing.assert_allclose(found["V"], apart["V"], rtol=10 * BOUND[dtype])


def test_only_recorded_synapses_are_computed() -> None:
    """Of 37 synapses, the two that are recorded keep their states beside the merged ones."""
    circuit, train = onto_one("AlphaSynapse", 37)
    given = ArrayInput({"spike_state": ([f"s{i}" for i in range(37)], train.astype(float))})
    with started(circuit, DT, given, [("g", ["s2", "s9"])]) as lpu:
        counts = {u.kernel.name: u.count for u in lpu.backend.generated.tasks}
        assert counts["AlphaSynapse"] == 3  # and a place that all others share
        assert counts["MergedAlphaSynapse"] == 2
    with started(circuit, DT, given) as lpu:
        assert kernels(lpu) == ["LeakyIAF", "Aggregator", "MergedAlphaSynapse"]
        with pytest.raises(NeurodriverError, match=r"not kept.*keep=\['AlphaSynapse.g'\]"):
            lpu.get("g")
        assert lpu.uids("V").tolist() == ["cell"]
    with started(circuit, DT, given, [("g", None)]) as lpu:
        lpu.run(steps=300)
        assert lpu.uids("g").tolist() == [f"s{i}" for i in range(37)]
        assert lpu.get("g").shape == (37,)
        assert np.ptp(lpu.get("g")) > 0
    with started(circuit, DT, given, merge=False) as lpu:
        assert lpu.program.merged is not None
        assert not lpu.program.merged.groups
    with started(circuit, DT, given, plans=False) as lpu:
        assert "MergedAlphaSynapse" not in kernels(lpu)


LEFT: dict[str, dict[str, Any]] = {
    "initial state": {"inits": 0.5},
    "own kinetics": {"st": 7.0},
    "own reversal potential": {"reverse": -50.0},
}


@pytest.mark.parametrize("what", LEFT)
def test_what_differs_is_left_alone(what: str) -> None:
    """One synapse that does not fit; its g and the potential are those without merging."""
    circuit, train = onto_one("SynapseAMPA", 8)
    nodes = {"cell": node("LeakyIAF", IAF, threshold=1000.0)}
    group = circuit.group("SynapseAMPA")
    for i in range(8):
        own = LEFT[what] if i == 3 else {}
        given = {**MODELS["SynapseAMPA"], "gmax": float(group.params["gmax"][i]), "reverse": 0.0}
        nodes[f"s{i}"] = node("SynapseAMPA", {**given, **own})
    made = build(nodes, [(f"s{i}", "cell") for i in range(8)])
    given = {"spike_state": ([f"s{i}" for i in range(8)], train.astype(float))}
    with started(made, DT, ArrayInput(given)) as lpu:
        assert lpu.program.merged is not None
        (computed,) = lpu.program.merged.computed.values()
        assert computed.tolist() == [i == 3 for i in range(8)]
        lpu.run(steps=400)
        found = recorded(lpu, 400)
    expected = simulate(made, DT, 400, ArrayInput(given), merge=False)
    np.testing.assert_allclose(found["V"], expected["V"], rtol=1e-13)


@pytest.mark.parametrize(
    ("ar", "gmax", "merged"), [(1.0, 0.01, True), (6.0, 0.01, False), (1.0, -0.01, False)]
)
def test_where_the_clamp_acts_nothing_is_merged(ar: float, gmax: float, merged: bool) -> None:
    """AlphaSynapse with rates that are fast for the step, or a negative gmax."""
    circuit, train = onto_one("AlphaSynapse", 12, ar=ar, ad=4.0 if ar > 1 else 0.5, gmax=gmax)
    given = {"spike_state": ([f"s{i}" for i in range(12)], train.astype(float))}
    with started(circuit, DT, ArrayInput(given), [("V", None), ("g", None)]) as lpu:
        assert ("MergedAlphaSynapse" in kernels(lpu)) == merged
        lpu.run(steps=400)
        found = recorded(lpu, 400)
    record: Record = [("V", None), ("g", None)]
    expected = simulate(circuit, DT, 400, ArrayInput(given), record, merge=False)
    assert_same_bits({"g": expected["g"]}, {"g": found["g"]})
    np.testing.assert_allclose(found["V"], expected["V"], rtol=1e-12)
    if not merged:
        assert np.array_equal(found["V"], expected["V"])


def test_two_inputs_are_one_spike() -> None:
    """A synapse with two sources counts a step in which both spike once: it is not merged."""
    nodes: dict[str, dict[str, Any]] = {"cell": node("LeakyIAF", IAF, threshold=1000.0)}
    nodes |= {f"n{i}": node("LeakyIAF", IAF, threshold=-69.9) for i in range(2)}
    nodes |= {f"s{i}": node("SynapseAMPA", AMPA, reverse=0.0) for i in range(6)}
    edges = [(f"n{i % 2}", f"s{i}") for i in range(6)] + [(f"s{i}", "cell") for i in range(6)]
    edges += [("n1", "s0"), ("n1", "s2")]
    circuit = build(nodes, edges)
    given = [
        StepInput("I", ["n0", "n1"], 2.0),
        ArrayInput({"spike_state": (["s4"], np.ones((200, 1)))}),
    ]
    record: Record = [("V", ["cell"]), ("spike_state", ["n0", "n1"])]
    with started(circuit, DT, given, record) as lpu:
        assert lpu.program.merged is not None
        (computed,) = lpu.program.merged.computed.values()
        assert computed.tolist() == [True, False, True, False, True, False]
        lpu.run(steps=200)
        found = recorded(lpu, 200)
    assert found["spike_state"].all(axis=1).sum() > 3
    expected = simulate(circuit, DT, 200, given, record, merge=False)
    np.testing.assert_allclose(found["V"], expected["V"], rtol=1e-13)


def test_spikes_through_ports_and_conductances_to_ports() -> None:
    """A port may be the source of merged synapses; a synapse that a port reads is left alone."""
    port = {"class": "Port", "port_type": "spike"}
    nodes: dict[str, dict[str, Any]] = {"cell": node("LeakyIAF", IAF, threshold=1000.0)}
    nodes |= {f"in{i}": {**port, "selector": f"/l/in[{i}]", "port_io": "in"} for i in range(3)}
    nodes["out"] = {**port, "selector": "/l/out", "port_type": "gpot", "port_io": "out"}
    nodes |= {
        f"s{i}": node("AlphaSynapse", ALPHA, gmax=0.01 + 0.001 * i, reverse=0.0) for i in range(6)
    }
    edges: list[tuple[Any, ...]] = [(f"in{i % 3}", f"s{i}") for i in range(6)]
    edges += [(f"s{i}", "cell") for i in range(6)] + [("s5", "out", {"variable": "g"})]
    circuit = build(nodes, edges)
    train = (np.random.default_rng(3).random((400, 3)) < 0.05).astype(float)
    given = ArrayInput({"spike_state": ([f"in{i}" for i in range(3)], train)})
    record: Record = [("V", ["cell"]), ("g", ["out", "s0"])]
    with started(circuit, DT, given, record) as lpu:
        assert lpu.program.merged is not None
        (computed,) = lpu.program.merged.computed.values()
        assert computed.tolist() == [True, False, False, False, False, True]
        lpu.run(steps=400)
        found = recorded(lpu, 400)
    expected = simulate(circuit, DT, 400, given, record, merge=False)
    assert_same_bits({"g": expected["g"]}, {"g": found["g"]})
    np.testing.assert_allclose(found["V"], expected["V"], rtol=1e-13)
    assert np.ptp(found["V"]) > 1.0


def apart(merge: bool, split: bool) -> Any:
    """Return V of a cell with 30 synapses, in one LPU or with the synapses in another one."""
    rng = np.random.default_rng(0)
    gmax, train = rng.uniform(0.001, 0.01, 30), (rng.random((400, 30)) < 0.05).astype(float)
    cell = {"cell": node("LeakyIAF", IAF, threshold=1000.0), "sum": {"class": "Aggregator"}}
    inner: list[tuple[Any, ...]] = [("cell", "sum", {"variable": "V"}), ("sum", "cell")]
    synapses = {
        f"s{i}": node("SynapseAMPA", AMPA, st=5.0, gmax=float(gmax[i]), reverse=0.0)
        for i in range(30)
    }
    given = ArrayInput({"spike_state": (list(synapses), train)})
    recorder = MemoryRecorder([("V", ["cell"])])
    man = Manager()
    if split:
        port = {"class": "Port", "port_type": "gpot"}
        out = {s: {**port, "selector": f"/a/{s[1:]}", "port_io": "out"} for s in synapses}
        into = {s: {**port, "selector": f"/b/{s[1:]}", "port_io": "in"} for s in synapses}
        one = build(
            synapses | {f"{s}_out": p for s, p in out.items()},
            [(s, f"{s}_out", {"variable": "g"}) for s in synapses],
        )
        other = build(
            cell | into,
            [*inner, *((s, "sum", {"variable": "g", "reverse": 0.0}) for s in synapses)],
        )
        man.add(LPU, "a", one, DT, [given], [], merge=merge)
        man.add(LPU, "b", other, DT, [], [recorder], merge=merge)
        pattern = Pattern("/a/[0:30]", "/b/[0:30]")
        for i in range(30):
            pattern[f"/a/{i}", f"/b/{i}"] = 1
        man.connect("a", "b", pattern)
    else:
        edges = [*inner, *((s, "sum", {"delay": 2 * DT}) for s in synapses)]
        man.add(LPU, "a", build(cell | synapses, edges), DT, [given], [recorder], merge=merge)
    man.spawn()
    man.start(steps=400)
    man.wait()
    return recorder.get("V")


def test_a_synapse_apart_from_its_target_is_not_merged() -> None:
    """Its conductance goes through ports: the bits are those of the whole without merging."""
    expected, merged = apart(False, False), apart(True, False)
    assert np.ptp(expected) > 10.0
    assert not np.array_equal(merged, expected)
    np.testing.assert_allclose(merged, expected, rtol=1e-12)
    assert np.array_equal(apart(True, True), expected)


def test_own_models_read_conductances() -> None:
    """A synapse whose g something else reads, or that is one's own, is left alone."""
    from neurodriver import NDComponent

    class Meter(NDComponent):
        accesses = ("g",)
        updates = ("reading",)
        update = "reading = 2 * g;"

    class Ampa(model("SynapseAMPA")):  # type: ignore[misc]
        update = "s *= decay; if (arrived != 0) s = fmin(1, s + arrived);"

    nodes: dict[str, dict[str, Any]] = {"cell": node("LeakyIAF", IAF, threshold=1000.0)}
    nodes["meter"] = {"class": "Meter"}
    nodes["other"] = node("LeakyIAF", IAF)
    nodes |= {f"s{i}": node("SynapseAMPA", AMPA, reverse=0.0) for i in range(5)}
    nodes |= {f"t{i}": node("Ampa", AMPA, reverse=0.0) for i in range(3)}
    uids = [u for u in nodes if u[0] in "st"]
    edges = [(u, "cell") for u in uids] + [("s1", "meter"), ("s3", "other")]
    circuit = build(nodes, edges, [Meter, Ampa])
    train = (np.random.default_rng(3).random((300, 8)) < 0.05).astype(float)
    given = ArrayInput({"spike_state": (uids, train)})
    record: Record = [("V", ["cell", "other"]), ("reading", None)]
    with started(circuit, DT, given, record) as lpu:
        assert lpu.program.merged is not None
        (computed,) = lpu.program.merged.computed.values()
        assert computed.tolist() == [False, True, False, True, False]
        lpu.run(steps=300)
        found = recorded(lpu, 300)
    expected = simulate(circuit, DT, 300, given, record, merge=False)
    assert_same_bits({"reading": expected["reading"]}, {"reading": found["reading"]})
    np.testing.assert_allclose(found["V"], expected["V"], rtol=1e-13)


def test_what_arrives_may_be_anything() -> None:
    """Twice a spike is one spike, a negative one none, as without merging."""
    circuit, _ = onto_one("SynapseAMPA", 10)
    values = np.random.default_rng(1).integers(-1, 3, (200, 10)).astype(float)
    given = ArrayInput({"spike_state": ([f"s{i}" for i in range(10)], values)})
    found = simulate(circuit, DT, 200, given)["V"]
    expected = simulate(circuit, DT, 200, given, merge=False)["V"]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert np.ptp(found) > 1.0


def test_files_and_the_command_line_turn_it_off(tmp_path: Path) -> None:
    """``--no-merge``, and ``merge = false`` in an experiment, give the bits without merging."""
    eager = {**IAF, "threshold": -69.9}
    nodes: dict[str, dict[str, Any]] = {"a": node("LeakyIAF", eager), "b": node("LeakyIAF", IAF)}
    for i in range(12):
        nodes[f"s{i}"] = node("SynapseAMPA", AMPA, gmax=0.001 + 0.0007 * i, reverse=0.0)
    edges = [edge for i in range(12) for edge in (("a", f"s{i}"), (f"s{i}", "b"))]
    file = save(tmp_path, gexf(nodes, edges))
    with h5py.File(tmp_path / "in.h5", "w") as spikes:
        spikes["I/uids"] = np.array(["a"], dtype="S")
        spikes["I/data"] = np.full((300, 1), 1.7)
    words = ["run", str(file), "--dt", "1e-4", "--duration", "0.03", "-i", str(tmp_path / "in.h5")]

    def potential(name: str, *more: str) -> NDArray[Any]:
        assert main([*words, "-o", str(tmp_path / name), *more]) == 0
        with Recording(tmp_path / name) as recording:
            return np.asarray(recording["V"]["b"])

    merged, apart = potential("merged.h5"), potential("apart.h5", "--no-merge")
    assert np.ptp(apart) > 0.1
    assert not np.array_equal(merged, apart)
    np.testing.assert_allclose(merged, apart, rtol=1e-12)
    for text, expected in (("", merged), ("merge = false\n", apart)):
        experiment = tmp_path / "experiment.toml"
        experiment.write_text(
            f'dt = 1e-4\nsteps = 300\noutput = "out.h5"\n{text}[lpu.one]\ncircuit = "{file.name}"\n'
            '[[lpu.one.input]]\nclass = "StepInput"\nvariable = "I"\nuids = ["a"]\nvalue = 1.7\n'
        )
        assert main(["run", "-f", str(experiment)]) == 0
        with Recording(tmp_path / "out.one.h5") as recording:
            assert np.array_equal(recording["V"]["b"], expected)
