"""``DeviceSynapses``: numbers of synapses in the memory of a GPU, and texts that run there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codegen.synapse_texts import device_text
from ...model.synapse_texts import SynapseTexts
from ..synapse_place import ALONE, PACKS, Stored
from .compiler import compile_cubin
from .device import INT, LONG, POINTER, Device, Loaded, launch
from .driver import DeviceError
from .peer_counts import PeerCounts

_THREADS = 128
"""Of a block."""

_RUN_TYPES = POINTER, POINTER, INT, POINTER, INT, INT


class StoredOnDevice:
    """An array in the memory of a GPU."""

    def __init__(self, device: Device, values: NDArray[Any]) -> None:
        self._device, self._shape, self._dtype = device, values.shape, values.dtype
        with device.current():
            self._memory = device.allocate(max(values.nbytes, 16))
        self.address, self.nbytes = int(self._memory), values.nbytes
        self.write(values)

    def read(self) -> NDArray[Any]:
        """Return a copy of the values."""
        out = np.empty(self._shape, self._dtype)
        with self._device.current():
            self._device.download(self.address, out)
        return out

    def write(self, values: NDArray[Any]) -> None:
        """Set all values."""
        self._upload(np.broadcast_to(values, self._shape))

    def write_first(self, values: NDArray[Any]) -> None:
        """Set the values of the first row."""
        self._upload(np.broadcast_to(values, self._shape[1:]))

    def _upload(self, values: NDArray[Any]) -> None:
        with self._device.current():
            self._device.upload(self.address, np.ascontiguousarray(values, self._dtype))

    def free(self) -> None:
        """Give the memory back."""
        self._memory.free()


class DeviceSynapses:
    """The memory of a GPU; `SynapsePlace` says what the methods do.

    Parameters
    ----------
    dtype : dtype
        Of states.
    """

    def __init__(self, texts: SynapseTexts, dtype: np.dtype, device: Device) -> None:
        self._device, self._open = device, True
        self._stored: list[StoredOnDevice] = []
        with device.current():
            self._code = Loaded(device, compile_cubin(device_text(texts, dtype.name), device.arch))
            names = "nd_run", "nd_run_light", "nd_greatest"
            self._run, self._run_light, self._greatest = map(self._code.function, names)
        self._peers: PeerCounts | None = None

    def store(self, values: NDArray[Any]) -> StoredOnDevice:
        self._stored.append(StoredOnDevice(self._device, values))
        return self._stored[-1]

    def find_greatest(self, units: Stored, count: int) -> None:
        """Begin to find the greatest values, with a warp for each."""
        with self._device.current():
            blocks, values = -(-count // (_THREADS // 32)), (units.address, count)
            launch(self._device, self._greatest, blocks, _THREADS, values, (POINTER, LONG))

    def run(
        self,
        sets: Stored,
        begin: Stored,
        count: int,
        work: NDArray[np.int64],
        light: bool,
        share: int = ALONE,
    ) -> None:
        """Begin to run the texts of some sets, with a warp for each row."""
        device, rows = self._device, len(work) - 1
        kernel, blocks = self._run_light if light else self._run, -(-rows // (_THREADS // 32))
        with device.current(), self._sharing(share) as packed:
            values = sets.address, begin.address, count, *packed
            launch(device, kernel, blocks, _THREADS, values, _RUN_TYPES)

    def _sharing(self, share: int) -> AbstractContextManager[tuple[int, int, int]]:
        """Return how a run takes part, as the kernel gets it."""
        if share == ALONE:
            return nullcontext((0, 0, ALONE))
        assert self._peers is not None
        return self._peers.packing() if share == PACKS else self._peers.adding()

    def wait(self) -> None:
        with self._device.current():
            self._device.wait()
        if self._peers is not None:
            self._peers.check()

    def synchronize(self) -> None:
        with self._device.current():
            self._device.synchronize()

    def offer(self, rows: int, synapses: int, ranks: int) -> bytes:
        """Return a handle of the memory in which other GPUs pack; empty if they cannot reach it."""
        with suppress(DeviceError), self._device.current():
            given = self._device, self._code, self.store, rows, synapses, ranks
            self._peers = PeerCounts(*given)
            return self._peers.offer
        return b""

    def reach(self, offers: Sequence[bytes], own: int) -> bool:
        if self._peers is None or not all(offers):
            return False
        with self._device.current():
            return self._peers.reach(offers, own)

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        with self._device.current():
            if self._peers is not None:
                self._peers.end()
            for one in self._stored:
                one.free()
            self._code.unload()
