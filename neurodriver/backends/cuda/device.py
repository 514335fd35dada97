"""One GPU: its primary context, memory and launches, through the driver."""

from __future__ import annotations

import ctypes as ct
import socket
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .driver import (
    Allocation,
    DeviceError,
    DeviceEvent,
    DeviceStream,
    Driver,
    Holdings,
    load_driver,
    primary_context,
)

ALIGNMENT = 256
"""Bytes at whose multiples arrays begin."""

_DEFAULT_STREAM = 1
"""``CU_STREAM_LEGACY``."""

_TAKEN = {
    "registers of a thread": "NUM_REGS",
    "bytes of local memory of a thread": "LOCAL_SIZE_BYTES",
    "bytes of shared memory of a block": "SHARED_SIZE_BYTES",
}
"""What a kernel takes -> the driver's name of it."""

_ATTRIBUTES = "COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", "MULTIPROCESSOR_COUNT"
"""What a device asks the driver about itself."""


def device_count() -> int:
    """Return how many GPUs this process may use.

    Raises
    ------
    DeviceError
        Without cuda-bindings, or when the driver finds none.
    """
    return int(load_driver().cuDeviceGetCount())


def place_of(number: int) -> str:
    """Return the name of this host and where the GPU is in it."""
    if number >= device_count():
        return ""
    driver = load_driver()
    place = driver.cuDeviceGetPCIBusId(32, driver.cuDeviceGet(number))
    return f"{socket.gethostname()} {_text(place)}"


def _text(given: bytes) -> str:
    """Return a string of C."""
    return given.partition(b"\0")[0].decode()


def _attributes(driver: Driver, number: int) -> Iterator[int]:
    """Yield both numbers of the architecture of a GPU, and its multiprocessors."""
    handle, known = driver.cuDeviceGet(number), driver.api.CUdevice_attribute
    for name in _ATTRIBUTES:
        which = getattr(known, f"CU_DEVICE_ATTRIBUTE_{name}")
        yield int(driver.cuDeviceGetAttribute(which, handle))


def architecture(number: int) -> str:
    """Return that of a GPU, such as ``sm_90``; no context is made."""
    return "sm_{}{}".format(*_attributes(load_driver(), number))


def no_wait() -> None:
    """Nothing has to be done before a wait."""


_LATER: list[tuple[Driver, Holdings, Any]] = []
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


def _give_back(driver: Driver, holdings: Holdings, context: Any) -> None:
    """End what a device that is dropped has made, in whatever thread that is."""
    if _waiting:
        _LATER.append((driver, holdings, context))
        return
    driver.cuCtxPushCurrent(context)
    try:
        holdings.end_all()
    finally:
        driver.cuCtxPopCurrent()


class CurrentContext:
    """Makes a context the current one of a thread; faster than a generator."""

    __slots__ = ("_context", "_pop", "_push")

    def __init__(self, driver: Driver, context: Any) -> None:
        self._push, self._pop, self._context = (
            driver.cuCtxPushCurrent,
            driver.cuCtxPopCurrent,
            context,
        )

    def __enter__(self) -> None:
        self._push(self._context)

    def __exit__(self, *error: object) -> None:
        self._pop()


