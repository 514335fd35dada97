"""Nothing grows; a small part of ``growth.py``."""

from __future__ import annotations

import subprocess
import sys
from mmap import mmap
from pathlib import Path

import growth
import pytest


@pytest.mark.parametrize(("kind", "count"), [("steps", 20_000), ("lpus", 20)])
def test_nothing_grows(kind: str, count: int) -> None:
    """Memory, descriptors, threads and temporary files of a process stay as they are."""
    ran = subprocess.run(
        [sys.executable, growth.__file__, kind, str(count)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.endswith(f"{count} {kind}: nothing has grown\n")


def test_what_grows_is_found(tmp_path: Path) -> None:
    """A descriptor, a file and memory that are kept are named."""
    before = growth.held(tmp_path)
    with mmap(-1, 4 * growth.MORE) as kept, open(tmp_path / "kept", "wb"):
        kept.write(bytes(4 * growth.MORE))  # pages of its own, not some that had been freed
        after = growth.held(tmp_path)
    said = growth.grown([before, before, before, after])
    assert [one.split(":")[0] for one in said] == ["memory", "descriptors", "files"]
