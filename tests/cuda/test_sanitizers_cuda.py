"""``scripts/sanitize --gpu`` finds faults of code on a GPU, and none in a circuit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLANTED = ROOT / "tests/reliability/planted_gpu.py"

SAID = {
    "memcheck": ("nd_past", "Invalid __global__ write"),
    "initcheck": ("nd_unwritten", "Uninitialized __global__ memory read"),
    "racecheck": ("nd_race", "hazard"),
    "synccheck": ("nd_apart", "Divergent thread(s)"),
}
"""Tool -> kernel of `planted_gpu.py`, and what is reported of it."""


def sanitized(tool: str, *words: str) -> subprocess.CompletedProcess[str]:
    if not shutil.which("compute-sanitizer"):
        pytest.skip("compute-sanitizer is not installed")
    return subprocess.run(
        [ROOT / "scripts/sanitize", "--gpu", "--only", tool, "--dtype", "float32", *words],
        env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("tool", SAID)
def test_planted_faults_are_found(tool: str) -> None:
    """The fault of each tool is reported with its kernel."""
    kernel, said = SAID[tool]
    done = sanitized(tool, "--program", str(PLANTED), kernel)
    assert done.returncode == 1, done.stdout + done.stderr
    assert kernel in done.stdout and said in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("tool", [one for one in SAID if one != "racecheck"])
def test_a_circuit_has_none(tool: str) -> None:
    """Nothing is reported of a network of spiking neurons with delays, with both executors."""
    done = sanitized(tool, "spiking, delays of 1 to 20 steps, not merged")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tool}: 0 faults" in done.stdout
