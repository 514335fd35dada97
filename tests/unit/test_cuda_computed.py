"""Spikes whose connections a GPU computes: the text, run on a CPU, delivers what stored ones do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from delivery_on_cpu import DeliveryOnCPU
from device_code import check_text
from sheets import uneven_networks
from test_cuda_stencils import _Literal, compiled, expected

from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.spike_delivery import parts_of, plan_delivery
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.plan.spikes.computed_rows import ComputedThere

WAYS: list[Any] = [
    (True, "float32", 0, 2e-4, {}),
    (False, "float64", 0, 5e-5, {}),
    (False, "float32", 2, 5e-4, {}),
    (False, "float32", 0, 5e-5, {"lookahead": True}),
    (True, "float64", 0, 5e-5, {"lookahead": True, "early": False}),
]


@pytest.mark.parametrize(("period", "dtype", "window", "least", "how"), WAYS)
def test_the_text_delivers_every_connection(
    period: bool, dtype: str, window: int, least: float, how: dict[str, bool]
) -> None:
    """Due at once or listed, many spikes of a warp or one, and several of one cell."""
    circuit = uneven_networks(False, period, least)
    program = compiled(circuit, dtype)
    plans = [g for g in program.gathers.values() if isinstance(g, ComputedThere)]
    assert len(plans) == 4 and not any("_columns" in vars(c) for c in circuit.connections[:4])
    assert all(array.size <= 1000 for one in plans for array in one.arrays.values())
    device, rng = DeliveryOnCPU(program, window, **how), np.random.default_rng(2)
    want = np.zeros((1, 1), np.int64)
    for row, share in ((1, 0.004), (2, 0.1), (19, 0.5)):
        counts = (rng.random(circuit.count) < share) * rng.integers(1, 3, circuit.count)
        want = want + expected(circuit, program, counts, row)
        found = device.send(counts, row)
        assert np.array_equal(found, want) and want.any()


def test_arrivals() -> None:
    """What a run that is continued elsewhere counts on; what is late alone, too."""
    circuit = uneven_networks(False, False, 5e-5)
    program = compiled(circuit)
    plans = [g for g in program.gathers.values() if isinstance(g, ComputedThere)]
    counts = (np.random.default_rng(2).random(circuit.count) < 0.1).astype(np.int64)
    want = expected(circuit.with_parts(circuit.groups, circuit.connections[:4]), program, counts, 0)
    found = np.zeros_like(want)
    for plan in plans:
        assert plan.longest < len(want)
        late = plan.arrivals(np.flatnonzero(counts), late=True)
        assert len(late[0]) == 0 if plan.limits["near"] else len(late[0]) > 0
        _, target, multiple, back = plan.arrivals(np.flatnonzero(counts), late=False)
        np.add.at(found, (back, target), multiple)
    assert np.array_equal(found, want) and want[0].any()


@pytest.mark.needs("NVRTC")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_text_compiles(dtype: str) -> None:
    program = compiled(uneven_networks(False, False, 5e-5), dtype)
    delivery = plan_delivery(program, False)
    assert delivery.delivers
    shape = delivery.shaped(Shape(256, 1, True))
    plan = schedule.LaunchPlan("grid", 132, shape, (1,) * len(program.units))
    binding: Any = _Literal()
    check_text(
        device_text(parts_of(generate(program), plan, binding), dtype, shape),
        whole=dtype == "float32",
    )
