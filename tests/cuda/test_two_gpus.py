"""Ranks with LPUs or parts of a circuit on GPUs give the bits of one GPU and of the CPU."""

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


@pytest.mark.needs("two GPUs")
@pytest.mark.parametrize("ranks", [2, 4])
def test_parts_of_ranks_on_two_gpus(ranks: int) -> None:
    """Ranks of a host take the GPUs in turn: kernels of two exchange rows, four share the GPUs."""
    program = Path(__file__).parent / "ranks_of_parts.py"
    done = mpiexec(ranks, [str(program)], 300)
    for rank in range(ranks):
        said = f"rank {rank} of {ranks}: GPUs [{rank % 2}], all bits are the same"
        assert said in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("gpus", [1, pytest.param(2, marks=pytest.mark.needs("two GPUs"))])
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_that_learn(ranks: int, gpus: int) -> None:
    """GPUs add up the changes of weights: ranks share a GPU, or take two in turn."""
    program = Path(__file__).parent / "ranks_that_learn.py"
    done = mpiexec(ranks, [str(program), str(gpus)], 300)
    for rank in range(ranks):
        said = f"rank {rank} of {ranks}: 2 trials, all bits are the same"
        assert said in done.stdout, done.stdout + done.stderr
