"""Patches of columns for a GPU: their tables against all connections, their bits on the host."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from columnar import circuit, force
from device_code import check_no_spills, declared_bytes
from numpy.typing import NDArray
from test_host_threads import check

import neurodriver as nd
from neurodriver.backends.cuda import patches, schedule, warp_items
from neurodriver.backends.cuda.executors import EXECUTORS
from neurodriver.backends.cuda.items import WARP
from neurodriver.backends.cuda.spike_delivery import parts_of, plan_delivery
from neurodriver.circuit.drawn import Drawn
from neurodriver.circuits import optic_lobe
from neurodriver.codegen.generate import generate
from neurodriver.codegen.kernel import Kernel
from neurodriver.codegen.simt.device import Part, device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.edges import edges_of
from neurodriver.plan.program import Program
from neurodriver.plan.spikes import due
from neurodriver.plan.sums import patches as plans
from neurodriver.plan.sums.gather import Gather
from neurodriver.plan.target import CUDA

CELL: dict[str, Any] = {
    "resting_potential": -65, "reset_potential": -65, "threshold": -50, "time_constant": 10
}  # fmt: skip
WAYS = [(flat, dtype) for flat in (False, True) for dtype in ("float32", "float64")]


def compiled(one: nd.Circuit, dtype: str = "float32") -> Program:
    return compile_circuit(one, 1e-3, dtype, target=CUDA)


def table(plan: Gather, name: str) -> NDArray[np.int64]:
    return np.asarray(plan.arrays[name], np.int64)


def connections_of(plan: Gather, word: int) -> list[list[tuple[int, float]]]:
    """Return the elements and weights that each component reads by a plan, in order."""
    n = plan.limits
    cell = table(plan, "cell").reshape(n["patches"], n["targets"], 32 * n["own"])
    source = table(plan, "source").reshape(n["patches"], n["slots"])
    column = np.arange(32 * n["own"])
    place = column // n["wide"] * n["pitch"] + column % n["wide"]
    begin, delta = table(plan, "begin"), table(plan, "delta") // word
    weight = np.asarray(plan.arrays["weight"], np.float64)
    found: list[list[tuple[int, float]]] = [[] for _ in range(cell.max() + 1)]
    assert (np.sort(cell[cell >= 0]) == np.arange(len(found))).all()  # each component once
    for patch, target in np.ndindex(cell.shape[:2]):
        lists = slice(begin[target], begin[target + 1])
        assert begin[target] % 4 == 0
        read = source[patch][delta[lists] + place[:, None]]
        for own, elements in zip(cell[patch, target], read, strict=True):
            if own >= 0:
                pairs = zip(elements.tolist(), weight[lists].tolist(), strict=True)
                found[own] += [(e, w) for e, w in pairs if e >= 0]
    return found


@pytest.mark.parametrize(("flat", "dtype"), WAYS)
def test_tables_hold_all_connections_in_order(
    flat: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch)
    program = compiled(circuit(flat), dtype)
    patched = {key: g for key, g in program.gathers.items() if g.form == "patches"}
    assert {name for _, name in patched} == {"near", "plain", "far", "r"}
    for (number, name), plan in patched.items():
        edges = edges_of(program.layout, number, name, "r")
        weight = edges.data.get("weight", np.zeros(()))
        weights = np.broadcast_to(weight, edges.target.shape)
        want: list[list[tuple[int, float]]] = [
            [] for _ in range(program.circuit.groups[number].count)
        ]
        both = zip(edges.element.tolist(), weights.tolist(), strict=True)
        for own, pair in zip(edges.target.tolist(), both, strict=True):
            want[own].append(pair)
        found = connections_of(plan, np.dtype(dtype).itemsize)
        if name == "plain":
            found = [[(element, 0.0) for element, _ in some] for some in found]
        assert found == want and plan.edges == len(edges.target) > 0, name


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize(("flat", "dtype"), WAYS)
def test_bits_of_the_cpu(flat: bool, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models, several accesses, delays, masks, coarse rows, cells without any input."""
    force(monkeypatch)
    assert {"patches", "by_place"} <= check(circuit(flat), dtype, 5)


