"""Spikes that are sent a step early on a GPU: the bits of the CPU, on one GPU and on several."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from looking_ahead import network
from support import DT, Recorded, assert_same_bits, model, simulate, started

import neurodriver as nd
from neurodriver import ArrayInput, Circuit, Connections
from neurodriver.backends.cuda import schedule
from neurodriver.codegen.simt.shape import Shape

STEPS = 160
RECORD: Any = [("V", None), ("spike_state", None)]
SIZES = {"a block": 300, "a grid": 9_000}


def looks_ahead(lpu: nd.LPU) -> bool:
    """Return whether the threads of the backend do."""
    return bool(lpu.simulation.backend.plan.shape.lookahead)


@cache
def on_cpu(neurons: int, dtype: str) -> Recorded:
    """Return what the CPU gives, which sums by target."""
    given = {"dtype": dtype, "backend": "cpu", "plans": False}
    return simulate(network(neurons), DT, STEPS, (), RECORD, **given)


@pytest.mark.parametrize("size", SIZES)
def test_bits_of_the_cpu(size: str, dtype: str, executor: str) -> None:
    """In one call, and in calls of 1, 2 and 7 steps; launches of single steps do not look ahead."""
    made, given = network(SIZES[size]), {"dtype": dtype, "backend": "cuda", "executor": executor}
    expected = on_cpu(SIZES[size], dtype)
    assert expected["spike_state"].sum() > SIZES[size]
    with started(made, DT, record=RECORD, **given) as lpu:
        lpu.run(steps=3)
        assert looks_ahead(lpu) == (executor == "resident")
    for chunk in (None, 1, 2, 7) if executor == "resident" else (None,):
        more = {"chunk": chunk} if chunk else {}
        assert_same_bits(expected, simulate(made, DT, STEPS, (), RECORD, **given, **more))


def test_any_width_and_order_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block, a cluster, the grid; one component a thread or two; warps that dawdle."""
    made = network(SIZES["a block"])
    for number, (width, blocks, threads, own) in enumerate([
        ("block", 1, 512, 1), ("block", 1, 256, 2), ("cluster", 16, 96, 1), ("grid", 132, 64, 1),
        ("grid", 20, 448, 2),
    ]):  # fmt: skip
        plan = schedule.LaunchPlan(width, blocks, Shape(threads, 1, True), (own,))
        monkeypatch.setattr(schedule, "choose", lambda *_, plan=plan: plan)
        for fuzz in ("0", str(number + 1)):
            monkeypatch.setenv("NEURODRIVER_FUZZ", fuzz)
            more = {"chunk": 11} if number % 2 else {}
            got = simulate(made, DT, STEPS, (), RECORD, backend="cuda", **more)
            assert_same_bits(on_cpu(SIZES["a block"], "float64"), got)


def test_injected_spikes() -> None:
    """They are there in their own step alone, so no spike of the circuit is sent early."""
    made, rng = network(SIZES["a block"]), np.random.default_rng(4)
    uids = made.groups[0].uids.tolist()[:50]
    spikes = rng.integers(0, 3, (STEPS, 50)) * (rng.random((STEPS, 50)) < 0.2)
    given = ArrayInput({"spike_state": (uids, spikes.astype(float))})
    with started(made, DT, given, RECORD, backend="cuda") as lpu:
        lpu.run(steps=3)
        assert not looks_ahead(lpu)
    found = [
        simulate(made, DT, STEPS, given, RECORD, backend=backend, **more)
        for backend, more in (("cpu", {}), ("cuda", {}), ("cuda", {"chunk": 7}))
    ]
    assert_same_bits(found[0], found[1])
    assert_same_bits(found[0], found[2])
    assert (found[0]["V"] != on_cpu(SIZES["a block"], "float64")["V"]).any()


def test_changes_between_runs() -> None:
    """Potentials and parameters that are set take effect at once: no spike has been sent before."""
    made, found = network(SIZES["a block"]), []
    for backend in ("cpu", "cuda"):
        with nd.LPU(made, DT, backend=backend) as lpu:
            lpu.run(37)
            lpu.set("V", np.linspace(-60.0, -49.0, made.count))
            lpu.run(31)
            lpu.set("threshold", -52.0)
            lpu.run(41, record=["V", "spike_state"])
            spikes = lpu.recording.spikes
            found.append((lpu.recording.V[:], spikes.time[:], spikes.index[:]))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
    assert len(found[0][1]) > made.count / 3


