"""Spikes along stencils on a GPU: its text, run on a CPU, delivers what stored connections do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from delivery_on_cpu import DeliveryOnCPU
from device_code import check_text
from sheets import DT, million, networks, sheet

import neurodriver as nd
from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.spike_delivery import parts_of, plan_delivery
from neurodriver.codegen.generate import generate
from neurodriver.codegen.kernel import Kernel
from neurodriver.codegen.simt.device import device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.errors import CircuitError
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.program import Program
from neurodriver.plan.spikes.stencil_rows import StencilRows
from neurodriver.plan.target import CUDA


def compiled(circuit: nd.Circuit, dtype: str = "float64") -> Program:
    """Return the program of a circuit for a GPU."""
    return compile_circuit(circuit, DT, dtype, target=CUDA)


def expected(circuit: nd.Circuit, program: Program, counts: np.ndarray, row: int) -> np.ndarray:
    """Return the slots after the spikes of a row, from the columns of all connections."""
    gather = program.gathers[0, "spike_state"]
    unit = gather.arrays.get("unit", np.full(gather.limits["ahead"], gather.uniform.get("unit")))
    slots = np.zeros((gather.limits["depth"], gather.limits["ahead"]), np.int64)
    for links in circuit.connections:
        columns = links.expanded()
        steps = np.rint(np.broadcast_to(columns.delay, len(columns)) / DT).astype(np.int64)
        weight = np.broadcast_to(columns.data["weight"], len(columns))
        multiple = np.rint(weight / unit[columns.target]).astype(np.int64)
        due = (row + np.maximum(steps, 1) - 1) % len(slots)
        np.add.at(slots, (due, columns.target), multiple * counts[columns.source])
    return slots


@pytest.mark.parametrize(
    ("period", "dtype", "window", "least"),
    [(True, "float32", 0, 2e-4), (False, "float64", 0, 5e-5), (False, "float32", 5, 5e-4)],
)
def test_the_text_delivers_every_connection(
    period: bool, dtype: str, window: int, least: float
) -> None:
    """Due at once or listed, many spikes of a warp or one, and several of one cell."""
    circuit = networks(False, period, least)
    program = compiled(circuit, dtype)
    plans = [g for g in program.gathers.values() if isinstance(g, StencilRows)]
    assert len(plans) == 4 and any("exact" in one.arrays for one in plans) == (not period)
    assert any(one.limits["near"] for one in plans) == (least < 1e-4)
    assert max(len(one.arrays["code"]) for one in plans) < circuit.edges / 3
    device, rng = DeliveryOnCPU(program, window), np.random.default_rng(2)
    assert len(device.deliveries) == 5
    want = np.zeros((1, 1), np.int64)
    for row, share in ((1, 0.002), (2, 0.1), (19, 0.5)):
        counts = (rng.random(circuit.count) < share) * rng.integers(1, 3, circuit.count)
        want = want + expected(circuit, program, counts, row)
        found = device.send(counts, row)
        assert np.array_equal(found, want) and want.any()


def test_arrivals() -> None:
    """What a run that is continued elsewhere counts on; what is late alone, too."""
    circuit = networks(False, False, 5e-5)
    program = compiled(circuit)
    plans = [g for g in program.gathers.values() if isinstance(g, StencilRows)]
    counts = (np.random.default_rng(2).random(circuit.count) < 0.1).astype(np.int64)
    want = expected(circuit.with_parts(circuit.groups, circuit.connections[:4]), program, counts, 0)
    found, late = np.zeros_like(want), np.zeros_like(want)
    for plan in plans:
        assert plan.longest <= plan.limits["latency"] < len(want)
        for sums, some in ((found, False), (late, True)):
            _, target, multiple, back = plan.arrivals(np.flatnonzero(counts), some)
            np.add.at(sums, (back, target), multiple)
    assert np.array_equal(found, want) and np.array_equal(late[1:], want[1:])
    assert want[0].any() and not late[0].any()


class _Literal:
    """Stands for a binding: no integer is known."""

    @staticmethod
    def known(kernel: Kernel) -> tuple[None, ...]:
        return (None,) * len(kernel.integers)


@pytest.mark.needs("NVRTC")
def test_text_compiles() -> None:
    program = compiled(networks(False, False, 5e-5), "float32")
    delivery = plan_delivery(program, False)
    assert delivery.delivers and delivery.window == 0
    shape = Shape(256, 1, True)
    plan = schedule.LaunchPlan("grid", 132, shape, (1,) * len(program.units))
    binding: Any = _Literal()
    check_text(device_text(parts_of(generate(program), plan, binding), "float32", shape))


def test_a_million_cells_take_little_memory() -> None:
    """Arrays, rings and the list of pieces of 440 million connections take 0.38 GB at most."""
    program = compiled(million(), "float32")
    arrays = sum(np.dtype(row.dtype).itemsize * row.size for row in program.arrays.values())
    rings = sum(4 * ring.depth * ring.width for ring in program.layout.rings.values())
    lists = plan_delivery(program, False).wanted()
    assert 250e6 < arrays + rings + sum(lists.values()) < 380e6 and lists
    assert program.gathers[0, "spike_state__stencil0"].edges == 440_000_000


def test_stored_where_nobody_asks() -> None:
    """Stored connections are faster on a GPU; drawn weights cannot be left out."""
    forms = {g.form for g in compiled(networks("auto", True)).gathers.values()}
    assert "stencil" not in forms
    a = sheet("a", True)
    weight = nd.Uniform(0, 1)
    link = nd.Projection(a, a, nd.Near(y=3, x=3), weight=weight, name="p", stored=False)
    circuit = nd.Circuit([a], [link])
    with pytest.raises(
        CircuitError, match="'p': stored=False is possible for weighted spikes between"
    ):
        compiled(circuit)
