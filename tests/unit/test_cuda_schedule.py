"""Which warp does what: nothing is left out, nothing is done twice, whatever the width."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sharing import CELL
from support import DT, spiking_network

import neurodriver as nd
from neurodriver.backends.cuda import items, schedule, warp_items
from neurodriver.backends.cuda.executors import EXECUTORS
from neurodriver.backends.cuda.items import WARP, Items
from neurodriver.backends.cuda.shares import SMALL, shares_of
from neurodriver.codegen.generate import generate
from neurodriver.native.buffers import padded
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CPU, CUDA
from neurodriver.plan.unit import Unit

UNITS = generate(compile_circuit(spiking_network(33, 2, seed=1), DT, target=CUDA)).tasks
OTHERS = [
    [warp_items.pieces(what, i, count, 7) for i, count in enumerate(counts)]
    for what, counts in (
        (warp_items.INJECT, (5, 4000)),
        (warp_items.SAMPLE, (1, 129)),
        (warp_items.EVENTS, (1000,)),
        (warp_items.EXPORT, ()),
    )
]

Work = Counter[tuple[int, int, int]]
"""(what, which, element) -> how often it is done."""


def unit(count: int, seed: int = 0) -> Unit:
    """Return a unit of so many components and uneven work."""
    some = UNITS[seed % len(UNITS)]
    rng = np.random.default_rng(seed)
    return replace(some, count=count, cost=rng.uniform(1, 50, padded(count) // some.grain))


def done(items: np.ndarray) -> Work:
    """Return what some items do."""
    out: Work = Counter()
    for what, first, end, which in items.tolist():
        assert first < end
        out.update((what, which, element) for element in range(first, end))
    return out


def wanted(units: list[Unit], others: list[Any]) -> Work:
    """Return what a step has to do, each once."""
    out: Work = Counter()
    for number, one in enumerate(units):
        out.update((number, 0, element) for element in range(one.count))
    return out + done(np.concatenate([np.zeros((0, 4), np.int32), *others]))


def flat(others: list[list[Any]]) -> list[Any]:
    """Return all pieces of all kinds."""
    return [items for kind in others for items in kind]


def check_plan(
    plan: schedule.LaunchPlan, processors: int, clusters: bool, units: list[Unit]
) -> None:
    """A plan is one that a device can launch."""
    assert plan.shape.threads % WARP == 0
    assert 0 < plan.shape.threads <= 1024
    assert plan.width in ("block", "cluster", "grid")
    if plan.width == "block":
        assert plan.blocks == 1
    elif plan.width == "cluster":
        assert clusters and plan.blocks <= 16
    else:
        assert plan.blocks <= processors * plan.shape.resident  # all at once on the device
    assert len(plan.own) == len(units)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(1, 9000), min_size=1, max_size=4),
    st.sampled_from([1, 3, 16, 132]),
    st.booleans(),
)
def test_all_is_done_once(counts: list[int], processors: int, clusters: bool) -> None:
    """Every component, and every piece of what enters and leaves, has one warp.

    The list of a warp is sorted by stage.
    """
    units = [replace(unit(count, i), stage=(i + 1) % 3) for i, count in enumerate(counts)]
    plan = schedule.choose(units, processors, clusters)
    check_plan(plan, processors, clusters, units)
    lists = warp_items.distribute(plan, units, flat(OTHERS))
    assert len(lists.offsets) == plan.warps + 1
    assert lists.offsets[0] == 0 and lists.offsets[-1] == len(lists.items)
    assert (np.diff(lists.offsets) >= 0).all()
    assert lists.items.dtype == np.int32 and lists.items.flags.c_contiguous
    assert done(lists.items) == wanted(units, flat(OTHERS))
    for begin, end in zip(lists.offsets, lists.offsets[1:], strict=False):
        own = lists.items[begin:end, 0] >= 0
        assert not (np.diff(own.astype(int)) > 0).any()  # components first
        stages = [units[what].stage for what in lists.items[begin:end, 0][own]]
        assert stages == sorted(stages)
        assert not plan.shape.holds or own.sum() <= 1  # they stay in registers


@pytest.mark.parametrize(
    ("count", "clusters", "width"),
    [(60, True, "block"), (6000, True, "cluster"), (6000, False, "grid"), (200_000, True, "grid")],
)
def test_as_wide_as_it_has_to_be(count: int, clusters: bool, width: str) -> None:
    """Few components meet in a block, some in a cluster where there is one, many on the grid."""
    assert schedule.choose([unit(count)], 132, clusters).width == width


@pytest.mark.parametrize(("count", "own"), [(2_000_000, 3), (4_000_000, 4), (30_000, 1)])
def test_warps_have_about_as_many_items(count: int, own: int) -> None:
    """Half of 4,000,000 neurons are 7.4 items a warp with four a thread, and 9.9 with three."""
    some = next(one for one in UNITS if not (one.spread or one.near or one.side))
    many = replace(some, count=count, cost=np.ones(padded(count) // some.grain))
    many = replace(many, kernel=replace(some.kernel, kept=4))
    plan = schedule.choose([many], 132, False, 4)
    assert plan.own == (own,) and plan.shape.holds == (count < 100_000)


def test_more_components_where_they_draw() -> None:
    """Look-ups of Poisson numbers wait side by side: four neurons a thread instead of two."""
    some = next(one for one in UNITS if not (one.spread or one.near or one.side))
    many = replace(some, count=4_129_924, cost=np.ones(padded(4_129_924) // some.grain))
    for text, own in (("nd_counts<false> c;", 4), ("", 2)):
        unit = replace(many, kernel=replace(some.kernel, kept=5, text=text))
        assert schedule.choose([unit], 132, False, 4).own == (own,)


def test_few_warps_where_spikes_are_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues and a history of 32 warps would not fit into shared memory."""
    monkeypatch.setattr(schedule, "_waits", lambda *_: True)
    units = [unit(4_000_000)]
    assert schedule.choose(units, 132, False).shape.threads == 1024
    load = schedule.SpikeLoad(10_000_000)
    assert schedule.choose(units, 132, False, load=load).shape.threads == 512


