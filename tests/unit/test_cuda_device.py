"""What a device holds is given back in its context, wherever it is dropped; without a GPU."""

from __future__ import annotations

import gc
import sys
import threading
from enum import IntEnum
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from neurodriver.backends.cuda import device as module
from neurodriver.backends.cuda.device import Device, Pool
from neurodriver.backends.cuda.driver import DeviceError

STREAMS = ["stream"] * 3


class Api:
    """Stands for ``cuda.bindings.driver``: two GPUs, and a context that a thread makes current."""

    CUresult = IntEnum(
        "CUresult",
        {"CUDA_SUCCESS": 0, "CUDA_ERROR_OUT_OF_MEMORY": 2, "CUDA_ERROR_NOT_READY": 600},
    )
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=9,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=0,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT=132,
    )
    LARGEST = 1 << 24

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.threads: list[int] = []
        self.status = self.CUresult.CUDA_SUCCESS
        self.what: dict[int, str] = {}
        self.place = 1 << 20

    def _make(self, what: str) -> tuple[Any, int]:
        self._check()
        self.place += 1 << 20
        self.what[self.place] = what
        return self.CUresult.CUDA_SUCCESS, self.place

    def _end(self, place: int) -> tuple[Any]:
        self._check()
        self.ended.append(self.what.pop(place))  # a KeyError: it has ended already
        return (self.CUresult.CUDA_SUCCESS,)

    def _check(self) -> None:
        assert threading.get_ident() in self.threads, "there is no current context"

    def cuCtxPushCurrent(self, context: str) -> tuple[Any]:
        assert context == "the primary context"
        self.threads.append(threading.get_ident())
        return (self.CUresult.CUDA_SUCCESS,)

    def cuCtxPopCurrent(self) -> tuple[Any, str]:
        assert self.threads.pop() == threading.get_ident()
        return self.CUresult.CUDA_SUCCESS, "the primary context"

    def cuMemAlloc(self, size: int) -> tuple[Any, ...]:
        if size > self.LARGEST:
            return self.CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        return self._make(f"memory {size}")

    def cuMemHostAlloc(self, size: int, flags: int) -> tuple[Any, int]:
        return self._make(f"pinned {size}")

    def cuEventQuery(self, event: int) -> tuple[Any]:
        return (self.status,)

    def cuGetErrorString(self, status: int) -> tuple[Any, bytes]:
        return self.CUresult.CUDA_SUCCESS, b"out of memory"

    def __getattr__(self, name: str) -> Any:
        good = self.CUresult.CUDA_SUCCESS
        plain = {
            "CUstream": int,
            "cuInit": lambda flags: (good,),
            "cuDeviceGetCount": lambda: (good, 2),
            "cuDeviceGet": lambda number: (good, number),
            "cuDeviceGetName": lambda size, gpu: (good, b"Abacus\0\0"),
            "cuDeviceGetPCIBusId": lambda size, gpu: (good, b"0000:0%d:00.0\0\0" % gpu),
            "cuDeviceGetAttribute": lambda value, gpu: (good, value),
            "cuDevicePrimaryCtxRetain": lambda gpu: (good, "the primary context"),
            "cuMemGetInfo": lambda: (good, 1 << 30, 1 << 31),
            "cuMemsetD8Async": lambda *given: (good,),
            "cuStreamCreate": lambda flags: self._make("stream"),
            "cuEventCreate": lambda flags: self._make("blocking event" if flags else "event"),
        }
        ends = ("cuMemFree", "cuMemFreeHost", "cuStreamDestroy", "cuEventDestroy")
        return plain[name] if name in plain else dict.fromkeys(ends, self._end)[name]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    """Put a stand-in for the driver in its place."""
    one, bindings = Api(), ModuleType("cuda.bindings")
    bindings.driver = one  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
    return one


@pytest.fixture
def log(api: Api) -> list[str]:
    """Return what the driver has been told to end."""
    return api.ended


def test_what_a_gpu_is(api: Api) -> None:
    """Strings of C end at their zero."""
    device = Device(1)
    assert (device.name, device.arch, device.clusters, device.processors) == (
        "Abacus", "sm_90", True, 132
    )  # fmt: skip
    assert module.place_of(1).endswith(" 0000:01:00.0") and module.place_of(2) == ""


def test_what_the_driver_refuses(api: Api) -> None:
    """The GPU, the driver's words and its name for them; the context is current no longer."""
    device = Device(1)
    told = r"^GPU 1 \(Abacus\): out of memory \(CUDA_ERROR_OUT_OF_MEMORY\)$"
    with pytest.raises(DeviceError, match=told), device.current():
        device.allocate(api.LARGEST + 1)
    assert api.threads == []
    with device.current():
        event = device.event()
    assert event.query()
    api.status = api.CUresult.CUDA_ERROR_NOT_READY
    assert not event.query()
    api.status = api.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(DeviceError, match=told):
        event.query()


def test_dropped_in_another_thread(log: list[str]) -> None:
    """All that the device has made ends there."""
    kept = [Device(1)]
    with kept[0].current():
        kept[0].event()
        kept[0].allocate(7)
        kept[0].pinned(9, np.uint8)
        kept[0].allocate(8).free()
    assert log == ["memory 8"]

    def drop() -> None:
        kept.clear()
        gc.collect()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert log[1:] == [*STREAMS, "event", "memory 7", "pinned 9"]


def test_events_that_yield(log: list[str]) -> None:
    """A device whose waits leave the core to others makes events that block."""
    device = Device(0, yields=True)
    with device.current():
        device.event()
    del device
    gc.collect()
    assert log == [*STREAMS, "blocking event"]


def test_nothing_is_freed_while_a_kernel_waits(log: list[str]) -> None:
    """What is dropped meanwhile is freed when the last of those that wait has ended."""
    kept = [Device(0)]
    with kept[0].current():
        kept[0].allocate(3)
    with module.held_back(False):
        pass
    with module.held_back(True), module.held_back(True):
        kept.clear()
        gc.collect()
        assert log == []
    assert log == [*STREAMS, "memory 3"]


def test_what_is_freed_is_not_freed_again(log: list[str]) -> None:
    """A pool that was closed and a device that is dropped afterwards."""
    device = Device(0)
    with device.current():
        pool = Pool(device, {"ring:V": 1000, "0:table": 16})
        assert pool.address == {"ring:V": 5 << 20, "0:table": (5 << 20) + 1024}
        pool.free()
        pool.free()
    assert log == ["memory 1280"]
    del device, pool
    gc.collect()
    assert log == ["memory 1280", *STREAMS]


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
