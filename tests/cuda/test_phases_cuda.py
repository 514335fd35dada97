"""Phases of a step on a GPU: the rows of plain Python, in any shape of a launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from phased import Phased, agrees, random_phased

from neurodriver import LPU
from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.backend import CUDABackend
from neurodriver.codegen.simt.shape import Shape

SHAPES = {
    "block, streamed": ("block", 1, 256, False),
    "grid, streamed": ("grid", 5, 64, False),
    "grid, held": ("grid", 120, 128, True),
    "cluster, held": ("cluster", 16, 512, True),
}


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
    width, blocks, threads, holds = SHAPES[name]

    def shaped(units: Any, *given: Any) -> schedule.LaunchPlan:
        shape = Shape(threads, 1, holds)
        return schedule.LaunchPlan(width, blocks, shape, tuple(1 for _ in units))

    monkeypatch.setattr(schedule, "choose", shaped)
    monkeypatch.setenv("NEURODRIVER_FUZZ", "3")
    made = circuit_of(5, 90)
    agrees(made, made.circuit(order=made.order()), backend="cuda", plans=plans)


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
