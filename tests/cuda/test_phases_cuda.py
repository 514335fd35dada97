"""Phases of a step on a GPU: the rows of plain Python, in any shape of a launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learning_circuits import Pairs
from phased import DT, STEPS, Phased, agrees, learning_layers, paced, plain, random_phased
from support import assert_same_bits, recorded, started

from neurodriver import LPU, MemoryRecorder
from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.backend import CUDABackend
from neurodriver.codegen.simt.shape import Shape

SHAPES = {
    "block, streamed": ("block", 1, 256, False),
    "grid, streamed": ("grid", 5, 64, False),
    "grid, held": ("grid", 120, 128, True),
    "cluster, held": ("cluster", 16, 512, True),
}


def shaped_as(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let circuits run in one of the shapes; warps dawdle."""
    width, blocks, threads, holds = SHAPES[name]

    def shaped(units: Any, *given: Any) -> schedule.LaunchPlan:
        shape = Shape(threads, 1, holds)
        return schedule.LaunchPlan(width, blocks, shape, tuple(1 for _ in units))

    monkeypatch.setattr(schedule, "choose", shaped)
    monkeypatch.setenv("NEURODRIVER_FUZZ", "3")


def circuit_of(seed: int, largest: int = 40) -> Phased:
    """Return a random circuit."""
    return random_phased(np.random.default_rng([8, seed]), largest)


@pytest.mark.parametrize("seed", range(4))
def test_random_circuits(seed: int, dtype: str, executor: str) -> None:
    """As they are laid out; calls of any length."""
    made, chunk = circuit_of(seed), (1, 7, 1000)[seed % 3]
    circuit = made.circuit(order=made.order())
    agrees(made, circuit, backend="cuda", executor=executor, dtype=dtype, chunk=chunk)


@pytest.mark.parametrize("plans", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_any_shape(monkeypatch: pytest.MonkeyPatch, name: str, plans: bool) -> None:
    """Barriers lie between the stages wherever components are; warps dawdle."""
    shaped_as(monkeypatch, name)
    made = circuit_of(5, 90)
    agrees(made, made.circuit(order=made.order()), backend="cuda", plans=plans)


@pytest.mark.parametrize("name", [None, *SHAPES])
@pytest.mark.parametrize("seed", range(3))
def test_populations_that_leave_out_steps(
    monkeypatch: pytest.MonkeyPatch, seed: int, name: str | None, executor: str
) -> None:
    """Their values stay, in any shape, with and without an order."""
    if name is not None:
        shaped_as(monkeypatch, name)
    made = paced(np.random.default_rng([12, seed]))
    circuit = made.circuit(order=made.order() if seed % 2 else None)
    more = {"executor": executor, "chunk": (1, 7, 1000)[seed]}
    agrees(made, circuit, ordered=bool(seed % 2), backend="cuda", **more)


def test_one_launch() -> None:
    """All phases of all steps run in one launch, which has a barrier more for each stage."""
    made = circuit_of(6)
    with LPU(made.circuit(order=made.order()), 1e-3, backend="cuda") as lpu:
        backend = lpu.backend
        assert isinstance(backend, CUDABackend)
        shape = backend.plan.shape
        assert shape.stages == lpu.program.stages > 1
        assert shape.barriers(0, 100) == 100 * shape.stages
        assert backend.launches.steps == 1
        lpu.advance(100)


def learned(backend: str, dtype: str, **more: Any) -> dict[str, Any]:
    """Return what layers record while synapses learn, and the weights in the middle and after."""
    circuit = learning_layers(Pairs())
    record: Any = [("level", None), ("spike_state", None)]
    with started(circuit, DT, (), record, backend=backend, dtype=dtype, **more) as lpu:
        weights = []
        for steps in (33, 67):
            lpu.run(steps=steps)
            weights += [lpu[name].get("weight") for name in ("past", "back")]
        return {**recorded(lpu, 100), **{str(i): one for i, one in enumerate(weights)}}


def test_synapses_learn_beside_phases(dtype: str, executor: str) -> None:
    """In one call and in calls of odd lengths, and stepwise."""
    expected = learned("cpu", dtype)
    assert np.ptp(expected["3"]) > 0.2 and (expected["1"] != expected["3"]).any()
    for chunk in (None, 7):
        assert_same_bits(expected, learned("cuda", dtype, executor=executor, chunk=chunk))


@pytest.mark.parametrize("name", SHAPES)
def test_synapses_learn_in_any_shape(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Barriers of stages and of learning take turns, wherever components are."""
    expected = learned("cpu", "float64")
    shaped_as(monkeypatch, name)
    assert_same_bits(expected, learned("cuda", "float64"))


@pytest.mark.parametrize("copies", [3, 40])
def test_batches_have_phases(copies: int, dtype: str) -> None:
    """Each copy has the rows of plain Python, whether it has several blocks or one."""
    made = circuit_of(5, 90)
    kept = MemoryRecorder([("level", None)])
    more: Any = {"backend": "cuda", "batch": copies, "dtype": dtype}
    with LPU(made.circuit(order=made.order()), DT, recorders=[kept], **more) as lpu:
        recording = lpu.run(steps=STEPS).recording
        uids = lpu.circuit.uids[made.places()]
    level = plain(made, STEPS)["level"][:STEPS]
    has = np.flatnonzero(~np.isnan(level[0]))
    for copy in (0, copies - 1):
        found = recording[copy].data("level", uids[has].tolist())[:]
        np.testing.assert_array_equal(found, level[:, has])


@pytest.mark.parametrize("seed", range(3))
def test_single_phases(seed: int, dtype: str, executor: str) -> None:
    """After each phase all values are those of the CPU; so are what is set between phases."""
    made = circuit_of(seed)
    circuit = made.circuit(order=made.order())
    name = made.populations[0][0]
    given: dict[str, Any] = {"dtype": dtype, "seed": 1}
    with (
        LPU(circuit, DT, **given) as host,
        LPU(circuit, DT, backend="cuda", executor=executor, **given) as lpu,
    ):
        for turn in range(3 * len(circuit.phases)):
            for one in (host, lpu):
                one.advance_phase()
                if turn == 1:
                    one[name].set("level", 0.25)
            assert host.step == lpu.step
            for population in circuit.populations:
                for what in {"level", "val", "spike_state"} & {*host[population].names}:
                    values = [np.asarray(one[population].get(what)) for one in (host, lpu)]
                    assert np.array_equal(*values), (turn, population, what)
        for one in (host, lpu):
            one.advance_phase()
            one.advance(5)
        assert lpu.step == host.step == 8
        values = [np.asarray(one[name].get("level")) for one in (host, lpu)]
        assert np.array_equal(*values) and np.ptp(values[0]) > 0
