"""How spikes travel on a GPU: the arrays of the plan, who delivers, barriers, the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from device_code import check_text, told_resources
from hypothesis import given, settings
from hypothesis import strategies as st
from support import model

from neurodriver import (
    Circuit,
    Connections,
    FixedProbability,
    NDComponent,
    Normal,
    Parameter,
    Projection,
    SubUnits,
    Uniform,
)
from neurodriver.backends.cuda import schedule, warp_items
from neurodriver.backends.cuda.import_delivery import sender_of, senders_of
from neurodriver.backends.cuda.spike_delivery import parts_of, plan_delivery
from neurodriver.circuit.drawing import near_first
from neurodriver.codegen.generate import generate
from neurodriver.codegen.kernel import Kernel
from neurodriver.codegen.simt.device import device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.model.subunits import Species
from neurodriver.native.buffers import padded
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.program import Program
from neurodriver.plan.target import CUDA
from neurodriver.plan.unit import INPUTS

DT = 1e-4
LIF = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
       "time_constant": 20.0, "refractory_period": 0.5, "initV": -49.9}  # fmt: skip
N = 205


def columns(low: int, high: int, fan_in: int = 31, seed: int = 1) -> Circuit:
    """Return neurons with random connections of ``low`` to ``high`` steps."""
    rng = np.random.default_rng(seed)
    target = np.repeat(np.arange(N, dtype=np.int32), fan_in)
    source = rng.integers(0, N, len(target)).astype(np.int32)
    delay = rng.integers(low, high + 1, len(target)) * DT
    data = {"weight": rng.integers(-40, 40, len(target)) * 0.25}
    links = [Connections("spike_state", "spike_state", source, target, delay, data)]
    return Circuit.from_arrays([(model("LeakyIAFDelta"), N, LIF, None)], links)


def drawn(low: int, high: int, chance: float = 0.2) -> Circuit:
    """Return neurons that are connected by rule."""
    links = [Projection("spike_state", "spike_state", (0, N), (0, N), FixedProbability(chance),
                        Normal(0.1, 0.3), Uniform(low * DT, high * DT))]  # fmt: skip
    return Circuit.from_arrays([(model("LeakyIAFDelta"), N, LIF, None)], links, seed=2)


def compiled(circuit: Circuit, dtype: str = "float64", **more: Any) -> Program:
    """Return the program of a circuit for a GPU."""
    return compile_circuit(circuit, DT, dtype, target=CUDA, **more)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=300), st.integers(1, 40), st.data(),
       st.sampled_from([None, np.int8, np.int16, np.int32]))  # fmt: skip
def test_near_first(degree: list[int], width: int, data: Any, kind: Any) -> None:
    """Each row by itself, what is due at once before the rest, else in order."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    first = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    code = rng.integers(0, 3 * width, first[-1]).astype(np.int32)
    multiple = None if kind is None else rng.integers(-99, 99, first[-1]).astype(kind)
    want = [code.copy(), None if multiple is None else multiple.copy()]
    count = np.empty(len(degree), np.int64)
    near_first(first, width, code, multiple, count)
    for begin, end, near in zip(first[:-1], first[1:], count, strict=True):
        row = slice(begin, end)
        order = np.argsort(want[0][row] >= width, kind="stable")
        assert near == np.count_nonzero(want[0][row] < width)
        assert code[row].tolist() == want[0][row][order].tolist()
        if multiple is not None:
            assert multiple[row].tolist() == want[1][row][order].tolist()


