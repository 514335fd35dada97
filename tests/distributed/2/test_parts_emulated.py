"""A circuit in two parts on two ranks with a GPU each, emulated: the bits of the whole."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_gpu import EmulatedTrial, emulated, random_circuit
from support import DT

import neurodriver as nd
from neurodriver.backends.cuda import peers
from neurodriver.mpi import world
from neurodriver.parallel.peer_exchange import PeerExchange

__all__ = ["emulated"]
STEPS = 60


def test_bits_of_the_whole(emulated: None) -> None:
    """No step is added, whatever computes the parts."""
    circuit, inputs = random_circuit(30, 4)
    record = [(v, None) for v in sorted({v for g in circuit.groups for v in g.model.updates})]
    given: list[dict[str, Any]] = [{"backend": "cpu"}, {"backend": "cuda", "parts": "auto"}]
    found = []
    for options in given:
        recorder = nd.MemoryRecorder(record)
        with nd.LPU(circuit, DT, inputs, recorder, **options) as lpu:
            lpu.run(steps=STEPS // 4)
            lpu.run(steps=STEPS - STEPS // 4)
        found.append(recorder)
    moved = 0
    for variable in found[0].output:
        a, b = (one.get(variable) for one in found)
        if isinstance(a, dict):
            assert all(np.array_equal(a[key], b[key]) for key in a)
            moved += len(a["time"])
        else:
            assert np.array_equal(a, b)
            moved += int((a[0] != a[-1]).sum())
    assert moved > 20


class SharedMemory:
    """Memory that both ranks map; its first word counts those that have it open."""

    folder: Path

    def __init__(self, device: Any, size: int) -> None:
        path = self.folder / f"of rank {world().rank}"
        self.array = np.memmap(path, np.int64, "w+", shape=(-(-size // 8) + 1,))
        self.address = self.array.ctypes.data + 8
        self.offer = np.frombuffer(str(path).encode().ljust(256), np.uint8)

    def free(self) -> None:
        """Note whether it is free."""
        world().seen = int(self.array[0])  # type: ignore[attr-defined]


def opened(device: Any, offer: Any) -> tuple[int, Callable[[], Any]]:
    """Map the memory of the other rank."""
    array = np.memmap(offer.tobytes().decode().rstrip(), np.int64, "r+")
    array[0] += 1

    def close(array: Any = array) -> None:
        time.sleep(0.2 * world().rank)  # rank 0 is ready to free long before rank 1 lets go
        array[0] -= 1

    return array.ctypes.data + 8, close


def test_memory_is_freed_when_the_other_rank_has_let_go(
    emulated: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels of two processes write into each other's memory, which no rank frees too early."""
    own = world().rank
    monkeypatch.setattr(SharedMemory, "folder", Path(world().spread(str(tmp_path))), raising=False)
    monkeypatch.setattr(peers, "PeerMemory", SharedMemory)
    monkeypatch.setattr(peers, "opened", opened)
    monkeypatch.setattr(EmulatedTrial, "all_reached", True)
    monkeypatch.setattr(
        "neurodriver.backends.cuda.device.place_of", lambda number: f"of rank {own}"
    )
    circuit, inputs = random_circuit(20, 5)
    given: list[dict[str, Any]] = [{"backend": "cpu"}, {"backend": "cuda", "parts": "auto"}]
    found = []
    for options in given:
        recorder = nd.MemoryRecorder([("V", None)])
        with nd.LPU(circuit, DT, inputs, recorder, **options) as lpu:
            lpu.run(steps=20)
            lpu.run(steps=30)
        found.append(recorder.get("V"))
    assert isinstance(lpu.simulation._parts[0].exchange, PeerExchange)  # type: ignore[attr-defined]
    assert np.array_equal(*found) and np.ptp(found[0]) > 0
    assert world().seen == 0  # type: ignore[attr-defined]
