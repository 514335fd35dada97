"""Values that are set on a GPU one after the other, while it still gets the ones before."""

from __future__ import annotations

import numpy as np
from emulated_gpu import emulated, random_circuit
from support import DT

import neurodriver as nd

__all__ = ["emulated"]


def test_values_set_without_a_wait(emulated: None) -> None:
    """Two pieces of memory take turns, and neither is filled before the device has read it."""
    some, inputs = random_circuit(20, 4)
    with nd.LPU(some, DT, inputs, backend="cuda") as lpu:
        backend = lpu.simulation.backend
        rows = [row for row in lpu.program.arrays.values() if row.dtype == np.int32]
        assert len(rows) > 5 and len({row.size for row in rows}) > 2
        before = [backend.array(row.key) for row in rows]
        pieces = []
        for number, row in enumerate(rows):
            backend.live.write(row.key, np.arange(row.size) + 1000 * number)
            assert backend.device.queue  # the device still has to get it
            pieces.append({id(memory) for memory, _ in backend.binding.values._pieces})
        assert pieces[-1] == pieces[-2] and len(pieces[-1]) == 2
        for number, (row, old) in enumerate(zip(rows, before, strict=True)):
            found = backend.array(row.key)
            assert np.array_equal(found, np.arange(row.size) + 1000 * number)
            assert not np.array_equal(found, old)
        for row in rows:
            backend.live.write(row.key, [-1, -2], np.array([3, 1]))
        for number, row in enumerate(rows):
            wanted = np.arange(row.size) + 1000 * number
            wanted[[3, 1]] = -1, -2
            assert np.array_equal(backend.live.read(row.key, slice(None)), wanted)
