"""Arrays of classes on a GPU without PyCUDA, and its context where it is; on an emulated GPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulated_gpu import EmulatedDevice
from emulated_pycuda import Context, GPUArray, emulate_pycuda

from neurodriver.backends.cuda.on_device import DeviceArray, DeviceMemory
from neurodriver.errors import ModelError
from neurodriver.native.addresses import DeviceAddress


def memory(device: Any, size: int) -> DeviceMemory:
    """Return the memory of a program with one array, ``"x"``, of float64."""
    row = SimpleNamespace(size=size, dtype=np.float64)
    address = int(device.allocate(8 * size))
    program = SimpleNamespace(arrays={"x": row})
    owner: Any = SimpleNamespace(program=program, device=device, address=lambda key: address)
    return DeviceMemory(owner)


def test_without_pycuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values come and go, a part shares the memory of the whole, the address is a device's."""
    monkeypatch.setattr("neurodriver.backends.cuda.on_device.pycuda_driver", lambda: None)
    place: Any = memory(EmulatedDevice(), 7)
    array = place.array("x")
    assert isinstance(array, DeviceArray) and isinstance(array.gpudata, DeviceAddress)
    array.set(np.arange(7))
    assert array.get().tolist() == [0, 1, 2, 3, 4, 5, 6] and array.get().dtype == np.float64
    part = array[2:5]
    part.set(-1.5)
    assert part.gpudata == array.gpudata + 16 and (len(part), part.shape) == (3, (3,))
    assert array.get().tolist() == [0, 1, -1.5, -1.5, -1.5, 5, 6]
    assert len(array[5:2]) == 0
    with pytest.raises(ModelError, match="the step 2"):
        array[::2]
    with place.current():
        pass


def test_with_pycuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays are PyCUDA's; its own context is current while a class computes, and no longer."""
    emulate_pycuda(monkeypatch)
    place: Any = memory(EmulatedDevice(), 3)
    assert isinstance(place.array("x"), GPUArray)
    with pytest.raises(ZeroDivisionError), place.current():
        assert Context.pushed == 1
        raise ZeroDivisionError
    assert Context.pushed == 0
