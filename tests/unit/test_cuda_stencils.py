"""Spikes along stencils on a GPU: its text, run on a CPU, delivers what stored connections do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from delivery_on_cpu import DeliveryOnCPU
from device_code import check_text
from sheets import DT, million, networks, none_stored, sheet, uneven_networks
from test_cuda_due import delivered, sums

import neurodriver as nd
from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.spike_delivery import parts_of, plan_delivery
from neurodriver.codegen.generate import generate
from neurodriver.codegen.kernel import Kernel
from neurodriver.codegen.simt.device import device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.errors import CircuitError
from neurodriver.plan.arrays import ReceptorOwner
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.program import Program
from neurodriver.plan.spikes import due
from neurodriver.plan.spikes.due import is_due
from neurodriver.plan.spikes.stencil_rows import StencilRows
from neurodriver.plan.target import CPU, CUDA
from neurodriver.state.when_due import left_in_history


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
        for whole, some in ((found, False), (late, True)):
            _, target, multiple, back = plan.arrivals(np.flatnonzero(counts), some)
            np.add.at(whole, (back, target), multiple)
    assert np.array_equal(found, want) and np.array_equal(late[1:], want[1:])
    assert want[0].any() and not late[0].any()


@pytest.fixture
def when_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the model of cost choose delivery when due."""
    monkeypatch.setattr(due, "BARRIER", -1.0)


@pytest.mark.parametrize(
    ("period", "dtype", "window", "least"),
    [(True, "float32", 1, 2e-4), (False, "float64", 0, 5e-5), (False, "float32", 1, 5e-4)],
)
def test_the_text_delivers_what_is_due(
    when_due: None, period: bool, dtype: str, window: int, least: float
) -> None:
    """Step by step: what is read, and what the history has left for later steps."""
    circuit = none_stored(networks(False, period, least))
    program = compiled(circuit, dtype)
    main = program.gathers[0, "spike_state"]
    plans = {n: g for (_, n), g in program.gathers.items() if isinstance(g, StencilRows)}
    assert len(plans) == 4 and all(is_due(one) for one in plans.values())
    assert main.limits["depth"] == 2 and "when due" in main.note
    assert any("exact" in one.arrays for one in plans.values()) == (not period)
    assert all({"near", "pieces"}.isdisjoint(one.limits) for one in plans.values())
    device, rng = DeliveryOnCPU(program, window), np.random.default_rng(2)
    backend: Any = SimpleNamespace(array=device.array)
    read = held = 0
    shares = [*rng.choice([0.0, 0.002, 0.1, 0.6], 20), *np.zeros(9)]
    for row, found, want in delivered(circuit, program, device, shares):
        read += np.count_nonzero(found)
        left: dict[int, Any] = {}
        for name, plan in plans.items():
            given = left_in_history(backend, ReceptorOwner(0, name), plan, row)
            for ahead, target, times in zip(*given, strict=True):
                one = left.setdefault(row + int(ahead), np.zeros_like(found))
                one[target] += times
        held += len(left)
        assert all(np.array_equal(left[r], want[r]) for r in left)
        assert not any(want[r].any() for r in want if r > row and r not in left)
    assert read > 1000 and held > 100 and not left


def test_what_spikes_bring_when_due(when_due: None) -> None:
    """What a run that is continued elsewhere counts on."""
    circuit = none_stored(networks(False, False, 5e-5))
    program = compiled(circuit)
    counts = (np.random.default_rng(2).random(circuit.count) < 0.1).astype(np.int64)
    want = sums(circuit, program, counts)
    found = {back: np.zeros_like(slots) for back, slots in want.items()}
    for plan in (g for g in program.gathers.values() if isinstance(g, StencilRows)):
        _, target, multiple, back = plan.arrivals(np.flatnonzero(counts), late=False)
        for at, to, more in zip(back, target, multiple, strict=True):
            found[int(at)][to] += more
    assert all(np.array_equal(found[back], want[back]) for back in want) and want[0].any()


@pytest.mark.usefixtures("when_due")
def test_connections_that_are_stored_or_computed_stay_ahead() -> None:
    """A CPU has no such choice, and says nothing of one."""
    uneven = none_stored(uneven_networks(False, True, 2e-4))
    for circuit in (networks(False, True), uneven):
        program = compiled(circuit)
        assert not any(is_due(one) for one in program.gathers.values())
        main = program.gathers[0, "spike_state"]
        assert main.limits["depth"] > due.ROWS and main.note.startswith("ahead")
        there = compile_circuit(circuit, DT, "float64", target=CPU)
        assert not there.gathers[0, "spike_state"].note


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
    """Arrays, history and rings of 440 million connections take 0.19 GB at most (0.38 asked)."""
    program = compiled(million(), "float32")
    arrays = sum(np.dtype(row.dtype).itemsize * row.size for row in program.arrays.values())
    rings = sum(4 * ring.depth * ring.width for ring in program.layout.rings.values())
    lists = plan_delivery(program, False).wanted()
    assert is_due(program.gathers[0, "spike_state__stencil0"]) and not lists
    assert 90e6 < arrays + rings < 190e6
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


def test_room_for_spikes_on_their_way(when_due: None) -> None:
    """In each step where that is little memory; else those of 500 Hz for the longest delay."""
    for circuit, spikes in ((none_stored(networks(False, True)), None), (million(), 2)):
        program = compiled(circuit, "float32")
        for plan in (g for g in program.gathers.values() if isinstance(g, StencilRows)):
            sources = np.count_nonzero(np.diff(plan.arrays["begin"])[plan.arrays["stencil"]])
            most = sources * (plan.limits["turns"] if spikes is None else spikes)
            assert most <= plan.limits["room"] < 2 * max(most, 17)
