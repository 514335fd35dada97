"""A balanced network whose synapses learn, against the figures of NEST 3.10."""

from __future__ import annotations

import numpy as np
from support import example

import neurodriver as nd


def test_hpc_benchmark() -> None:
    """Rate and weights after half a second, with 9 million synapses that learn.

    NEST: 9.3 +- 0.4 Hz; weights of 136.8 pA with a standard deviation of 0.82 to 0.88 pA. A weight
    that NEST tells lacks what happened since the last spike of its source; so does one that is read
    here before all synapses have caught up.
    """
    module = example("hpc_benchmark")
    circuit, _, _ = module.network(seed=1)
    assert circuit.count == 11_250
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, module.DT, [], [recorder], backend="cpu", seed=1) as lpu:
        lpu.run(duration=0.5)
        key = next(
            key for key in lpu.program.arrays if key.name == "weight" and key.kind.value == "weight"
            and "__learning" in str(key.owner)
        )  # fmt: skip
        weights = lpu.simulation.backend.array(key)
    rate = len(recorder.get("spike_state")["time"]) / circuit.count / 0.5
    assert abs(rate - 9.3) < 0.4
    assert len(weights) == 9_000_000
    assert abs(np.mean(weights) - 136.8) < 0.2
    assert 0.815 < np.std(weights) < 0.885
