"""Kernels of two to eight parts exchange rows on one GPU, each on a share of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("parts", [2, 3, 4, 8])
def test_bits_of_the_whole(parts: int) -> None:
    """Spikes and values, delivered ahead and when due, set within and between runs."""
    program = Path(__file__).parent / "shares_of_a_gpu.py"
    words = [sys.executable, str(program), str(parts)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert f"8 circuits in {parts} parts: all bits are the same" in done.stdout, done.stderr
