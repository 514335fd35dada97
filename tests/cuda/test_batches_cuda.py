"""Batches on a GPU: each copy has the bits of its lone run on a CPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_zoo import STEPS, alone, driven, names
from learning_circuits import DT as LEARNING_DT
from learning_circuits import RULES, told
from noisy import noisy_graph, random_inputs

import neurodriver as nd
from neurodriver.model.library import shipped
from neurodriver.model.plasticity import Plasticity

sys.path.insert(0, str(Path(__file__).parents[1] / "system"))

from test_batches import COUNT, DT, RECORD, assert_equal, network, recorder

COPIES = 5


def recorded(circuit: nd.Circuit, inputs: Any, record: Any, steps: int, **options: Any) -> Any:
    """Return what an LPU records."""
    kept = nd.MemoryRecorder(record)
    with nd.LPU(circuit, DT, inputs, [kept], **options) as lpu:
        return lpu.run(steps).recording


@pytest.mark.parametrize("name", names())
def test_a_copy_of_each_model_equals_its_lone_run(name: str) -> None:
    """All variables of all shipped models, with other seeds in the other copies."""
    circuit = alone(name)
    record = [(v, None) for v in shipped()[name].updates]
    given = driven(circuit), record, STEPS
    found = recorded(circuit, *given, backend="cuda", batch=3, seed=[7, 8, 9])
    for copy in range(3):
        lone = recorded(circuit, *given, seed=7 + copy)
        for variable in lone.variables:
            if lone.is_events(variable):
                for one, other in zip(
                    lone.events(variable), found[copy].events(variable), strict=True
                ):
                    assert np.array_equal(one, other)
            else:
                assert np.array_equal(lone.data(variable)[:], found[copy].data(variable)[:])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("length", [None, 7])
def test_noise_and_drawn_inputs(dtype: str, length: int | None) -> None:
    circuit = noisy_graph(30)
    options: Any = {"backend": "cuda", "batch": COPIES, "seed": range(COPIES), "dtype": dtype}
    with nd.LPU(circuit, DT, random_inputs(circuit), [recorder()], **options) as lpu:
        lpu.simulation.length.fixed = length
        lpu.run(100)
        found: Any = lpu.run(140).recording
    for copy in range(COPIES):
        lone = recorded(circuit, random_inputs(circuit), RECORD, 240, seed=copy, dtype=dtype)
        assert_equal(lone, found[copy])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_parameters_weights_and_inputs_of_copies(dtype: str) -> None:
    """The bits are those of the same batch on a CPU."""
    rng = np.random.default_rng(4)
    neurons = [f"exc/{i}" for i in range(40)]
    batch = nd.Batch(
        COPIES,
        seeds=range(COPIES),
        parameters={
            ("LeakyIAFExpCurrent", "time_constant"): np.linspace(8.0, 12.0, COPIES),
            ("inh", "threshold"): rng.uniform(-52.0, -48.0, (COPIES, COUNT)),
        },
        weight_scale=np.linspace(0.7, 1.3, COPIES),
        inputs=[[nd.NoiseInput("I", neurons, 100.0, 50.0, seed=b)] for b in range(COPIES)],
    )
    given = network(), [nd.StepInput("I", [f"inh/{i}" for i in range(9)], 90.0)], RECORD, 240
    found = recorded(*given, backend="cuda", batch=batch, dtype=dtype)
    expected = recorded(*given, backend="cpu", batch=batch, dtype=dtype)
    for copy in range(COPIES):
        assert_equal(expected[copy], found[copy], 3)


def test_more_blocks_than_one_for_each_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies that are too large for one block have a barrier of their own."""
    from neurodriver.backends.cuda import schedule

    monkeypatch.setattr(schedule, "BLOCK_WARPS", 2)
    monkeypatch.setattr(schedule, "SHORT_WARPS", 2)
    circuit = noisy_graph(60)
    options: Any = {"backend": "cuda", "batch": COPIES, "seed": range(COPIES)}
    with nd.LPU(circuit, DT, random_inputs(circuit), [recorder()], **options) as lpu:
        backend: Any = lpu.backend
        assert backend.plan.blocks > 1 and backend.plan.width == "grid"
        found: Any = lpu.run(240).recording
    for copy in range(COPIES):
        lone = recorded(circuit, random_inputs(circuit), RECORD, 240, seed=copy)
        assert_equal(lone, found[copy])


def test_values_between_calls() -> None:
    circuit = network(threshold=np.linspace(-52.0, -48.0, 3 * COUNT))
    results = []
    for backend in ("cpu", "cuda"):
        kept = recorder()
        options: Any = {"backend": backend, "batch": 3, "seed": [1, 2, 3]}
        with nd.LPU(circuit, DT, [], [kept], **options) as lpu:
            lpu.run(60)
            lpu["exc"].V = np.array([[-60.0], [-61.0], [-62.0]])
            lpu.copies[1]["inh"].threshold = np.linspace(-51.0, -47.0, COUNT)
            lpu.copies[2].set("time_constant", 9.0)
            assert lpu["exc"].V[:, 5].tolist() == [-60.0, -61.0, -62.0]
            assert lpu["inh"].threshold[1, 0] == -51.0 != lpu["inh"].threshold[0, 0]
            lpu.run(180)
        results.append(kept.recording)
    for copy in range(3):
        assert_equal(results[0][copy], results[1][copy])  # type: ignore[index]


