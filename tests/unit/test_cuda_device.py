"""What a device holds is given back in its context, wherever it is dropped; without a GPU."""

from __future__ import annotations

import gc
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from neurodriver.backends.cuda import device as module
from neurodriver.backends.cuda.device import Device, DeviceError, Pool


class Fault(Exception):
    """What the stand-in for PyCUDA raises."""


class Context:
    """Is the current one of a thread between push and pop."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def push(self) -> None:
        self.threads.append(threading.get_ident())

    def pop(self) -> None:
        assert self.threads.pop() == threading.get_ident()


class Piece:
    """Memory that can be freed once, in the context."""

    def __init__(self, context: Context, log: list[str], name: str) -> None:
        self._context, self._log, self._name, self.valid = context, log, name, True

    def __int__(self) -> int:
        return 1 << 20

    def free(self) -> None:
        if not self.valid:
            raise Fault("freed already")
        assert threading.get_ident() in self._context.threads
        self.valid = False
        self._log.append(self._name)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put a stand-in for PyCUDA in its place; return what it is told."""
    said: list[str] = []
    context = Context()
    gpu = SimpleNamespace(
        name=lambda: "Abacus",
        compute_capability=lambda: (9, 0),
        multiprocessor_count=132,
        retain_primary_context=lambda: context,
    )

    def number(n: int) -> Any:
        return gpu

    number.count = lambda: 2  # type: ignore[attr-defined]
    cuda = SimpleNamespace(
        Error=Fault,
        LogicError=Fault,
        Device=number,
        init=lambda: None,
        Stream=lambda: SimpleNamespace(handle=1),
        Event=lambda: SimpleNamespace(),
        mem_alloc=lambda n: Piece(context, said, f"memory {n}"),
        memset_d8=lambda *given: None,
        mem_get_info=lambda: (1 << 30, 1 << 31),
        pagelocked_empty=lambda n, kind: SimpleNamespace(base=Piece(context, said, f"pinned {n}")),
    )
    driver = SimpleNamespace(CUstream=int)
    monkeypatch.setattr(module, "_modules", lambda: (cuda, driver))
    monkeypatch.setattr(module, "_SPARE", {})
    return said


def test_dropped_in_another_thread(log: list[str]) -> None:
    """All memory is freed there; streams and events live on."""
    kept = [Device(1)]
    event = kept[0].cuda.Event()
    kept[0].cuda.mem_alloc(7)
    kept[0].cuda.pagelocked_empty(9, np.uint8)
    streams = [id(one) for one in (kept[0].stream, kept[0].drain, kept[0].lists)]

    def drop() -> None:
        kept.clear()
        gc.collect()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert log == ["memory 7", "pinned 9"]
    assert [id(one) for one in module._SPARE[1]] == [*streams, id(event)]


def test_nothing_is_freed_while_a_kernel_waits(log: list[str]) -> None:
    """What is dropped meanwhile is freed when the last of those that wait has ended."""
    kept = [Device(0)]
    kept[0].cuda.mem_alloc(3)
    with module.held_back(False):
        pass
    with module.held_back(True), module.held_back(True):
        kept.clear()
        gc.collect()
        assert log == []
    assert log == ["memory 3"]


def test_what_is_freed_is_not_freed_again(log: list[str]) -> None:
    """A pool that was closed and a device that is dropped afterwards."""
    device = Device(0)
    with device.current():
        pool = Pool(device, {"ring:V": 1000, "0:table": 16})
        assert pool.address == {"ring:V": 1 << 20, "0:table": (1 << 20) + 1024}
        pool.free()
    assert log == ["memory 1280"]
    del device, pool
    gc.collect()
    assert log == ["memory 1280"]


def test_too_little_memory(log: list[str]) -> None:
    """How much is free, how much is asked for what, and what to do."""
    device = Device(0)
    wanted = {"ring:V": 3 << 30, "ring:g": 1 << 30, "0:table": 64, "active:spike_state": 5 << 29}
    with pytest.raises(DeviceError) as told:
        Pool(device, wanted)
    assert str(told.value) == (
        "GPU 0 (Abacus) has 1.00 GiB free, the circuit needs 6.50 GiB (most of it, in GiB: "
        "ring:V: 3.00, active:spike_state: 2.50, ring:g: 1.00); use a smaller circuit, shorter "
        "delays or float32"
    )
    assert log == []


@pytest.mark.parametrize("number", [-1, 2])
def test_a_number_that_is_none(log: list[str], number: int) -> None:
    """The error says how many there are."""
    with pytest.raises(DeviceError, match=f"got {number}; this machine has 2, numbered from 0"):
        Device(number)
    assert log == []
