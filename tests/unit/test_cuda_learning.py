"""Synapses that learn on a GPU: their text gives the bits of the CPU, whatever the turns."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from device_code import check_text
from learning import learned
from learning_circuits import DT, RULES, Eligible, Rewarded, told
from learning_on_cpu import LearningOnCPU
from learning_values import Modulated, Sampled, everything
from numpy.typing import NDArray
from support import recorded, started

from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.spike_delivery import parts_of, plan_delivery, with_learning
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.model.plasticity import Plasticity
from neurodriver.native.headers import header
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.spikes.learning import LEVELS
from neurodriver.plan.target import CUDA

STEPS, LEVEL = 300, 0.7
CASES: dict[str, dict[str, Any]] = {
    "anywhere": {},
    "windows": {"least": 3, "longest": 12},
    "counts": {"counts": 5},
    "busy": {"rate": 0.6, "least": 2, "synapses": 300},
    "many": {"rate": 0.15, "least": 2, "longest": 3, "sources": 3, "targets": 40, "synapses": 1200},
}


def made(rule: type[Plasticity], case: str) -> Any:
    """Return a circuit none of whose other connections reach the same slots, and its input."""
    return told(rule(), **{"static": 0, **CASES[case]}, steps=STEPS)


@cache
def on_cpu(
    rule: type[Plasticity], case: str, dtype: str, level_at: int = 0
) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Return what a CPU records, the weights at the end, and the rows of spikes.

    Before a step ``level_at``, the first modulator is set.
    """
    circuit, inputs, events = made(rule, case)
    record: Any = [("V", None), ("spike_state", None)]
    with started(circuit, DT, inputs, record, backend="cpu", dtype=dtype) as lpu:
        if level_at:
            lpu.run(steps=level_at)
            lpu["learning"].set(next(iter(rule.modulators)), LEVEL)
        lpu.run(steps=STEPS - level_at)
        data = recorded(lpu, STEPS)
        weight = learned(lpu).astype(dtype)
    spikes = data["spike_state"]
    spikes[1:, : events.shape[1]] = events[:-1]
    return data["V"], weight, spikes


def emulated(
    rule: type[Plasticity],
    case: str,
    dtype: str,
    calls: list[int],
    level_at: int = 0,
    lanes: int = 1,
    direct: bool = True,
) -> Any:
    """Return what targets read from their slots when the spikes are those of the CPU; weights."""
    circuit, *_ = made(rule, case)
    program = compile_circuit(circuit, DT, dtype, target=CUDA)
    one, window = LearningOnCPU(program, lanes, direct=direct), program.window
    spikes = on_cpu(rule, case, dtype, level_at)[2]
    targets = circuit.groups[1].count
    places = np.concatenate([program.layout.elements(g, "spike_state") for g in range(2)])
    unit = program.gathers[1, "learned"].uniform["unit"]
    read = np.zeros((STEPS, targets), dtype)
    row = np.zeros(program.layout.rings["spike_state"].width, dtype)
    first = 0
    for length in calls:
        last = first + length
        if level_at and first == level_at:
            one.of_plan("dosing")[:] = 1
            one.catch_up(first)
            one.of_plan("dosing")[:] = 0
            one.of_plan("level")[0], one.of_plan("dosed")[0] = LEVEL, first
        one.first(first, last)
        k = first
        while k < last:
            until = min((k // window + 1) * window, last)
            for step in range(k, until):
                slots = one.slots[step % len(one.slots)]
                read[step] = slots[:targets].astype(dtype) * program.dtype.type(unit)
                slots[:] = 0
                if step + 1 < STEPS:
                    row[places] = spikes[step + 1]
                    one.write_row("spike_state", step + 1, row)
            newest = until if until < last else last - 1
            if newest > k:
                one.turn(k + 1, newest, last)
            k = until
        first = last
    one.catch_up(STEPS)
    weight = np.empty(len(one.plan.order), dtype)
    weight[one.plan.order] = one.of_plan("weight")
    return read, weight, one


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize("case", [case for case in CASES if case != "many"])
@pytest.mark.parametrize("rule", RULES)
def test_bits_of_the_cpu(rule: type[Plasticity], case: str, dtype: str) -> None:
    """In one call, and in calls that cut windows."""
    V, weight, spikes = on_cpu(rule, case, dtype)
    assert spikes.sum() > 300 and len(np.unique(V)) > 100
    for calls in ([STEPS], [1] * 7 + [5, 2, 11] + [STEPS - 25], [7] * (STEPS // 7) + [STEPS % 7]):
        read, got, _ = emulated(rule, case, dtype, calls)
        assert read[:-1].tobytes() == V[1:].astype(dtype).tobytes()
        assert got.tobytes() == weight.tobytes()


@pytest.mark.needs("NVRTC")
@pytest.mark.parametrize("rule", [Eligible, Rewarded, Sampled, Modulated])
def test_the_text_compiles(rule: type[Plasticity]) -> None:
    """With texts of doses and intervals, and values of neurons; in turns and launch by launch."""
    of_values = issubclass(rule, Sampled | Modulated)
    circuit = everything(rule)[0] if of_values else told(rule())[0]
    program = compile_circuit(circuit, DT, "float32", target=CUDA)
    made, known = generate(program), type("Known", (), {"known": lambda self, kernel: ()})()
    for stepwise in (False, True):
        window = plan_delivery(program, stepwise).window
        shape = Shape(256, 1, not stepwise, window=window, marks=True)
        shape = with_learning(shape, made.learning, 132)
        plan = schedule.LaunchPlan("grid", 132, shape, (1,) * len(made.tasks))
        plan = schedule.finished(plan, made.tasks, 4)
        parts: Any = parts_of(made, plan, known)  # type: ignore[arg-type]
        whole = rule in (Rewarded, Modulated) and not stepwise
        check_text(device_text(parts, "float32", plan.shape), whole=whole)


@pytest.mark.parametrize("case", ["anywhere", "windows"])
def test_levels_of_modulators_are_set(case: str, dtype: str) -> None:
    """Between two calls, before a step; synapses take up what was before it."""
    rule = RULES[6]
    V, weight, _ = on_cpu(rule, case, dtype, 131)
    read, got, _ = emulated(rule, case, dtype, [131, STEPS - 131], 131)
    assert read[:-1].tobytes() == V[1:].astype(dtype).tobytes()
    assert got.tobytes() == weight.tobytes() != on_cpu(rule, case, dtype)[1].tobytes()


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize(
    ("rule", "level_at"),
    [(RULES[0], 0), (RULES[6], 0), (RULES[6], 131), (RULES[7], 0), (RULES[8], 0), (RULES[8], 131)],
)
def test_threads_of_a_warp(rule: type[Plasticity], level_at: int) -> None:
    """Warps of 32 threads, which need one another, have the bits of the CPU, too."""
    V, weight, spikes = on_cpu(rule, "many", "float32", level_at)
    assert spikes.sum() > 300 and len(np.unique(V)) > 100
    calls = [level_at or STEPS - 7, STEPS - level_at if level_at else 7]
    read, got, _ = emulated(rule, "many", "float32", calls, level_at, lanes=32)
    assert read[:-1].tobytes() == V[1:].astype("float32").tobytes()
    assert got.tobytes() == weight.tobytes()


def test_levels_that_are_kept() -> None:
    """A plan counts on as many steps of the past as kernels keep."""
    text = header("codegen/simt/learning_modulators.cuh")
    assert re.findall(r"ND_LEVELS = (\d+)", text) == [str(LEVELS)]
