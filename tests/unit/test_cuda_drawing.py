"""Connections drawn by the text of a GPU: the bits of the host's drawing, array by array."""

from __future__ import annotations

from queue import Queue
from typing import Any

import numpy as np
import pytest
from device_code import check_text
from drawing_on_cpu import HostPlace
from drawn_circuits import DT, LAWS, RULES, SPIKE, WEIGHT, circuit, link

from neurodriver import (
    Circuit,
    FixedInDegree,
    FixedOutDegree,
    FixedProbability,
    FixedTotal,
    Normal,
    OneToOne,
)
from neurodriver.backends.cuda import drawing
from neurodriver.circuit.share import shares
from neurodriver.native.buffers import DrawnArray
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.program import Program
from neurodriver.plan.spikes import due
from neurodriver.plan.target import CUDA


def both(given: Circuit, dtype: str = "float32") -> tuple[Program, Program, HostPlace]:
    """Return the programs with connections drawn by the host and by the text of a GPU."""
    place = HostPlace()
    drawer = drawing.GPUDrawer(lambda: 0, many=0, place=place)
    there = compile_circuit(given, DT, dtype, target=CUDA, drawer=drawer)
    return compile_circuit(given, DT, dtype, target=CUDA), there, place


def check(given: Circuit, dtype: str = "float32") -> int:
    """Compare all rows of both programs; return how many are drawn where they lie."""
    want, got, _ = both(given, dtype)
    assert list(want.arrays) == list(got.arrays) and want.window == got.window
    lie = {}
    for key, one in got.arrays.items():
        if isinstance(one.value, DrawnArray):
            lie[key] = np.full(one.size, -1, one.dtype)
            one.value.there(lie[key].ctypes.data)
    for key, one in want.arrays.items():
        other = got.arrays[key]
        assert (one.dtype, one.shape, one.role) == (other.dtype, other.shape, other.role), key
        np.testing.assert_array_equal(one.initial(), other.initial(), str(key))
        if key in lie:
            np.testing.assert_array_equal(one.initial(), lie[key], str(key))
    return len(lie)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules(rule: Any) -> None:
    """Every rule, with targets in one group, and with ends that span groups."""
    assert check(circuit(link((0, 83), (0, 83), rule))) == 2
    span = (20, 103) if isinstance(rule, OneToOne) else (60, 130)
    across = link((30, 113), span, rule)
    if not (isinstance(rule, FixedOutDegree) and rule.k > 69):
        assert check(circuit(across)) == 4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("laws", LAWS, ids=str)
def test_laws(laws: tuple[Any, Any], dtype: str) -> None:
    """Every law of weights and delays; constant weights are stored once."""
    links = link((0, 83), (0, 50), FixedTotal(900), *laws), link((83, 133), (0, 83), RULES[3])
    one = check(circuit(links[0]), dtype)
    assert one == (1 if isinstance(laws[0], float) else 2)
    check(circuit(*links), dtype)


def test_several_projections_of_a_source() -> None:
    """Rows of a source go on from projection to projection; units differ between targets."""
    rules = FixedTotal(700), FixedTotal(300), FixedInDegree(11), FixedProbability(0.5)
    targets = (0, 20), (20, 40), (40, 83), (83, 133)
    links = [
        link(source, target, rule, weight)
        for source, weight in (((0, 60), WEIGHT), ((60, 83), Normal(-9.0, 0.9, high=0.0)))
        for target, rule in zip(targets, rules, strict=True)
    ]
    assert check(circuit(*links), "float64") == 4
    alike = [link((0, 60), (0, 83), FixedTotal(999), 0.5), link((60, 83), (0, 83), RULES[0], -2.0)]
    assert check(circuit(*alike)) == 1  # a weight of each source is stored once


