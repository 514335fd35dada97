"""Two ranks, each with its LPU on a GPU, give the bits of one GPU and of the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch import mpiexec


def number_of_gpus() -> int:
    """Return how many GPUs there are; skip the test where PyCUDA cannot tell."""
    cuda = pytest.importorskip("pycuda.driver", reason="PyCUDA is not installed")
    try:
        cuda.init()
    except cuda.Error as error:
        pytest.skip(f"no GPU: {error}")
    return int(cuda.Device.count())


@pytest.mark.parametrize("gpus", [1, 2])
def test_same_bits(gpus: int) -> None:
    """Both ranks on one GPU, and each on its own."""
    found = number_of_gpus()
    if found < gpus:
        pytest.skip(f"needs {gpus} GPUs, this machine has {found}")
    done = mpiexec(2, [str(Path(__file__).parent / "two_gpus.py"), str(gpus)], 500)
    for rank in range(2):
        assert f"rank {rank}: " in done.stdout
    assert done.stdout.count("columns are the same") == 2
