"""Parts of a circuit on GPUs, in one process: the bits of the whole, on a shared GPU and on two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from learning_networks import DT as LEARNING_DT
from learning_networks import Pairs, network, trains
from support import DT, example, model, weighted_network

import neurodriver as nd
from neurodriver.backends.cuda import drawing, schedule, spike_delivery
from neurodriver.backends.cuda.backend import CUDABackend
from neurodriver.backends.cuda.peers import Peers
from neurodriver.circuit.partition import partition
from neurodriver.codegen.generate import Task
from neurodriver.codegen.simt.shape import Shape
from neurodriver.parallel.peer_exchange import PeerExchange
from neurodriver.plan.spikes import due


def recorded(
    circuit: nd.Circuit, runs: tuple[int, ...], **given: Any
) -> tuple[Any, Any, list[Any]]:
    """Return V, spikes, and the exchange of each part."""
    uids = circuit.groups[0].uids
    inputs: list[nd.Input] = [
        nd.StepInput("I", uids, np.linspace(5.0, 30.0, len(uids))),
        nd.NoiseInput("I", uids[::2], 0.0, 1.0, seed=3),
    ]
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    with nd.LPU(circuit, DT, inputs, recorder, **given) as lpu:
        for steps in runs:
            lpu.run(steps=steps)
        found = getattr(lpu.simulation, "_parts", [])
        return recorder.get("V"), recorder.get("spike_state"), [part.exchange for part in found]


@pytest.mark.parametrize("least", [1, 5])
@pytest.mark.parametrize(
    "devices", [[0, 0], [0, 0, 0], pytest.param([0, 1], marks=pytest.mark.needs("two GPUs"))]
)
def test_bits_of_the_whole_on_gpus(devices: list[int], least: int, executor: str) -> None:
    """Windows begin at any step; on a GPU that is shared each is a launch."""
    circuit, runs = weighted_network(300, least), (103, 40, 157)
    expected, times, _ = recorded(circuit, runs, backend="cpu")
    assert len(times["time"]) > 100
    given = {"backend": "cuda", "executor": executor}
    one, its, none = recorded(circuit, runs, device=0, **given)
    assert not none
    found, spikes, exchanges = recorded(circuit, runs, devices=devices, **given)
    assert np.array_equal(expected, one) and np.array_equal(expected, found)
    for key in ("time", "index"):
        assert np.array_equal(times[key], its[key]) and np.array_equal(times[key], spikes[key])
    apart = executor == "resident" and len(set(devices)) == len(devices)
    assert all(one.gated == apart and one.window == least for one in exchanges)
    assert all(isinstance(one, PeerExchange) == apart for one in exchanges)
    owners = [one._kernels._owner for one in exchanges if apart]
    assert all(one.program.window == least for one in owners)
    assert len(exchanges) == len(devices)


@pytest.mark.needs("two GPUs")
def test_a_part_that_only_sends() -> None:
    """It has windows of as many steps as the part that it sends to."""
    circuit, runs = weighted_network(300, 5), (103, 40, 157)
    part = np.arange(circuit.count) * 2 // circuit.count
    links = [one.taken(np.flatnonzero(part[one.source] <= part[one.target]))
             for one in circuit.connections]  # fmt: skip
    circuit = circuit.with_parts(circuit.groups, links)
    expected, times, _ = recorded(circuit, runs, backend="cuda", device=0)
    given = {"backend": "cuda", "devices": [0, 1], "parts": part}
    found, spikes, exchanges = recorded(circuit, runs, **given)
    assert np.array_equal(expected, found) and len(times["time"]) > 100
    for key in ("time", "index"):
        assert np.array_equal(times[key], spikes[key])
    owners = [one._kernels._owner for one in exchanges]
    assert [one.program.window for one in owners] == [5, 5]


@pytest.mark.needs("two GPUs")
@pytest.mark.parametrize("least", [1, 5])
def test_rows_that_are_copied(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where warps do not send what they compute, rows are copied between barriers."""
    monkeypatch.setattr(Peers, "most", 0)
    circuit, runs = weighted_network(300, least), (103, 40, 57)
    expected, times, _ = recorded(circuit, runs, backend="cpu")
    found, spikes, _ = recorded(circuit, runs, backend="cuda", devices=[0, 1])
    assert np.array_equal(expected, found) and len(times["time"]) > 100
    assert np.array_equal(times["index"], spikes["index"])


def test_delivery_when_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spikes of other parts wait in the history, too."""
    monkeypatch.setattr(due, "BARRIER", -1.0)
    for least in (1, 4):
        circuit, runs = weighted_network(300, least), (53, 40)
        expected, times, _ = recorded(circuit, runs, backend="cpu")
        found, spikes, _ = recorded(circuit, runs, backend="cuda", devices=[0, 0])
        assert np.array_equal(expected, found) and len(times["time"]) > 50
        assert np.array_equal(times["index"], spikes["index"])


@pytest.mark.needs("two GPUs")
@pytest.mark.parametrize("how", ["plain", "when due", "windows of one step"])
@pytest.mark.parametrize("least", [1, 5])
def test_warps_with_several_items(least: int, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spikes of other parts wait in a queue beside own ones, where there are no windows."""

    def streamed(units: Sequence[Task], *_: Any) -> schedule.LaunchPlan:
        return schedule.LaunchPlan("grid", 3, Shape(64, 1, False), (2,) * len(units))

    monkeypatch.setattr(schedule, "choose", streamed)
    if how == "when due":
        monkeypatch.setattr(due, "BARRIER", -1.0)
    elif how == "windows of one step":
        monkeypatch.setattr(spike_delivery, "MANY", 0)
    circuit, runs = weighted_network(900, least), (53, 40, 57)
    expected, times, _ = recorded(circuit, runs, backend="cpu")
    found, spikes, _ = recorded(circuit, runs, backend="cuda", devices=[0, 1])
    assert np.array_equal(expected, found) and len(times["time"]) > 100
    assert np.array_equal(times["index"], spikes["index"])