def test_rows_of_all_lengths() -> None:
    """A warp sorts them in registers, or by buckets in shared memory."""
    lengths = (20, 64, 100, 256, 450, 1000, 1500)
    links = [link((3 * i, 3 * i + 2), (0, 83), FixedOutDegree(n)) for i, n in enumerate(lengths)]
    assert check(circuit(*links)) == 2


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_parts(rule: Any) -> None:
    """Each part draws what leads to its own targets, from its own sources and from imports."""
    span = (20, 103) if isinstance(rule, OneToOne) else (60, 130)
    many = isinstance(rule, FixedOutDegree) and rule.k > 69
    whole = circuit(link((0, 83), (0, 83), rule), *(() if many else [link((30, 113), span, rule)]))
    number = np.arange(whole.count)
    for of in (np.random.default_rng(2).integers(0, 2, whole.count), number * 3 // whole.count):
        drawn = [check(one.circuit) for one in shares(whole, of, sends=True)]
        assert len(drawn) > of.max() and sum(drawn) >= 4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("laws", LAWS, ids=str)
def test_laws_in_parts(laws: tuple[Any, Any], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every law, also where spikes are delivered when they are due."""
    whole = circuit(link((0, 83), (0, 50), FixedTotal(2900), *laws))
    of = np.random.default_rng(5).integers(0, 2, whole.count)
    for barrier in (due.BARRIER, -1.0):
        monkeypatch.setattr(due, "BARRIER", barrier)
        for one in shares(whole, of, sends=True):
            assert check(one.circuit, dtype) >= 1


def test_what_the_host_draws() -> None:
    """Different partners, long rows and targets out of order; the plan says why."""
    cases = {
        "different partners": [link((0, 83), (0, 83), FixedInDegree(5, multapses=False))],
        "a source has 39,000": [link((0, 1), (0, 83), FixedOutDegree(39_000))],
        "do not ascend": [link((0, 83), (0, 60), RULES[0]), link((0, 83), (20, 83), RULES[0])],
    }
    for why, links in cases.items():
        want, got, place = both(circuit(*links))
        assert why in got.gathers[0, SPIKE].note and not place.started
        for key, one in want.arrays.items():
            np.testing.assert_array_equal(one.initial(), got.arrays[key].initial())


def test_few_are_drawn_by_the_host() -> None:
    """The GPU is not opened for them."""

    def closed() -> int:
        raise AssertionError

    given = circuit(link((0, 83), (0, 83), RULES[0]))
    made = compile_circuit(given, DT, target=CUDA, drawer=drawing.GPUDrawer(closed))
    assert "they are few" in made.gathers[0, SPIKE].note


def test_the_texts_are_compiled_while_a_circuit_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they are needed."""
    asked: Queue[str] = Queue()
    monkeypatch.setattr(drawing, "architecture", lambda number: f"sm_{number}")
    monkeypatch.setattr(drawing, "compile_cubin", lambda text, arch: asked.put(text + arch))
    for many, size in ((901, 0), (900, 2)):
        monkeypatch.setattr(drawing, "MANY", many)
        drawing.begin_compiling(lambda: 90, circuit(link((0, 83), (0, 83), FixedTotal(900))))
        found = {asked.get(timeout=9) for _ in range(size)}
        assert found == {drawing.text(one) + "sm_90" for one in drawing.KERNELS[:size]}
        assert asked.empty()


def test_sums_in_doubt_are_drawn_in_the_order_of_the_sources() -> None:
    """Where another order of the sum of weights might give another unit."""
    given = circuit(link((0, 83), (0, 83), FixedTotal(4000)))
    place = HostPlace()
    drawer = drawing.GPUDrawer(lambda: 0, many=0, place=place)
    survey = drawer.survey

    def doubtful(asked: Any) -> Any:
        found = survey(asked)
        assert found is not None
        found.error[:] = 2.0**40
        return found

    drawer.survey = doubtful  # type: ignore[method-assign]
    got = compile_circuit(given, DT, target=CUDA, drawer=drawer)
    for key, one in compile_circuit(given, DT, target=CUDA).arrays.items():
        np.testing.assert_array_equal(one.initial(), got.arrays[key].initial())


@pytest.mark.parametrize("kernels", drawing.KERNELS)
def test_texts_compile(kernels: str) -> None:
    """For a GPU, without a warning."""
    check_text(drawing.text(kernels))
