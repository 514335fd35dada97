"""The driver of a GPU, through cuda-bindings: its functions, streams, events and memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from typing import Any

from ...errors import NeurodriverError

_BLOCKING_SYNC = 1
"""``CU_EVENT_BLOCKING_SYNC``."""


class DeviceError(NeurodriverError, RuntimeError):
    """A GPU is missing, has too little memory, or refuses."""


class Driver:
    """The functions of the driver by their names, such as ``cuMemAlloc``.

    A function returns what the driver gives beside its status. It raises `DeviceError` with the
    driver's words where the status is an error.

    Parameters
    ----------
    api : module
        ``cuda.bindings.driver``.
    whose : str
        The GPU, for messages.
    """

    def __init__(self, api: Any, whose: str = "") -> None:
        self.api, self._whose = api, whose

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function; it is looked up once."""
        function, good = getattr(self.api, name), self.api.CUresult.CUDA_SUCCESS

        def call(*given: Any) -> Any:
            result = function(*given)
            if result[0] != good:
                raise self.error(result[0])
            return result[1] if len(result) == 2 else result[1:]

        self.__dict__[name] = call
        return call

    def check(self, status: Any) -> None:
        """Raise the error of a status, if it is one."""
        if status != self.api.CUresult.CUDA_SUCCESS:
            raise self.error(status)

    def error(self, status: Any) -> DeviceError:
        """Return the error of a status."""
        _, text = self.api.cuGetErrorString(status)
        said = text.decode() if isinstance(text, bytes) else "unknown error"
        return DeviceError(f"{self._whose}{said} ({getattr(status, 'name', status)})")


def load_driver() -> Driver:
    """Return the driver, ready for use.

    Raises
    ------
    DeviceError
        Without cuda-bindings, and where the driver is missing or finds no GPU.
    """
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise DeviceError(
            f"backend 'cuda' needs cuda-bindings ({error}): `pip install 'neurodriver[gpu]'`, "
            f"or run with backend 'cpu'"
        ) from error
    found = Driver(driver)
    try:
        found.cuInit(0)
    except (RuntimeError, OSError) as error:  # of the driver, or of who looks for its library
        reason = " ".join(str(error).split())
        raise DeviceError(
            f"backend 'cuda' finds no usable GPU ({reason}): install NVIDIA's driver, "
            f"or run with backend 'cpu'"
        ) from error
    return found


@cache
def primary_context(api: Any, number: int) -> Any:
    """Return the primary context of a GPU, which CuPy, PyTorch and PyCUDA use, too.

    It is kept until the process ends.
    """
    driver = Driver(api)
    return driver.cuDevicePrimaryCtxRetain(driver.cuDeviceGet(number))


class Holdings:
    """What one device has made and has to end: memory, streams and events."""

    def __init__(self) -> None:
        self._ends: dict[int, Callable[[], Any]] = {}
        self._made = 0

    def add(self, end: Callable[[], Any]) -> int:
        """Note how something ends; return its number."""
        self._made += 1
        self._ends[self._made] = end
        return self._made

    def end(self, number: int) -> None:
        """End something, unless it has ended."""
        if number in self._ends:
            self._ends.pop(number)()

    def end_all(self) -> None:
        """End everything that has not ended."""
        for number in list(self._ends):
            with contextlib.suppress(DeviceError):
                self.end(number)


class Allocation:
    """Memory on a device; ``int(allocation)`` is its address."""

    def __init__(self, driver: Driver, holdings: Holdings, size: int) -> None:
        self._address = address = int(driver.cuMemAlloc(size))
        self._holdings = holdings
        self._number = holdings.add(lambda: driver.cuMemFree(address))

    def __int__(self) -> int:
        return self._address

    def free(self) -> None:
        """Give the memory back."""
        self._holdings.end(self._number)


class DeviceStream:
    """Work of a device in order."""

    def __init__(self, driver: Driver, holdings: Holdings) -> None:
        self._driver = driver
        self.handle = handle = driver.cuStreamCreate(0)
        holdings.add(lambda: driver.cuStreamDestroy(handle))

    def synchronize(self) -> None:
        """Wait until all work is done."""
        self._driver.cuStreamSynchronize(self.handle)

    def wait_for_event(self, event: DeviceEvent) -> None:
        """Do nothing more before an event."""
        self._driver.cuStreamWaitEvent(self.handle, event.handle, 0)


class DeviceEvent:
    """A place in the work of a stream.

    Parameters
    ----------
    yields : bool
        Whether a thread that waits for it sleeps, instead of testing again and again.
    """

    def __init__(self, driver: Driver, holdings: Holdings, yields: bool = False) -> None:
        self._driver = driver
        self.handle = handle = driver.cuEventCreate(_BLOCKING_SYNC if yields else 0)
        holdings.add(lambda: driver.cuEventDestroy(handle))

    def record(self, stream: DeviceStream) -> None:
        """Put it behind the work that the stream has."""
        self._driver.cuEventRecord(self.handle, stream.handle)

    def synchronize(self) -> None:
        """Wait until the work before it is done."""
        self._driver.cuEventSynchronize(self.handle)

    def query(self) -> bool:
        """Whether the work before it is done."""
        (status,) = self._driver.api.cuEventQuery(self.handle)
        results = self._driver.api.CUresult
        if status not in (results.CUDA_SUCCESS, results.CUDA_ERROR_NOT_READY):
            raise self._driver.error(status)
        return bool(status == results.CUDA_SUCCESS)

    def time_till(self, other: DeviceEvent) -> float:
        """Return the milliseconds from this event to another."""
        return float(self._driver.cuEventElapsedTime(self.handle, other.handle))
