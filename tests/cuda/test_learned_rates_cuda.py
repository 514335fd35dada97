"""Graded synapses that learn on a GPU: the bits of the CPU, beside long sums, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gated import gated
from learned_rates import DT, Mixed, Rates
from support import assert_same_bits, recorded, started

from neurodriver import Circuit
from neurodriver.backends.cuda import schedule
from neurodriver.codegen.simt.device import Shape

STEPS = 60
CASES = {"one step": (150, 900, 1), "delays": (3000, 40_000, 4), "few": (40, 5000, 2)}


def run(circuit: Circuit, given: Rates, backend: str, dtype: str, **more: Any) -> dict[str, Any]:
    """Return V and all numbers of synapses; halfway these are read."""
    more |= {"backend": backend, "dtype": dtype}
    with started(circuit, DT, given.input(), [("V", None)], **more) as lpu:
        lpu.run(steps=STEPS // 2)
        lpu["set 0"].set("weight", lpu["set 0"].get())
        lpu.run(steps=STEPS - STEPS // 2)
        data = {"V": recorded(lpu, STEPS)["V"]}
        for number in (0, 1):
            for name in ("weight", "seen", "kept"):
                data[f"{name} {number}"] = lpu[f"set {number}"].get(name)
    return data


@pytest.mark.parametrize("case", CASES)
def test_bits_of_the_cpu(case: str, dtype: str, executor: str) -> None:
    """Resident and stepwise; sums of the form ``rows``, which the threads of a warp share."""
    given = Rates.drawn(*CASES[case][:2], STEPS, CASES[case][2])
    eta = 1e-5 if case == "few" else 0.01  # sums of 125 values
    circuit = given.circuit(Mixed(eta=eta), Mixed(eta=2 * eta))
    on_cpu = run(circuit, given, "cpu", dtype)
    assert_same_bits(on_cpu, run(circuit, given, "cuda", dtype, executor=executor))


def test_any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block or the grid; components held or streamed, several a thread."""
    given = Rates.drawn(700, 9000, STEPS, 2)
    circuit = given.circuit(Mixed(), Mixed(eta=0.02))
    on_cpu = run(circuit, given, "cpu", "float32")
    for shape in (
        schedule.LaunchPlan("grid", 7, Shape(128, 1, False), (1,)),
        schedule.LaunchPlan("block", 1, Shape(512, 1, False), (2,)),
        schedule.LaunchPlan("grid", 132, Shape(64, 1, True), (1,)),
    ):
        monkeypatch.setattr(schedule, "choose", lambda *_, shape=shape: shape)
        assert_same_bits(on_cpu, run(circuit, given, "cuda", "float32"))


@pytest.mark.parametrize(("late", "synapses"), [(1, 300), (3, 300), (2, 5000)])
def test_levels_and_intervals(late: int, synapses: int, dtype: str, executor: str) -> None:
    """Texts of intervals with sums, and a modulator that is a variable of a component."""
    circuit, _ = gated(late, synapses)

    def given(backend: str, **more: Any) -> tuple[dict[str, Any], Any]:
        record = [("V", None)]
        with started(circuit, DT, (), record, backend=backend, dtype=dtype, **more) as lpu:
            lpu.run(steps=STEPS)
            weight, used = lpu["learning"].get("weight"), lpu["learning"].get("used")
            return {"weight": weight, **recorded(lpu, STEPS)}, used

    one, uses = given("cpu")
    other, used = given("cuda", executor=executor)
    assert_same_bits(one, other)
    assert uses.any() and np.array_equal(uses, used)  # one number for all: all have one level
