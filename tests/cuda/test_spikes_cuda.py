"""Weighted spikes on a GPU: dealt out in any order, in windows or not, the bits of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from support import Recorded, assert_same_bits, model, simulate, started

from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    Connections,
    FixedInDegree,
    FixedProbability,
    FixedTotal,
    Manager,
    MemoryRecorder,
    Normal,
    Projection,
    Uniform,
)
from neurodriver.backends.compare.agreement import DisagreementError
from neurodriver.backends.cuda import schedule
from neurodriver.circuit.cut import cut
from neurodriver.codegen.simt.shape import Shape
from neurodriver.plan.arrays import Kind

DT, STEPS = 1e-4, 150
LIF = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
       "time_constant": 20.0, "refractory_period": 0.5}  # fmt: skip
RECORD: Any = [("V", None), ("spike_state", None)]
WEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "one": lambda rng, source: np.asarray(0.7),
    "by source": lambda rng, source: np.where(source % 5 == 0, -0.5, 0.1),
    "multiples": lambda rng, source: 0.275 * rng.integers(1, 300, len(source)),
    "any": lambda rng, source: rng.normal(0.0, 0.4, len(source)),
}


def neurons(n: int, sources: int = 57, rate: float = 9e3) -> list[Any]:
    """Return the groups of neurons and of their Poisson sources."""
    start = np.random.default_rng(9).uniform(-60.0, -49.9, n)
    return [(model("LeakyIAFDelta"), n, {**LIF, "initV": start}, None),
            (model("PoissonCounts"), sources, {"rate": rate}, None)]  # fmt: skip


def random(weights: str, low: int, high: int, n: int = 331, fan_in: int = 23) -> Circuit:
    """Return neurons that are driven by Poisson sources and by each other."""
    rng = np.random.default_rng(1)
    target = np.repeat(np.arange(n, dtype=np.int32), fan_in)
    source = rng.integers(0, n + 57, len(target)).astype(np.int32)
    delay = rng.integers(low, high + 1, len(target)) * DT
    data = {"weight": WEIGHTS[weights](rng, source)}
    links = Connections("spike_state", "spike_state", source, target, delay, data)
    return Circuit.from_arrays(neurons(n), [links])


def strong() -> Circuit:
    """Return a network whose sources reach hundreds of targets in the next step."""
    links = [Projection("spike_state", "spike_state", (0, 2057), (0, 2000), FixedTotal(900_000),
                        Normal(0.02, 0.05), DT)]  # fmt: skip
    return Circuit.from_arrays(neurons(2000), links, seed=3)


def drawn() -> Circuit:
    """Return several rules: some connections are due at once, some late."""
    every = (0, 388)
    links = [
        Projection("spike_state", "spike_state", every, (0, 200), FixedProbability(0.2),
                   Normal(0.1, 0.3), Uniform(DT, 17 * DT)),
        Projection("spike_state", "spike_state", every, (200, 331), FixedInDegree(50),
                   Normal(0.2, 0.3), Uniform(DT, 4 * DT), "second"),
    ]  # fmt: skip
    return Circuit.from_arrays(neurons(331), links, seed=4)


def one_to_one() -> Circuit:
    """Return neurons with a source each, which threads serve, and connections among them."""
    rng = np.random.default_rng(2)
    n = 700
    each = np.arange(n, dtype=np.int32)
    links = [
        Connections("spike_state", "kick", each + n, rng.permutation(each), 3 * DT,
                    {"weight": np.asarray(15.0)}),
        Connections("spike_state", "syn", rng.integers(0, n, 40 * n).astype(np.int32),
                    np.repeat(each, 40), rng.integers(18, 25, 40 * n) * DT,
                    {"weight": rng.normal(1.0, 2.0, 40 * n)}),
    ]  # fmt: skip
    groups: Any = [(model("LeakyIAFShiu"), n, {}, None),
                   (model("PoissonCounts"), n, {"rate": 900.0}, None)]  # fmt: skip
    return Circuit.from_arrays(groups, links)


def unequal() -> Circuit:
    """Return neurons that reach two receptors, and sources beside them that reach one.

    Delays leave time for windows: then where connections are lies in shared memory.
    """
    rng = np.random.default_rng(6)
    n, few = 331, 57
    neuron = {"threshold": -50.0, "resting_potential": -49.0, "reset_potential": -60.0,
              "capacitance": 200.0, "time_constant": 20.0, "tau_exc": 5.0, "tau_inh": 10.0,
              "initV": rng.uniform(-60.0, -50.0, n)}  # fmt: skip
    groups: Any = [(model("LeakyIAFExpCurrent"), n, neuron, None),
                   (model("PoissonCounts"), few, {"rate": 9e3}, None)]  # fmt: skip
    each, late = np.arange(n, dtype=np.int32), lambda k: rng.integers(6, 10, k) * DT
    links = [
        Connections("spike_state", "exc", rng.integers(0, n + few, 40 * n).astype(np.int32),
                    np.repeat(each, 40), late(40 * n), {"weight": rng.normal(8.0, 3.0, 40 * n)}),
        Connections("spike_state", "inh", rng.integers(0, n, 20 * n).astype(np.int32),
                    np.repeat(each, 20), late(20 * n), {"weight": rng.normal(-9.0, 3.0, 20 * n)}),
    ]  # fmt: skip
    return Circuit.from_arrays(groups, links)


CIRCUITS: dict[str, Callable[[], Circuit]] = {
    "one, next step": lambda: random("one", 1, 1),
    "by source, 1 to 20 steps": lambda: random("by source", 1, 20),
    "any, 1 to 20 steps": lambda: random("any", 1, 20),
    "multiples, 2 to 3 steps": lambda: random("multiples", 2, 3),
    "any, 15 steps": lambda: random("any", 15, 15),
    "by source, 4 to 9 steps": lambda: random("by source", 4, 9, 5003),
    "multiples, 32 to 40 steps": lambda: random("multiples", 32, 40),
    "any, one each, 6 to 9 steps": lambda: random("any", 6, 9, fan_in=1),
    "strong": strong,
    "drawn": drawn,
    "one to one": one_to_one,
    "unequal": unequal,
}


@cache
def on_cpu(name: str, dtype: str) -> Recorded:
    """Return what the CPU gives, which gathers."""
    return simulate(
        CIRCUITS[name](), DT, STEPS, (), RECORD, dtype=dtype, backend="cpu", plans=False
    )


@pytest.mark.parametrize("name", list(CIRCUITS))
def test_bits_of_the_cpu(name: str, dtype: str, executor: str) -> None:
    """Resident in one call and in calls of odd lengths, and stepwise."""
    made = CIRCUITS[name]()
    for chunk in (None, 7) if executor == "resident" else (None,):
        more = {"chunk": chunk} if chunk else {}
        got = simulate(
            made, DT, STEPS, (), RECORD, dtype=dtype, backend="cuda", executor=executor, **more
        )
        assert_same_bits(on_cpu(name, dtype), got)
    assert on_cpu(name, dtype)["spike_state"].sum() > 50


@pytest.mark.parametrize("name", list(CIRCUITS))
def test_any_width_and_order_of_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block, a cluster, the grid; components held or streamed; warps that dawdle."""
    made = CIRCUITS[name]()
    count = len(made.groups)
    shapes = [
        schedule.LaunchPlan("grid", 7, Shape(128, 1, False), (1,) * count),
        schedule.LaunchPlan("grid", 132, Shape(256, 1, False), (2,) * count),
    ]
    if made.count < 1000:
        shapes.append(schedule.LaunchPlan("block", 1, Shape(1024, 1, False), (2,) * count))
        shapes.append(schedule.LaunchPlan("cluster", 16, Shape(128, 1, True), (1,) * count))
        shapes.append(schedule.LaunchPlan("grid", 132, Shape(64, 1, True), (1,) * count))
        shapes.append(schedule.LaunchPlan("grid", 20, Shape(448, 1, True), (1,) * count))
        shapes.append(schedule.LaunchPlan("grid", 16, Shape(512, 1, True), (1,) * count))
    for number, plan in enumerate(shapes):
        monkeypatch.setattr(schedule, "choose", lambda *_, plan=plan: plan)
        for fuzz in ("0", str(number + 1)):
            monkeypatch.setenv("NEURODRIVER_FUZZ", fuzz)
            more = {"chunk": 11} if number % 2 else {}  # what a thread recalls, a launch looks up
            got = simulate(made, DT, STEPS, (), RECORD, backend="cuda", **more)
            assert_same_bits(on_cpu(name, "float64"), got)