@pytest.mark.parametrize("make", [columns, drawn])
@pytest.mark.parametrize(("low", "high"), [(1, 9), (1, 1), (6, 9)])
def test_arrays_hold_all_connections(make: Any, low: int, high: int) -> None:
    """By source; what is due at once comes first; delays, targets and weights are those given."""
    circuit = make(low, high)
    (links,) = circuit.connections
    links = links.expanded() if make is drawn else links
    gather = compiled(circuit).gathers[0, "spike_state"]
    begin, near, code = (gather.arrays[n] for n in ("begin", "near", "code"))
    assert ((begin[:-1] <= near) & (near <= begin[1:])).all() and begin[-1] == len(links) > 1000
    source = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    back, target = np.divmod(code, gather.limits["ahead"])
    assert ((back == 0) == (np.arange(len(code)) < near[source])).all()
    assert gather.limits["depth"] > back.max()
    multiple = gather.arrays.get("multiple", np.full(len(code), gather.uniform.get("weight", 0)))
    unit = gather.arrays["unit"][target] if "unit" in gather.arrays else gather.uniform["unit"]
    weight = np.rint(multiple * unit * 1e6)
    got = sorted(zip(source, target, back + 1, weight, strict=True))
    steps = np.rint(np.broadcast_to(links.delay, len(links)) / DT)
    given_ = np.rint(np.broadcast_to(links.data["weight"], len(links)) * 1e6)
    want = sorted(zip(links.source, links.target, steps, given_, strict=True))
    np.testing.assert_allclose(np.array(got, float), np.array(want, float), atol=1)


def test_how_spikes_travel() -> None:
    """Windows where all delays allow them, else pieces for what is late; nothing for a few."""
    assert plan_delivery(compiled(columns(5, 9)), False).window == 5
    assert plan_delivery(compiled(columns(5, 9)), True).window == 0
    assert plan_delivery(compiled(columns(2, 9)), False).window == 0
    assert (
        plan_delivery(compiled(columns(2, 9)), False).pieces
        == plan_delivery(compiled(columns(2, 9)), True).pieces
        > 0
    )
    assert not plan_delivery(compiled(columns(1, 1)), False).delivers  # all is due at once
    assert not plan_delivery(
        compiled(columns(2, 9, fan_in=1, seed=3)), False
    ).delivers  # threads do it
    many = plan_delivery(compiled(columns(1, 1, fan_in=400)), False)
    assert many.window == 1 and many.pieces >= N * 400 / 128
    assert plan_delivery(compiled(drawn(1, 3)), False).edges == len(drawn(1, 3).connections[0])


