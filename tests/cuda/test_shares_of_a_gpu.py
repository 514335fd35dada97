"""Kernels of two to eight parts exchange rows on one GPU, each on a share of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("parts", "fuzz"), [(2, 0), (3, 1), (4, 0), (8, 2)])
def test_bits_of_the_whole(parts: int, fuzz: int) -> None:
    """Spikes and values, delivered ahead and when due, set within a run; warps that dawdle."""
    program = Path(__file__).parent / "shares_of_a_gpu.py"
    words = [sys.executable, str(program), str(parts)]
    own = {**os.environ, "NEURODRIVER_FUZZ": str(fuzz)}
    done = subprocess.run(words, capture_output=True, text=True, env=own, timeout=300, check=False)
    assert f"10 comparisons of {parts} parts: all bits are the same" in done.stdout, done.stderr
    assert not done.returncode