class Device:
    """A GPU in this process.

    Parameters
    ----------
    number : int
        Of the GPU, from 0.
    yields : bool
        Whether a thread that waits for an event leaves its core to others.

    Attributes
    ----------
    arch : str
        Such as ``sm_90``.
    processors : int
        Multiprocessors.
    clusters : bool
        Whether there are clusters of blocks.
    busy : bool
        Whether the stream of launches may have work that nobody has waited for.
    following : bool
        Whether the default stream may have a launch that nobody has waited for.
    answers : list
        What the driver has answered to the last launch; empty while it has not begun.
    stream, drain, lists : DeviceStream
        Of launches, of copies to the host beside them, and of those of lists of events, which begin
        when their length is known.
    default : CUstream
        The stream of other libraries. It waits for the others, and they wait for it.
    """

    def __init__(self, number: int = 0, yields: bool = False) -> None:
        driver = load_driver()
        count = device_count()
        if not 0 <= number < count:
            have = f"this machine has {count}, numbered from 0" if count else "there is none"
            raise DeviceError(f"device must be the number of a GPU, got {number}; {have}")
        major, minor, self.processors = _attributes(driver, number)
        self.number, self._yields, self.busy, self.following = number, yields, True, False
        self.answers: list[Any] = []
        self.name = _text(driver.cuDeviceGetName(256, driver.cuDeviceGet(number)))
        self.arch, self.clusters = f"sm_{major}{minor}", major >= 9
        self.driver = Driver(driver.api, f"GPU {number} ({self.name}): ")
        self._context = primary_context(driver.api, number)
        self.default = driver.api.CUstream(_DEFAULT_STREAM)
        self._holdings = Holdings()
        self._current = CurrentContext(self.driver, self._context)
        end = weakref.finalize(self, _give_back, self.driver, self._holdings, self._context)
        end.atexit = False  # the process ends, and all that is left with it
        with self.current():
            self.stream, self.drain, self.lists = (
                DeviceStream(self.driver, self._holdings) for _ in range(3)
            )
        self.configs: dict[tuple[int, int, int, str, int, bool], Any] = {}
        """How kernels were started: arguments of `launch` -> settings."""
        self._arguments: dict[tuple[int, tuple[Any, ...]], tuple[list[Any], Any, int]] = {}
        self.shared: dict[int, int] = {}
        """Function -> most bytes of shared memory with which it was started."""
        self.before_wait = no_wait
        """Called before each wait for all that was begun."""

    def current(self) -> CurrentContext:
        """Make the GPU's context the current one of this thread."""
        return self._current

    def free(self) -> int:
        """Return the bytes of memory that are free."""
        return int(self.driver.cuMemGetInfo()[0])

    def allocate(self, size: int) -> Allocation:
        """Return memory on the device."""
        return Allocation(self.driver, self._holdings, size)

    def pinned(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return page-locked memory of the host, which the device reaches at full speed."""
        size = max(count * np.dtype(dtype).itemsize, 1)
        address = int(self.driver.cuMemHostAlloc(size, 0))
        free = self.driver.cuMemFreeHost
        self._holdings.add(lambda: free(address))
        raw: Any = (ct.c_byte * size).from_address(address)
        return np.ndarray((count,), dtype, buffer=raw)

    def at_end(self, end: Callable[[], Any]) -> None:
        """Do something when the device is dropped."""
        self._holdings.add(end)

    def event(self) -> DeviceEvent:
        """Return an event, which no stream has yet."""
        return DeviceEvent(self.driver, self._holdings, self._yields)

    def upload(self, address: int, array: NDArray[Any]) -> None:
        """Copy an array to the device."""
        if array.nbytes:
            flat = np.ascontiguousarray(array)
            self.send(address, flat.ctypes.data, flat.nbytes)
            self.wait()  # the array may be a copy that ends here

    def download(self, address: int, out: NDArray[Any]) -> None:
        """Copy from the device into an array that is contiguous."""
        if out.nbytes:
            self.receive(out.ctypes.data, address, out.nbytes)
            self.wait()

    def duplicate(self, target: int, source: int, size: int) -> None:
        """Begin to copy on the device."""
        self.busy = True
        self.driver.cuMemcpyDtoDAsync(target, source, size, self.stream.handle)

    def send(self, address: int, source: int, size: int) -> None:
        """Begin to copy to the device; page-locked memory may not change until it is done."""
        self.busy = True
        self.driver.cuMemcpyHtoDAsync(address, source, size, self.stream.handle)

    def receive(self, target: int, address: int, size: int, beside: bool = False) -> None:
        """Begin to copy from the device; ``beside``: on the stream ``drain``."""
        stream = self.drain if beside else self.stream
        self.driver.cuMemcpyDtoHAsync(target, address, size, stream.handle)

    def receive_list(self, target: int, address: int, size: int) -> None:
        """Begin to copy from the device on the stream ``lists``."""
        self.driver.cuMemcpyDtoHAsync(target, address, size, self.lists.handle)

    def clear(self, address: int, size: int) -> None:
        """Begin to set bytes on the device to zero."""
        self.busy = True
        self.driver.cuMemsetD8Async(address, 0, size, self.stream.handle)

    def wait(self) -> None:
        """Wait until all that was begun is done."""
        self.before_wait()
        self.stream.synchronize()
        if self.following:
            self.driver.cuStreamSynchronize(self.default)
        self.rests()

    def rests(self) -> None:
        """Note that all that was begun is done."""
        self.busy = self.following = False

    def arguments(self, function: int, values: tuple[Any, ...], types: tuple[Any, ...]) -> int:
        """Return where the arguments of a kernel are; the next ones of this kernel take the place.

        The driver would convert them anew for each launch, which takes longer.
        """
        known = self._arguments.get((function, types))
        if known is None:
            slots = [kind() for kind in types]
            there = (ct.c_void_p * len(slots))(*map(ct.addressof, slots))
            known = self._arguments[function, types] = slots, there, ct.addressof(there)
        slots, _, address = known
        for slot, value in zip(slots, values, strict=True):
            slot.value = value
        return address

    def synchronize(self) -> None:
        """Wait for all work in the context, that of others included."""
        self.driver.cuCtxSynchronize()
        self.rests()


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
        self._memory = device.allocate(max(total, ALIGNMENT))
        self.address: dict[Any, int] = {}
        at = int(self._memory)
        for what, n in wanted.items():
            self.address[what] = at
            at += _whole(n)
        device.clear(int(self._memory), max(total, ALIGNMENT))

    def free(self) -> None:
        """Give the memory back."""
        self._memory.free()


def _whole(n: int) -> int:
    return -(-max(n, 1) // ALIGNMENT) * ALIGNMENT


class Loaded:
    """A cubin on a device."""

    def __init__(self, device: Device, cubin: bytes) -> None:
        self._device = device
        self._module = device.driver.cuModuleLoadData(cubin)

    def function(self, name: str) -> Any:
        """Return a kernel."""
        return self._device.driver.cuModuleGetFunction(self._module, name.encode())

    def taken(self, name: str) -> dict[str, int]:
        """Return what a kernel takes, in words -> how much."""
        driver, function = self._device.driver, self.function(name)
        known, asked = driver.api.CUfunction_attribute, driver.cuFuncGetAttribute
        return {said: int(asked(getattr(known, f"CU_FUNC_ATTRIBUTE_{one}"), function))
                for said, one in _TAKEN.items()}  # fmt: skip

    def address(self, name: str) -> int:
        """Return the address of a variable."""
        return int(self._device.driver.cuModuleGetGlobal(self._module, name.encode())[0])

    def unload(self) -> None:
        """Give the code's memory back."""
        self._device.driver.cuModuleUnload(self._module)


def launch(
    device: Device,
    function: Any,
    blocks: int,
    threads: int,
    values: tuple[Any, ...],
    types: tuple[Any, ...],
    width: str = "alone",
    shared: int = 0,
    copies: int = 1,
    follows: bool = False,
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
    follows : bool
        On the default stream instead, behind the work of other libraries.
    """
    key = int(function), blocks * copies, threads, width, shared, follows
    config = device.configs.get(key)
    if config is None:
        config = _config(device, function, blocks * copies, threads, width, shared)
        config.hStream = device.default if follows else device.stream.handle
        device.configs[key] = config
    given = device.arguments(key[0], values, types)
    device.busy, device.following = True, device.following or follows
    answers, start = device.answers, device.driver.api.cuLaunchKernelEx
    answers.clear()
    # no interrupt can come between the launch and the note that it has begun
    answers.extend(map(start, (config,), (function,), (given,), (0,)))
    device.driver.check(answers[0][0])


def _config(
    device: Device, function: Any, blocks: int, threads: int, width: str, shared: int
) -> Any:
    """Return how a kernel is to be started; making it takes longer than starting the kernel."""
    driver, api = device.driver, device.driver.api
    config = api.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = blocks, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
    config.sharedMemBytes = shared
    attributes = []
    kinds = api.CUlaunchAttributeID
    if shared > device.shared.get(int(function), 0):  # more than is allowed unasked, or was asked
        device.shared[int(function)] = shared
        size = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver.cuFuncSetAttribute(function, size, shared)
    if width == "grid":
        one = api.CUlaunchAttribute()
        one.id = kinds.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        one.value.cooperative = 1
        attributes.append(one)
    elif width == "cluster":
        if blocks > 8:
            more = api.CUfunction_attribute
            allowed = more.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            driver.cuFuncSetAttribute(function, allowed, 1)
        one = api.CUlaunchAttribute()
        one.id = kinds.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        one.value.clusterDim.x = blocks
        one.value.clusterDim.y = one.value.clusterDim.z = 1
        attributes.append(one)
    config.attrs = attributes
    config.numAttrs = len(attributes)
    return config


POINTER, LONG, INT, UNSIGNED = ct.c_void_p, ct.c_longlong, ct.c_int, ct.c_uint