@pytest.mark.parametrize("name", list(CIRCUITS))
def test_nobody_records(name: str, executor: str) -> None:
    """What is not asked for makes no work, and no launch without any."""
    found = []
    for more in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        with started(CIRCUITS[name](), DT, record=(), **more) as lpu:
            lpu.run(steps=STEPS)
            found.append(lpu.get("V"))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", ["any, 1 to 20 steps", "drawn", "unequal"])
def test_injected_spikes(name: str, dtype: str, executor: str) -> None:
    """What is injected is summed beside what is delivered, with the bits of the CPU."""
    rng = np.random.default_rng(4)
    made = CIRCUITS[name]()
    uids = made.groups[0].uids.tolist()[:50]
    spikes = rng.integers(0, 3, (STEPS, 50)) * (rng.random((STEPS, 50)) < 0.2)
    access = made.groups[0].model.accesses[-1].variable
    given = ArrayInput({access: (uids, spikes.astype(float))})
    one = simulate(made, DT, STEPS, given, RECORD, dtype=dtype, backend="cpu", plans=False)
    with started(made, DT, given, RECORD, dtype=dtype, backend="cuda", executor=executor) as lpu:
        assert lpu.program.deliveries
    got = simulate(
        made, DT, STEPS, given, RECORD, dtype=dtype, backend="cuda", executor=executor, chunk=7
    )
    assert_same_bits(one, got)
    alone = on_cpu(name, dtype)
    assert (alone["V"] != got["V"]).any()  # it matters