@pytest.mark.parametrize("make", [lambda: columns(1, 9), lambda: drawn(1, 9)])
def test_what_is_injected_is_delivered_by_slots(make: Callable[[], Circuit]) -> None:
    """Beside the spikes of neurons, into the same slots; the weights of both have one unit."""
    circuit = make()
    names = circuit.uids.tolist()
    uids = [names[i] for i in (0, 5, 6, 200, 5)]
    program = compiled(circuit, targets=[("spike_state", uids[:3]), ("spike_state", uids[3:])])
    gather = program.gathers[0, "spike_state"]
    assert gather.form == "fanout" and len(program.deliveries) == 2
    part = gather.inputs
    assert part is not None and part.edges == 5 and gather.outside is None
    assert program.listed == (True, True)
    slots = program.layout.rings["spike_state"].segments["inputs"]
    (entering,) = (one for one in program.deliveries if one.gather is part)
    assert entering.sources == {("spike_state", INPUTS): 0}
    assert part.arrays["begin"][:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert part.arrays["code"].tolist() == [0, 5, 6, 200, 5]
    assert [sender_of(program, "spike_state", slots.start + n) for n in (0, 3)] == [(0, 0), (0, 3)]
    unit = np.broadcast_to(gather.arrays.get("unit", gather.uniform.get("unit")), padded(N))
    weight = part.arrays.get("multiple", part.arrays.get("of_source", part.uniform.get("weight")))
    whole = np.broadcast_to(np.ravel(weight)[:5], 5)
    assert np.array_equal(whole, np.rint(1 / unit[part.arrays["code"]])) and (whole > 0).all()
    plain = compiled(circuit, targets=[("I", uids)])
    assert plain.gathers[0, "spike_state"].inputs is None and plain.listed == (False,)


def test_inputs_keep_the_window() -> None:
    """Rows of a whole window stand in the rings; rules of plasticity and no connections end it."""
    circuit = columns(6, 9)
    uids = circuit.uids.tolist()[:50]
    targets = [("spike_state", uids), ("I", uids)]
    program = compiled(circuit, targets=targets)
    assert program.window == 6 and plan_delivery(program, False).window == 6
    assert program.layout.rings["I"].depth >= 12
    alone = Circuit.from_arrays([(model("LeakyIAFDelta"), N, LIF, None)])
    assert compiled(alone, targets=targets).window == 1


@pytest.mark.needs("NVRTC")
class Outside(NDComponent):
    """Spikes by code of its own, which no kernel delivers."""

    updates = ("spike_state",)

    def run_step(self, pointers: Any, st: Any = None) -> None:
        """Write the spikes of a step."""


@pytest.mark.parametrize("rule", [False, True])
def test_spikes_of_own_classes_are_looked_back_upon_as_long_as_their_delays(rule: bool) -> None:
    """They are summed by target: the ring holds the rows of the longest delay, not of the least."""
    count, most = 7, 23
    rng = np.random.default_rng(3)
    links: Any
    if rule:
        ends = (0, count), (count, count + N)
        chance = FixedProbability(0.5), 1.0, Uniform(DT, most * DT)
        links = Projection("spike_state", "spike_state", *ends, *chance)
    else:
        source = rng.integers(0, count, 600).astype(np.int32)
        target = (count + rng.integers(0, N, 600)).astype(np.int32)
        delay = rng.integers(1, most + 1, 600) * DT
        weight = {"weight": rng.integers(-40, 40, 600) * 0.25}
        links = Connections("spike_state", "spike_state", source, target, delay, weight)
    groups = [(Outside, count, {}, None), (model("LeakyIAFDelta"), N, LIF, None)]
    circuit = Circuit.from_arrays(groups, [links], seed=4)
    program = compile_circuit(circuit, DT, target=CUDA)
    gather = program.gathers[1, "spike_state"]
    assert gather.form not in ("none", "fanout")
    longest = int(gather.arrays["back"].max())
    assert longest >= most - 2
    assert program.layout.rings["spike_state"].depth > longest


@pytest.mark.parametrize("window", [0, 6])
def test_text_of_inputs_compiles(dtype: str, window: int) -> None:
    """What is injected is added to the slots of a target by warps that have an item of it."""
    circuit = columns(max(window, 1), 9)
    targets = [("spike_state", circuit.uids.tolist()[:300]), ("I", circuit.uids.tolist())]
    program = compiled(circuit, dtype, targets=targets)
    shape, binding = Shape(256, 1, True, window=window), _Literal()
    parts: Any = parts_of(generate(program), schedule.LaunchPlan("grid", 132, shape, (1,)), binding)
    text = device_text(parts, dtype, shape, senders_of(program))
    assert "nd_send_imported(int sender" in text and "__outside" not in text
    check_text(text, whole=window > 0)


@pytest.mark.parametrize(
    ("first", "last", "barriers"), [(0, 15, 2), (0, 16, 4), (14, 16, 4), (7, 7, 0)]
)
def test_barriers(first: int, last: int, barriers: int) -> None:
    """Twice a window that a launch has steps of."""
    assert Shape(window=15).barriers(first, last) == barriers
    assert Shape().barriers(first, last) == last - first


def test_items_of_windows_and_dealers() -> None:
    """Each step of a window has its items; each warp that delivers knows how many do."""
    pieces = warp_items.pieces(warp_items.EVENTS, 3, 900, 4)
    delivery = warp_items.delivery_items(5)
    one, other = warp_items.over([pieces, delivery], 4)
    assert len(one) == 4 * len(pieces) and (one[:, 3] & 0xFFFF == 3).all()
    for step in range(4):
        np.testing.assert_array_equal(one[one[:, 3] >> 16 == step][:, :3], pieces[:, :3])
    assert other.tolist() == [[warp_items.DELIVER, i, 5, 0] for i in range(5)]
    np.testing.assert_array_equal(warp_items.over([pieces], 0)[0], pieces)


def test_what_is_done_once_a_chunk() -> None:
    """Comes last in a warp's list, so that it can be dropped, and once in a window."""
    program = compiled(columns(6, 9))
    plan = schedule.LaunchPlan(
        "grid", 3, Shape(64, holds=True, window=6), (1,) * len(program.units)
    )
    noted = warp_items.pieces(warp_items.RECORDED, 0, N, 4)
    others = warp_items.over([noted, warp_items.pieces(warp_items.SAMPLE, 0, N, 4)], 6)
    made = warp_items.distribute(plan, generate(program).tasks, others)
    what = made.items[:, 0]
    assert (what == warp_items.RECORDED).sum() == len(noted) > 1
    for first, end in zip(made.offsets[:-1], made.offsets[1:], strict=True):
        late = what[first:end] == warp_items.RECORDED
        assert (np.diff(late.astype(int)) >= 0).all()
    assert (what == warp_items.SAMPLE).sum() == len(others[1]) >= 12


class _Literal:
    """Stands for a binding: no integer is known."""

    @staticmethod
    def known(kernel: Kernel) -> tuple[None, ...]:
        return (None,) * len(kernel.integers)


class Flashes(NDComponent):
    """Sub-units that make spikes."""

    updates = ("spike_state",)
    params = {"number": Parameter("1", default=9.0, at_least=0.0, at_most=99.0, whole=True)}
    maximum_dt = DT
    sub_units = SubUnits("number", {"n": Species(0, 255)}, [("50", {"n": 1})], totals={"N": "n"})
    update = "spike_state = N > 20 * number;"


@pytest.mark.needs("NVRTC")
def test_few_are_sent_by_their_threads() -> None:
    """Then nothing is ever listed, nor is there a list to clear; sub-units spike beside them."""
    few = columns(6, 9, fan_in=1, seed=3)
    groups = [(g.model, g.count, dict(g.params), None) for g in few.groups]
    beside = Circuit.from_arrays([*groups, (Flashes, N, {}, None)], few.connections)
    binding: Any = _Literal()
    for circuit, window in ((few, 6), (beside, 0)):
        program = compiled(circuit)
        delivery = plan_delivery(program, False)
        assert delivery.window == window and not delivery.wanted()
        shape = Shape(256, holds=True, window=window)
        plan = schedule.LaunchPlan("grid", 132, shape, (1,) * len(program.units))
        text = device_text(parts_of(generate(program), plan, binding), "float64", shape)
        assert "\n#define ND_LISTS 0\n" in text and "#define ND_DELIVERS 1\n" in text
        check_text(text)


@pytest.mark.needs("NVRTC")
def test_where_connections_are_kept() -> None:
    """In registers; in shared memory in wide blocks and windows; not where sums need that."""
    program = compiled(columns(1, 9))
    binding: Any = _Literal()
    for threads, record, window, shelf, keeps in (
        (384, 0, 0, 0, 1), (736, 0, 0, 736, 1), (736, 8, 0, 0, 0),
        (384, 0, 9, 384, 1), (384, 8, 9, 0, 0), (384, 0, 1, 0, 0),
    ):  # fmt: skip
        shape = Shape(threads, holds=True, window=window)
        parts = parts_of(generate(program), schedule.LaunchPlan("grid", 132, shape, (1,)), binding)
        kernel = replace(parts[0].kernel, record=record)
        text = device_text([replace(parts[0], kernel=kernel), *parts[1:]], "float32", shape)
        assert f"\n#define ND_CACHED {shelf}\n" in text
        assert f"\n#define ND_KEEPS {keeps}\n" in text
        check_text(text, whole=shelf > 0)


@pytest.mark.needs("NVRTC")
@pytest.mark.parametrize("threads", [(256, True, 1), (384, True, 2), (512, False, 1)])
@pytest.mark.parametrize("delays", [(1, 9), (6, 9)])
def test_text_compiles(threads: tuple[int, bool, int], delays: tuple[int, int]) -> None:
    """With and without windows, lists and kept places; nothing spills."""
    dtype = ("float32", "float64")[(threads[2] + delays[0]) % 2]
    program = compiled(columns(*delays), dtype)
    size, holds, own = threads
    shape = Shape(size, 1, holds, window=plan_delivery(program, False).window, marks=False)
    plan = schedule.LaunchPlan("grid", 132, shape, (own,))
    binding: Any = _Literal()
    text = device_text(parts_of(generate(program), plan, binding), dtype, shape)
    (told,) = (line for line in told_resources(text) if line.startswith("nd_advance"))
    assert ", 0 bytes stack" in told, told
