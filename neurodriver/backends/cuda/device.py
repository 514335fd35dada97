"""One GPU: its primary context through PyCUDA, memory, and launches through the driver."""

from __future__ import annotations

import contextlib
import ctypes as ct
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import NeurodriverError

ALIGNMENT = 256
"""Bytes at whose multiples arrays begin."""


class DeviceError(NeurodriverError, RuntimeError):
    """A GPU is missing, has too little memory, or refuses."""


def _modules() -> tuple[Any, Any]:
    """Return PyCUDA's driver module and that of cuda-bindings."""
    try:
        import pycuda.driver as cuda
        from cuda.bindings import driver
    except ImportError as error:
        raise DeviceError(
            f"backend 'cuda' needs PyCUDA and cuda-bindings ({error}): "
            f"`pip install 'neurodriver[gpu]'`, or run with backend 'cpu'"
        ) from error
    return cuda, driver


def device_count() -> int:
    """Return how many GPUs this process may use.

    Raises
    ------
    DeviceError
        Without PyCUDA, or when the driver finds none.
    """
    cuda, _ = _modules()
    try:
        cuda.init()
        return int(cuda.Device.count())
    except cuda.Error as error:
        raise DeviceError(f"backend 'cuda' finds no usable GPU: {error}") from error


class Device:
    """A GPU in this process.

    Parameters
    ----------
    number : int
        Of the GPU, from 0.

    Attributes
    ----------
    cuda, driver : module
        ``pycuda.driver`` and ``cuda.bindings.driver``.
    name : str
    arch : str
        Such as ``sm_90``.
    processors : int
        Multiprocessors.
    """

    def __init__(self, number: int = 0) -> None:
        self.cuda, self.driver = _modules()
        count = device_count()
        if not 0 <= number < count:
            have = f"this machine has {count}, numbered from 0" if count else "there is none"
            raise DeviceError(f"device must be the number of a GPU, got {number}; {have}")
        device = self.cuda.Device(number)
        self.number = number
        self.name: str = device.name()
        self.arch = "sm_{}{}".format(*device.compute_capability())
        self.clusters = device.compute_capability() >= (9, 0)
        self.processors: int = device.multiprocessor_count
        self._context = device.retain_primary_context()
        with self.current():
            self._streams = [self.cuda.Stream()]
        weakref.finalize(self, _drop, self._context, self._streams)

    @property
    def stream(self) -> Any:
        """Where all work is queued."""
        return self._streams[0]

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the GPU's context the current one of this thread."""
        self._context.push()
        try:
            yield
        except (self.cuda.Error, self.cuda.LogicError) as error:
            raise DeviceError(f"GPU {self.number} ({self.name}): {error}") from error
        finally:
            self._context.pop()

    def free(self) -> int:
        """Return the bytes of memory that are free."""
        return int(self.cuda.mem_get_info()[0])

    def done(self, result: tuple[Any, ...]) -> Any:
        """Return what a call of the driver gave.

        Raises
        ------
        DeviceError
            When it failed, with the driver's words.
        """
        status, *rest = result
        if status != self.driver.CUresult.CUDA_SUCCESS:
            _, text = self.driver.cuGetErrorString(status)
            said = text.decode() if isinstance(text, bytes) else str(status)
            raise DeviceError(f"GPU {self.number} ({self.name}): {said} ({status.name})")
        return rest[0] if len(rest) == 1 else rest

    def upload(self, address: int, array: NDArray[Any]) -> None:
        """Copy an array to the device."""
        if array.nbytes:
            flat = np.ascontiguousarray(array)
            self.cuda.memcpy_htod_async(address, flat, self.stream)
            self.stream.synchronize()  # the array may be a copy that ends here

    def download(self, address: int, out: NDArray[Any]) -> None:
        """Copy from the device into an array that is contiguous."""
        if out.nbytes:
            self.cuda.memcpy_dtoh_async(out, address, self.stream)
            self.stream.synchronize()


def _drop(context: Any, things: list[Any]) -> None:
    """Let go of what PyCUDA can only end where its context is the current one."""
    context.push()
    try:
        things.clear()
    finally:
        context.pop()


