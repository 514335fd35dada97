"""Instances on a GPU: arrays and addresses of its memory, and PyCUDA where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ...codegen.simt.device import DEVICE
from ...codegen.source import prelude
from ...errors import ModelError
from ...native.addresses import DeviceAddress
from ...native.buffers import LANES, padded
from ...native.headers import header
from ...plan.arrays import InstanceReceptorOwner, Key, Kind, SegmentOwner
from ..memory import AccessBuffer
from .pycuda_driver import pycuda_driver

if TYPE_CHECKING:
    from .binding import Binding
    from .device import Device

_THREADS = 128
"""Of a block of the helpers."""


def helper_text(dtype: str) -> str:
    """Return the text of the kernels that sum inputs and note events for instances."""
    shape = [f"#define ND_THREADS {_THREADS}", "#define ND_AHEAD 0", "#define ND_WORD 8"]
    parts = [*shape, *prelude([], dtype, DEVICE), header("codegen/simt/instance.cuh")]
    return "\n".join([f"/* instances, {dtype} */", *parts])


class DeviceArray:
    """An array on a GPU for classes that do not use PyCUDA.

    Parameters
    ----------
    gpudata : DeviceAddress
        Of the first element.
    """

    def __init__(self, device: Device, gpudata: DeviceAddress, size: int, dtype: DTypeLike) -> None:
        self._device, self.gpudata, self.size = device, gpudata, size
        self.dtype, self.shape = np.dtype(dtype), (size,)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> DeviceArray:
        """Return neighbouring elements, without a copy."""
        start, stop, step = part.indices(self.size)
        if step != 1:
            raise ModelError(f"an array on the GPU has no part with the step {step}")
        begin = DeviceAddress(self.gpudata + start * self.dtype.itemsize)
        return DeviceArray(self._device, begin, max(stop - start, 0), self.dtype)

    def get(self) -> NDArray[Any]:
        """Return a copy on the host."""
        out = np.empty(self.size, self.dtype)
        with self._device.current():
            self._device.download(self.gpudata, out)
        return out

    def set(self, values: ArrayLike) -> None:
        """Copy values into the array; a single one fills it."""
        whole = np.broadcast_to(np.asarray(values, self.dtype), self.shape)
        with self._device.current():
            self._device.upload(self.gpudata, whole)


class DeviceMemory:
    """The memory of the CUDA backend; `MemorySpace` says what the methods do.

    Parameters
    ----------
    owner : Binding
        Its arrays are on the device.
    """

    def __init__(self, owner: Binding) -> None:
        self.owner, self.program = owner, owner.program
        self.device = owner.device

    def array(self, key: Key) -> Any:
        """Return an array of the program: PyCUDA's, or `DeviceArray` where that is missing."""
        row = self.program.arrays[key]
        address = DeviceAddress(self.owner.address(key))
        if self._pycuda is None:
            return DeviceArray(self.device, address, row.size, row.dtype)
        from pycuda.gpuarray import GPUArray

        return GPUArray((row.size,), np.dtype(row.dtype), gpudata=address)

    @cached_property
    def _pycuda(self) -> Any:
        """PyCUDA's own object for the primary context of the GPU; None without PyCUDA.

        The code of a class may use PyCUDA, which refuses a context that it does not know.
        """
        cuda = pycuda_driver()
        return cuda and cuda.Device(self.device.number).retain_primary_context()

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the GPU the current one; wait for pending work before and after."""
        with self.device.current():
            self.device.synchronize()
            if self._pycuda is None:
                yield
            else:
                self._pycuda.push()
                try:
                    yield
                finally:
                    self._pycuda.pop()
            self.device.synchronize()

    def _ring(self, variable: str) -> DeviceAddress:
        return DeviceAddress(self.owner.ring_address(variable))

    def buffer(self, variable: str, step: int) -> AccessBuffer:
        return self.owner.memory.access_buffer(variable, step, self._ring)

    def pointers(self, number: int, step: int) -> dict[str, int]:
        plain = self.owner.memory.update_pointers(number, step, self._ring)
        return {variable: DeviceAddress(address) for variable, address in plain.items()}

    def store(self, address: int, column: Any, count: int) -> None:
        """Copy a column of ``count`` numbers, on the host or on the device, to an address."""
        with self.current():
            values = np.asarray(column.get() if hasattr(column, "get") else column)
            whole = np.broadcast_to(values, (count,)).astype(self.program.dtype)
            self.device.upload(address, whole)

    @cached_property
    def _helpers(self) -> dict[str, Any]:
        from .compiler import compile_cubin
        from .device import Loaded

        text = helper_text(self.program.dtype.name)
        self._code = Loaded(self.device, compile_cubin(text, self.device.arch))
        return {name: self._code.function(name) for name in ("nd_inputs", "nd_mark_events")}

    def _call(self, name: str, count: int, pointers: list[int], numbers: list[int]) -> None:
        """Start a helper with its addresses and integers, and wait for it."""
        from .device import LONG, POINTER, launch

        values = (*pointers, *numbers)
        types = (POINTER,) * len(pointers) + (LONG,) * len(numbers)
        with self.current():
            blocks = -(-count // _THREADS)
            launch(self.device, self._helpers[name], blocks, _THREADS, values, types)
            self.device.wait()

    def inputs(self, number: int, access: str, step: int, out: Any, first_only: bool) -> None:
        group, owner = self.program.circuit.groups[number], InstanceReceptorOwner(number, access)
        count, dtype = group.count, self.program.dtype
        if getattr(out, "dtype", None) != dtype or getattr(out, "size", 0) < count:
            want = f"an array of {count} {dtype} on the GPU is needed"
            raise ModelError(f"{group.name}: sum of '{access}': {want}, got {type(out).__name__}")
        declared = group.model.access(access)
        ring = self.buffer(declared.variable, step)
        keys = [Key(owner, Kind.INDEX, name) for name in ("pre", "cumpre", "delay")]
        addresses = [self.owner.address(key) for key in keys]
        weight = Key(owner, Kind.WEIGHT, "weight")
        addresses.append(self.owner.address(weight) if declared.weighted else 0)
        pointers = [ring.gpudata, *addresses, int(out.gpudata)]
        shape = [count, ring.current, ring.buffer_length, ring.ld, int(first_only)]
        self._call("nd_inputs", count, pointers, shape)

    def mark(self, number: int, variable: str, step: int) -> None:
        layout, owner = self.program.layout, self.owner
        ring, slices = layout.rings[variable], padded(layout.segment(number, variable).count)
        slices //= LANES
        row = (step + 1) % ring.depth
        key = Key(SegmentOwner(number, variable), Kind.ACTIVITY, "dirty")
        written = owner.address(key) + row * slices if key in owner.taken else 0
        begin = self.pointers(number, step)[variable]
        active = owner.active_address(variable) + 8 * row
        self._call("nd_mark_events", slices, [begin, written, active], [slices, step + 1])
