"""Connections drawn in the memory of a GPU: the bits of the host's drawing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn_circuits import DT, LAWS, RULES, circuit, link

from neurodriver import Circuit, FixedOutDegree, FixedTotal, Projection
from neurodriver.backends.cuda.backend import CUDABackend
from neurodriver.backends.cuda.drawing import GPUDrawer
from neurodriver.circuit.share import shares
from neurodriver.native.buffers import DrawnArray
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA


def same_bits(given: Circuit, dtype: str = "float32") -> None:
    """Compare what lies on the device with what the host draws."""
    drawer = GPUDrawer(lambda: 0, many=0)
    got = compile_circuit(given, DT, dtype, target=CUDA, drawer=drawer)
    want = compile_circuit(given, DT, dtype, target=CUDA)
    drawn = [key for key, one in got.arrays.items() if isinstance(one.value, DrawnArray)]
    assert drawn
    for key, one in want.arrays.items():
        if key not in drawn:
            np.testing.assert_array_equal(one.initial(), got.arrays[key].initial(), str(key))
    backend = CUDABackend(got, 0)
    try:
        for key in drawn:
            there = backend.array(key)
            np.testing.assert_array_equal(want.arrays[key].initial(), there, str(key))
    finally:
        backend.close()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules_on_a_gpu(rule: Any) -> None:
    """Every rule."""
    same_bits(circuit(link((0, 83), (0, 83), rule)))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_parts_on_a_gpu(rule: Any) -> None:
    """Each part draws its share."""
    given = circuit(link((0, 83), (0, 83), rule))
    of = np.random.default_rng(3).integers(0, 2, given.count)
    for share in shares(given, of, sends=True):
        same_bits(share.circuit)


@pytest.mark.parametrize("laws", LAWS, ids=str)
def test_laws_on_a_gpu(laws: Any) -> None:
    """Every law of weights and delays."""
    same_bits(circuit(link((0, 83), (0, 50), FixedTotal(900), *laws)), "float64")


def test_many_rows_on_a_gpu() -> None:
    """Thousands of rows at once, short ones and long ones, from several projections."""
    links: list[Projection] = [
        link((0, 5000), (0, 2000), FixedTotal(700_000)),
        link((0, 5000), (2000, 9000), RULES[5]),
        link((5000, 9000), (0, 9000), RULES[3]),
        link((9000, 9003), (0, 9000), FixedOutDegree(30_000)),
    ]
    given = circuit(*links, sizes=(9000, 50))
    same_bits(given)
    of = np.random.default_rng(4).integers(0, 3, given.count)
    same_bits(next(shares(given, of, [1], sends=True)).circuit)
