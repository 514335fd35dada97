"""A GPU's memory, its number, and what happens when an LPU ends."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from launch import environment
from support import DT, IAF, build, chain, model, node, started

from neurodriver import LPU, Circuit, StepInput
from neurodriver.backends.cuda.device import Device
from neurodriver.backends.cuda.driver import DeviceError
from neurodriver.errors import NeurodriverError


def test_a_number_that_is_none(gpus: int) -> None:
    """The error says how many there are."""
    with pytest.raises(DeviceError, match=rf"got {gpus}; this machine has {gpus}, numbered from 0"):
        started(chain(), backend="cuda", device=gpus)


def test_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much was asked for what, and what to do; nothing is left behind."""
    monkeypatch.setattr(Device, "free", lambda self: 1 << 10)
    with pytest.raises(DeviceError, match=r"circuit needs 0\.00 GiB \(most of it, in GiB: ring:"):
        started(chain(), backend="cuda")


def free() -> int:
    """Return the free bytes of GPU 0."""
    device = Device(0)
    with device.current():
        return device.free()


def unshrunk(use: Callable[[], None]) -> bool:
    """Whether a use gives back what it takes; others may take some meanwhile, but not each time."""
    end = time.monotonic() + 60.0
    while time.monotonic() < end:
        gc.collect()
        before = free()
        use()
        gc.collect()
        if free() >= before - (16 << 20):
            return True
    return False


def run(**settings: object) -> LPU:
    """Return an LPU of tens of MiB that has run and is not closed."""
    circuit = Circuit.from_arrays([(model("LeakyIAF"), 1 << 21, IAF, None)])
    lpu = started(circuit, DT, backend="cuda", **settings)
    lpu.run(9)
    return lpu


def test_closed_lpus_give_their_memory_back(executor: str) -> None:
    """Open and close again and again: memory does not shrink; a closed one says so."""
    run().close()

    def use() -> None:
        lpu = run(executor=executor)
        lpu.close()
        lpu.close()
        with pytest.raises(NeurodriverError, match="closed"):
            lpu.backend.worked()

    assert unshrunk(use)


def test_dropped_lpus_give_their_memory_back() -> None:
    """Without close(), and in a thread that did not make them."""
    run().close()

    def use() -> None:
        kept = [run(), run()]
        thread = threading.Thread(target=lambda: (kept.clear(), gc.collect()))
        thread.start()
        thread.join()

    assert unshrunk(use)


SCRIPT = """
import gc, sys, threading
sys.path.insert(0, "tests")
from support import chain, started
lpus = []
made = threading.Thread(target=lambda: lpus.append(started(chain(), backend="cuda")))
made.start()
made.join()
lpus[0].run(50)
lpus.clear()
gc.collect()
other = started(chain(), backend="cuda")
other.run(50)
print("done")
"""


def test_the_end_is_quiet() -> None:
    """No warning of things that could not be cleaned up: dropped here, or left to the exit."""
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
    )
    assert (said.stdout, said.stderr, said.returncode) == ("done\n", "", 0)


def test_two_lpus_side_by_side(executor: str) -> None:
    """Steps of two LPUs in turn, each with its own memory."""
    circuit = build({"n": node("LeakyIAF", IAF)})
    lpus = [
        started(circuit, DT, StepInput("I", ["n"], value, 0.0, 1.0), backend="cuda",
                executor=executor)
        for value in (2.0, 4.0)
    ]  # fmt: skip
    alone = []
    for value in (2.0, 4.0):
        with started(circuit, DT, StepInput("I", ["n"], value, 0.0, 1.0), backend="cpu") as lpu:
            lpu.advance(60)
            alone.append(lpu.get("V"))
    for _ in range(6):
        for lpu in lpus:
            lpu.advance(10)
    assert [lpu.get("V") for lpu in lpus] == alone
    assert not np.array_equal(*alone)
    for lpu in lpus:
        lpu.close()


@pytest.mark.needs("two GPUs")
def test_two_gpus() -> None:
    """The same circuit on the second one."""
    found = []
    for number in (0, 1):
        with run(device=number) as lpu:
            found.append(lpu.get("V"))
    assert np.array_equal(*found)
