"""Spikes delivered when they are due, on a GPU: the bits of the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_spikes_cuda
from drawn_circuits import DT, LAWS, RULES, circuit, link
from support import simulate, started
from test_drawing_cuda import same_bits
from test_spikes_cuda import CIRCUITS, RECORD, STEPS, on_cpu

from neurodriver import LPU, FixedTotal, MemoryRecorder, Normal
from neurodriver.backends.cuda import schedule
from neurodriver.codegen.simt.shape import Shape
from neurodriver.errors import NeurodriverError
from neurodriver.plan.spikes import due

LATE = ["any, 1 to 20 steps", "by source, 1 to 20 steps", "strong", "drawn", "unequal"]


@pytest.fixture(autouse=True)
def when_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the model of cost choose delivery when due."""
    monkeypatch.setattr(due, "BARRIER", -1.0)


@pytest.mark.parametrize("name", LATE)
def test_they_are_delivered_when_due(name: str) -> None:
    """So the tests that are taken over from delivery ahead try what they are to try."""
    with started(CIRCUITS[name](), DT, record=(), backend="cuda") as lpu:
        assert any(map(due.is_due, lpu.program.gathers.values()))


@pytest.mark.parametrize("name", LATE)
def test_bits_when_due(name: str, dtype: str, executor: str) -> None:
    """In one call, in calls of odd lengths, and stepwise; without a recorder, too."""
    test_spikes_cuda.test_bits_of_the_cpu(name, dtype, executor)
    test_spikes_cuda.test_nobody_records(name, executor)


@pytest.mark.parametrize("name", ["any, 1 to 20 steps", "drawn", "unequal"])
def test_injected_when_due(name: str, dtype: str, executor: str) -> None:
    """Injected spikes are summed beside those that are delivered."""
    test_spikes_cuda.test_injected_spikes(name, dtype, executor)


@pytest.mark.parametrize("name", ["any, 1 to 20 steps", "drawn"])
def test_any_width_when_due(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block, a cluster, the grid; warps that dawdle."""
    test_spikes_cuda.test_any_width_and_order_of_work(name, monkeypatch)


@pytest.mark.parametrize("name", ["any, 1 to 20 steps", "drawn"])
def test_compared_when_due(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A validated run gathers the spikes on the CPU beside the GPU."""
    test_spikes_cuda.test_delivery_is_compared(name, monkeypatch)


@pytest.mark.parametrize("name", LATE)
def test_a_state_is_continued(name: str, tmp_path: Path) -> None:
    """On a GPU from a CPU and from a GPU, on a CPU from a GPU: what is on its way arrives."""
    whole, at, path = on_cpu(name, "float64"), STEPS // 2, tmp_path / "state.h5"
    for first, then in (("cuda", "cpu"), ("cpu", "cuda"), ("cuda", "cuda")):
        with started(CIRCUITS[name](), DT, record=RECORD, backend=first) as lpu:
            lpu.run(steps=at)
            lpu.save(path)
        recorder = MemoryRecorder(RECORD)
        with LPU.restore(path, [], [recorder], backend=then) as lpu:
            lpu.run(steps=STEPS - at)
        found: Any = recorder.output["V"]["data"]
        np.testing.assert_array_equal(whole["V"][-len(found) :], found, f"{first} -> {then}")


@pytest.mark.parametrize("name", ["strong", "any, 1 to 20 steps"])
@pytest.mark.parametrize("threads", [0, 256])
def test_too_many_spikes_are_told(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends with an error, also where a half of each block looks while others fire."""
    made = CIRCUITS[name]()
    monkeypatch.setattr(due, "MOST_SENT", 32)
    if threads:
        given = Shape(threads, 1, False), (1,) * len(made.groups)
        monkeypatch.setattr(schedule, "choose", lambda *_: schedule.LaunchPlan("grid", 20, *given))
    with pytest.raises(NeurodriverError, match=r"29 can be kept|more than 32 spikes were due"):
        simulate(made, DT, STEPS, (), RECORD, backend="cuda")


@pytest.mark.parametrize("rule", RULES[:-1], ids=str)
def test_rules_on_a_gpu(rule: Any) -> None:
    """Every rule, sorted by delay where it lies."""
    same_bits(circuit(link((0, 83), (0, 83), rule)))


@pytest.mark.parametrize("laws", LAWS, ids=str)
def test_laws_on_a_gpu(laws: Any) -> None:
    """Every law of weights and delays."""
    same_bits(circuit(link((0, 83), (0, 50), FixedTotal(900), *laws)), "float64")


def test_packed_weights() -> None:
    """Weights that are small multiples stand above their targets."""
    given = circuit(
        link((0, 83), (0, 83), FixedTotal(4000), Normal(2.0, 0.4, 0.0, multiple_of=0.1))
    )
    same_bits(given)