class Holdings:
    """Memory and whatever else one owner has on a device, given back when it ends.

    PyCUDA gives nothing back in a thread that has not the context, and an owner that is dropped
    may end in any thread.

    Parameters
    ----------
    owner : object
        Must not be reachable from what is held.
    device : Device
    """

    def __init__(self, owner: object, device: Device) -> None:
        self._device = device
        self._ends: dict[int, Callable[[], Any]] = {}
        self.give_back = weakref.finalize(owner, _give_back, device, self._ends)

    def memory(self, n: int) -> Any:
        """Return ``n`` bytes on the device; ``int`` of it is the address."""
        piece = self._device.cuda.mem_alloc(n)
        self._ends[id(piece)] = piece.free
        return piece

    def free(self, piece: Any) -> None:
        """Give one piece of memory back, unless it is."""
        end = self._ends.pop(id(piece), None)
        if end is not None:
            end()

    def pinned(self, n: int) -> NDArray[np.uint8]:
        """Return ``n`` bytes of host memory that the device reaches at full speed."""
        array: NDArray[np.uint8] = self._device.cuda.pagelocked_empty(n, np.uint8)
        self.add(array.base.free)  # type: ignore[union-attr]
        return array

    def marks(self, n: int) -> list[Any]:
        """Return events for measuring time; the list is empty when they are given back."""
        made = [self._device.cuda.Event() for _ in range(n)]
        self.add(made.clear)
        return made

    def add(self, end: Callable[[], Any]) -> None:
        """Call a function when all is given back."""
        self._ends[id(end)] = end


def _give_back(device: Device, ends: dict[int, Callable[[], Any]]) -> None:
    errors = device.cuda.Error, device.cuda.LogicError, DeviceError
    with device.current():
        with contextlib.suppress(*errors):  # of a launch: whoever ran it was told
            device.stream.synchronize()
        while ends:
            with contextlib.suppress(*errors):
                ends.popitem()[1]()


class Pool:
    """One allocation that all arrays of a program share.

    Parameters
    ----------
    device : Device
    wanted : mapping of str to int
        What it is for -> bytes.

    Raises
    ------
    DeviceError
        When the device has not as much memory: how much was asked for what.
    """

    def __init__(self, device: Device, wanted: Mapping[str, int]) -> None:
        total = sum(_whole(n) for n in wanted.values())
        free = device.free()
        if total > free:
            most = sorted(wanted, key=lambda what: wanted[what], reverse=True)[:3]
            told = ", ".join(f"{what}: {wanted[what] / 2**30:.2f}" for what in most)
            raise DeviceError(
                f"GPU {device.number} ({device.name}) has {free / 2**30:.2f} GiB free, the circuit "
                f"needs {total / 2**30:.2f} GiB (most of it, in GiB: {told}); use a smaller "
                f"circuit, shorter delays or float32"
            )
        self._memory = device.cuda.mem_alloc(max(total, ALIGNMENT))
        self.address: dict[str, int] = {}
        at = int(self._memory)
        for what, n in wanted.items():
            self.address[what] = at
            at += _whole(n)
        device.cuda.memset_d8(int(self._memory), 0, max(total, ALIGNMENT))

    def free(self) -> None:
        """Give the memory back."""
        self._memory.free()


def _whole(n: int) -> int:
    return -(-max(n, 1) // ALIGNMENT) * ALIGNMENT


class Loaded:
    """A cubin on a device.

    Parameters
    ----------
    device : Device
    cubin : bytes
    """

    def __init__(self, device: Device, cubin: bytes) -> None:
        self._device = device
        self._module = device.done(device.driver.cuModuleLoadData(cubin))

    def function(self, name: str) -> Any:
        """Return a kernel."""
        driver = self._device.driver
        return self._device.done(driver.cuModuleGetFunction(self._module, name.encode()))

    def address(self, name: str) -> int:
        """Return the address of a variable."""
        driver = self._device.driver
        return int(self._device.done(driver.cuModuleGetGlobal(self._module, name.encode()))[0])

    def unload(self) -> None:
        """Give the code's memory back."""
        self._device.done(self._device.driver.cuModuleUnload(self._module))


def launch(
    device: Device,
    function: Any,
    blocks: int,
    threads: int,
    values: tuple[int, ...],
    types: tuple[Any, ...],
    width: str = "alone",
) -> None:
    """Start a kernel on the device's stream.

    Parameters
    ----------
    function : kernel of a ``Loaded``
    blocks, threads : int
    values, types : tuple
        Arguments and their ctypes.
    width : {"alone", "block", "cluster", "grid"}
        Who meets at a barrier: blocks that do are on the device all at once.
    """
    driver = device.driver
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = blocks, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
    config.hStream = int(device.stream.handle)
    attributes = []
    kinds = driver.CUlaunchAttributeID
    if width == "grid":
        one = driver.CUlaunchAttribute()
        one.id = kinds.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        one.value.cooperative = 1
        attributes.append(one)
    elif width == "cluster":
        if blocks > 8:
            more = driver.CUfunction_attribute
            allowed = more.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            device.done(driver.cuFuncSetAttribute(function, allowed, 1))
        one = driver.CUlaunchAttribute()
        one.id = kinds.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        one.value.clusterDim.x = blocks
        one.value.clusterDim.y = one.value.clusterDim.z = 1
        attributes.append(one)
    config.attrs = attributes
    config.numAttrs = len(attributes)
    device.done(driver.cuLaunchKernelEx(config, function, (values, types), 0))


POINTER, LONG, INT, UNSIGNED = ct.c_void_p, ct.c_longlong, ct.c_int, ct.c_uint
