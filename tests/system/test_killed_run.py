"""``neurodriver run`` killed at random moments leaves no file or a readable one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
from launch import start_in_foreground

ROOT = Path(__file__).parents[2]
CIRCUIT = ROOT / "data" / "circuits" / "one_neuron.gexf"
KILLS = 5


def test_killed_run_leaves_a_readable_file(tmp_path: Path) -> None:
    """Rows up to a second before the kill are there, and they are right."""
    rng = random.Random(4)
    source = tmp_path / "current.h5"
    with h5py.File(source, "w") as file:
        file["I/uids"] = np.array([b"neuron"])
        file["I/data"] = np.full((1, 1), 10.0)
    whole = None
    read = 0
    for attempt in range(KILLS):
        output = tmp_path / f"out{attempt}.h5"
        command = [sys.executable, "-m", "neurodriver", "run", str(CIRCUIT), "--dt", "1e-4",
                   "--duration", "1000", "--input", str(source), "--input-mode", "repeat",
                   "-o", str(output)]  # fmt: skip
        process = start_in_foreground(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not output.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.6))
        process.send_signal(signal.SIGKILL)
        process.wait()
        with h5py.File(output, "r") as file:
            rows = int(file["V/valid_rows"][()])
            data = file["V/data"][:rows, 0]
            events = int(file["spike_state/valid_events"][()])
            spikes = file["spike_state/data/time"][:events]
        if whole is None or len(data) > len(whole):
            whole, data = data, data if whole is None else whole
        assert np.array_equal(whole[: len(data)], data)
        read += rows > 1000 and len(spikes) > 0
    assert read >= KILLS // 2
    assert whole is not None and np.ptp(whole) > 1.0
