"""A script of the old library with a Manager: alone, and on rank 0 of two."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
from launch import ROOT, environment, mpiexec

SCRIPT = ROOT / "examples" / "old_style" / "two_lpus.py"


def test_two_lpus(tmp_path: Path) -> None:
    """The files hold the same bits, and the neurons fire and reach each other."""
    arguments = ["-m", "neurodriver.compat", str(SCRIPT), "-s", "2000", "-o"]
    command = [sys.executable, *arguments, str(tmp_path / "alone")]
    alone = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
    assert alone.returncode == 0, alone.stderr
    both = mpiexec(2, [*arguments, str(tmp_path / "both")], 120)
    assert "spikes" in alone.stdout
    assert both.stdout.count(" spikes") == 2  # rank 0 alone runs the script
    for name in ("left", "right"):
        with (
            h5py.File(tmp_path / f"alone_{name}.h5") as one,
            h5py.File(tmp_path / f"both_{name}.h5") as other,
        ):
            potential = one["V/data"][()]
            np.testing.assert_array_equal(potential, other["V/data"][()])
            times = one["spike_state/data/time"][()]
            np.testing.assert_array_equal(times, other["spike_state/data/time"][()])
            assert len(potential) == 2000
            assert len(times) >= 2
            # after its own current the neuron is still driven by the other one
            assert potential[1520:1600].max() > -70.0
