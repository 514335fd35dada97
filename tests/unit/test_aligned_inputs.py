"""Values that are injected beside components: several of them, and one value for all slots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from host_threads import HostThreads

import neurodriver as nd
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CPU, CUDA

DT = 1e-4
COUNT, STEPS = 300, 40
"""More components than a tile has."""


class Held(nd.NDComponent):
    """Shows its current a step later."""

    accesses = ("I",)
    updates = {"x": "1"}
    states = {"x": nd.State("1", 0.0)}
    update = "x = I;"


class Held2(Held):
    """The same, in another group."""


UIDS = [f"a{i}" for i in range(COUNT)], [f"b{i}" for i in range(COUNT)]


def circuit() -> nd.Circuit:
    groups: Any = [(Held, COUNT, {}, UIDS[0]), (Held2, COUNT, {}, UIDS[1])]
    return nd.Circuit.from_arrays(groups)


def each(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=COUNT)


def step(group: int, value: Any, start: int = 0, stop: int = STEPS) -> tuple[nd.Input, np.ndarray]:
    """Return an input into a group, and what all components get of it at each step."""
    entering = np.zeros((STEPS, 2 * COUNT))
    entering[start:stop, group * COUNT : (group + 1) * COUNT] = value
    given = nd.StepInput("I", UIDS[group], value, start=(start - 0.5) * DT, stop=(stop - 0.5) * DT)
    return given, entering


def rows(group: int, table: np.ndarray) -> tuple[nd.Input, np.ndarray]:
    entering = np.zeros((STEPS, 2 * COUNT))
    entering[:, group * COUNT : (group + 1) * COUNT] = table
    return nd.ArrayInput({"I": (UIDS[group], table)}), entering


CASES = {
    "one value": [step(0, 1.5, 5, 20)],
    "values of each": [step(0, each(1), 5, 20)],
    "all but the last are equal": [step(0, np.r_[np.full(COUNT - 1, 2.5), 3.5])],
    "one value, then another one": [step(0, 1.5, 5, 20), step(0, 2.25, 20, 33)],
    "two groups": [step(0, 1.5, 5, 20), step(1, 0.25, 9, 30)],
    "two into a group, one into another": [
        step(0, each(2)), step(1, 0.125, 3), step(0, 0.3, 10, 30),
    ],
    "four": [step(0, 0.1), step(0, each(3), 7), step(0, 1e9, 9, 11), step(0, -1e9, 9, 11)],
    "five": [step(0, one, one) for one in range(5)],
    "rows": [rows(0, np.outer(np.arange(STEPS) // 4.0, np.ones(COUNT))), step(0, 0.1)],
    "rows of each": [rows(0, np.outer(np.arange(STEPS) // 4, each(4))), step(0, 0.1, 11)],
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_sums_of_what_is_injected(name: str, dtype: str, threads: int) -> None:
    """Bit by bit the sums, in the order of the inputs, that NumPy gives."""
    given, entering = zip(*CASES[name], strict=True)
    recorder = nd.MemoryRecorder([("x", None)])
    with nd.LPU(circuit(), DT, given, [recorder], dtype=dtype, threads=threads) as lpu:
        lpu.run(steps=STEPS)
        assert lpu.simulation.program.window > 1
    total = np.zeros((STEPS, 2 * COUNT), dtype)
    for one in entering:
        total += one.astype(dtype)
    expected = np.zeros_like(total)
    expected[1:] = total[:-1]
    np.testing.assert_array_equal(recorder.get("x"), expected)


def test_zeros_of_both_signs_are_not_equal() -> None:
    """A row of 0 and -0 is no row of equal values."""
    signs = np.where(np.arange(COUNT) % 150 < 75, 0.0, -0.0)
    recorder = nd.MemoryRecorder([("x", UIDS[0])])
    with nd.LPU(circuit(), DT, [step(0, signs)[0]], [recorder]) as lpu:
        lpu.run(steps=3)
    np.testing.assert_array_equal(np.signbit(recorder.get("x")[2]), np.signbit(signs))


def test_how_elements_beside_components_are_read() -> None:
    """Up to four of them need no index, and each knows the input that it belongs to."""
    given = [one for one, _ in CASES["two into a group, one into another"]]
    with nd.LPU(circuit(), DT, given) as lpu:
        first, second = lpu.simulation.program.gathers.values()
    assert first.form == second.form == "aligned"
    assert (first.limits["input 0"], first.limits["input 1"]) == (0, 2)
    assert second.limits["input 0"] == 1 and "input 1" not in second.limits
    with nd.LPU(circuit(), DT, [one for one, _ in CASES["five"]]) as lpu:
        assert [one.form for one in lpu.simulation.program.gathers.values()] == ["lattice", "none"]


@pytest.mark.parametrize("plans", [True, False])
def test_threads_of_a_gpu_read_the_same_elements(plans: bool) -> None:
    """Also where special plans are off."""
    targets = [("I", UIDS[0]), ("I", UIDS[0]), ("I", UIDS[1])]
    ends = []
    for target in CPU, CUDA:
        made = compile_circuit(circuit(), DT, targets=targets, plans=plans, target=target)
        plan_of = made.gathers.values()
        ends.append([len(g.arrays["first"]) if g.form == "aligned" else 0 for g in plan_of])
    assert ends == [[2, 1], [2, 1]]


class Shown(nd.NDComponent):
    """Shows its value as a current."""

    updates = {"I": "1"}
    params = {"value": nd.Parameter("1", doc="what it shows")}
    states = {"I": nd.State("1", 0.0)}
    update = "I = value;"


class Shown2(Shown):
    """The same, in another group."""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_thread_of_a_gpu_adds_elements_in_their_order(dtype: str) -> None:
    """Bit by bit, by the text of a GPU; -0 and -0 make 0, as in a sum from 0 on."""
    values = each(5), each(6) * 1e-3
    values[0][7] = values[1][7] = -0.0
    columns = [
        (Shown, COUNT, {"value": values[0]}, None),
        (Shown2, COUNT, {"value": values[1]}, None),
    ]
    ends = [n * COUNT + np.arange(COUNT, dtype=np.int32) for n in range(3)]
    links = [nd.Connections("I", "I", ends[n], ends[2]) for n in (0, 1)]
    groups: Any = [*columns, (Held, COUNT, {}, None)]
    gpu = HostThreads(nd.Circuit.from_arrays(groups, links), DT, dtype)
    (plan_of,) = gpu.program.gathers.values()
    assert plan_of.form == "aligned" and len(plan_of.arrays["first"]) == 2
    gpu.advance(3)
    x = gpu.get(2, "x")
    expected = values[0].astype(dtype) + values[1].astype(dtype)
    np.testing.assert_array_equal(x, expected)
    assert not np.signbit(x[7])
