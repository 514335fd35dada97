"""Reductions other than the sum on a GPU: the bits of the CPU."""

from __future__ import annotations

import pytest
from reductions import REDUCTIONS, drawn

import neurodriver as nd


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_of_the_cpu(dtype: str, executor: str) -> None:
    """Ties, targets without connections, one with a long tail."""
    circuit, _ = drawn()
    found = []
    for more in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        with nd.LPU(circuit, dt=1e-3, dtype=dtype, **more) as lpu:
            lpu.advance(2)
            cells = lpu["Reduced"]
            found.append([cells.get(f"{h}_{n}").copy() for h in "rw" for n in REDUCTIONS])
    for mine, other in zip(*found, strict=True):
        assert mine.tobytes() == other.tobytes()