def test_states_of_parts_on_a_gpu(tmp_path: Any) -> None:
    """Values are read, set, saved and restored as those of the whole."""
    circuit = weighted_network(100, 2)
    found = []
    for given in ({"backend": "cpu"}, {"backend": "cuda", "devices": [0, 0]}):
        path = tmp_path / "state.h5"
        with nd.LPU(circuit, DT, **given) as lpu:  # type: ignore[arg-type]
            lpu.run(steps=31)
            lpu.set("V", lpu.get("V") - 1.0)
            lpu.run(steps=30)
            lpu.save(path)
        with nd.LPU.restore(path, **given) as lpu:
            lpu.run(steps=40)
            found.append(lpu.get("V"))
    assert np.array_equal(*found) and np.ptp(found[0]) > 0


def test_a_projection_in_parts_on_a_gpu() -> None:
    """Drawn connections are those of the whole."""
    lif = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
           "time_constant": 20.0, "refractory_period": 0.5, "initV": -55.0}  # fmt: skip
    a = nd.Population(model("LeakyIAFDelta"), 400, name="a", **lif)
    b = nd.Population(model("LeakyIAFDelta"), 100, name="b", **lif)
    links = [
        nd.Projection(a, b, nd.FixedInDegree(20), weight=nd.Normal(3.0, 0.5), delay=2 * DT),
        nd.Projection(
            b, a, nd.FixedTotal(3000), weight=-0.3, delay=nd.Normal(1e-3, 5e-4, DT, 3e-3)
        ),
        nd.Projection(a, a, nd.FixedInDegree(10), weight=0.4, delay=3 * DT),
    ]
    circuit = nd.Circuit([a, b], links)
    runs, cpu = (150, 50), {"backend": "cpu"}
    expected = recorded(circuit, runs, **cpu)
    found = recorded(circuit, runs, backend="cuda", devices=[0, 0])
    assert np.array_equal(expected[0], found[0]) and len(expected[1]["time"]) > 50
    assert np.array_equal(expected[1]["time"], found[1]["time"])


@pytest.mark.parametrize(
    "devices", [[0, 0], pytest.param([0, 1], marks=pytest.mark.needs("two GPUs"))]
)
def test_areas_of_a_cortex(devices: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts draw the multi-area model on their GPUs, and fire in the steps of a CPU."""
    monkeypatch.setattr(drawing, "MANY", 0)
    monkeypatch.setattr(due, "BARRIER", -1.0)
    module = example("schmidt_2018")
    scale = {"sizes": 0.01, "indegrees": 0.2, "grid": module.GRID}
    circuit, inputs, _ = module.network(module.synthetic(areas=2), **scale)
    found = []
    for given in ({"backend": "cpu"}, {"backend": "cuda", "devices": devices}):
        recorder = nd.MemoryRecorder([("spike_state", None)])
        with nd.LPU(circuit, DT, inputs, recorder, dtype="float32", **given) as lpu:
            lpu.run(steps=800)
            for part in getattr(lpu.simulation, "_parts", []):
                notes = [one.note for one in part.simulation.program.gathers.values()]
                assert any("on the device, when due" in note for note in notes), notes
        found.append(recorder.get("spike_state"))
    one, other = found
    assert len(one["time"]) > 300 and all(np.array_equal(one[key], other[key]) for key in one)


def test_gates_of_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch asks after each window, counted from the step at which windows begin."""
    plain = CUDABackend.__init__
    monkeypatch.setattr(CUDABackend, "__init__", lambda *a, **k: plain(*a, **{**k, "gates": True}))
    circuit = weighted_network(300, 2)
    with nd.LPU(circuit, DT, backend="cpu") as whole:
        whole.run(steps=47)
        expected = whole.get("V")
    asked: list[int] = []
    with nd.LPU(circuit, DT, backend="cuda") as lpu:
        lpu.run(steps=7)
        lpu.simulation.prepare(40)
        lpu.backend.gate(5, lambda step: not asked.append(step), 7)  # type: ignore[attr-defined,func-returns-value]
        assert lpu.backend.run(7, 40) == 40
        assert np.array_equal(lpu.backend.row("V", 47)[:300], expected) and np.ptp(expected) > 0
    assert asked == list(range(12, 47, 5))


def test_synapses_that_learn_on_one_gpu(tmp_path: Any) -> None:
    """They are read, set, saved and restored in parts as those of the whole."""
    circuit, found = network(Pairs()), []
    cut = {"parts": partition(circuit, 2), "devices": [0, 0]}
    for given in ({"backend": "cpu"}, {"backend": "cuda", **cut}):
        path = tmp_path / "state.h5"
        with nd.LPU(circuit, LEARNING_DT, trains(circuit), **given) as lpu:
            lpu.run(steps=100)
            weights = lpu["learning"].get("weight")
            lpu["learning"].set("weight", 0.5 * weights)
            lpu.run(steps=50)
            lpu.save(path)
        with nd.LPU(circuit, LEARNING_DT, trains(circuit), **given) as lpu:
            lpu.resume(path)
            lpu.run(steps=100)
            found.append((weights, lpu["learning"].get("weight")))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other) and np.ptp(one) > 0.1
