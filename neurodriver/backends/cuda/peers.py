"""``PeerMemory``: memory of a GPU that the kernels of other GPUs of the same host write into.

In one process a GPU gets access to the memory of another one (peer access). Between processes the
memory is opened by a handle (CUDA IPC). `codegen/simt/peers.cuh` writes and reads it.
"""

from __future__ import annotations

import contextlib
import ctypes as ct
import secrets
import socket
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..tables import PeerRows
from .crossing import MOST, bytes_of, crossing, sender
from .device import Device
from .driver import DeviceError, primary_context
from .gates import KernelExchange

if TYPE_CHECKING:
    from .backend import CUDABackend

Offer = NDArray[np.uint8]
"""How others reach the memory, as bytes that travel in any message."""

_HANDLE = 64
"""Bytes of a handle, ``CU_IPC_HANDLE_SIZE``."""

_OFFER = np.dtype([("process", np.uint64), ("host", "S64"), ("number", np.int64),
                   ("address", np.uint64), ("handle", np.uint8, _HANDLE)])  # fmt: skip

OFFER_BYTES = _OFFER.itemsize

_BLOCK = 2 << 20
"""Bytes that memory takes a multiple of: a handle opens whole blocks of the driver."""

_OPEN_WITH_ACCESS = 1
"""``CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS``."""


@cache
def _process() -> int:
    """Return a number of this process that no other one has."""
    return secrets.randbits(63)


def _host() -> bytes:
    """Return the name of this host, as far as an offer has room."""
    return socket.gethostname().encode()[:64]


class PeerMemory:
    """Zeros on a GPU.

    Parameters
    ----------
    device : Device
        Whose context is the current one.
    size : int
        Bytes.

    Attributes
    ----------
    offer : Offer
        Lets others reach it, see `opened`.
    """

    def __init__(self, device: Device, size: int) -> None:
        whole = -(-max(size, 1) // _BLOCK) * _BLOCK
        self._memory = device.allocate(whole)
        self.address = int(self._memory)
        device.clear(self.address, whole)
        device.wait()
        handle = device.driver.cuIpcGetMemHandle(self.address)
        fields = np.zeros(1, _OFFER)
        fields["process"], fields["host"] = _process(), _host()
        fields["number"], fields["address"] = device.number, self.address
        fields["handle"] = np.frombuffer(ct.string_at(handle.getPtr(), _HANDLE), np.uint8)
        self.offer: Offer = fields.view(np.uint8)

    def free(self) -> None:
        """Give it back."""
        self._memory.free()


class Peers:
    """Lets the kernels of a backend exchange rows with those of others; see `base.PeerKernels`."""

    most = MOST

    def __init__(self, owner: CUDABackend) -> None:
        self._owner, self._device = owner, owner.device
        self._offered: list[PeerMemory] = []
        self._opened: list[Callable[[], Any]] = []
        self._tables: Any = None

    def receive_buffer(self, size: int) -> tuple[int, Offer]:
        with self._device.current():
            made = PeerMemory(self._device, size)
        self._offered.append(made)
        return made.address, made.offer

    def reach(self, offer: Offer) -> int:
        """Return the address of the receive buffer of another GPU."""
        with self._device.current():
            address, close = opened(self._device, offer)
        self._opened.append(close)
        return address

    def crossing(self, variable: str, elements: Any) -> PeerRows:
        ring, units = self._owner.program.layout.rings[variable], self._owner.generated.tasks
        return crossing(ring, units, elements)

    def bytes_of(self, rows: PeerRows, count: int, kept: int) -> int:
        return bytes_of(rows, count, kept, self._owner.dtype.itemsize)

    def exchange(
        self, imports: Sequence[PeerRows], exports: Sequence[PeerRows], sent: int, kept: int
    ) -> None:
        own, rings = self._owner, list(self._owner.program.layout.rings)
        senders = [
            sender(own.ring_address(rings[probe.ring]), rows, kept)
            for probe, rows in zip(own.exports, exports, strict=True)
            if rows.width
        ]
        with self._device.current():
            takers = own.staging.connect(imports, exports, kept)
            table = [word for row in (*senders, *takers) for word in row]
            if table and self._tables is None:
                own.staging.distribute()
                self._tables = self._device.allocate(8 * len(table))
            if table:
                self._device.upload(int(self._tables), np.array(table, np.int64))
        begin = int(self._tables) if self._tables else 0
        where = begin, begin + 8 * sum(map(len, senders))
        copied = not all(rows.width for rows in (*imports, *exports))
        own.gates.peers = KernelExchange(sent, kept, *where, len(senders), len(takers), copied)

    def part(self) -> None:
        """Let go of the memory of other GPUs."""
        with self._device.current():
            while self._opened:
                self._opened.pop()()

    def free(self) -> None:
        """Give the memory back that others have written into, after they have let go of it."""
        with self._device.current():
            with contextlib.suppress(DeviceError):  # that of a launch that has failed
                self._device.synchronize()
            for memory in filter(None, (*self._offered, self._tables)):
                memory.free()
        self._offered, self._tables = [], None

    def keep(self) -> None:
        """Leave the memory to those who may have it open, until the process ends."""
        if self._offered:
            _KEPT.append((self._device, self._offered))
        self._offered = []


_KEPT: list[tuple[Device, list[PeerMemory]]] = []
"""Memory of closed backends that other processes may have open, and the GPU that it is on."""


class Trial:
    """Finds whether a GPU reaches the memory of some others, before a circuit is built.

    Parameters
    ----------
    number : int
        Of the GPU.

    Attributes
    ----------
    offer : Offer
        Of some memory of the GPU; all zeros where it has none or cannot offer it.
    """

    def __init__(self, number: int) -> None:
        self.offer = np.zeros(OFFER_BYTES, np.uint8)
        with contextlib.suppress(DeviceError):
            self._device = Device(number)
            with self._device.current():
                self.offer = PeerMemory(self._device, 1).offer

    def reaches(self, offers: Sequence[Offer]) -> bool:
        """Whether the GPU offers memory, and reaches all of this memory."""
        if not self.offer.any():
            return False
        try:
            with self._device.current():
                for offer in offers:
                    if not np.array_equal(offer, self.offer):
                        opened(self._device, offer)[1]()
        except DeviceError:
            return False
        return True


def opened(device: Device, offer: Offer) -> tuple[int, Callable[[], Any]]:
    """Return the address at which a GPU's kernels reach offered memory, and what closes it.

    Raises
    ------
    DeviceError
        Where they do not reach it.
    """
    fields, driver = offer.view(_OFFER)[0], device.driver
    if fields["host"] != _host():
        raise DeviceError(f"GPU {device.number} does not reach the memory of another host")
    if fields["process"] == _process():
        _give_access(device, int(fields["number"]))
        return int(fields["address"]), lambda: None
    handle = driver.api.CUipcMemHandle()
    ct.memmove(handle.getPtr(), fields["handle"].tobytes(), _HANDLE)
    address = int(driver.cuIpcOpenMemHandle(handle, _OPEN_WITH_ACCESS))
    return address, lambda: driver.cuIpcCloseMemHandle(address)


def _give_access(device: Device, other: int) -> None:
    """Let a GPU reach the memory of another one of this process."""
    if other == device.number:
        return
    api: Any = device.driver.api
    (status,) = api.cuCtxEnablePeerAccess(primary_context(api, other), 0)
    fine = api.CUresult.CUDA_SUCCESS, api.CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
    if status not in fine:
        raise device.driver.error(status)