@pytest.mark.parametrize("name", ["any, 1 to 20 steps", "multiples, 32 to 40 steps", "drawn"])
def test_delivery_is_compared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A validated run delivers spikes on the GPU and gathers them on the CPU, step by step."""
    monkeypatch.setenv("NEURODRIVER_VALIDATE", "1")
    with started(CIRCUITS[name](), DT, record=RECORD, backend="cuda") as lpu:
        lpu.run(steps=STEPS)
        assert lpu.program.deliveries and lpu.backend.same and lpu.backend.steps == STEPS


def test_a_spike_that_is_delivered_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in the slots of one target for a later step shows when it arrives."""
    monkeypatch.setenv("NEURODRIVER_VALIDATE", "1")
    with started(CIRCUITS["any, 1 to 20 steps"](), DT, record=RECORD, backend="cuda") as lpu:
        lpu.advance(40)
        tested = lpu.backend._tested
        (slots,) = lpu.program.arrays.select(kind=Kind.SUM)
        with tested.device.current():
            values = tested.binding.array(slots.key)
            values[:: len(values) // 7] += 1 << 20
            tested.device.upload(tested.binding.address(slots.key), values)
        with pytest.raises(DisagreementError, match=r"V of 'LeakyIAFDelta/\d+'"):
            lpu.advance(40)


@pytest.mark.parametrize("name", ["any, 1 to 20 steps", "by source, 4 to 9 steps", "drawn"])
def test_two_lpus(name: str) -> None:
    """Ports between two LPUs of a process keep the sparse plan, and the bits of the whole."""
    made = CIRCUITS[name]()
    parts = cut(made, [i % 2 for i in range(made.count)], ["a", "b"])
    found: dict[str, Any] = {}
    for backend in ("cpu", "cuda"):
        man, kept = Manager(), {}
        for part, circuit in parts.circuits.items():
            kept[part] = MemoryRecorder(RECORD)
            man.add(LPU, part, circuit, DT, recorders=[kept[part]], backend=backend)
        for (source, target), pattern in parts.patterns().items():
            man.connect(source, target, pattern)
        man.spawn()
        man.start(steps=STEPS)
        man.wait()
        found[backend] = {part: one.get("V") for part, one in kept.items()}
    for part, rows in found["cpu"].items():
        assert np.array_equal(rows, found["cuda"][part]), part
    assert sum(len(rows) for rows in found["cpu"].values()) > 0


@pytest.mark.parametrize(
    ("name", "window"), [("any, 1 to 20 steps", 0), ("any, 15 steps", 15), ("strong", 1),
                         ("multiples, 32 to 40 steps", 32), ("one to one", 0),
                         ("any, one each, 6 to 9 steps", 6)],
)  # fmt: skip
def test_how_often_warps_meet(name: str, window: int) -> None:
    """Once a step, or twice a window."""
    with started(CIRCUITS[name](), DT, (), RECORD, backend="cuda") as lpu:
        lpu.run(steps=3)
        assert lpu.simulation.backend.plan.shape.window == window
