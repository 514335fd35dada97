"""Lets one GPU stand for several, and compares circuits in as many parts with the whole on a CPU.

Each of the several has a share of the multiprocessors. So all their kernels run side by side, and
exchange spikes and values as those of different GPUs do. They have one context. There, allocating
and freeing memory would wait for kernels that wait for others, so all memory comes from two pools.

    python tests/cuda/shares_of_a_gpu.py 4
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

MEMORY, PINNED = 4 << 30, 1 << 28
"""Bytes of the pools on the GPU and on the host."""

ALIGNMENT = 512
"""Bytes at whose multiples pieces begin."""


class SharedPool:
    """Pieces of one allocation, none of which is given back.

    Parameters
    ----------
    allocate : callable
        Returns a status and an address for a number of bytes.
    """

    def __init__(self, allocate: Callable[[int], Any], size: int) -> None:
        self._lock, self._size, self._taken = threading.Lock(), size, 0
        self._status, self._begin = allocate(size)

    def piece(self, size: int, *_: Any) -> tuple[Any, int]:
        """Return a status and an address, as the driver does."""
        with self._lock:
            at = self._taken
            self._taken += -(-int(size) // ALIGNMENT) * ALIGNMENT
            if self._taken > self._size:
                raise MemoryError(f"a pool of {self._size} bytes is empty")
        return self._status, int(self._begin) + at


def divide(count: int) -> None:
    """Let the first GPU stand for ``count`` ones, in this process, before the driver is used."""
    # kernels are not to wait for each other when they are loaded, nor in one queue
    os.environ |= {"CUDA_MODULE_LOADING": "EAGER", "CUDA_DEVICE_MAX_CONNECTIONS": "32"}
    from cuda.bindings import driver

    driver.cuInit(0)
    good, flags = driver.CUresult.CUDA_SUCCESS, driver.CUstream_flags
    handle = driver.cuDeviceGet(0)[1]
    driver.cuCtxPushCurrent(driver.cuDevicePrimaryCtxRetain(handle)[1])
    on_gpu = SharedPool(driver.cuMemAlloc, MEMORY)
    host = driver.cuMemHostAlloc
    on_host = SharedPool(lambda size: host(size, 0), PINNED)
    driver.cuCtxPopCurrent()
    multiprocessors = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    attribute, stream = driver.cuDeviceGetAttribute, driver.cuStreamCreate

    def attribute_of_share(which: Any, of: Any) -> tuple[Any, int]:
        status, value = attribute(which, of)
        return status, value // count if which == multiprocessors else value

    instead: dict[str, Callable[..., Any]] = {
        "cuDeviceGetCount": lambda: (good, count),
        "cuDeviceGet": lambda number: (good, handle),
        "cuDeviceGetAttribute": attribute_of_share,
        "cuStreamCreate": lambda _: stream(flags.CU_STREAM_NON_BLOCKING),
        "cuCtxEnablePeerAccess": lambda *_: (good,),
        "cuMemAlloc": on_gpu.piece,
        "cuMemHostAlloc": on_host.piece,
        "cuMemFree": lambda _: (good,),
        "cuMemFreeHost": lambda _: (good,),
    }
    for name, function in instead.items():
        setattr(driver, name, function)
    from neurodriver.backends.cuda import device

    device.place_of = lambda number: f"share {number}"


def compare(count: int) -> int:
    """Fail where a circuit in ``count`` parts differs from the whole; return the comparisons."""
    import numpy as np
    from drawn_circuits import LAWS, RULES, link
    from looking_ahead import network
    from support import DT, IAF, POWER, model, weighted_network

    import neurodriver as nd
    from neurodriver.backends.cuda import drawing
    from neurodriver.parallel.peer_exchange import PeerExchange
    from neurodriver.plan.spikes import due

    def recorded(circuit: nd.Circuit, when_due: bool, **given: Any) -> dict[str, Any]:
        """Return V and spikes; values are set before the run, and within it."""
        neurons = circuit.groups[0]
        currents = np.linspace(5.0, 30.0, neurons.count)
        inputs = [nd.StepInput("I", neurons.uids, currents)] if circuit is not early else []
        recorder = nd.MemoryRecorder(["V", *(["spike_state"] if circuit is not graded else [])])
        with nd.LPU(circuit, DT, inputs, [recorder], **given) as lpu:
            lpu.set("V", np.linspace(-59.0, -52.0, neurons.count))
            lpu.run(steps=1)
            lpu.start(197)
            for steps in (2, 58, 40):
                lpu.advance(steps)
            lpu[neurons.uids[3:90:4]].set("V", -51.0)
            lpu.advance(97)
            lpu.finish()
            if "devices" in given:
                parts = lpu.simulation._parts  # type: ignore[union-attr]
                assert len(parts) == count
                assert all(isinstance(one.exchange, PeerExchange) for one in parts)
                blocks = [one for part in parts for one in part.exchange.takes.blocks]
                sent = "V" if circuit is graded else "spike_state"
                assert {one.variable for one in blocks} == {sent}
                plans = [g for one in parts for g in one.simulation.program.gathers.values()]
                # sources of the others have too few connections into each of eight parts
                assert circuit is not early or any(map(due.is_due, plans)) == when_due
        found = {"V": recorder.get("V")}
        return found if circuit is graded else found | recorder.get("spike_state")

    lif = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
           "time_constant": 20.0, "refractory_period": 0.5, "initV": -55.0}  # fmt: skip
    groups = [(model("LeakyIAFDelta"), 300, lif, None)]
    drawn = nd.Circuit.from_arrays(groups, [link((0, 300), (0, 300), RULES[0], *LAWS[1])], seed=7)
    early, number = network(400), np.arange(300, dtype=np.int32)
    groups = [(model("LeakyIAF"), 300, {**IAF, "initV": -60.0}, None),
              (model("PowerGPotGPot"), 300, {**POWER, "threshold": -70.0}, None)]  # fmt: skip
    across = (number * 7 + 150) % 300 + 300
    links = [
        nd.Connections("V", "V", number, across, (1 + number % 9) * DT),
        nd.Connections("g", "I", number + 300, number, data={"reverse": 0.0}),
    ]
    graded = nd.Circuit.from_arrays(groups, links)
    every = [weighted_network(300, 1), weighted_network(300, 5), early, drawn, graded]
    drawing.MANY, barrier, compared = 0, due.BARRIER, 0
    for when_due in (False, True):
        due.BARRIER = -1.0 if when_due else barrier
        for circuit in every:
            expected = recorded(circuit, when_due, backend="cpu")
            found = recorded(circuit, when_due, backend="cuda", devices=count)
            assert circuit is graded or len(expected["time"]) > 100
            for name, values in expected.items():
                assert np.array_equal(values, found[name]), f"{circuit}: {name}"
            compared += 1
    return compared


if __name__ == "__main__":
    divide(int(sys.argv[1]))
    print(f"{compare(int(sys.argv[1]))} comparisons of {sys.argv[1]} parts: all bits are the same")
