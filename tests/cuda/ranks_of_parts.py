"""One rank of ``test_two_gpus.py``: its part of a circuit, against the whole circuit on a CPU."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from drawn_circuits import LAWS, RULES, link
from support import DT, model, weighted_network

import neurodriver as nd
from neurodriver.backends.cuda import drawing
from neurodriver.mpi import world

LIF = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
       "time_constant": 20.0, "refractory_period": 0.5, "initV": -55.0}  # fmt: skip


def drawn() -> nd.Circuit:
    """Return neurons that a projection connects, whose shares GPUs draw."""
    groups = [(model("LeakyIAFDelta"), 300, LIF, None)]
    links = link((0, 300), (0, 300), RULES[0], *LAWS[1])
    return nd.Circuit.from_arrays(groups, [links], seed=7)


def there(part: Any) -> bool:
    """Return whether a part is on a GPU."""
    return hasattr(part.simulation.backend, "device")


def recorded(circuit: nd.Circuit, **given: Any) -> tuple[dict[str, Any], list[int]]:
    """Return V and spikes, and the numbers of the GPUs."""
    inputs: list[nd.Input] = [
        nd.StepInput("I", circuit.uids, np.linspace(5.0, 30.0, circuit.count))
    ]
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    with nd.LPU(circuit, DT, inputs, [recorder], **given) as lpu:
        for steps in (53, 30, 120):
            lpu.run(steps=steps)
        parts = getattr(lpu.simulation, "_parts", [])
        devices = [one.simulation.backend.device.number for one in parts if there(one)]
        return {"V": recorder.get("V")} | recorder.get("spike_state"), devices


def main() -> None:
    """Print the GPU of this rank; fail where a value differs."""
    drawing.MANY = 0
    backend = os.environ.get("NEURODRIVER_BACKEND", "cuda")
    for circuit in (weighted_network(300, 1), weighted_network(300, 5), drawn()):
        expected, _ = recorded(circuit, backend="cpu", threads=1)
        found, devices = recorded(circuit, parts="auto", backend=backend, threads=1)
        assert len(expected["time"]) > 100
        for name, values in expected.items():
            assert np.array_equal(values, found[name]), name
    print(f"rank {world().rank} of {world().size}: GPUs {devices}, all bits are the same")


if __name__ == "__main__":
    main()