def test_a_checkpoint_goes_from_a_gpu_to_a_cpu_and_back(tmp_path: Path) -> None:
    circuit, path = network(), tmp_path / "a.h5"
    expected = recorded(circuit, [], RECORD, 240, batch=3, seed=[1, 2, 3])
    with nd.LPU(circuit, DT, [], [], backend="cuda", batch=3, seed=[1, 2, 3]) as lpu:
        lpu.run(80)
        lpu.save(path)
    with nd.LPU.restore(path, [], [], backend="cpu") as lpu:
        lpu.run(80)
        lpu.save(path)
    kept = recorder()
    with nd.LPU.restore(path, [], [kept], backend="cuda") as lpu:
        lpu.run(80)
    found: Any = kept.recording
    for copy in range(3):
        assert np.array_equal(found[copy].V[:], expected[copy].V[160:])


def test_connections_are_stored_once() -> None:
    with nd.LPU(network(), DT, backend="cuda", batch=4, seed=range(4)) as lpu:
        backend: Any = lpu.backend
        rows = [r for r in lpu.program.arrays.values() if r.shape and r.role.value == "constant"]
        for row in rows:
            assert len({one.binding.address(row.key) for one in backend.copies}) == 1
        states = [r for r in lpu.program.arrays.values() if r.shape and r.role.value == "state"]
        for row in states:
            assert len({one.binding.address(row.key) for one in backend.copies}) == 4
        assert rows and states


def test_a_batch_has_one_launch() -> None:
    with pytest.raises(nd.NeurodriverError, match="a batch runs in one launch"):
        nd.LPU(network(), DT, backend="cuda", executor="stepwise", batch=2)


@pytest.mark.parametrize("rule", [RULES[0], RULES[4], RULES[6], RULES[7]])
@pytest.mark.parametrize("copies", [3, 140])
def test_synapses_of_each_copy_learn(rule: type[Plasticity], copies: int) -> None:
    """Weights and values are those of lone runs on a CPU; weights are set in one copy."""
    steps, size = 120, {"sources": 20, "targets": 30, "synapses": 900}
    circuit, _, events = told(rule(), **size, steps=steps)
    uids = circuit.uids[: events.shape[1]].tolist()

    def fed(copy: int) -> list[Any]:
        return [nd.ArrayInput({"spike_state": (uids, np.roll(events, copy, axis=0))})]

    batch = nd.Batch(copies, inputs=[fed(copy) for copy in range(copies)])
    kept = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    options: Any = {"backend": "cuda", "dtype": "float32", "batch": batch}
    with nd.LPU(circuit, LEARNING_DT, recorders=[kept], **options) as lpu:
        lpu.run(steps // 2)
        lpu.copies[1]["learning"].set("weight", 0.25)
        recording: Any = lpu.run(steps - steps // 2).recording
        weights = lpu["learning"].get("weight")
    for copy in (0, 1, copies - 1):
        kept = nd.MemoryRecorder([("V", None), ("spike_state", None)])
        with nd.LPU(circuit, LEARNING_DT, fed(copy), [kept], dtype="float32") as lone:
            lone.run(steps // 2)
            if copy == 1:
                lone["learning"].set("weight", 0.25)
            found: Any = lone.run(steps - steps // 2).recording
            assert np.array_equal(lone["learning"].get("weight"), weights[copy])
        V = found.data("V")[:]
        assert len(np.unique(V)) > 100
        assert np.array_equal(V, recording[copy].data("V")[:])
        assert np.array_equal(found.spikes.time, recording[copy].spikes.time)


def test_synapses_of_all_copies_are_recorded() -> None:
    """The rows of the CPU, also after the copies have been set apart."""
    circuit, inputs, _ = told(RULES[0](), steps=100)

    def rows(backend: str) -> Any:
        some = nd.SynapseRecorder(None, "learning", count=9, interval=20 * LEARNING_DT)
        options: dict[str, Any] = {"backend": backend, "dtype": "float32", "batch": 3}
        with nd.LPU(circuit, LEARNING_DT, inputs, [some], **options) as lpu:
            lpu.run(40)
            scale = np.array([[1.0], [0.5], [0.8]])
            lpu["learning"].set("weight", scale * lpu["learning"].get("weight"))
            lpu.run(60)
        return np.stack([some.recording[copy].weight[:] for copy in range(3)])

    expected = rows("cpu")
    assert expected.shape == (3, 5, 9) and len(np.unique(expected[:, -1])) > 9
    assert rows("cuda").tobytes() == expected.tobytes()
