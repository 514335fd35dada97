"""The generic circuit: spiking and graded neurons, both kinds of synapses, input from a file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import h5py
import numpy as np

import neurodriver as nd
from neurodriver.circuits import generic

from .measure import median
from .table import Row, StepTime, Table, attempt, bytes_of, one_run

DT = 1e-4
SUBSTEPS = 10
"""Of a MorrisLecar neuron."""

WARM, STEPS = 2_000, 8_000
"""Steps before the timing, and of one timed run."""

UPSTREAM = "NeuroDriver 0.3.2 on one H200: {} us"


def table(table: Table) -> list[Row]:
    """Return the rows without and with V and spikes of all neurons into a file."""
    sizes = {"spiking": 203, "synapses": 40_479}
    made = generic.circuit(20, 20, 20) if table.small else generic.circuit(**sizes)
    steps = STEPS if table.backend == "cuda" else STEPS // 8
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "current.h5")
        uids, values = generic.current(made, DT, WARM + (table.rounds + 1) * steps)
        with h5py.File(path, "w") as file:
            file["I/uids"], file["I/data"] = np.strings.encode(uids), values
        rate = table.rate(made, DT, [nd.FileInput(path)], WARM + steps)
        with table.lpu(made, DT, [nd.FileInput(path)]) as lpu:
            lpu.advance(WARM)
            plain = table.timed(lpu, steps)
            floor = table.floor(lpu, bytes_of(lpu)) + _chain(table)
        recorded = _recorded(table, made, path, Path(folder), steps * table.rounds)
    neurons = sum(made.group(name).count for name in ("LeakyIAF", "MorrisLecar"))
    case = f"{made}, {rate:.0f} Hz, input from a file, float64"
    kept = f"the same, V and spikes of {neurons} neurons to HDF5, until the files are closed"
    written = f"{8 * neurons / recorded.wall / 1e6:.0f} MB/s are recorded"
    if recorded.device == recorded.device:  # not NaN
        written += f"; the device alone {recorded.device * 1e6:.3g} us"
    wall = StepTime(recorded.wall)
    return [
        table.row(case, plain, 6.0, floor, peer=UPSTREAM.format(191)),
        table.row(kept, wall, 8.0, written, peer=UPSTREAM.format(192)),
    ]


def _recorded(table: Table, made: nd.Circuit, path: Path, folder: Path, steps: int) -> StepTime:
    """Return the time of a step with recorders, each round in an LPU of its own.

    Rows and events have a file each, as is advised for long recordings.
    """
    found = []
    for _ in range(table.rounds + 1):
        recorders = [
            nd.HDF5Recorder(folder / f"{name}.h5", [(name, None)]) for name in ("V", "spike_state")
        ]
        with table.lpu(made, DT, [nd.FileInput(path)], recorders) as lpu:
            lpu.start(WARM + steps)
            lpu.advance(WARM)
            found.append(one_run(lpu, steps, finish=True))
        for recorder in recorders:
            recorder.path.unlink()
    wall, device = ([getattr(f, name) for f in found[1:]] for name in ("wall", "device"))
    return StepTime(median(wall), median(device))


def _chain(table: Table) -> str:
    """Return how long the sub-steps take that follow one another, if only tanh took time."""
    if table.backend != "cuda":
        return ""
    from .device_limits import chain_seconds

    spent = SUBSTEPS * attempt(lambda: chain_seconds("nd_tanh(x)"))
    return f"; {SUBSTEPS} tanh one after the other {spent * 1e6:.2g} us"
