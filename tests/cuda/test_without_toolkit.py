"""A GPU needs NVIDIA's driver and wheels: no toolkit, and PyCUDA for users' own classes alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from launch import environment

PROGRAM = Path(__file__).with_name("without_toolkit.py")


def test_circuits_run() -> None:
    """Spikes, drawn connections and learning, with both executors: the CPU's bits."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "run"],
        capture_output=True, text=True, timeout=300, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("spiking\ndrawn\nlearning\nNVRTC ")
