"""Spikes that are delivered when they are due: rows by delay, a history, slots of two steps."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from delivery_on_cpu import TAKERS, DeliveryOnCPU
from device_code import check_text
from drawing_on_cpu import HostPlace
from drawn_circuits import DT, LAWS, RULES, SPIKE, WEIGHT, circuit, link
from support import model
from test_cuda_drawing import both, check

from neurodriver import Circuit, Connections, FixedTotal, LogNormal, Normal
from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.spike_delivery import parts_of, plan_delivery
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.program import Program
from neurodriver.plan.spikes import due
from neurodriver.plan.target import CPU, CUDA
from neurodriver.state.when_due import brought, left_in_history

LIF = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
       "time_constant": 20.0}  # fmt: skip


@pytest.fixture(autouse=True)
def when_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the model of cost choose delivery when due."""
    monkeypatch.setattr(due, "BARRIER", -1.0)


def columns(weights: str, longest: int, n: int = 150, fan_in: int = 30) -> Circuit:
    """Return neurons with connections given as columns; some neurons send none."""
    rng = np.random.default_rng(3)
    target = np.repeat(np.arange(n, dtype=np.int32), fan_in)
    source = rng.integers(0, n - 20, len(target)).astype(np.int32)
    given: dict[str, Any] = {
        "one": 0.5,
        "by source": np.where(source % 3 == 0, -1.5, 0.5),
        "multiples": 0.25 * rng.integers(-9, 10, len(target)),
        "any": rng.normal(0.0, 1.0, len(target)),
    }
    delay = rng.integers(1, longest + 1, len(target)) * DT
    links = Connections(SPIKE, SPIKE, source, target, delay, {"weight": np.asarray(given[weights])})
    return Circuit.from_arrays([(model("LeakyIAFDelta"), n, LIF, None)], [links])


def compiled(given: Circuit, dtype: str = "float32") -> Program:
    """Return the program for a GPU, whose one access is delivered when due."""
    program = compile_circuit(given, DT, dtype, target=CUDA)
    gather = program.gathers[0, SPIKE]
    assert due.is_due(gather) and gather.limits["depth"] == 2 and "when due" in gather.note
    assert {"near", "pieces"}.isdisjoint(gather.limits)
    return program


def sums(given: Circuit, program: Program, counts: Any) -> dict[int, Any]:
    """Return what the spikes of a row bring, by steps after it, from columns of connections."""
    gather = program.gathers[0, SPIKE]
    count, width = given.groups[0].count, gather.limits["ahead"]
    unit = gather.arrays.get("unit", np.full(width, gather.uniform.get("unit")))
    out: dict[int, Any] = {}
    for links in given.connections:
        one = links.expanded()
        steps = np.maximum(np.rint(np.broadcast_to(one.delay, len(one)) / DT), 1).astype(np.int64)
        mine = (one.target < count) & (counts[one.source] > 0)
        target, source, steps = one.target[mine], one.source[mine], steps[mine]
        weight = np.broadcast_to(one.data["weight"], len(one))[mine]
        multiple = np.rint(weight / unit[target]).astype(np.int64) * counts[source]
        whole = np.zeros((int(steps.max(initial=0)), width), np.int64)
        np.add.at(whole, (steps - 1, target), multiple)
        for ahead, slots in enumerate(whole):
            out[ahead] = out.get(ahead, 0) + slots
    return out


def delivered(
    given: Circuit, program: Program, device: DeliveryOnCPU, shares: Sequence[float]
) -> Iterator[tuple[int, Any, dict[int, Any]]]:
    """Let some sources spike in each row; yield the row, and the slots that are due in it.

    And the slots of all rows, as they follow from columns of connections. Who reads slots clears
    them.
    """
    rng, want = np.random.default_rng(7), {}
    for row, share in enumerate(shares, 1):
        counts = (rng.random(given.count) < share) * rng.integers(1, 4, given.count)
        for ahead, slots in sums(given, program, counts).items():
            want[row + ahead] = want.get(row + ahead, 0) + slots
        found = device.send(counts, row)[row % due.ROWS]
        assert np.array_equal(found, want.get(row, np.zeros_like(found))), row
        yield row, found, want
        found[:] = 0


