"""One GPU: its primary context through PyCUDA, memory, and launches through the driver."""

from __future__ import annotations

import contextlib
import ctypes as ct
import socket
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

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

        if not isinstance(getattr(cuda, "Error", None), type):  # something else of that name
            raise ImportError("PyCUDA is not installed")
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


def place_of(number: int) -> str:
    """Return the name of this host and where the GPU is in it."""
    cuda, _ = _modules()
    if number >= device_count():
        return ""
    return f"{socket.gethostname()} {cuda.Device(number).pci_bus_id()}"


_SPARE: dict[int, list[Any]] = {}
"""GPU -> streams and events of devices that have ended."""


class Held:
    """PyCUDA's driver module, with a note of what one device has made through it.

    What PyCUDA ends in a thread other than its first one, it does not end, and complains. A device
    may be dropped in any thread. So it gives memory back itself, with its context as the current
    one, and streams and events are never ended but kept.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        self.memory: list[Any] = []
        self.kept: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def mem_alloc(self, size: int) -> Any:
        """Return memory on the device."""
        self.memory.append(self._module.mem_alloc(size))
        return self.memory[-1]

    def pagelocked_empty(self, *given: Any, **more: Any) -> Any:
        """Return memory of the host that the device reaches at full speed."""
        array = self._module.pagelocked_empty(*given, **more)
        self.memory.append(array.base)
        return array

    def Stream(self, *given: Any) -> Any:
        """Return a stream."""
        self.kept.append(self._module.Stream(*given))
        return self.kept[-1]

    def Event(self, *given: Any) -> Any:
        """Return an event."""
        self.kept.append(self._module.Event(*given))
        return self.kept[-1]


_LATER: list[tuple[Held, Any, int]] = []
_waiting = 0


@contextmanager
def held_back(really: bool) -> Iterator[None]:
    """Give no dropped device's memory back meanwhile: a kernel waits for this process.

    Freeing waits for kernels, and blocks the other threads of Python.
    """
    global _waiting
    _waiting += really
    try:
        yield
    finally:
        _waiting -= really
        while _LATER and not _waiting:
            _give_back(*_LATER.pop())


def _give_back(held: Held, context: Any, number: int) -> None:
    """Free the memory of a device that is dropped; what is freed already says so, in vain."""
    if _waiting:
        _LATER.append((held, context, number))
        return
    context.push()
    try:
        for piece in held.memory:
            with contextlib.suppress(held.Error, held.LogicError):
                piece.free()
    finally:
        context.pop()
    _SPARE.setdefault(number, []).extend(held.kept)


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
    stream, drain, lists : Stream
        Of launches, of copies to the host beside them, and of those of lists of events, which begin
        when their length is known.
    """

    def __init__(self, number: int = 0) -> None:
        module, self.driver = _modules()
        self.cuda = Held(module)
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
        end = weakref.finalize(self, _give_back, self.cuda, self._context, number)
        end.atexit = False  # the process ends, and all that is left with it
        with self.current():
            self.stream = self.cuda.Stream()
            self.drain = self.cuda.Stream()
            self.lists = self.cuda.Stream()
        self._queue, self._drain, self._lists = (
            self.driver.CUstream(int(one.handle)) for one in (self.stream, self.drain, self.lists)
        )
        self.configs: dict[tuple[int, int, int, str, int], Any] = {}
        """How kernels were started: function, blocks, threads, width, bytes -> settings."""

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

    def duplicate(self, target: int, source: int, size: int) -> None:
        """Begin to copy on the device."""
        self.done(self.driver.cuMemcpyDtoDAsync(target, source, size, self._queue))

    def send(self, address: int, source: int, size: int) -> None:
        """Begin to copy to the device; page-locked memory may not change until it is done."""
        self.done(self.driver.cuMemcpyHtoDAsync(address, source, size, self._queue))

    def receive(self, target: int, address: int, size: int, beside: bool = False) -> None:
        """Begin to copy from the device; ``beside``: on the stream ``drain``."""
        queue = self._drain if beside else self._queue
        self.done(self.driver.cuMemcpyDtoHAsync(target, address, size, queue))

    def receive_list(self, target: int, address: int, size: int) -> None:
        """Begin to copy from the device on the stream ``lists``."""
        self.done(self.driver.cuMemcpyDtoHAsync(target, address, size, self._lists))

    def clear(self, address: int, size: int) -> None:
        """Begin to set bytes on the device to zero."""
        self.done(self.driver.cuMemsetD8Async(address, 0, size, self._queue))

    def wait(self) -> None:
        """Wait until all that was begun is done."""
        self.stream.synchronize()

    def pinned(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return page-locked memory of the host."""
        out: NDArray[Any] = self.cuda.pagelocked_empty(count, dtype)
        return out


class Pool:
    """One allocation that all arrays of a program share.

    Parameters
    ----------
    device : Device
    wanted : mapping of hashable to int
        What it is for -> bytes.

    Raises
    ------
    DeviceError
        When the device has not as much memory: the message lists what needs how much.
    """

    def __init__(self, device: Device, wanted: Mapping[Any, int]) -> None:
        total = sum(_whole(n) for n in wanted.values())
        free = device.free()
        if total > free:
            most = sorted(wanted, key=lambda what: wanted[what], reverse=True)[:3]
            sizes = ", ".join(f"{what}: {wanted[what] / 2**30:.2f}" for what in most)
            raise DeviceError(
                f"GPU {device.number} ({device.name}) has {free / 2**30:.2f} GiB free, the circuit "
                f"needs {total / 2**30:.2f} GiB (most of it, in GiB: {sizes}); use a smaller "
                f"circuit, shorter delays or float32"
            )
        self._memory = device.cuda.mem_alloc(max(total, ALIGNMENT))
        self.address: dict[Any, int] = {}
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
    shared: int = 0,
    copies: int = 1,
) -> None:
    """Start a kernel on the device's stream.

    Parameters
    ----------
    function : kernel of a ``Loaded``
    blocks, threads : int
    values, types : tuple
        Arguments and their ctypes.
    width : {"alone", "block", "cluster", "grid"}
        Scope of a barrier: its blocks are on the device all at once.
    shared : int
        Bytes of shared memory of a block.
    copies : int
        Groups of ``blocks`` blocks.
    """
    key = int(function), blocks * copies, threads, width, shared
    config = device.configs.get(key)
    if config is None:
        config = _config(device, function, blocks * copies, threads, width, shared)
        device.configs[key] = config
    device.done(device.driver.cuLaunchKernelEx(config, function, (values, types), 0))


def _config(
    device: Device, function: Any, blocks: int, threads: int, width: str, shared: int
) -> Any:
    """Return how a kernel is to be started; making it takes longer than starting the kernel."""
    driver = device.driver
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = blocks, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
    config.sharedMemBytes = shared
    config.hStream = int(device.stream.handle)
    attributes = []
    kinds = driver.CUlaunchAttributeID
    if shared:  # beside what a kernel has of its own, it may be more than is allowed unasked
        size = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        device.done(driver.cuFuncSetAttribute(function, size, shared))
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
    return config


POINTER, LONG, INT, UNSIGNED = ct.c_void_p, ct.c_longlong, ct.c_int, ct.c_uint
