"""``scripts/sanitize`` finds faults of compiled code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLANTED = Path(__file__).with_name("planted.py")

SAID = {
    "memory": ("use-after-poison", "nd_past", "signed integer overflow"),
    "thread": ("data race", "nd_race"),
}
"""What is reported of `planted.py`."""


@pytest.mark.parametrize("kind", SAID)
def test_planted_faults_are_found(kind: str, tmp_path: Path) -> None:
    """A read behind an array, an overflow, and a race are reported with their functions."""
    done = subprocess.run(
        [ROOT / "scripts/sanitize", "--only", kind, "--program", PLANTED],
        env={**os.environ, "PYTHON": sys.executable, "NEURODRIVER_SANITIZE_CACHE": str(tmp_path)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if "install the sanitizers" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 1, done.stdout + done.stderr
    for text in SAID[kind]:
        assert text in done.stdout, done.stdout + done.stderr
    assert f"{kind}: {len(SAID[kind]) - 1} faults" in done.stdout
