"""The tests in the folders 2 and 4, under so many ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch import mpiexec


@pytest.mark.parametrize("ranks", [2, 4])
def test_under_mpiexec(ranks: int) -> None:
    """Every test of the folder passes on every rank."""
    folder = Path(__file__).parent / str(ranks)
    found = sorted(folder.glob("test_*.py"))
    assert found
    done = mpiexec(
        ranks, ["-m", "pytest", "-x", "--color=no", "-p", "no:cacheprovider", str(folder)], 600
    )
    assert done.stdout.count(" passed") == ranks, done.stdout + done.stderr
