"""The port mapper of ``neurokernel.pm_gpu``, whose values lie on a GPU."""

from __future__ import annotations

import atexit
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..backends.choice import Choice, gpu_number
from ..backends.cuda.device import device_count
from ..backends.cuda.driver import DeviceError
from ..backends.cuda.pycuda_driver import pycuda_driver
from ..errors import PortError
from .components import dtype_to_ctype
from .ports import BasePortMapper
from .ports import PortMapper as PortMapper


class NoGPUError(DeviceError, ImportError):
    """Values are to lie on a GPU, and there is none, or no PyCUDA."""


class GPUPortMapper(PortMapper):
    """Maps ports to the elements of an array of PyCUDA.

    Parameters and methods are those of `neurodriver.compat.ports.PortMapper`. ``data`` is a
    GPUArray, or anything that becomes one; it is not copied when ``make_copy`` is False. What is
    read comes to the host. Queries for values that are not zero are not supported.

    Raises
    ------
    NoGPUError
        Where values are given and there is no PyCUDA, or no GPU.
    """

    @staticmethod
    def _copied(data: Any) -> Any:
        return data.copy() if hasattr(data, "gpudata") else np.array(data)

    def _fitting(self, x: Any) -> Any:
        """Return values as an array on the GPU that every port finds its element in."""
        on_host = super()._fitting(x.get() if hasattr(x, "gpudata") else x)
        if on_host is None or hasattr(x, "gpudata"):
            return None if on_host is None else x
        return _arrays().to_gpu(on_host)

    def _held(self) -> NDArray[Any]:
        super()._held()  # raises without data
        values: NDArray[Any] = self._data.get()
        return values

    def set_by_inds(self, inds: Any, data: Any) -> None:
        """Set the values at some indices to one value, or to one each."""
        values = self._held()
        given = data.get() if hasattr(data, "gpudata") else np.asarray(data)
        if not np.can_cast(given.dtype, values.dtype, "same_kind"):
            raise PortError(f"values of type {values.dtype} are needed, got {given.dtype}")
        places = np.asarray(inds.get() if hasattr(inds, "gpudata") else inds)
        if places.size:
            values[places] = given
            self._data.set(values)

    @property
    def data_ctype(self) -> str:
        """Name in C of the type of the values; empty without values."""
        return "" if self._data is None else dtype_to_ctype(self._data.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self._held().dtype

    @dtype.setter
    def dtype(self, d: Any) -> None:
        self._held()
        self._data = self._data.view(d)

    def equals(self, pm: BasePortMapper) -> bool:
        """Return whether another mapper has the same ports, integers and values."""
        if not BasePortMapper.equals(self, pm) or not isinstance(pm, PortMapper):
            return False
        mine, other = (None if one._data is None else one._held() for one in (self, pm))
        if mine is None or other is None:
            return mine is other
        return np.array_equal(mine, other)

    def get_inds_nonzero(self) -> NoReturn:
        """Not supported on a GPU."""
        raise NotImplementedError("GPUPortMapper: read the values with get() and look there")

    def get_ports_nonzero(self) -> NoReturn:
        """Not supported on a GPU."""
        self.get_inds_nonzero()


def _arrays() -> Any:
    """Return PyCUDA's module of arrays; a context is current then."""
    try:
        cuda = pycuda_driver()
        if cuda is None:
            raise DeviceError("that needs PyCUDA: `pip install 'neurodriver[gpu,pycuda]'`")
        if not device_count():
            raise DeviceError("there is no GPU")
    except DeviceError as error:
        advice = "PortMapper of neurokernel.pm keeps them on the CPU"
        raise NoGPUError(f"GPUPortMapper keeps its values on a GPU: {error}; {advice}") from None
    from pycuda import gpuarray

    if cuda.Context.get_current() is None:
        context = cuda.Device(gpu_number(Choice.of("cuda"))).retain_primary_context()
        context.push()
        atexit.register(context.pop)
    return gpuarray