@pytest.mark.usefixtures("quick_kernels")
def test_a_block_with_one_patch_keeps_where_its_values_are(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read from shared memory; the bits are those of the CPU."""
    force(monkeypatch)
    monkeypatch.setattr(plans, "OWN", (4,))
    one = circuit(flat=True)
    units = generate(compiled(one, dtype)).tasks
    assert all(u.patches and u.patches.limits["patches"] == 1 for u in units)
    shapes = [patches.with_patches(Shape(WARP), [unit], 1) for unit in units]
    assert all(0 < shape.sources <= patches.SHARED - shape.patches for shape in shapes)
    assert "patches" in check(one, dtype, 5)
    many = patches.with_patches(Shape(WARP), generate(compiled(circuit(), dtype)).tasks, 1)
    assert many.patches and not many.sources


def test_a_warp_has_its_items_stage_by_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patches of a later stage, too: a warp does not go back to an earlier one."""
    force(monkeypatch)
    units = generate(compiled(circuit())).tasks
    assert len(units) > 1 and all(unit.patches for unit in units)
    units = [replace(unit, stage=len(units) - 1 - i) for i, unit in enumerate(units)]
    plan = schedule.choose(units, 4, False)
    lists = warp_items.distribute(plan, units, [])
    stages = np.array([unit.stage for unit in units])[lists.items[:, 0]]
    assert len(set(stages.tolist())) == len(units)
    for begin, end in pairwise(lists.offsets):
        assert (np.diff(stages[begin:end]) >= 0).all()


def test_the_optic_lobe_from_its_rules(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    force(monkeypatch)
    one = optic_lobe.from_rules(4, stored=False)
    assert "patches" in check(one, dtype, 20)
    assert not any("_columns" in vars(links) for links in one.connections)


def test_the_large_optic_lobe_takes_patches() -> None:
    """About as many patches as a GPU has multiprocessors, which fit into shared memory."""
    for extent, form in ((60, "patches"), (15, "patches"), (8, "by_place")):
        plan = compiled(optic_lobe.from_rules(extent, stored=False)).gathers[0, "r"]
        assert plan.form == form
        assert extent < 60 or 120 < plan.limits["patches"] <= 132


def test_patches_are_chosen_where_they_are_faster() -> None:
    """Nobody says whether connections are stored; spikes elsewhere keep them stored."""
    lobe = optic_lobe.from_rules(24)
    every = [one.not_stored() for one in lobe.connections if isinstance(one, Drawn)]
    plans = [compiled(c).gathers[0, "r"] for c in (lobe, lobe.with_parts(lobe.groups, every))]
    assert [plan.form for plan in plans] == ["patches", "patches"]
    tables = [dict(plan.arrays) for plan in plans]
    assert tables[0].keys() == tables[1].keys()
    assert all((tables[0][name] == tables[1][name]).all() for name in tables[0])
    assert compiled(optic_lobe.from_rules(15)).gathers[0, "r"].form == "lattice"
    assert compile_circuit(lobe, 1e-3, "float32").gathers[0, "r"].form != "patches"  # on a CPU
    spiking = nd.Population("LeakyIAFDelta", 3, name="s", **CELL)
    mixed = lobe.with_parts([*lobe.groups, *nd.Circuit([spiking]).groups], lobe.connections)
    assert compiled(mixed).gathers[0, "r"].form == "lattice"


def uneven() -> dict[str, Any]:
    return {"x": nd.Axis.at([0.0, 1.0, 2.5, 4.0, 5.7, 9.0])}


@pytest.mark.parametrize(
    ("axes", "rule"),
    [({"x": nd.Axis.span(40, 0, 40, period=40)}, nd.Within(2.2)),
     (uneven(), nd.Near(x=3)),
     ({"z": 2, "y": nd.Axis.span(5, 0, 5), "x": nd.Axis.span(9, 0, 9)}, nd.Within(2.2))],
)  # fmt: skip
def test_where_patches_do_not_fit(
    axes: dict[str, Any], rule: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed and irregular axes, three axes: as without patches."""
    force(monkeypatch)
    cells = nd.Population("GradedNeuron", name="a", axes=axes, time_constant=5.0)
    one = nd.Circuit([cells], [nd.Projection(cells, cells, rule, stored=False)])
    assert compiled(one).gathers[0, "r"].form == "by_place"


@pytest.mark.parametrize("executor", ["resident", "stepwise"])
@pytest.mark.parametrize("blocks", [1, 5, 132])
def test_which_warp_has_what(
    blocks: int, executor: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All warps of a block copy a patch together; then each of its populations has one of them."""
    force(monkeypatch)
    program = compiled(circuit(scale=3), dtype)
    units, word = generate(program).tasks, program.dtype.itemsize
    plan = schedule.finished(schedule.choose(units, blocks, True, word), units, word)
    assert plan.blocks == blocks and not plan.shape.holds
    assert plan.shape.shared(word, False) <= patches.SHARED
    assert (plan.shape.cells > 0) == (blocks > 1)
    plans = [unit.patches for unit in units if unit.patches]
    assert len(plans) == len(units)
    others = [warp_items.pieces(warp_items.SAMPLE, 0, 1000, plan.warps)]
    lists = EXECUTORS[executor].lists(plan, units, [[], others])
    every = [one for one in lists if (one.items[:, 0] >= 0).any()]
    assert len(every) == (1 if executor == "resident" else len(units))
    done, places = [], []
    for launch in every:
        warps = [launch.items[a:b] for a, b in pairwise(launch.offsets.tolist())]
        each = plan.shape.threads // 32
        assert len(warps) == plan.warps
        for first in range(0, plan.warps, each):
            block = warps[first : first + each]
            staged = [tuple(i[:2].tolist() for i in items if i[3] < 0) for items in block]
            assert len({str(own) for own in staged}) == 1  # equally many barriers, in one order
            for items in block:
                patch = -1
                for what, begin, end, which in items[items[:, 0] >= 0].tolist():
                    n = plans[what].limits
                    if which < 0:
                        patch = begin
                        continue
                    assert begin == (patch * n["targets"] + end) * 32 * n["own"]
                    done.append((what, patch, end))
                    places.append((first, which))
    want = []
    for number, one in enumerate(plans):
        n = one.limits
        shape = n["patches"], n["targets"], 32 * n["own"]
        there = (table(one, "cell").reshape(shape) >= 0).any(axis=2)
        want += [(number, int(p), int(t)) for p, t in np.argwhere(there)]
    assert sorted(done) == want
    kept = [place for _, place in places]
    if plan.shape.cells:  # each has memory of its own
        assert len({*places}) == len(places) and min(kept) >= plan.shape.patches
        assert max(kept) < plan.shape.patches + plan.shape.cells
    else:
        assert not any(kept)


@pytest.mark.parametrize(("timers", "dtype"), [(False, "float64"), (True, "float32")])
def test_registers_suffice(timers: bool, dtype: str) -> None:
    program = compiled(optic_lobe.from_rules(60, stored=False), dtype)
    units, word = generate(program).tasks, program.dtype.itemsize
    plan = schedule.finished(schedule.choose(units, 132, True, word), units, word)
    parts = [Part(unit.kernel, own) for unit, own in zip(units, plan.own, strict=True)]
    check_no_spills(device_text(parts, dtype, replace(plan.shape, timers=timers)))


class NothingKnown:
    """The tables of a program whose integers do not become part of the text."""

    @staticmethod
    def known(kernel: Kernel) -> tuple[None, ...]:
        """Return them."""
        return (None,) * len(kernel.integers)


@pytest.mark.parametrize(("cells", "dtype"), [(700, "float32"), (200_000, "float64")])
def test_shared_memory_suffices_beside_spikes_that_are_due(
    cells: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the text declares and what a launch asks for fit into a block, with all that fits."""
    force(monkeypatch)
    monkeypatch.setattr(due, "BARRIER", -1.0)
    spiking = nd.Population("LeakyIAFDelta", cells, name="s", **CELL)
    late: Any = {"weight": nd.Normal(0, 1), "delay": nd.Uniform(1e-3, 9e-3)}
    link = nd.Projection(spiking, spiking, nd.FixedInDegree(9), **late)
    program = compiled(circuit(beside=([spiking], [link])), dtype)
    made, word = generate(program), program.dtype.itemsize
    delivery = plan_delivery(program, stepwise=False)
    assert delivery.due and any(unit.patches for unit in made.tasks)
    plan = schedule.choose(made.tasks, 132, True, word, delivery.load)
    plan = schedule.finished(replace(plan, shape=delivery.shaped(plan.shape)), made.tasks, word)
    shape = plan.shape
    text = device_text(parts_of(made, plan, NothingKnown()), dtype, shape)
    assert "#define ND_QUEUES 1" in text
    static = declared_bytes(text)
    assert static > 32 * shape.threads
    assert static <= patches.declared_bytes(shape, made.tasks)
    records = any(unit.kernel.record for unit in made.tasks)
    assert static + shape.shared(word, records) <= 227 << 10
    monkeypatch.setattr(patches, "SHARED", shape.patches + shape.cells + static // 2)
    assert not patches.with_patches(shape, made.tasks, plan.blocks).cells
