"""Weighted spikes by their sources: the bits of a gather, exact sums, few bytes."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from old_style import OldLeaky
from support import AMPA, IAF, assert_same_bits, model, simulate, started

from neurodriver import (
    LPU,
    AllToAll,
    ArrayInput,
    Circuit,
    Connections,
    FixedInDegree,
    FixedOutDegree,
    FixedProbability,
    FixedTotal,
    Input,
    NDComponent,
    NoiseInput,
    Normal,
    PoissonInput,
    Projection,
    State,
    StepInput,
    Uniform,
    Weighted,
    host_array,
)
from neurodriver.circuit.drawn import Drawn
from neurodriver.errors import CircuitError, CircuitWarning, InputError
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.program import Program
from neurodriver.plan.spikes import weights as whole
from neurodriver.plan.spikes.thread_ranges import SINGLE
from neurodriver.plan.spikes.weights import MOST_SPIKES, integer_weights
from neurodriver.plan.sums.gather import Edges

DT = 1e-4
LIF = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
       "time_constant": 20.0, "refractory_period": 0.5}  # fmt: skip
WEIGHTS = {
    "one": lambda rng, source: np.asarray(0.7),
    "by source": lambda rng, source: np.where(source % 5 == 0, -0.5, 0.1),
    "multiples": lambda rng, source: 0.275 * rng.integers(1, 300, len(source)),
    "any": lambda rng, source: rng.normal(0.0, 0.4, len(source)),
    "far apart": lambda rng, source: 10.0 ** rng.uniform(-9.0, 0.0, len(source)),
}


class Adder(NDComponent):
    """Shows what arrives."""

    accesses = (Weighted("spike_state", receptor="a"), Weighted("spike_state", receptor="b"))
    updates = ("V",)
    states = {"V": State("1")}
    update = "V = a + 3 * b;"


def circuit(
    weights: str,
    delays: tuple[int, int] = (1, 20),
    n: int = 331,
    fan_in: int = 23,
    seed: int = 1,
    rate: float = 9e3,
) -> Circuit:
    """Return neurons that are driven by Poisson sources and by each other, at odd numbers."""
    rng = np.random.default_rng(seed)
    target = np.repeat(np.arange(n, dtype=np.int32), fan_in)
    source = rng.integers(0, n + 57, len(target)).astype(np.int32)
    delay = rng.integers(delays[0], delays[1] + 1, len(target)) * DT
    data = {"weight": WEIGHTS[weights](rng, source)}
    groups = [
        (model("LeakyIAFDelta"), n, {**LIF, "initV": rng.uniform(-60.0, -49.9, n)}, None),
        (model("PoissonCounts"), 57, {"rate": rate}, None),
    ]
    links = Connections("spike_state", "spike_state", source, target, delay, data)
    return Circuit.from_arrays(groups, [links])


def only(program: Program) -> Any:
    """Return the gather of the one access of neurons to spikes."""
    return program.gathers[0, "spike_state"]


@pytest.mark.parametrize(
    ("weights", "delays", "dtype"),
    [
        *((w, (1, 20), dtype) for w in WEIGHTS for dtype in ("float64", "float32")),
        *[("one", (1, 260), "float64"), ("multiples", (1, 260), "float32")],  # places of 4 bytes
        *[("any", (1, 1), "float32"), ("one", (15, 15), "float64")],
        ("multiples", (4, 9), "float64"),
    ],
)
def test_bits_of_a_gather(
    weights: str, delays: tuple[int, int], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By source or by target, on any number of threads, in calls of any length."""
    if delays[0] < 10:  # as in large circuits
        monkeypatch.setattr("neurodriver.plan.spikes.fanout.TRACKED", 1)
    if delays[1] == 20:
        monkeypatch.setattr("neurodriver.codegen.cpu.fanout.NEAR", 0)
        monkeypatch.setattr("neurodriver.codegen.cpu.fanout.PAGE", 7)  # pages hold parts of rows
    made = circuit(weights, delays)
    assert only(compile_circuit(made, DT, dtype)).form == "fanout"
    assert only(compile_circuit(made, DT, dtype, plans=False)).form == "sliced"
    record = [("V", None), ("spike_state", None)]
    one = simulate(made, DT, 150, (), record, dtype=dtype, plans=False)
    for how in ({}, {"threads": 2, "chunk": 7}, {"threads": 3, "chunk": 1}):
        assert_same_bits(one, simulate(made, DT, 150, (), record, dtype=dtype, **how))


