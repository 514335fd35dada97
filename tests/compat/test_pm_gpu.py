"""The port mapper with values on a GPU: with an emulated PyCUDA, and without any."""

from __future__ import annotations

import importlib
from importlib.machinery import PathFinder

import numpy as np
import pytest
from emulated_pycuda import Context, Device, GPUArray, pycuda, to_gpu

import neurodriver.compat.old
from neurodriver.compat.pm_gpu import GPUPortMapper, NoGPUError
from neurodriver.compat.ports import PortMapper
from neurodriver.errors import PortError

__all__ = ["pycuda"]

assert neurodriver.compat.old is not None
SELECTOR = "/a[0:3],/b"


def test_values_lie_on_the_gpu(pycuda: None) -> None:
    """They come to the host when they are read; scalars and arrays are written."""
    data = np.arange(4.0)
    pm = GPUPortMapper(SELECTOR, data)
    assert isinstance(pm.data, GPUArray) and pm.data_ctype == "double" and pm.dtype == np.float64
    assert pm["/b,/a[1]"].tolist() == [3.0, 1.0] and pm.get("/c").size == 0
    pm["/a[0:2]"] = [7.0, 8.0]
    pm["/b"] = 2
    pm.set_by_inds(to_gpu(np.array([2], np.int32)), to_gpu(np.array([9.0])))
    assert pm.data.get().tolist() == [7.0, 8.0, 9.0, 2.0] and data.tolist() == [0, 1, 2, 3]
    assert pm.get_by_inds([3, 0]).tolist() == [2.0, 7.0]
    assert pm.get_ports(lambda values: values > 7) == [("a", 1), ("a", 2)]
    pm.dtype = np.int64
    assert pm.data_ctype == "long long" and pm.get("/b").dtype == np.int64
    with pytest.raises(PortError, match="values of type int64 are needed, got float64"):
        pm["/b"] = 1.5
    for query in (pm.get_inds_nonzero, pm.get_ports_nonzero):
        with pytest.raises(NotImplementedError):
            query()


def test_an_array_of_the_gpu_is_used_itself(pycuda: None) -> None:
    """Unless a copy is asked for; values have to fit the ports."""
    array = to_gpu(np.arange(4, dtype=np.float32))
    pm = GPUPortMapper(SELECTOR, array, make_copy=False)
    copy = GPUPortMapper(SELECTOR, array)
    pm["/b"] = 5.0
    assert pm.data is array and array.get()[3] == 5.0 and copy["/b"].tolist() == [3.0]
    assert not pm.equals(copy) and pm.equals(pm.copy()) and pm.copy().data is not array
    assert GPUPortMapper.from_pm(PortMapper(SELECTOR, np.arange(4.0)))["/b"].tolist() == [3.0]
    with pytest.raises(PortError, match="4 ports need 4 values"):
        GPUPortMapper(SELECTOR, to_gpu(np.zeros(3)))
    empty = GPUPortMapper(SELECTOR)
    assert empty.data is None and empty.data_ctype == "" and empty.equals(GPUPortMapper(SELECTOR))
    with pytest.raises(PortError, match="no data"):
        empty.get("/b")


def test_a_context_is_made_where_there_is_none(
    pycuda: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the GPU that a circuit would take; one that a script has made is left alone."""
    made: list[object] = []
    monkeypatch.setattr("atexit.register", made.append)
    GPUPortMapper("/a", [1.0])
    assert not Device.asked and not made
    monkeypatch.setattr(Context, "none", True)
    monkeypatch.setenv("NEURODRIVER_DEVICE", "1")
    GPUPortMapper("/a", [1.0])
    GPUPortMapper("/a", [1.0])
    assert Device.asked == [1] and Context.pushed == 1 and made == [Context.pop]


def test_without_pycuda() -> None:
    """The module and its indices are there; values say what is missing and what to use."""
    module = importlib.import_module("neurokernel.pm_gpu")
    assert module.GPUPortMapper is GPUPortMapper and issubclass(GPUPortMapper, module.PortMapper)
    assert GPUPortMapper(SELECTOR).ports_to_inds("/b").tolist() == [3]
    if PathFinder.find_spec("pycuda") is not None:
        pytest.skip("PyCUDA is here")
    with pytest.raises(NoGPUError, match=r"PyCUDA.* PortMapper of neurokernel\.pm") as caught:
        GPUPortMapper(SELECTOR, np.arange(4.0))
    assert isinstance(caught.value, ImportError)
