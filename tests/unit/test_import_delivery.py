"""Spikes of sources in other parts, delivered by their sources on a GPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from delivery_on_cpu import DeliveryOnCPU
from device_code import check_text
from support import DT, weighted_network

from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.feeds import InputStage
from neurodriver.backends.cuda.import_delivery import sender_of, senders_of, sends_late
from neurodriver.backends.cuda.spike_delivery import parts_of, plan_delivery
from neurodriver.backends.tables import InputTable
from neurodriver.circuit.share import Share, shares
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.edges import edges_of
from neurodriver.plan.program import Program
from neurodriver.plan.spikes import due
from neurodriver.plan.target import CUDA
from neurodriver.state.pending import PendingSpikes
from neurodriver.state.sent import Underway

SPIKE = "spike_state"


def share(least: int = 1, sends: bool = True) -> Share:
    """Return one of two parts of a network."""
    circuit = weighted_network(90, least)
    of = np.random.default_rng(3).integers(0, 2, circuit.count)
    return next(shares(circuit, of, [0], sends))


def compiled(one: Share, dtype: str = "float64", window: int = 1) -> Program:
    """Return the program of a part; windows are of so many steps at most."""
    rows = {SPIKE: lambda rows: max(2 ** int(np.ceil(np.log2(rows))), 64)}
    return compile_circuit(one.circuit, DT, dtype, target=CUDA, longest_window=window, depth=rows)


def columns(program: Program, delivery: Any) -> tuple[Any, Any, Any, Any]:
    """Return element, target, steps less one and weight in whole units of each connection."""
    number, access = delivery.spec.number, delivery.access
    edges = edges_of(program.layout, number, access, SPIKE)
    unit = np.asarray(program.arrays[delivery.spec.connection(access, "unit")].value)
    unit = np.broadcast_to(unit, delivery.gather.limits["ahead"])[edges.target]
    shape = edges.element.shape
    weight = np.rint(np.broadcast_to(edges.data["weight"], shape) / unit).astype(np.int64)
    return edges.element, edges.target, np.broadcast_to(edges.back, shape), weight


def test_all_connections_are_delivered_by_source() -> None:
    """Those of imports, too, and none is summed by target."""
    for sends in (False, True):
        one = share(sends=sends)
        program = compiled(one)
        gathers = [g for g in program.gathers.values() if g.form == "fanout"]
        edges = sum(len(links) for links in one.circuit.connections)
        delivered = sum(g.edges for g in gathers)
        assert (delivered == edges) == sends and delivered > 0
        assert all((g.outside is None) == sends for g in gathers)
        assert bool(senders_of(program)) == sends
        segment = program.layout.rings[SPIKE].segments[str(one.imports)]
        known = sender_of(program, SPIKE, segment.start + 5)
        assert known == ((0, 5) if sends else (-1, 0))
        assert not sends_late(program)
        assert compiled(share(5, sends), window=4).window == (4 if sends else 1)


def test_what_is_awaited_alone_is_not_sent() -> None:
    """The word of a part that sends no values belongs to no row, so it has no sender."""
    one = share()
    program = compiled(one)
    ring = [*program.layout.rings].index(SPIKE)
    first = program.layout.rings[SPIKE].segments[str(one.imports)].start
    owner: Any = SimpleNamespace(
        program=program, dtype=np.dtype(program.dtype), device=None,
        ring_address=lambda name: 4096, active_address=lambda name: 8192,
        twins=SimpleNamespace(of=lambda table: 12288, send=lambda table, size: None),
    )  # fmt: skip
    for row, sender in ((ring, (0, 0)), (ring - len(program.layout.rings), (-1, 0))):
        stage = InputStage(owner, InputTable(row, first, 1, None, None, 0, 0))
        address, *_, words, number, place, _, _, _ = stage.bring(0)
        assert (number, place) == sender and (address > 0) == (row >= 0) and words == 0


@pytest.mark.parametrize("least", [1, 5])
def test_slots_of_a_row(least: int) -> None:
    """What spikes of own sources and of imports add to slots is what the connections say."""
    program = compiled(share(least))
    delivery = DeliveryOnCPU(program, 0)
    (one,) = delivery.deliveries
    blocks = one.gather.arrays["block"].tolist()
    assert len(blocks) == 2
    counts = np.random.default_rng(1).integers(0, 3, len(one.gather.arrays["near"]))
    row = 6
    slots = delivery.send(counts, row)
    source = np.full(program.layout.rings[SPIKE].width, -1)
    for _, begin, end, first in blocks:
        source[begin:end] = first + np.arange(end - begin)
    element, target, back, weight = columns(program, one)
    expected = np.zeros_like(slots)
    sent = counts[source[element]] * weight
    np.add.at(expected, ((row + back) % len(slots), target), sent.astype(slots.dtype))
    assert np.array_equal(slots, expected) and (slots != 0).sum() > 100


@pytest.mark.parametrize("window", [1, 4])
def test_what_is_pending(window: int) -> None:
    """Own spikes that wait in a list, rows of imports that have not come, and slots."""
    part = share(window)
    program = compiled(part)
    (one,) = generate(program).deliveries
    rng = np.random.default_rng(2)
    step, ring = 40, program.layout.rings[SPIKE]
    rows = (rng.random((step + 1, ring.width)) < 0.2).astype(float)
    own, imports = ring.segments["0"], ring.segments[str(part.imports)]
    taken = np.zeros(ring.width, bool)
    for segment in (own, imports):
        taken[segment.start : segment.start + segment.count] = True
    rows[:, ~taken] = 0
    of_imports = slice(imports.start, imports.start + imports.count)
    underway = Underway(step)
    late = range(step - window + 1, step + 1)  # row step - window has come for step - 1
    for row in late:
        underway.add(SPIKE, row, np.arange(ring.width)[of_imports], rows[row, of_imports])
    element, target, back, weight = columns(program, one)
    depth, width = one.gather.limits["depth"], one.gather.limits["ahead"]
    slots, expected = np.zeros((depth, width), np.int64), np.zeros((60, width), np.int64)
    came = (element >= imports.start) & (element < imports.start + imports.count)
    for row in range(step + 1):
        ahead = row + back - step
        more = np.where(ahead >= 0, weight * rows[row, element].astype(np.int64), 0)
        np.add.at(expected, (np.maximum(ahead, 0), target), more)
        there = np.where(came, row not in late, (row < step) | (back == 0))
        np.add.at(slots, ((step + np.maximum(ahead, 0)) % depth, target), np.where(there, more, 0))
    held = rows.copy()
    held[late, of_imports] = 0
    backend = SimpleNamespace(
        program=program,
        array=lambda key: slots.reshape(-1) if key.name == "slots" else program.arrays[key].value,
        row=lambda variable, row: held[row],
        live=SimpleNamespace(lists_spikes=lambda gather: True),
    )
    access = next(a for a in one.spec.model.accesses if a.name == one.access)
    pending = PendingSpikes(backend, one.spec.number, access, underway)  # type: ignore[arg-type]
    sums = pending.sums()
    assert np.array_equal(sums, expected[: len(sums), pending.places])
    assert not expected[len(sums) :].any() and (sums != 0).sum() > 500


@pytest.mark.needs("NVRTC")
@pytest.mark.parametrize(("least", "late"), [(1, False), (1, True), (5, False)])
@pytest.mark.parametrize("holds", [False, True])
def test_the_text_compiles(
    holds: bool, least: int, late: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With gates and without, for kernels that hold their components and for others."""
    if late:
        monkeypatch.setattr(due, "BARRIER", -1.0)
    program = compiled(share(least), dtype, least)
    assert sends_late(program) == late and program.window == least
    made, window = generate(program), plan_delivery(program, False).window
    assert window == (least if least > 1 else late)
    for gates in (False, True):
        shape = Shape(256, 1, holds, window=window, gates=gates, looks_again=late)
        plan = schedule.LaunchPlan("grid", 4, shape, tuple(1 for _ in made.tasks))
        binding: Any = SimpleNamespace(known=lambda kernel: ())
        text = device_text(parts_of(made, plan, binding), dtype, shape, senders_of(program))
        assert "nd_send_imported" in text
        check_text(text, whole=gates)
