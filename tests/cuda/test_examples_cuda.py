"""Every example records the same bits on the CPU and with both executors of a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from example_programs import BATCHES, CIRCUIT, CIRCUITS, EXAMPLES, OLD, PROGRAMS, ROOT


def command(name: str) -> list[str]:
    """Return the arguments that run an example."""
    found = EXAMPLES / name
    file = str(found if found.exists() else CIRCUITS / name)
    given = PROGRAMS[name]
    if given[:2] == OLD:
        return [*OLD, file, *given[2:]]
    if given[:3] == CIRCUIT:
        return [*CIRCUIT, file, "-o", "out/recorded.h5", *given[3:]]
    return [file, *given]


def recorded(name: str, folder: Path, backend: str, executor: str) -> list[dict[str, Any]]:
    """Run an example in a folder of its own; return what its recorders took."""
    (folder / "out").mkdir()
    (folder / "data").symlink_to(ROOT / "data")
    program = str(ROOT / "tests" / "recorded_digests.py")
    own = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "NEURODRIVER_BACKEND": backend,
        "NEURODRIVER_EXECUTOR": executor,
    }
    done = subprocess.run(
        [sys.executable, program, "digests.jsonl", *command(name)],
        capture_output=True, text=True, cwd=folder, timeout=300, env=own,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (folder / "digests.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@cache
def on_cpu(name: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return recorded(name, Path(folder), "cpu", "resident")


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_example(name: str, executor: str, tmp_path: Path) -> None:
    """All that is recorded, rows and events."""
    if name in BATCHES and executor == "stepwise":
        pytest.skip("a batch runs in one launch")
    cpu = on_cpu(name)
    assert any(one["moves"] for one in cpu)
    assert recorded(name, tmp_path, "cuda", executor) == cpu