@pytest.mark.parametrize(
    ("weights", "longest", "dtype"),
    [("one", 1, "float32"), ("by source", 7, "float32"), ("multiples", 40, "float64"),
     ("any", 23, "float64"), ("any", 120, "float32"), ("multiples", 400, "float32")],
)  # fmt: skip
@pytest.mark.parametrize(("window", "takers"), [(0, TAKERS[0]), *[(1, many) for many in TAKERS]])
def test_the_text_delivers_what_is_due(
    weights: str, longest: int, dtype: str, window: int, takers: int
) -> None:
    """Step by step, spikes of few and of nearly all sources, several of one, and none.

    By few warps, and by warps that share new spikes.
    """
    given = columns(weights, longest)
    program = compiled(given, dtype)
    device, rng = DeliveryOnCPU(program, window, takers), np.random.default_rng(5)
    shares = rng.choice([0.0, 0.02, 0.2, 0.9], longest + 8, p=[0.4, 0.4, 0.1, 0.1])
    steps = delivered(given, program, device, [*shares, *np.zeros(longest + 3)])
    assert sum(np.count_nonzero(found) for _, found, _ in steps) > 100


def test_a_history_that_was_too_small_is_told() -> None:
    """The most spikes at once are counted."""
    given = columns("one", 9)
    program = compiled(given)
    device = DeliveryOnCPU(program, 1)
    for row in range(1, 5):
        device.send(np.ones(given.count, np.int64), row)
    gather, spec = program.gathers[0, SPIKE], device.deliveries[0].spec
    heads = device.array(spec.connection(SPIKE, "heads"))
    assert heads[0] == heads[1] == 4 * np.count_nonzero(np.diff(gather.arrays["begin"]))