@pytest.mark.parametrize(("rate", "page"), [(20.0, 6), (180.0, 6), (180.0, 16)])
@pytest.mark.parametrize("delays", [(1, 1), (1, 20), (7, 20)])
def test_bits_of_a_gather_where_little_arrives(
    delays: tuple[int, int], rate: float, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots are noted one by one as spikes arrive, or all of them, or arrivals wait in a calendar.

    Which of these changes from one step to the next. A page has room for few, or all slots.
    """
    monkeypatch.setattr("neurodriver.plan.spikes.fanout.TRACKED", 1)
    monkeypatch.setattr("neurodriver.codegen.cpu.fanout.PAGE", page)
    made = circuit("any", delays, rate=rate)
    one = simulate(made, DT, 150, (), [("V", None), ("spike_state", None)], plans=False)
    for how in ({"threads": 1}, {"threads": 2, "chunk": 7}):
        found = simulate(made, DT, 150, (), [("V", None), ("spike_state", None)], **how)
        assert_same_bits(one, found)


@pytest.mark.parametrize("most", [6000, 1600, 100])
def test_arrivals_wait_in_a_calendar(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there is room for; without a calendar's memory, and beyond its room, none."""
    monkeypatch.setattr("neurodriver.plan.spikes.fanout.TRACKED", 1)
    monkeypatch.setattr("neurodriver.plan.spikes.fanout.MOST_POSTPONED", most)
    monkeypatch.setattr("neurodriver.codegen.cpu.fanout.PAGE", 6)
    made = circuit("any")
    limits = only(compile_circuit(made, DT)).limits
    slots = limits["depth"] * limits["ahead"]
    pages, share = -(-slots // 64), limits["postponed"] // 2 // 8 * 8
    head = -(-pages // 8) * 8
    room = max(share - head, 0) // pages
    found = []
    with LPU(made, DT, backend="cpu", threads=2) as lpu:
        for _ in range(40):
            lpu.run(steps=1)
            (row,) = [r for r in lpu.program.arrays.values() if r.key.name == "calendar"]
            calendar = lpu.backend.array(row.key)
            found += [calendar[t * share :][:pages].copy() for t in range(2) if room]
        state = lpu.get("V")
    assert limits["postponed"] == most < slots
    assert (room > 10, 0 < room < 10, room == 0)[(6000, 1600, 100).index(most)]
    if room:
        assert np.max(found) == room  # others found no place
        assert (np.array(found) > 0).sum(axis=1).max() > 3
    with LPU(made, DT, backend="cpu", plans=False) as other:
        other.run(steps=40)
        assert (other.get("V") == state).all()


def test_slots_need_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told what they need, of all accesses, before any is taken."""
    monkeypatch.setattr("neurodriver.plan.spikes.fanout.TRACKED", 1)
    groups = [(model("PoissonCounts"), 7, {"rate": 9e3}, None), (Adder, 40, {}, None)]
    links = [
        Projection("spike_state", name, (0, 7), (7, 47), AllToAll(), 1.0, Uniform(DT, 9 * DT))
        for name in ("a", "b")
    ]
    program = compile_circuit(Circuit.from_arrays(groups, links), DT)
    blanks = [blank for g in program.gathers.values() for blank in g.blanks.values()]
    assert len(blanks) == 6
    assert sum(program.claims.values()) == sum(blank.nbytes for blank in blanks) > 0
    monkeypatch.setattr("neurodriver.backends.cpu.backend.free_memory", lambda: 5e4)
    with pytest.raises(CircuitError, match=r"the 20 slots of each of 336 components that spikes"):
        LPU(circuit("any"), DT, backend="cpu").run(steps=1)


def test_a_value_that_nobody_reads(dtype: str) -> None:
    """It has one row; with a recorder it has more, and no bit is another."""
    made = circuit("any")
    alone = simulate(made, DT, 150, (), [("spike_state", None)], dtype=dtype, threads=2)
    seen = [("spike_state", None), ("V", None)]
    both = simulate(made, DT, 150, (), seen, dtype=dtype, threads=3, chunk=7)
    assert alone["spike_state"].sum() > 20
    assert_same_bits(alone, {"spike_state": both["spike_state"]})
    rows = [
        compile_circuit(made, DT, dtype, recorded=frozenset(r)).layout.rings["V"].depth
        for r in ((), ("V",))
    ]
    assert rows == [1, 2]


@pytest.mark.parametrize("count", [5, 133, 250])
def test_all_at_once(count: int, dtype: str) -> None:
    """Neurons that fire together, at an odd number: what fills their last vector stays silent.

    By one thread, whose last tile comes after a full one.
    """
    start = {"initV": np.full(count, -40.0)}
    groups = [(model("LeakyIAFDelta"), count, LIF | start, None)]
    links = Projection("spike_state", "spike_state", range(count), range(count), AllToAll(), 0.5)
    made = Circuit.from_arrays(groups, [links])
    with LPU(made, DT, dtype=dtype, backend="cpu", threads=1) as lpu:
        lpu.run(steps=1)
        memory = lpu.simulation.backend.memory
        row = memory.get_buffer("spike_state")[1]
        assert np.flatnonzero(row).tolist() == list(range(count))
        notes = memory.dirty["spike_state"].reshape(2, -1)[1, : -(-count // 16)]
        noted = np.unpackbits(notes.view(np.uint8), bitorder="little")
        assert np.flatnonzero(noted).tolist() == list(range(count))
        lpu.run(steps=1)
        assert not memory.get_buffer("spike_state")[0].any()


@pytest.mark.parametrize("delays", [(1, 1), (1, 20), (15, 15)])
def test_against_plain_fractions(delays: tuple[int, int]) -> None:
    """What arrives is the exact sum of the stored weights of all spikes that are due."""
    rng = np.random.default_rng(5)
    n, steps, m = 40, 60, 400
    source = rng.integers(0, n, m).astype(np.int32)
    target = (n + rng.integers(0, n, m)).astype(np.int32)
    delay = rng.integers(delays[0], delays[1] + 1, m)
    weight = rng.integers(-9, 10, m) / 8.0
    links = Connections("spike_state", "a", source, target, delay * DT, {"weight": weight})
    groups: Any = [(model("SpikeSource"), n, {}, None), (Adder, n, {}, None)]
    made = Circuit.from_arrays(groups, [links])
    counts = rng.poisson(0.1, (steps, n)).astype(float)
    uids = made.groups[0].uids.tolist()
    given = ArrayInput({"spike_state": (uids, counts)})
    data = simulate(made, DT, steps, given, [("V", None)], threads=2)["V"]
    fired = simulate(made, DT, steps, given, [("spike_state", uids)])["spike_state"]
    assert fired.sum() > 50
    late = int(np.flatnonzero(fired.any(axis=1))[0] - np.flatnonzero(counts.any(axis=1))[0])
    expected = [[Fraction(0)] * n for _ in range(steps)]
    for s, t, d, w in zip(source, target - n, delay, weight, strict=True):
        for row in np.flatnonzero(counts[:, s]):
            if row + late + d < steps:
                expected[row + late + d][t] += Fraction(w) * int(counts[row, s])
    want = np.array([[float(x) for x in row] for row in expected])
    assert np.count_nonzero(want) > 100
    np.testing.assert_array_equal(data, want)


def test_bytes_of_a_connection() -> None:
    """Two for a place among few slots, else four; none to four for the weight."""
    sizes = {"one": 0, "by source": 0, "multiples": 2, "any": 4}
    for weights, size in sizes.items():
        for longest, place in ((20, 2), (65536 // 336, 2), (65536 // 336 + 1, 4)):
            gather = only(compile_circuit(circuit(weights, (1, longest), fan_in=200), DT))
            each = sum(gather.arrays[a].nbytes for a in ("code", "multiple") if a in gather.arrays)
            assert each == (place + size) * gather.edges == (place + size) * 331 * 200
    assert only(compile_circuit(circuit("multiples"), DT)).limits["wide"] == 0
    assert only(compile_circuit(circuit("any"), DT)).limits["wide"] == 1


def test_rows_are_kept_until_the_first_spike_is_due() -> None:
    """Rows for two windows of the least delay, and slots for what is due after that."""
    program = compile_circuit(circuit("one", (4, 9)), DT)
    assert program.layout.rings["spike_state"].depth == 2 * 4
    assert only(program).limits["depth"] == 6 + 4 - 1
    program = compile_circuit(circuit("one", (1, 9)), DT)
    assert program.layout.rings["spike_state"].depth == 2
    assert only(program).limits["depth"] == 9
    program = compile_circuit(circuit("one", (4, 9)), DT, plans=False)
    assert program.layout.rings["spike_state"].depth == 10


@pytest.mark.parametrize("noted", [1, 1 << 15])
def test_windows_of_several_steps(dtype: str, noted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as nothing that is sent arrives, tiles take several steps: the same bits."""
    monkeypatch.setattr("neurodriver.plan.spikes.fanout.TRACKED", noted)
    monkeypatch.setattr("neurodriver.codegen.cpu.fanout.PAGE", 6)  # where there is a calendar
    made = circuit("any", (7, 20), n=8300, fan_in=6)
    program = compile_circuit(made, DT, dtype)
    assert program.window == 7
    assert compile_circuit(made, DT, dtype, plans=False).window == 1
    assert compile_circuit(circuit("any", (1, 20)), DT).window == 1
    assert compile_circuit(made.with_parts(made.groups, ()), DT).window == 1
    record = [("V", None), ("spike_state", None)]
    one = simulate(made, DT, 150, (), record, dtype=dtype, plans=False)
    for how in (
        {"chunk": 150},
        {"threads": 2, "chunk": 11},
        {"threads": 3, "chunk": 40},
        {"chunk": 1},
    ):
        assert_same_bits(one, simulate(made, DT, 150, (), record, dtype=dtype, **how))
    one = simulate(made, DT, 150, (), record, dtype=dtype, interval=4, plans=False)
    assert_same_bits(one, simulate(made, DT, 150, (), record, dtype=dtype, interval=4))


def inputs_of_all_kinds(made: Circuit) -> list[Input]:
    """Return inputs that are constant, that change, that are events, and that may be asked late."""
    neurons = made.uids[:2111]
    rng = np.random.default_rng(3)
    rows = rng.uniform(0.0, 2.0, (20, len(neurons)))
    return [
        StepInput("I", neurons, 1.5, 0.002, 0.009),
        ArrayInput({"I": (neurons, np.repeat(rows, 8, axis=0))}),
        PoissonInput("spike_state", neurons[::3], 900.0, seed=1),
        PoissonInput("spike_state", neurons[::200], 9000.0, seed=2),
        NoiseInput("I", neurons[:40], 0.0, 1.0, seed=3),
    ]


def test_windows_with_inputs(dtype: str) -> None:
    """What enters in a window is there before it: the same bits, for calls of any length."""
    made = circuit("any", (7, 20), n=2111)
    targets = [pair for one in inputs_of_all_kinds(made) for pair in one.targets]
    program = compile_circuit(made, DT, dtype, targets)
    assert program.window == 7 and program.layout.kept == {"I"}
    assert {v: r.depth for v, r in program.layout.rings.items()} == {
        "spike_state": 7 + 2 * 7 - 1, "V": 1, "I": 2 * 7
    }  # fmt: skip
    record = [("V", None), ("spike_state", None)]

    def run(**how: Any) -> Any:
        return simulate(made, DT, 150, inputs_of_all_kinds(made), record, dtype=dtype, **how)

    one = run(plans=False)
    alone = simulate(made, DT, 150, (), record, dtype=dtype)
    assert (one["V"] != alone["V"]).any(axis=0).all()
    for how in ({"chunk": 150}, {"threads": 2, "chunk": 11}, {"threads": 3}, {"chunk": 1}):
        assert_same_bits(one, run(**how))


def test_no_connection_is_read_twice() -> None:
    """Every thread's part of every source lies between those of its neighbours."""
    gather = only(compile_circuit(circuit("any"), DT))
    cuts = np.array([0, 96, 96, 240, 331])
    parts = gather.parts.of(cuts)
    target = gather.arrays["code"] % gather.limits["ahead"]
    for thread in range(4):
        for begin, end in parts[:, thread : thread + 2]:
            mine = target[begin:end]
            assert ((mine >= cuts[thread]) & (mine < cuts[thread + 1])).all()
    assert (parts[1:, 0] == parts[:-1, -1]).all() and parts[-1, -1] == gather.edges


def test_threads_look_where_their_targets_are() -> None:
    """A thread looks for spikes among the sources of its targets alone, in whole slices.

    The slots of an input have one connection each. They begin and end with such a slot, and instead
    of their first source there is their first connection, less a number.
    """
    made, slots = circuit("any"), 331
    uids = made.uids[:slots].tolist()
    gather = only(compile_circuit(made, DT, targets=[("spike_state", uids)]))
    cuts = np.array([0, 96, 96, 240, 331])
    parts = gather.parts.of(cuts)
    found = gather.parts.blocks_of(parts)
    whole = gather.arrays["block"]
    assert len(whole) == 3 and found.shape == (4, 3, 4)
    assert gather.parts.single.tolist() == [False, False, True]
    for thread, blocks in enumerate(found):
        for block, (lag, begin, end, source) in enumerate(blocks):
            first, last = whole[block, 1], whole[block, 2]
            assert lag == whole[block, 0]
            here = whole[block, 3] + begin - first
            if block == 2:
                assert source == gather.parts.first[here] - SINGLE
            else:
                assert begin % 16 == end % 16 == 0 and source == here
            numbers = whole[block, 3] + np.arange(last - first)
            reaches = parts[numbers, thread] < parts[numbers, thread + 1]
            mine = np.flatnonzero(reaches) + first
            assert ((mine >= begin) & (mine < end)).all()
            assert end - begin < 16 + (np.ptp(mine) + 16 if len(mine) else 1)
    own = found[:, 2, 2] - found[:, 2, 1]  # the slots of inputs, each with one target
    assert own.tolist() == [96, 0, 144, 91]


def test_few_of_many_targets() -> None:
    """Places of 2 bytes are enough where no connection reaches the rest of the targets."""
    groups: Any = [(model("PoissonCounts"), 9, {"rate": 9e3}, None), (Adder, 70_000, {}, None)]
    source = np.repeat(np.arange(9, dtype=np.int32), 50)
    target = (9 + np.tile(np.arange(50), 9) * 1000).astype(np.int32)
    made = Circuit.from_arrays(groups, [Connections("spike_state", "a", source, target, DT)])
    gather = compile_circuit(made, DT).gathers[1, "a"]
    assert gather.arrays["code"].dtype == np.uint16 and gather.limits["ahead"] == 70_000
    record = [("V", None)]
    one = simulate(made, DT, 9, (), record, plans=False)
    assert_same_bits(one, simulate(made, DT, 9, (), record, threads=3))


class Clockwork(NDComponent):
    """Counts three events in every seventh row."""

    updates = ("spike_state",)

    def pre_run(self, update_pointers: Any) -> None:
        self.row = 0

    def run_step(self, update_pointers: Any) -> None:
        self.row += 1
        out = host_array(update_pointers["spike_state"], self.num_comps, self.dtype)
        out[:] = 3 * (self.row % 7 == 0)


def test_sources_of_any_make() -> None:
    """A template, a class with `run_step` and a declared model in one row: each as it notes it."""
    rng = np.random.default_rng(3)
    uids = [f"n{i}" for i in range(37)]
    groups: Any = [
        (OldLeaky, 37, IAF | {"initinternalV": np.linspace(-70.0, -45.0, 37)}, uids),
        (Clockwork, 21, {}, None),
        (model("PoissonCounts"), 50, {"rate": 2e3}, None),
        (Adder, 40, {}, None),
    ]
    source = rng.integers(0, 108, 600).astype(np.int32)
    target = (108 + rng.integers(0, 40, 600)).astype(np.int32)
    delay, weight = rng.integers(1, 6, 600) * DT, rng.normal(0.0, 1.0, 600)
    links = Connections("spike_state", "a", source, target, delay, {"weight": weight})
    made = Circuit.from_arrays(groups, [links])
    assert compile_circuit(made, DT).gathers[3, "a"].form == "fanout"
    current = StepInput("I", uids, 40.0, 0.0, 1.0)
    record = [("V", None), ("spike_state", None)]
    one = simulate(made, DT, 300, current, record, plans=False, backend="cpu")
    for begin, end in ((0, 37), (37, 58), (58, 108)):
        assert one["spike_state"][:, begin:end].sum() > 20
    for threads in (1, 3):
        how: Any = {"threads": threads, "backend": "cpu"}
        assert_same_bits(one, simulate(made, DT, 300, current, record, **how))


def test_a_source_that_begins_with_a_spike() -> None:
    """An event in row 0 is all rows' before it: then connections are gathered."""

    class Eager(NDComponent):
        """Spikes at every step but those after a spike."""

        updates = ("spike_state",)
        states = {"spike_state": State("1", 1.0)}
        update = "spike_state = 1 - spike_state;"

    groups: Any = [(Eager, 3, {}, None), (Adder, 2, {}, None)]
    ends = np.array([0, 1, 2], np.int32), np.array([3, 3, 4], np.int32)
    made = Circuit.from_arrays(groups, [Connections("spike_state", "a", *ends, np.array(3 * DT))])
    assert compile_circuit(made, DT).gathers[1, "a"].form == "sliced"
    data = simulate(made, DT, 8)["V"]
    assert data[:, 0].tolist() == [0.0, 2.0, 2.0, 2.0, 0.0, 2.0, 0.0, 2.0]


# ---- counts ------------------------------------------------------------------------------------


ADDERS: Any = (Adder, 2, {}, ["x", "y"])


def receiving() -> Circuit:
    """Return two sources, each with a connection of weight 0.5 to an adder."""
    ends = np.array([0, 1], np.int32), np.array([2, 3], np.int32)
    links = Connections("spike_state", "a", *ends, np.asarray(DT), {"weight": np.asarray(0.5)})
    groups: Any = [(model("SpikeSource"), 2, {}, ["x", "y"]), (Adder, 2, {}, None)]
    return Circuit.from_arrays(groups, [links])


@pytest.mark.parametrize("plans", [True, False])
def test_too_many_spikes_are_clamped_and_reported(plans: bool) -> None:
    """Once for each component, with its uid and the step."""
    counts = np.zeros((20, 2))
    counts[3] = 4, 1500
    counts[9] = 2, -7000
    given = ArrayInput({"spike_state": (["x", "y"], counts)})
    with pytest.warns(CircuitWarning) as said:
        data = simulate(receiving(), DT, 20, given, [("V", None)], plans=plans)["V"]
    told = [str(one.message) for one in said if one.category is CircuitWarning]
    assert len(told) == 1
    for word in ("1,500 spikes", "'y' in step 3", "1,023"):
        assert word in told[0]
    assert sorted(set(data[:, 0].tolist())) == [0.0, 1.0, 2.0]
    assert sorted(set(data[:, 1].tolist())) == [-511.5, 0.0, 511.5]


def test_too_many_spikes_of_several_inputs() -> None:
    """Who passes them on counts their sum, told of once; what is too much alone is not."""
    first, second, third = np.zeros((20, 2)), np.zeros((20, 1)), np.zeros((20, 1))
    first[3], first[7], first[12] = (600, 600), (-1023, 600), (1500, 600)
    second[[3, 12]], third[[3, 4, 5, 12]] = [[423], [1]], [[500], [2000], [3000], [500]]
    given = [
        ArrayInput({"spike_state": (uids, counts)})
        for uids, counts in ((["x", "y"], first), (["x"], second), (["y"], third))
    ]
    with pytest.warns(CircuitWarning) as said:
        data = simulate(receiving(), DT, 20, given, [("V", None)], chunk=5)["V"]
    told = [str(one.message) for one in said if one.category is CircuitWarning]
    assert sorted(text.split("; ")[0].split(": ", 1)[-1] for text in told) == [
        "1,500 spikes for 'x' in step 12",
        "2,000 spikes for 'y' in step 4",
        "together 1,100 spikes for 'y' in step 3",
    ]
    assert data[:, 0].max() == MOST_SPIKES / 2
    assert data[:, 1].max() == MOST_SPIKES / 2


def test_inputs_of_some_who_pass_on() -> None:
    """Only those count sums; others are looked at on their own."""
    ends = np.array([0], np.int32), np.array([1], np.int32)
    links = Connections("spike_state", "a", *ends, np.asarray(DT), {"weight": np.asarray(0.5)})
    groups: Any = [(model("SpikeSource"), 1, {}, ["x"]), (Adder, 1, {}, ["y"])]
    made = Circuit.from_arrays(groups, [links])
    counts = np.array([[0.0, 0.0], [1.0, 1000.0], [500.0, 0.0]])
    given = [ArrayInput({"spike_state": (["x", "y"], counts)}) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = simulate(made, DT, 5, given, [("V", None)])["V"]
    assert data.max() == 2000.0
    given.append(ArrayInput({"spike_state": (["y", "x"], counts[:, ::-1])}))
    with pytest.warns(CircuitWarning, match=r"together 1,500 spikes for 'x' in step 2;") as said:
        simulate(made, DT, 5, given, [("V", None)])
    assert len(said) == 1


@pytest.mark.parametrize("sends", [False, True])
def test_several_inputs_of_who_receives(sends: bool) -> None:
    """Each is counted on its own, so their sum may be larger, also where spikes are sent on."""
    params = {**LIF, "initV": -60.0}
    group: Any = (model("LeakyIAFDelta"), 2, params, ["x", "y"]) if sends else ADDERS
    made = Circuit.from_arrays([group])
    counts = np.array([[0.0], [1000.0], [0.0]])
    given = [ArrayInput({"spike_state": (["y"], counts)}) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = simulate(made, DT, 5, given, [("spike_state" if sends else "V", None)])
    (values,) = data.values()
    assert values.max(axis=0).tolist() == [0.0, 1.0 if sends else 2000.0]


def test_too_many_spikes_for_who_only_receives() -> None:
    """Injected without a source between: into what counts, though it sends no spikes itself."""
    made = Circuit.from_arrays([ADDERS])
    counts = np.array([[0.0, 0.0], [4.0, 1500.0], [0.0, 0.0]])
    given = ArrayInput({"spike_state": (["x", "y"], counts)})
    with pytest.warns(CircuitWarning, match=r"1,500 spikes.*'y' in step 1"):
        data = simulate(made, DT, 5, given, [("V", None)])["V"]
    assert data.max(axis=0).tolist() == [4.0, MOST_SPIKES]


def test_parts_of_a_spike_are_refused() -> None:
    """What is counted is whole; without weights any value may be injected."""
    given = ArrayInput({"spike_state": (["x", "y"], np.array([[0.0, 1.0], [2.0, 0.25]]))})
    with pytest.raises(InputError, match=r"whole numbers; got 0.25 for 'y' in step 1"):
        simulate(receiving(), DT, 20, given)


def test_parts_of_a_spike_beside_those_that_are_counted() -> None:
    """What goes to a synapse without weights is any number, whatever else a circuit has."""
    ends = np.array([0], np.int32), np.array([1], np.int32)
    links = Connections("spike_state", "a", *ends, np.asarray(DT), {"weight": np.asarray(0.5)})
    synapse = (model("SynapseAMPA"), 1, AMPA, ["synapse"])
    groups: Any = [(model("SpikeSource"), 1, {}, ["x"]), (Adder, 1, {}, None), synapse]
    made = Circuit.from_arrays(groups, [links])
    given = [ArrayInput({"spike_state": ([uid], np.array([[size], [0.0]]))})
             for uid, size in (("synapse", 0.25), ("x", 2.0))]  # fmt: skip
    data = simulate(made, DT, 20, given, [("g", None), ("V", None)])
    assert data["g"].max() > 0 and data["V"].max() == 1.0
    given[1] = ArrayInput({"spike_state": (["x"], np.array([[0.25]]))})
    with pytest.raises(InputError, match=r"whole numbers; got 0.25 for 'x' in step 0"):
        simulate(made, DT, 20, given, [("V", None)])


# ---- weights as whole numbers ------------------------------------------------------------------


def edges(target: NDArray[np.int64], weight: NDArray[np.float64]) -> Edges:
    """Return connections to targets, all from one element."""
    none = np.zeros(len(target), np.int64)
    return Edges(target, none, none, {"weight": weight})


Weight = st.one_of(
    st.floats(-1e6, 1e6, allow_nan=False), st.integers(-40, 40).map(lambda i: 0.1 * i)
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), Weight), min_size=1, max_size=60),
       st.sampled_from(["float64", "float32"]))  # fmt: skip
def test_weights_are_multiples(drawn: list[tuple[int, float]], dtype: str) -> None:
    """To half a unit, each target by itself, and no sum can pass what is exact."""
    drawn = sorted(drawn, key=lambda one: one[0])
    target = np.array([t for t, _ in drawn])
    weight = np.array([w for _, w in drawn])
    multiple, units = integer_weights(edges(target, weight), 7, dtype)
    assert (units.unit > 0).all()
    error = np.abs(multiple * units.unit[target] - weight)
    assert (error <= 0.5 * units.unit[target]).all()
    most = np.zeros(7)
    np.maximum.at(most, target, np.abs(weight))
    bits = {"float64": 30, "float32": 24}[dtype]
    np.testing.assert_array_less(error, 2.0 ** (-bits) * most[target] + 1e-300)
    assert np.bincount(target, np.abs(multiple)).max() * MOST_SPIKES <= units.most < 2.0**53
    for one in np.unique(target):
        mine = target == one
        alone, own = integer_weights(edges(np.zeros(mine.sum(), np.int64), weight[mine]), 1, dtype)
        assert own.unit[0] == units.unit[one] or not multiple[mine].any()
        assert alone.tolist() == multiple[mine].tolist()


def test_equal_weights_are_exact() -> None:
    """Multiples of one weight lose nothing but the last bit of a product."""
    target = np.repeat(np.arange(3), 4)
    weight = 0.275 * np.array([1, 2, 3, 500, 2, 4, 6, 2, -6, 10, -15, 30])
    multiple, units = integer_weights(edges(target, weight), 3, "float64")
    assert multiple.tolist() == [1, 2, 3, 500, 1, 2, 3, 1, -6, 10, -15, 30]
    np.testing.assert_allclose(units.unit, [0.275, 0.55, 0.275], rtol=1e-15)


@pytest.mark.parametrize("most", [2, 3, 40])
def test_no_common_measure(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two weights tell that there is none, where the others would; drawn ones and multiples."""
    rng = np.random.default_rng(most)
    target = np.repeat(np.arange(30_000), rng.integers(1, most + 1, 30_000))
    drawn = rng.normal(1.0, 0.1, len(target))
    counted = rng.integers(1, rng.choice([9, 1 << 15], len(target))) * 0.275
    counted *= 1.0 + rng.choice([0.0, 2.0**-47, 2.0**-44], len(target), p=[0.98, 0.01, 0.01])
    weight = np.where(target % 3 == 0, drawn, counted)
    weight[target % 7 == 0] = 0.25
    multiple, units = integer_weights(edges(target, weight), 30_000, "float64")
    asked = []
    monkeypatch.setattr(whole, "_measurable", lambda a, b: asked.append(len(a)) or a == a)
    slow, same = integer_weights(edges(target, weight), 30_000, "float64")
    assert np.array_equal(units.unit, same.unit) and np.array_equal(multiple, slow) and asked
    powers = np.frexp(units.unit)[0] == 0.5
    assert 0.2 < powers.mean() < 0.9


def test_strong_fan_in_stays_exact() -> None:
    """So many strong inputs that their sum would pass 2^53: the unit is coarser."""
    m = 40_000
    weight = np.random.default_rng(1).uniform(0.9, 1.0, m)
    multiple, units = integer_weights(edges(np.zeros(m, np.int64), weight), 1, "float64")
    assert 2.0**50 < units.most < 2.0**53
    assert units.unit[0] > 2.0**-30
    assert 1.0 <= units.most / (float(np.abs(multiple).sum()) * MOST_SPIKES) < 1.0 + 1e-6


def test_more_threads_than_slices() -> None:
    """Threads of the CPU without a component deal nothing out."""
    made = circuit("any", n=20, fan_in=7)
    record = [("V", None), ("spike_state", None)]
    one = simulate(made, DT, 100, (), record, threads=1)
    with started(made, DT, (), record, threads=5, backend="cpu") as lpu:
        lpu.run(steps=100)
        assert 0 in lpu.simulation.backend.worked()
    assert_same_bits(one, simulate(made, DT, 100, (), record, threads=5))


# ---- drawn by rule -----------------------------------------------------------------------------

HALVES = range(0, 200), range(200, 331)


def spikes(*given: Any) -> Projection:
    """Return a projection of spikes."""
    return Projection("spike_state", "spike_state", *given)


RULES: dict[str, list[Projection]] = {
    "one": [spikes((0, 388), (0, 331), FixedProbability(0.07),
                       Normal(0.1, 0.3), Uniform(3 * DT, 17 * DT))],
    "by source": [
        spikes(HALVES[0], (0, 331), FixedInDegree(20), 0.1, 4 * DT),
        spikes(HALVES[1], (0, 331), FixedTotal(3000), -0.5, 9 * DT),
        spikes((331, 388), (0, 331), FixedOutDegree(9), 0.2, 5 * DT),
    ],
    "equal": [spikes((0, 388), (0, 331), FixedTotal(9001), 0.3,
                         Uniform(DT, 20 * DT))],
    "blocks": [
        spikes(source, target, FixedTotal(2500),
                   Normal(weight, 0.1), 2e-3, f"{source} {target}")
        for source, weight in ((HALVES[0], 0.4), (HALVES[1], -0.9), (range(331, 388), 0.7))
        for target in HALVES
    ],
}  # fmt: skip


def drawn(rule: str, expanded: bool = False) -> Circuit:
    """Return neurons and sources that are connected by rule, or by the same columns."""
    rng = np.random.default_rng(8)
    groups: Any = [
        (model("LeakyIAFDelta"), 331, {**LIF, "initV": rng.uniform(-60.0, -49.9, 331)}, None),
        (model("PoissonCounts"), 57, {"rate": 9e3}, None),
    ]
    made = Circuit.from_arrays(groups, RULES[rule], seed=4)
    columns = [links.expanded() for links in made.connections]
    return Circuit.from_arrays(groups, columns) if expanded else made


@pytest.mark.parametrize("rule", list(RULES))
def test_drawn_into_place(rule: str, dtype: str) -> None:
    """The arrays of the plan are those of the columns, but for their order; so are all bits."""
    one = only(compile_circuit(drawn(rule), DT, dtype))
    other = only(compile_circuit(drawn(rule, True), DT, dtype))
    assert one.limits == other.limits and one.uniform == other.uniform
    assert one.edges == other.edges > 2000
    assert set(one.arrays) == set(other.arrays)
    for name in set(one.arrays) - {"code", "multiple"}:
        assert one.arrays[name].dtype == other.arrays[name].dtype, name
        np.testing.assert_array_equal(one.arrays[name], other.arrays[name])
    source = np.repeat(np.arange(len(one.parts.first) - 1), np.diff(one.parts.first))
    rows = []
    for made in (one, other):
        columns = [source, made.arrays["code"]]
        columns += [made.arrays["multiple"]] if "multiple" in made.arrays else []
        rows.append(np.stack(columns)[:, np.lexsort(columns[::-1])])
    np.testing.assert_array_equal(*rows)
    record = [("V", None), ("spike_state", None)]
    bits = simulate(drawn(rule, True), DT, 150, (), record, dtype=dtype, plans=False)
    for how in ({"threads": 1}, {"threads": 2, "chunk": 7}, {"threads": 3}):
        assert_same_bits(bits, simulate(drawn(rule), DT, 150, (), record, dtype=dtype, **how))


def test_no_column_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit of rules runs without a number for each connection but those of the plan."""

    def refuse(self: object) -> None:
        raise AssertionError("the columns of a projection were drawn")

    monkeypatch.setattr(Drawn, "_columns", property(refuse))
    groups: Any = [(model("LeakyIAFDelta"), 331, {**LIF, "initV": -49.9}, None),
                   (model("PoissonCounts"), 57, {"rate": 9e3}, None)]  # fmt: skip
    for rules in RULES.values():
        made = Circuit.from_arrays(groups, rules, seed=4)
        data = simulate(made, DT, 50, (), [("V", None)], threads=2)["V"]
        assert np.ptp(data) > 1


@pytest.mark.parametrize("rule", list(RULES))
def test_others_beside_what_is_drawn(
    rule: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inputs and columns reach the same targets: projections stay drawn, with the same bits."""
    rng = np.random.default_rng(9)
    made, n = drawn(rule), 331
    source = rng.integers(0, 388, 700).astype(np.int32)
    target = rng.integers(0, n, 700).astype(np.int32)
    data = {"weight": np.where(source % 3 == 0, -0.4, 0.1)}
    delay = rng.integers(2, 29, 700) * DT
    beside = [Connections("spike_state", "spike_state", source, target, delay, data)]
    plain = made.with_parts(made.groups, [*beside, *drawn(rule, True).connections])
    whole = made.with_parts(made.groups, [*made.connections, *beside])
    uids = made.uids[:n]

    def inputs() -> list[Input]:
        few = np.random.default_rng(2)
        counts = few.integers(-3, 9, (150, 48)) * (few.random((150, 48)) < 0.1)
        return [PoissonInput("spike_state", uids[5:90], 300.0, seed=3),
                ArrayInput({"spike_state": (uids[::7], counts)})]  # fmt: skip

    record = [("V", None), ("spike_state", None)]
    bits = simulate(plain, DT, 150, inputs(), record, dtype=dtype, plans=False)
    of_rules = {id(links) for links in made.connections}
    columns = Drawn._columns

    def refuse(links: Drawn) -> Connections:
        assert id(links) not in of_rules, "the columns of a projection were drawn"
        return columns.func(links)

    monkeypatch.setattr(Drawn, "_columns", property(refuse))
    for how in ({"threads": 1}, {"threads": 2, "chunk": 7}, {"threads": 3}):
        assert_same_bits(bits, simulate(whole, DT, 150, inputs(), record, dtype=dtype, **how))
