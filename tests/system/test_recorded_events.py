"""Events are found wherever they are: in every lane, column order and share of a thread."""

from __future__ import annotations

import numpy as np
import pytest
from support import DT, IAF, build, node

from neurodriver import LPU, ArrayInput, HDF5Recorder, MemoryRecorder

COUNT = 230
UIDS = [f"n{i}" for i in range(COUNT)]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("order", ["all", "backwards", "some", "run"])
def test_every_column(order: str, threads: int, dtype: str) -> None:
    """Neuron i is driven over its threshold at step 2 i alone, and spikes once, in row 2 i + 1."""
    circuit = build({u: node("LeakyIAF", IAF) for u in UIDS})
    rows = np.zeros((2 * COUNT, COUNT))
    rows[2 * np.arange(COUNT), np.arange(COUNT)] = 1e4
    columns = {
        "all": range(COUNT), "backwards": range(COUNT - 1, -1, -1), "some": range(3, COUNT, 7),
        "run": range(5, COUNT - 20),
    }[order]  # fmt: skip
    recorder = MemoryRecorder([("spike_state", [UIDS[i] for i in columns])])
    current = ArrayInput({"I": (UIDS, rows)})
    with LPU(circuit, DT, current, [recorder], threads=threads, dtype=dtype) as lpu:
        lpu.run(steps=2 * COUNT + 2)
    found = recorder.get("spike_state")
    steps = np.rint(found["time"] / DT).astype(int)
    expected = sorted((2 * i + 1, place) for place, i in enumerate(columns))
    assert list(zip(steps.tolist(), found["index"].tolist(), strict=True)) == expected


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_rows_written_in_place(kind: str, tmp_path: object) -> None:
    """Rows of many short calls are those of one call, in memory and in a file, in any order."""
    circuit = build({u: node("LeakyIAF", IAF) for u in UIDS})
    rows = np.random.default_rng(0).normal(3.0, 5.0, size=(300, COUNT))
    wanted = [*UIDS[40:70], *UIDS[:10]]
    found = []
    for chunk in (300, 7):
        requests = [("V", wanted), ("spike_state", None)]
        path = f"{tmp_path}/{chunk}.h5"
        memory = MemoryRecorder(requests, 3)
        recorders = [memory] if kind == "memory" else [HDF5Recorder(path, requests, 3), memory]
        with LPU(circuit, DT, ArrayInput({"I": (UIDS, rows)}), recorders) as lpu:
            lpu.simulation.chunk = lambda chunk=chunk: chunk  # type: ignore[method-assign, misc]
            lpu.run(steps=300)
        found.append(memory.get("V"))
        if kind == "file":
            import h5py

            with h5py.File(path, "r") as file:
                np.testing.assert_array_equal(file["V/data"][()], memory.get("V"))
    assert found[0].shape == (100, 40) and found[0].std() > 0.01
    np.testing.assert_array_equal(*found)
