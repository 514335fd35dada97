"""Arrays and addresses as the code of a model knows them."""

from __future__ import annotations

import ctypes as ct
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..errors import ModelError
from ..native.buffers import padded
from .buffers import aligned


class DeviceAddress(int):
    """Address in the memory of a GPU: an int, for PyCUDA's launches too."""

    @property
    def gpudata(self) -> int:
        """The address."""
        return self


class HostArray(np.ndarray[Any, Any]):
    """A numpy array that also answers to the names of a device array."""

    @property
    def gpudata(self) -> int:
        """Address of the first element."""
        return int(self.ctypes.data)

    def get(self) -> NDArray[Any]:
        """Return a plain copy."""
        return np.array(self)

    def set(self, values: ArrayLike) -> None:
        """Copy values into the array; a single one fills it."""
        self[...] = values


def host_array(address: int, count: int, dtype: DTypeLike = np.float64) -> HostArray:
    """Return the memory at an address as an array, without a copy.

    Parameters
    ----------
    address : int
        For instance ``update_pointers["V"]`` or ``access_buffers["I"].gpudata``.
    count : int
        Number of elements; whoever gives too many reads or writes memory of others.
    dtype : dtype
        The working type of the LPU: ``access_buffers[variable].dtype`` or ``self.dtype``.

    Raises
    ------
    ModelError
        For an address in the memory of a GPU, one that is no address, a count below 0, and a
        dtype that is no number.
    """
    if isinstance(address, DeviceAddress):
        raise ModelError(
            "host_array: the address is one of a GPU's memory, which numpy cannot read; use "
            "PyCUDA, or let the class say that it runs on the CPU alone: backends = ('cpu',)"
        )
    kind = np.dtype(dtype)
    try:
        place = index(address)
    except TypeError:
        raise ModelError(f"host_array: an address is needed, got {address!r:.40}") from None
    if count < 0 or (count and place <= 0):
        raise ModelError(f"host_array: {count} numbers at the address {place} cannot be")
    if kind.kind not in "biuf":
        raise ModelError(f"host_array: a type of numbers is needed, got {kind}")
    raw: Any = (ct.c_char * (count * kind.itemsize)).from_address(place)
    out: HostArray = np.frombuffer(raw, dtype=kind, count=count).view(HostArray)
    return out


def filled(column: ArrayLike, count: int, dtype: DTypeLike) -> HostArray:
    """Return a column of ``count`` numbers in memory of whole vectors, as kernels want it."""
    whole = aligned(padded(count), dtype)
    whole[:count] = np.broadcast_to(np.asarray(column), (count,))
    whole[count:] = whole[count - 1]
    return whole[:count].view(HostArray)
