"""A run that goes from the CPU to a GPU of plain Python and back has the bits of one on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_gpu import emulated, random_circuit
from support import DT

import neurodriver as nd

__all__ = ["emulated"]
RECORD = [("V", None), ("spike_state", None), ("I", None)]


def joined(parts: list[Any]) -> Any:
    """Rows, or times and columns of events, of all parts."""
    if isinstance(parts[0], dict):
        return np.concatenate([np.stack([p["time"], p["index"]]) for p in parts], axis=1)
    return np.concatenate(parts)


@pytest.mark.parametrize("executor", ["resident", "stepwise"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_from_backend_to_backend(
    emulated: None, tmp_path: Path, seed: int, executor: str, dtype: str
) -> None:
    """Checkpoints lead from one backend to the next."""
    circuit, inputs = random_circuit(20, seed)
    models = [group.model for group in circuit.groups]
    whole = nd.MemoryRecorder(RECORD)
    with nd.LPU(circuit, DT, inputs, [whole], dtype=dtype, backend="cpu") as lpu:
        lpu.run(60)
    parts = []
    for number, backend in enumerate(("cpu", "cuda", "cuda", "cpu")):
        one, more = nd.MemoryRecorder(RECORD), {"backend": backend, "executor": executor}
        if number:
            given: Any = {"models": models, **more}
            lpu = nd.LPU.restore(tmp_path / "c.h5", inputs, [one], **given)
        else:
            lpu = nd.LPU(circuit, DT, inputs, [one], dtype=dtype, backend="cpu")
        with lpu:
            lpu.run(15)
            lpu.save(tmp_path / "c.h5")
        parts.append(one)
    for variable, _ in RECORD:
        found = joined([part.get(variable) for part in parts])
        expected = joined([whole.get(variable)])
        assert np.array_equal(found, expected), variable
        assert np.any(found)


def test_values_are_set(emulated: None) -> None:
    """States and parameters on both backends, in the middle of a run."""
    circuit, inputs = random_circuit(20, 4)
    found = []
    for backend in ("cpu", "cuda"):
        one = nd.MemoryRecorder([("V", None)])
        with nd.LPU(circuit, DT, inputs, [one], backend=backend) as lpu:
            lpu.run(20)
            values = np.array(lpu.get("V"))
            lpu.set("V", values[::-1])
            assert np.array_equal(lpu.get("V"), values[::-1])
            lpu[lpu.uids("V")[3]].V = 0.25
            lpu.run(20)
        found.append(one.get("V"))
    assert np.array_equal(*found) and np.ptp(found[0]) > 0
