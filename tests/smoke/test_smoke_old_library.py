"""Smoke test: a script of the old library runs unchanged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
from launch import ROOT, environment

SCRIPT = ROOT / "examples" / "old_style" / "two_lpus.py"


def test_a_script_of_two_lpus(tmp_path: Path) -> None:
    """Imports of `neurokernel`, its Manager, LPU, processors, ports and patterns."""
    words = [sys.executable, "-m", "neurodriver.compat", str(SCRIPT), "-s", "400"]
    words += ["-o", str(tmp_path / "run")]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" spikes") == 2
    for name in ("left", "right"):
        with h5py.File(tmp_path / f"run_{name}.h5") as file:
            assert file["V/data"].shape[0] == 400 and np.ptp(file["V/data"][()]) > 1