@pytest.mark.parametrize(
    ("width", "threads", "holds", "window", "expected"),
    [("grid", 384, True, 18, True), ("block", 128, True, 18, True), ("grid", 384, True, 0, False),
     ("grid", 416, True, 0, True), ("grid", 416, False, 0, False),
     ("cluster", 736, True, 0, False)],
)  # fmt: skip
def test_who_caches_dirty_rows(
    width: str, threads: int, holds: bool, window: int, expected: bool
) -> None:
    """In windows; else on a grid of many warps. In a block or cluster registers would spill."""
    shape = schedule.Shape(threads, 1, holds, window=window)
    assert schedule.caches_dirty(width, shape) == expected


@pytest.mark.parametrize(
    ("count", "inputs"),
    [(100_000, ()), (100_000, (100_000,)), (100_000, (100_000,) * 3), (7717, (7717,) * 3)],
)
def test_spikes_are_delivered_by_warps_without_components(
    count: int, inputs: tuple[int, ...]
) -> None:
    """Whatever is injected and recorded beside them; else they begin after the components.

    Inputs are injected by warps without components, too, as long as each has one.
    """
    load = schedule.SpikeLoad(10_000_000, listed=True)
    units = [unit(count)]
    plan = schedule.choose(units, 132, True, 4, load)
    assert plan.shape.holds
    idle = plan.warps - -(-count // WARP)
    injected = [
        warp_items.pieces(warp_items.INJECT, i, n, plan.warps) for i, n in enumerate(inputs)
    ]
    recorded = warp_items.pieces(warp_items.RECORDED, 0, count, plan.warps)
    others = [*injected, warp_items.delivery_items(idle), recorded]
    lists = warp_items.distribute(plan, units, others)
    delivering, injecting = 0, 0
    for begin, end in zip(lists.offsets, lists.offsets[1:], strict=False):
        what = lists.items[begin:end, 0]
        if warp_items.DELIVER in what:
            assert what[0] == warp_items.DELIVER
            delivering += 1
            injecting += np.count_nonzero(what == warp_items.INJECT)
    assert delivering == idle > 132
    assert injecting == min(idle, sum(map(len, injected)))


def test_a_block_has_neighbours_where_texts_are_long() -> None:
    """All components have a warp, and the warps of a block have components that lie together."""
    few = [unit(WARP * 9, 0), replace(unit(WARP * 70 + 3, 1), cost=unit(WARP * 70 + 3).cost + 99)]
    long = [replace(u, kernel=replace(u.kernel, kept=warp_items.LONG_TEXT)) for u in few]
    plan = schedule.choose(long, 8, False)
    assert plan.shape.holds and plan.own == (1, 1)
    lists = warp_items.distribute(plan, long, flat(OTHERS))
    assert done(lists.items) == wanted(long, flat(OTHERS))
    per_block = plan.shape.threads // WARP
    starts = lists.offsets[:-1][np.diff(lists.offsets) > 0]
    has = np.flatnonzero(np.diff(lists.offsets) > 0)
    mine = lists.items[starts, 0] >= 0
    block, first = has[mine] // per_block, lists.items[starts, 0][mine]
    mixed = [one for one in range(8) if len(np.unique(first[block == one])) > 1]
    assert len(mixed) == 1  # where the second unit begins
    sizes = np.bincount(block, minlength=8)
    assert sizes.max() - sizes.min() <= 1 and sizes.sum() == 80


@pytest.mark.parametrize("used", [[0, 0, 0, 0], [3, 2, 2, 2], [2, 3, 2, 3]])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 9, 40])
def test_all_blocks_get_as_many(used: list[int], count: int) -> None:
    """No warp gets two items, and no block has more than one item more than another."""
    warps = items.side_by_side(count, np.array(used), 16)
    assert len(set(warps.tolist())) == count
    now = np.array(used) + np.bincount(warps // 16, minlength=4)
    assert now.max() <= max(-(-(sum(used) + count) // 4), max(used))
    for block in range(4):
        mine = np.sort(warps[warps // 16 == block] % 16)
        assert mine.tolist() == list(range(used[block], now[block]))


def test_a_warp_has_neighbours() -> None:
    """Where warps change their components, and items have about equal work."""
    even = unit(64 * 4_700 + 3)
    even = replace(even, cost=80.0 + 0.1 * even.cost)
    plan = schedule.choose([even], 4, False)
    assert not plan.shape.holds
    lists = warp_items.distribute(plan, [even], [])
    assert (np.diff(lists.items[:, 1]) == WARP * plan.own[0]).all()
    sizes = np.diff(lists.offsets)
    assert len(sizes) == plan.warps and sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("drawn", [False, True])
def test_inputs_of_a_target_are_no_work_of_its_warp(drawn: bool) -> None:
    """All warps deliver spikes on a GPU, so neurons with many inputs are like others there."""
    few, many = (
        nd.Population("LeakyIAFExpCurrent", 320, name=name, **CELL) for name in ("few", "many")
    )
    links = [
        nd.Projection(source, target, nd.FixedInDegree(degree), receptor="exc", weight=1.0)
        for target, degree in ((few, 3), (many, 300))
        for source in (few, many)
    ]
    circuit = nd.Circuit([few, many], links)
    if not drawn:
        stored = [one.expanded() for one in circuit.connections]
        circuit = circuit.with_parts(circuit.groups, stored)
    on_gpu, on_cpu = (
        generate(compile_circuit(circuit, DT, target=target)).tasks[0].cost
        for target in (CUDA, CPU)
    )
    assert len(set(on_gpu.tolist())) == 1 and len(on_gpu) == len(on_cpu) == 40
    assert on_cpu[20:].min() > 1.2 * on_cpu[:20].max()


@pytest.mark.parametrize("near", [False, True])
def test_other_items_go_to_warps_without_components(
    near: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where neighbours share a warp or a block, too: warps are not numbered by turns then."""
    monkeypatch.setattr(Unit, "near", near)
    few = unit(WARP * 40)
    few = replace(few, cost=np.full_like(few.cost, 80.0))
    shape = replace(schedule.choose([few], 4, False).shape, threads=8 * WARP, holds=False)
    plan = schedule.LaunchPlan("grid", 8, shape, (1,))
    inputs = warp_items.pieces(warp_items.INJECT, 0, 4000, plan.warps)
    lists = warp_items.distribute(plan, [few], [inputs])
    kinds = [lists.items[a:b, 0] for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)]
    busy = sum(bool((what >= 0).any()) for what in kinds)
    assert 0 < busy < plan.warps and len(inputs) >= plan.warps - busy
    assert all(warp_items.INJECT in what for what in kinds if not (what >= 0).any())


def test_each_warp_delivers_once_in_a_window() -> None:
    """In a window of several steps; warps without components take the inputs."""
    few = unit(WARP * 40)
    shape = replace(schedule.choose([few], 4, False).shape, threads=8 * WARP, window=4)
    plan = schedule.LaunchPlan("grid", 8, shape, (1,))
    deliver = np.array(
        [(warp_items.DELIVER, i, plan.warps, 0) for i in range(plan.warps)], np.int32
    )
    sends = np.array([(warp_items.SEND, i, 24, 0) for i in range(plan.warps - 40)], np.int32)
    lists = warp_items.distribute(plan, [few], [deliver, sends])
    kinds = [lists.items[a:b, 0] for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)]
    assert all((what == warp_items.DELIVER).sum() == 1 for what in kinds)
    assert all((warp_items.SEND in what) == (not (what >= 0).any()) for what in kinds)


def test_nothing_at_all() -> None:
    """A circuit without a kernel has a launch all the same: for inputs and recordings."""
    plan = schedule.choose([], 132, True)
    assert plan.width == "block"
    lists = warp_items.distribute(plan, [], flat(OTHERS))
    assert done(lists.items) == wanted([], flat(OTHERS))
    assert len(warp_items.distribute(plan, [], []).items) == 0


@pytest.mark.parametrize("count", [1, 31, 128, 129, 5000, 100_003])
@pytest.mark.parametrize("warps", [4, 352, 4224])
def test_pieces(count: int, warps: int) -> None:
    """They cover all elements, begin at whole warps, and are no more than there are warps."""
    items = warp_items.pieces(warp_items.SAMPLE, 3, count, warps)
    assert done(items) == Counter({(warp_items.SAMPLE, 3, i): 1 for i in range(count)})
    assert (items[:, 1] % WARP == 0).all()
    assert len(items) <= warps


@pytest.mark.parametrize("executor", ["resident", "stepwise"])
@pytest.mark.parametrize("delivery", [[], [np.zeros((0, 4), np.int32)]])
def test_no_launch_without_work(executor: str, delivery: list[Items]) -> None:
    """Where nothing enters, is dealt out or leaves, no list but that of inputs may be empty."""
    units = [unit(500, 0), unit(90, 1)]
    plan = schedule.choose(units, 132, True)
    lists = EXECUTORS[executor].lists(plan, units, [[], delivery, [], [], []])
    assert all(len(one.items) for one in lists[executor == "stepwise" :])


@pytest.mark.parametrize("executor", ["resident", "stepwise"])
def test_lists_of_both_executors(executor: str) -> None:
    """Resident: one list. Stepwise: the first inputs alone, then each unit, then all the rest."""
    units = [unit(500, 0), unit(90, 1)]
    plan = schedule.choose(units, 132, True)
    lists = EXECUTORS[executor].lists(plan, units, OTHERS)
    if executor == "resident":
        assert len(lists) == 1
        assert done(lists[0].items) == wanted(units, flat(OTHERS))
        return
    first, *rest = lists
    assert done(first.items) == wanted([], OTHERS[0])
    assert sum((done(one.items) for one in rest), Counter()) == wanted(units, flat(OTHERS))
    assert [set(one.items[:, 0] >= 0) for one in rest] == [{True}, {True}, {False}]
    for one in lists:
        assert (np.diff(one.offsets) == 1).all()


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=9), st.integers(1, 3000))
def test_shares_of_warps(wanted: list[int], warps: int) -> None:
    """Each set has warps; a large set has half of them at least, and no warp of a small one."""
    found = shares_of(wanted, warps)
    large = {share for n, share in zip(wanted, found, strict=True) if n * SMALL > warps}
    assert len(large) <= 1
    for n, (first, number) in zip(wanted, found, strict=True):
        assert 0 <= first < first + number <= warps
        if (first, number) in large:
            assert first + number == warps and 2 * number >= warps
        else:
            assert number <= n and all(first + number <= begin for begin, _ in large)


def test_a_small_set_keeps_no_others_waiting() -> None:
    """Shares of a network with one large set, and of many small sets."""
    assert shares_of([3000, 32], 256) == [(32, 224), (0, 32)]
    assert shares_of([4, 4], 256) == [(0, 4), (4, 4)]
