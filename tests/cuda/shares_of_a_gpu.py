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
    """Fail where a circuit in ``count`` parts differs from the whole; return the circuits."""
    import numpy as np
    from drawn_circuits import LAWS, RULES, link
    from looking_ahead import network
    from support import DT, model, weighted_network

    import neurodriver as nd
    from neurodriver.backends.cuda import drawing
    from neurodriver.parallel.peer_exchange import PeerExchange
    from neurodriver.plan.spikes import due

    lif = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
           "time_constant": 20.0, "refractory_period": 0.5, "initV": -55.0}  # fmt: skip

    def recorded(circuit: nd.Circuit, **given: Any) -> dict[str, Any]:
        currents = np.linspace(5.0, 30.0, circuit.count)
        inputs = [nd.StepInput("I", circuit.uids, currents)] if circuit is not early else []
        recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
        with nd.LPU(circuit, DT, inputs, [recorder], **given) as lpu:
            lpu.set("V", np.linspace(-59.0, -52.0, circuit.count))
            for steps in (1, 2, 60, 40):
                lpu.run(steps=steps)
            lpu[circuit.uids[3:90:4]].set("V", -51.0)
            lpu.run(steps=97)
            for part in getattr(lpu.simulation, "_parts", []):
                assert isinstance(part.exchange, PeerExchange)
        return {"V": recorder.get("V")} | recorder.get("spike_state")

    drawing.MANY = 0
    drawn = link((0, 300), (0, 300), RULES[0], *LAWS[1])
    group = model("LeakyIAFDelta"), 300, lif, None
    early, plain = network(400), [weighted_network(300, least) for least in (1, 5)]
    every = [*plain, early, nd.Circuit.from_arrays([group], [drawn], seed=7)]
    barrier = due.BARRIER
    for due.BARRIER in (barrier, -1.0):  # delivered ahead, and when due
        for circuit in every:
            expected = recorded(circuit, backend="cpu")
            found = recorded(circuit, backend="cuda", devices=count)
            assert len(expected["time"]) > 100
            for name, values in expected.items():
                assert np.array_equal(values, found[name]), f"{circuit}: {name}"
    return 2 * len(every)


if __name__ == "__main__":
    divide(int(sys.argv[1]))
    print(f"{compare(int(sys.argv[1]))} circuits in {sys.argv[1]} parts: all bits are the same")