def test_spikes_under_way_go_from_backend_to_backend(tmp_path: Path) -> None:
    """A state that is saved on a GPU goes on on the CPU, and back."""
    made = network(SIZES["a block"])
    with nd.LPU(made, DT, backend="cpu") as lpu:
        lpu.run(200)
        expected = lpu.get("V")
    path = tmp_path / "state.h5"
    for backend in ("cuda", "cpu", "cuda", "cuda", "cpu"):
        lpu = nd.LPU.restore(path, backend=backend) if path.exists() else None
        with lpu or nd.LPU(made, DT, backend=backend) as lpu:
            lpu.run(40)
            lpu.save(path)
            found = lpu.get("V")
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "devices", [[0, 0], pytest.param([0, 1], marks=pytest.mark.needs("two GPUs")),
                pytest.param([0, 1, 0], marks=pytest.mark.needs("two GPUs"))]
)  # fmt: skip
def test_parts_on_gpus(devices: list[int], size: str) -> None:
    """The bits of the whole: on GPUs of their own kernels exchange spikes, else the host does."""
    made, expected = network(SIZES[size]), on_cpu(SIZES[size], "float32")
    recorder = nd.MemoryRecorder(RECORD)
    given = {"dtype": "float32", "backend": "cuda", "devices": devices}
    with nd.LPU(made, DT, (), recorder, **given) as lpu:
        for steps in (1, 2, 57, STEPS - 60):
            lpu.run(steps=steps)
        owners = [one.simulation.backend for one in lpu.simulation._parts]
        assert all(one.plan.shape.lookahead for one in owners)
    assert np.array_equal(recorder.get("V"), expected["V"])
    spikes = recorder.get("spike_state")
    steps, columns = np.nonzero(expected["spike_state"])
    assert np.array_equal(spikes["index"], columns) and len(steps) > 100
    assert np.array_equal(np.rint(spikes["time"] / DT), steps)


@pytest.mark.needs("two GPUs")
def test_a_group_that_sends_across_alone_and_cannot_look_ahead() -> None:
    """It sends its words in their own step, to a GPU whose other senders look ahead."""
    rng, few = np.random.default_rng(8), 64
    made = network(SIZES["a block"])
    cell = {"threshold": -50.0, "resting_potential": -45.0, "reset_potential": -60.0,
            "time_constant": 10.0, "initV": rng.uniform(-60.0, -50.0, few)}  # fmt: skip
    params = {**made.groups[0].params}
    groups = [(model("LeakyIAFExpCurrent"), made.count, params, None),
              (model("LeakyIAFDelta"), few, cell, None)]  # fmt: skip
    half, ends = made.count // 2, np.arange(24 * few, dtype=np.int32)
    late = (1 + ends % 9) * DT
    across = Connections("spike_state", "exc", made.count + ends % few, half + ends % half, late,
                         {"weight": np.full(len(ends), 90.0)})  # fmt: skip
    back = Connections("spike_state", "spike_state", ends % half, made.count + ends % few, late,
                       {"weight": np.full(len(ends), 0.5)})  # fmt: skip
    both = Circuit.from_arrays(groups, [*made.connections, across, back])
    parts = np.repeat([0, 1, 0], [half, made.count - half, few])
    found = []
    for given in ({"backend": "cpu"}, {"backend": "cuda", "devices": 2, "parts": parts}):
        recorder = nd.MemoryRecorder(RECORD)
        with nd.LPU(both, DT, (), recorder, **given) as lpu:
            lpu.run(steps=STEPS)
        found.append((recorder.get("V"), recorder.get("spike_state")["index"]))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("length", [None, 7])
def test_copies_of_a_batch(length: int | None) -> None:
    """Each copy looks ahead with its own parameters."""
    made = network(SIZES["a block"])
    key = ("LeakyIAFExpCurrent", "threshold")
    batch = nd.Batch(3, parameters={key: np.array([-50.0, -51.5, -53.0])})
    found = []
    for backend in ("cpu", "cuda"):
        kept = nd.MemoryRecorder(RECORD)
        with nd.LPU(made, DT, (), [kept], backend=backend, batch=batch) as lpu:
            lpu.simulation.length.fixed = length
            recording: Any = lpu.run(STEPS).recording
            found.append([recording[copy].data("V")[:] for copy in range(3)])
            assert backend == "cpu" or looks_ahead(lpu)
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(found[0][0], found[0][1])
