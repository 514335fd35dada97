"""``SharedArray``: memory that other libraries use without a copy.

NumPy, PyTorch, JAX and CuPy read it through the array interfaces of CUDA and DLPack:
https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html (version 3),
https://dmlc.github.io/dlpack/latest/c_api.html (structures without a version).
"""

from __future__ import annotations

import ctypes as ct
import math
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np

CPU, CUDA = 1, 2
"""Types of devices, as DLPack numbers them."""


class _Device(ct.Structure):
    _fields_: ClassVar = [("type", ct.c_int32), ("number", ct.c_int32)]


class _Type(ct.Structure):
    _fields_: ClassVar = [("code", ct.c_uint8), ("bits", ct.c_uint8), ("lanes", ct.c_uint16)]


class _Tensor(ct.Structure):
    _fields_: ClassVar = [
        ("data", ct.c_void_p),
        ("device", _Device),
        ("ndim", ct.c_int32),
        ("dtype", _Type),
        ("shape", ct.POINTER(ct.c_int64)),
        ("strides", ct.POINTER(ct.c_int64)),
        ("byte_offset", ct.c_uint64),
    ]


_DELETER = ct.CFUNCTYPE(None, ct.c_void_p)


class _Managed(ct.Structure):
    _fields_: ClassVar = [("tensor", _Tensor), ("context", ct.c_void_p), ("deleter", _DELETER)]


_CODES = {"i": 0, "u": 1, "f": 2}
_NAME = b"dltensor"
_lent: dict[int, Any] = {}  # address of a structure -> what it needs to stay alive

_new = ct.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ct.py_object, [ct.c_void_p, ct.c_char_p, ct.c_void_p]


_give_back = _DELETER(lambda address: _lent.pop(address, None) and None)


class SharedArray:
    """An array in the memory of a backend, whose elements lie one after the other.

    Parameters
    ----------
    count : int
        Elements.
    device : (int, int)
        Type of the device, `CPU` or `CUDA`, and its number.
    owner : object
        What has to live as long as the memory is used.
    follow : callable, optional
        Hears on which stream of a GPU the memory is going to be used, as DLPack numbers it; -1
        where nobody says. The steps that write the memory are over then, or stand before it there.

    Attributes
    ----------
    read_only : bool
        Whether it is not to be written to. The array interface says so, and DLPack does not.
    """

    def __init__(
        self,
        address: int,
        count: int,
        dtype: np.dtype,
        device: tuple[int, int],
        owner: Any,
        follow: Callable[[int | None], None] | None = None,
    ) -> None:
        self.address, self.dtype = address, np.dtype(dtype)
        self.shape: tuple[int, ...] = (count,)
        self.device, self._owner, self.read_only, self._follow = device, owner, False, follow

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        kind = {CPU: "the CPU", CUDA: f"GPU {self.device[1]}"}[self.device[0]]
        return f"SharedArray of {math.prod(self.shape):,} {self.dtype} on {kind}"

    def reshape(self, shape: tuple[int, ...]) -> SharedArray:
        """Return the array, which has another shape now."""
        self.shape = shape
        return self

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device[0] != CUDA:
            raise AttributeError("this memory is not on a GPU")
        if self._follow is not None:
            self._follow(-1)
        return self._interface()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self.device[0] != CPU:
            raise AttributeError("this memory is on a GPU; copy it: .get(name)")
        return self._interface()

    def _interface(self) -> dict[str, Any]:
        data = (self.address, self.read_only)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "version": 3}

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **wishes: Any) -> Any:
        """Return a capsule."""
        if wishes.get("copy"):
            raise BufferError("this memory is shared, not copied")
        if self._follow is not None:
            self._follow(wishes.get("stream"))
        managed = _Managed.from_buffer_copy(_described(self.shape, self.dtype, self.device))
        managed.tensor.data = self.address
        address = ct.addressof(managed)
        _lent[address] = managed, self._owner
        return _new(address, _NAME, None)


@cache
def _described(shape: tuple[int, ...], dtype: np.dtype, device: tuple[int, int]) -> _Managed:
    """Return an array without its address; each is made once, as that takes 4 us."""
    kind = _Type(_CODES[dtype.kind], 8 * dtype.itemsize, 1)
    sizes = (ct.c_int64 * len(shape))(*shape)
    tensor = _Tensor(None, _Device(*device), len(shape), kind, sizes, None, 0)
    return _Managed(tensor, None, _give_back)


class ReadOnlyArray(np.ndarray):
    """An array of NumPy that is not to be written to, which libraries of tensors share, too.

    DLPack before version 1 does not know what is read-only. NumPy's own arrays refuse libraries
    that ask for such a version. This array does not.
    """

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return what is computed from the values as an array like any other."""
        return array[()] if return_scalar else np.asarray(array)

    def __dlpack__(self, **wishes: Any) -> Any:
        contiguous = self.ndim and self.flags.c_contiguous
        if self.flags.writeable or not contiguous or wishes.get("max_version"):
            return super().__dlpack__(**wishes)
        wishes = {name: wish for name, wish in wishes.items() if wish is not None}
        memory = SharedArray(self.ctypes.data, self.size, self.dtype, (CPU, 0), self)
        return memory.reshape(self.shape).__dlpack__(**wishes)


def as_read_only(array: Any) -> Any:
    """Return memory that is shared, not to be written to."""
    if isinstance(array, SharedArray):
        array.read_only = True
        return array
    view = array.view(ReadOnlyArray)
    view.flags.writeable = False
    return view
