"""``scripts/sanitize`` finds faults of compiled code."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from neurodriver.native.headers import header

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


MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at nd_advance+0x4190
=========     by thread (352,0,0) in block (0,0,0)
=========     Access at 0x7f00 is out of bounds
========= Invalid __global__ read of size 4 bytes
=========     at nd_advance+0x4210
========= ERROR SUMMARY: 2 errors
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed\n"


def sanitizers() -> Any:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return import_module("sanitizers")
    finally:
        sys.path.pop(0)


def test_reports_of_a_gpu(tmp_path: Path) -> None:
    """Each report of compute-sanitizer is read; those at one function are one fault."""
    (tmp_path / "memcheck.1").write_text(MEMCHECK)
    (tmp_path / "racecheck.2").write_text(CLEAN)
    found = list(sanitizers().reports(tmp_path))
    assert len(found) == 2 and "thread (352,0,0)" in found[0]
    kinds = {sanitizers().kind_of(one) for one in found}
    assert kinds == {"Invalid __global__ read of size # bytes, at nd_advance+#"}


def test_the_barrier_is_found() -> None:
    """The text whose barrier is compiled in another way for a GPU's tools is there once."""
    text = header("codegen/simt/device.cuh")
    assert text.count(sanitizers().BARRIER) == 1