@pytest.mark.parametrize(
    ("early", "number", "fits"), [(3, 29, True), (3, 30, False), (3, 32, False), (4, 29, True)]
)
def test_a_history_that_is_nearly_full(
    early: int, number: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread looks at four places at once: with more than 29 of 32 some would count twice."""
    monkeypatch.setattr(due, "MOST_SENT", 32)
    given = columns("multiples", 60, n=52)
    program = compiled(given)
    room = program.gathers[0, SPIKE].limits["room"]
    device, right = DeliveryOnCPU(program, 1, 1), True  # one warp meets a place twice at once
    want: dict[int, Any] = {}
    for row in range(1, 170):
        counts = np.zeros(given.count, np.int64)
        counts[: {1: early, 100: number}.get(row, 0)] = 1
        for ahead, slots in sums(given, program, counts).items():
            want[row + ahead] = want.get(row + ahead, 0) + slots
        found = device.send(counts, row)[row % due.ROWS]
        right &= np.array_equal(found, want.get(row, np.zeros_like(found)))
        found[:] = 0
    most = device.array(device.deliveries[0].spec.connection(SPIKE, "heads"))[due.MOST]
    assert (most <= room - due.SIDE_BY_SIDE + 1) == fits == right and most == number


def test_a_list_that_was_too_small_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a number that no history has; nothing is written behind the lists."""
    monkeypatch.setattr(due, "FEWEST_ENTRIES", 32)
    monkeypatch.setattr(due, "ENTRIES_SHARE", 1 << 20)
    given = columns("multiples", 40)
    program = compiled(given)
    device, limits = DeliveryOnCPU(program, 1), program.gathers[0, SPIKE].limits
    assert limits["entries"] < 4 * given.count < limits["room"]
    for row in range(1, 12):
        device.send(np.ones(given.count, np.int64), row)
    spec = device.deliveries[0].spec
    assert device.array(spec.connection(SPIKE, "heads"))[due.MOST] == limits["room"] + 1
    for name in ("listed", "offsets"):
        array = device.array(spec.connection(SPIKE, name))
        assert array.any() and isinstance(array.base, np.ndarray)
        assert not array.base[-64 + (array.ctypes.data - array.base.ctypes.data) // 4 :].any()


@pytest.mark.parametrize("weights", ["one", "multiples"])
def test_spikes_that_come_late(weights: str) -> None:
    """Some spikes of a row come when others have been delivered: what is due at once is, too."""
    given = columns(weights, 15)
    program = compiled(given)
    device, rng, want = DeliveryOnCPU(program, 1, TAKERS[1]), np.random.default_rng(9), {}
    for row in range(1, 40):
        counts = (rng.random(given.count) < 0.2) * rng.integers(1, 4, given.count)
        late = counts * (rng.random(given.count) < 0.5)
        for ahead, slots in sums(given, program, counts).items():
            want[row + ahead] = want.get(row + ahead, 0) + slots
        if row % 5:
            device.send(counts - late, row)
            found = device.send(late, row, again=1)[row % due.ROWS]
        else:
            found = device.send(counts, row, again=2)[row % due.ROWS]
        assert np.array_equal(found, want[row]), row
        found[:] = 0


def test_a_spike_that_has_nothing_left() -> None:
    """It brings nothing, even if another spike was written over it meanwhile."""
    given, found = columns("one", 9), []
    program = compiled(given)
    for over in (False, True):
        device = DeliveryOnCPU(program, 1)
        for row in range(1, 12):
            device.send(np.ones(given.count, np.int64), row)
        spec = device.deliveries[0].spec
        due_in, sent = (device.array(spec.connection(SPIKE, n)) for n in ("due", "sent"))
        nothing = np.flatnonzero(sent.reshape(-1, 4)[:, 1] == -1)
        assert len(nothing) > 100
        if over:
            due_in[nothing] = 12
        found.append(device.send(np.zeros(given.count, np.int64), 12)[12 % due.ROWS].copy())
    assert found[0].any() and np.array_equal(*found)


def test_a_history_that_begins_again() -> None:
    """Where a state is put in, marks of earlier spikes mean nothing, though of future rows."""
    given = columns("multiples", 40)
    program = compiled(given)
    device, counts = DeliveryOnCPU(program, 1), np.ones(given.count, np.int64)
    for row in range(1, 100):  # more spikes than a ring of new ones has room for
        device.send(counts, row)
    assert 90 * given.count > program.gathers[0, SPIKE].limits["entries"]
    spec = device.deliveries[0].spec
    for name in ("heads", "slots"):
        device.array(spec.connection(SPIKE, name))[:] = 0
    steps = delivered(given, program, device, [0.02] * 60)
    assert sum(np.count_nonzero(found) for _, found, _ in steps) > 100


@pytest.mark.parametrize("number", [1, 2, 31, 32, 33, 127, 128, 129, 4000, 70_000])
def test_where_the_work_of_a_warp_begins(number: int) -> None:
    """An entry is 8 connections more; many entries are searched 128 at a time."""
    rng = np.random.default_rng(number)
    size = rng.integers(1, 200, number) ** rng.integers(1, 3, number)
    offsets = (np.cumsum(size) - size).astype(np.uint32)
    work = offsets.astype(np.int64) + 8 * np.arange(number)
    library = DeliveryOnCPU(compiled(columns("one", 9)), 1).library
    some = np.unique([0, 1, 7, work[-1], *rng.choice(work, 20), *rng.integers(0, work[-1] + 9, 20)])
    for low in some.tolist():
        given = ct.c_void_p(offsets.ctypes.data), ct.c_uint(number), ct.c_ulonglong(low)
        assert library.entry_of(*given) == np.searchsorted(work, low, "right") - 1


@pytest.mark.parametrize("rule", [*RULES[:6], *RULES[7:10]], ids=str)
def test_rules_drawn_there(rule: Any) -> None:
    """By a GPU's text as by the host: targets, weights and bins; small weights with targets."""
    given = circuit(link((0, 83), (0, 83), rule))
    assert check(given, "float64") == 3 and check(given, "float32") == 2


@pytest.mark.parametrize("laws", LAWS, ids=str)
def test_laws_drawn_there(laws: tuple[Any, Any]) -> None:
    """Every law of weights and delays."""
    links = link((0, 83), (0, 50), FixedTotal(900), *laws), link((83, 133), (0, 83), RULES[3])
    check(circuit(*links), "float64")


def test_several_projections_of_a_source_drawn_there() -> None:
    """Bins of a source go on from projection to projection; what they deliver is due."""
    links = [
        link(source, (low, high), FixedTotal(700), weight)
        for source, weight in (((0, 60), WEIGHT), ((60, 83), Normal(-9.0, 0.9, high=0.0)))
        for low, high in ((0, 40), (40, 83))
    ]
    given = circuit(*links, sizes=(83,))
    assert check(given, "float64") == 3
    _, got, _ = both(given)
    device, rng = DeliveryOnCPU(got, 1), np.random.default_rng(1)
    counts = rng.integers(0, 2, given.count)
    found = {}
    for row in range(1, 60):
        slots = device.send(counts if row == 1 else 0 * counts, row)[row % due.ROWS]
        found[row] = slots.copy()
        slots[:] = 0
    for ahead, want in sums(given, got, counts).items():
        assert np.array_equal(found[1 + ahead], want)


def test_a_cpu_delivers_ahead() -> None:
    """And a GPU where a source has few connections; both say nothing of it."""
    for target, fan_in in ((CPU, 30), (CUDA, 1)):
        program = compile_circuit(columns("one", 9, fan_in=fan_in), DT, target=target)
        gather = program.gathers[0, SPIKE]
        assert not due.is_due(gather) and "due" not in gather.note


def test_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots that fit into the cache are filled ahead, those of many steps when due."""
    monkeypatch.undo()
    layout: Any = compile_circuit(columns("one", 9), DT, target=CUDA).layout
    few, many = np.full(100_000, 100), np.full(1_000_000, 5_000)
    given = {"wide": False, "alone": True}
    assert not due.choose(layout, few, 100_000, 40, **given).due
    assert not due.choose(layout, many, 100_000, 2, **given).due
    chosen = due.choose(layout, many, 1_000_000, 400, **given)
    assert chosen.due and chosen.why.startswith("when due: ") and "ahead" in chosen.why
    assert due.choose(layout, few, 4_000_000, 700, **given).due  # slots without number
    assert not due.choose(layout, many, 1_000_000, 400, wide=False, alone=False).due


def test_text_compiles() -> None:
    """For a GPU, in turns of a step and launch by launch, without a warning."""
    program = compiled(columns("any", 40))
    for stepwise in (False, True):
        delivery = plan_delivery(program, stepwise)
        assert delivery.due and delivery.window == (0 if stepwise else 1)
        made = generate(program)
        plan: Any = schedule.choose(made.tasks, 132, True, 4, delivery.load)
        shape = Shape(plan.shape.threads, 1, plan.shape.holds, window=delivery.window)
        plan = schedule.finished(schedule.LaunchPlan(plan.width, plan.blocks, shape, plan.own),
                                 made.tasks, 4)  # fmt: skip
        known: Any = type("Known", (), {"known": lambda self, kernel: ()})()
        check_text(device_text(parts_of(made, plan, known), "float32", plan.shape))
        assert (len(delivery.delivery_items(plan, made.tasks)) > 0) == stepwise


def test_drawn_where_they_lie_asks_the_place() -> None:
    """The kernels that count, begin and write bins run in this order."""
    given = circuit(link((0, 83), (0, 83), FixedTotal(900)))
    _, got, place = both(given)
    value: Any = [row.value for row in got.arrays.values() if hasattr(row.value, "there")]
    for one in value:
        memory = np.zeros(one.nbytes, np.uint8)
        one.there(memory.ctypes.data)
        place.kept = [*getattr(place, "kept", []), memory]  # type: ignore[attr-defined]
    order = [name for name in dict.fromkeys(place.started) if "bins" in name]
    assert isinstance(place, HostPlace)
    assert order == ["nd_count_bins", "nd_begin_bins", "nd_write_bins"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_that_are_multiples(dtype: str) -> None:
    """Units are found without drawing again, and are those of the host; weights stand above."""
    grid = 0.7 / 13
    some = (
        Normal(0.7, 0.2, 0.0, multiple_of=grid),
        LogNormal(0.0, 0.3, factor=-2.0, multiple_of=grid / 2),
    )
    links = [
        link((0, 60), (0, 83), FixedTotal(900), some[0]),
        link((60, 83), (0, 50), FixedTotal(500), some[1]),
        link((83, 133), (50, 83), FixedTotal(40), some[0]),  # few for each target
    ]
    given = circuit(*links, sizes=(83, 50))
    large = Normal(-308 * grid, 31 * grid, high=0.0, multiple_of=grid)
    alike = circuit(*(link(s, (0, 83), FixedTotal(1900), large) for s in ((0, 60), (60, 83))))
    assert check(alike, dtype) == 2
    _, got, place = both(given, dtype)
    assert "nd_survey_units" not in place.started and got.gathers[0, SPIKE].limits["shift"] == 7
    assert check(given, dtype) == 2
    weight = np.concatenate([one.expanded().data["weight"] for one in given.connections])
    multiple = weight / grid
    assert np.abs(multiple - np.rint(multiple)).max() < 1e-9
    assert len(np.unique(np.rint(multiple))) > 10


@pytest.mark.parametrize("weights", ["one", "by source", "multiples", "any"])
def test_what_is_on_its_way(weights: str) -> None:
    """What the history has left is what later steps deliver; a row that is relayed brings all."""
    given = columns(weights, 15)
    program = compiled(given, "float64")
    device = DeliveryOnCPU(program, 1)
    gather, spec = program.gathers[0, SPIKE], device.deliveries[0].spec
    owner, backend = spec.connection(SPIKE, "heads").owner, Backend(device)
    for row, _, want in delivered(given, program, device, [0.1] * 39):
        found = np.zeros((17, gather.limits["ahead"]), np.int64)
        ahead, target, times = left_in_history(backend, owner, gather, row)  # type: ignore[arg-type]
        np.add.at(found, (ahead, target), times)
        for ahead, slots in enumerate(found):
            expected = want.get(row + ahead, 0) if ahead else 0
            assert np.array_equal(slots, np.zeros_like(slots) + expected), (row, ahead)
    counts = np.random.default_rng(8).integers(0, 3, given.count)
    source = np.flatnonzero(counts)
    back, target, times = brought(gather, source, counts[source])
    found[:] = 0
    np.add.at(found, (back, target), times)
    assert all(np.array_equal(found[b], one) for b, one in sums(given, program, counts).items())


def test_what_is_on_its_way_before_new_spikes_are_delivered() -> None:
    """As where a launch had to end: all that they bring is on its way."""
    given = columns("multiples", 15)
    program = compiled(given, "float64")
    device, want = DeliveryOnCPU(program, 1), {}
    gather, spec = program.gathers[0, SPIKE], device.deliveries[0].spec
    owner, backend = spec.connection(SPIKE, "heads").owner, Backend(device)
    for row, _, ahead in delivered(given, program, device, [0.3] * 30):
        want, last = ahead, row
    counts = np.random.default_rng(4).integers(0, 3, given.count)
    for ahead, slots in sums(given, program, counts).items():
        want[last + 1 + ahead] = want.get(last + 1 + ahead, 0) + slots
    slots = device.send(counts, last + 1, again=3)
    found = np.zeros((18, gather.limits["ahead"]), np.int64)
    found[0] = slots[(last + 1) % due.ROWS]
    at = left_in_history(backend, owner, gather, last + 1)  # type: ignore[arg-type]
    np.add.at(found, at[:2], at[2])
    for ahead, one in enumerate(found):
        assert np.array_equal(one, np.zeros_like(one) + want.get(last + 1 + ahead, 0)), ahead


class Backend:
    """Stands for a backend: reads the memory of a device."""

    def __init__(self, device: DeliveryOnCPU) -> None:
        self.array = device.array


@pytest.mark.parametrize(
    ("neurons", "degree", "steps", "faster"),
    [(124_313, 5_315, 62, False), (206_492, 5_842, 600, True), (4_129_924, 5_842, 600, True),
     (1_000_000, 440, 16, True), (77_169, 3_873, 60, False), (4_000_000, 80, 2, False)],
)  # fmt: skip
def test_the_way_that_was_measured_to_be_faster(
    neurons: int, degree: int, steps: int, faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An area, 32 small areas and all of them, a sheet, a microcircuit, a network without order."""
    monkeypatch.undo()
    layout: Any = compile_circuit(columns("one", 9), DT, target=CUDA).layout
    every = np.full(neurons, degree)
    assert due.choose(layout, every, neurons, steps, wide=False, alone=True).due == faster
