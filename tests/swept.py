"""Functions that tests sweep; at the top of a module, so that processes can be sent them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.model.library import shipped


def log(*point: float) -> None:
    """Note a point in the file ``SWEPT_LOG``; then wait ``SWEPT_PAUSE`` seconds."""
    if name := os.environ.get("SWEPT_LOG"):
        with open(name, "a") as file:
            file.write(f"{' '.join(map(str, point))}\n")
    time.sleep(float(os.environ.get("SWEPT_PAUSE", "0")))


def noisy_neurons(g: float, seed: int) -> nd.LPU:
    """Return three spiking neurons with noise, not yet run; V and spikes are recorded.

    Each call leaves its arguments in the file ``SWEPT_LOG``, where there is one.
    """
    log(g, seed)
    given = {"threshold": -60.0, "resistance": 10.0, "reset_potential": -70.0, "capacitance": 0.2}
    given |= {"resting_potential": -70.0}
    circuit = nd.Circuit.from_arrays([(shipped()["LeakyIAF"], 3, given, None)])
    noise = nd.NoiseInput("I", circuit.uids, mean=g, sigma=0.5, seed=seed)
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    return nd.LPU(circuit, 1e-4, [noise], [recorder])


def product(a: int, b: int) -> dict[str, Any]:
    """Return values of all kinds."""
    return {"product": a * b, "text": f"{a}{b}", "row": np.arange(3) * a, "odd": bool(a % 2)}


def slow(a: int) -> dict[str, float]:
    """Return a number; note the call."""
    log(a)
    return {"half": a / 2}


def odd_fails(a: int) -> dict[str, int]:
    """Return a number; odd ones fail while the file of that name is there."""
    if a % 2 and Path(os.environ["SWEPT_FAULT"]).exists():
        raise ZeroDivisionError(f"{a} is odd")
    return {"same": a}


def dies(a: int) -> dict[str, int]:
    """End the process without a word at 2."""
    if a == 2:
        os._exit(7)
    return {"same": a}


def threads_of(a: int) -> dict[str, int]:
    """Return how many threads a large circuit gets in a sweep."""
    circuit = nd.Circuit.from_arrays([(shipped()["Izhikevich"], 100_000, {}, None)])
    with nd.LPU(circuit, 1e-4) as lpu, nd.LPU(circuit, 1e-4, threads=2) as asked:
        backends: list[Any] = [lpu.backend, asked.backend]
        threads = [one.threads for one in backends]
    return {"default": threads[0], "asked": threads[1]}
