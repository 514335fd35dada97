"""Memory that other libraries use without a copy."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from neurodriver.native.shared import CPU, CUDA, SharedArray, as_read_only


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8])
def test_numpy_takes_it(dtype: type) -> None:
    """Through DLPack and through its own interface, with the same address."""
    data = np.arange(7).astype(dtype)
    shared = SharedArray(data.ctypes.data, 7, data.dtype, (CPU, 0), data)
    for taken in (np.from_dlpack(shared), np.asarray(shared)):
        assert taken.ctypes.data == data.ctypes.data and taken.dtype == dtype
        assert np.array_equal(taken, np.arange(7))
    assert len(shared) == 7 and "7" in repr(shared) and "CPU" in repr(shared)


def test_it_has_axes() -> None:
    """Of a layer, whether it can be written to or not."""
    data = np.arange(24.0)
    shared = SharedArray(data.ctypes.data, 24, data.dtype, (CPU, 0), data).reshape((2, 3, 4))
    fixed = as_read_only(data.reshape(2, 3, 4))
    for taken in (np.from_dlpack(shared), np.asarray(shared)):
        assert taken.ctypes.data == data.ctypes.data and taken.strides == (96, 32, 8)
        assert np.array_equal(taken, data.reshape(2, 3, 4))
    assert len(shared) == 2 and "24 float64" in repr(shared)
    assert "dltensor" in repr(fixed.__dlpack__())  # as libraries ask that know no newer version
    with pytest.raises(BufferError):
        fixed[:, ::2].__dlpack__()


def test_the_owner_lives_as_long_as_the_memory_is_used() -> None:
    """Nothing else refers to the array, and yet it is there."""
    data = np.full(1000, 3.5)
    taken = np.from_dlpack(SharedArray(data.ctypes.data, 1000, data.dtype, (CPU, 0), data))
    del data
    gc.collect()
    assert (taken == 3.5).all()


def test_memory_of_a_gpu_is_told() -> None:
    """The interfaces name address, type and device; NumPy cannot take it."""
    shared = SharedArray(4096, 5, np.dtype(np.float32), (CUDA, 1), None)
    interface = shared.__cuda_array_interface__
    assert interface["data"] == (4096, False) and interface["typestr"] == "<f4"
    assert interface["shape"] == (5,) and shared.__dlpack_device__() == (2, 1)
    assert "GPU 1" in repr(shared)
    with pytest.raises(AttributeError, match="copy it"):
        _ = shared.__array_interface__
    with pytest.raises(BufferError):
        shared.__dlpack__(copy=True)
