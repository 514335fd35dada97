"""Two ranks, each with its LPU on a GPU, give the bits of one GPU and of the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch import mpiexec


@pytest.mark.parametrize("gpus", [1, pytest.param(2, marks=pytest.mark.needs("two GPUs"))])
def test_same_bits(gpus: int) -> None:
    """Both ranks on one GPU, and each on its own."""
    done = mpiexec(2, [str(Path(__file__).parent / "two_gpus.py"), str(gpus)], 500)
    for rank in range(2):
        assert f"rank {rank}: " in done.stdout
    assert done.stdout.count("columns are the same") == 2
