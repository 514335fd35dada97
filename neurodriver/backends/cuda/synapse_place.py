"""``DeviceSynapses``: numbers of synapses in the memory of a GPU, and texts that run there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codegen.synapse_texts import device_text
from ...model.synapse_texts import SynapseTexts
from ..synapse_sets import Stored
from .compiler import compile_cubin
from .device import INT, POINTER, Device, Loaded, launch

_THREADS, _WAVES = 256, 16
"""Threads of a block, and blocks of each multiprocessor at most."""


class StoredOnDevice:
    """An array in the memory of a GPU."""

    def __init__(self, device: Device, values: NDArray[Any]) -> None:
        self._device, self._shape, self._dtype = device, values.shape, values.dtype
        with device.current():
            self._memory = device.allocate(max(values.nbytes, 16))
        self.address = int(self._memory)
        self.write(values)

    def read(self) -> NDArray[Any]:
        """Return a copy of the values."""
        out = np.empty(self._shape, self._dtype)
        with self._device.current():
            self._device.download(self.address, out)
        return out

    def write(self, values: NDArray[Any]) -> None:
        """Set all values."""
        whole = np.ascontiguousarray(np.broadcast_to(values, self._shape), self._dtype)
        with self._device.current():
            self._device.upload(self.address, whole)

    def free(self) -> None:
        """Give the memory back."""
        self._memory.free()


class DeviceSynapses:
    """The memory of a GPU.

    Parameters
    ----------
    texts : SynapseTexts
    dtype : dtype
        Of states.
    device : Device
    """

    def __init__(self, texts: SynapseTexts, dtype: np.dtype, device: Device) -> None:
        self._device, self._open = device, True
        self._stored: list[StoredOnDevice] = []
        with device.current():
            self._code = Loaded(device, compile_cubin(device_text(texts, dtype.name), device.arch))
            self._run = self._code.function("nd_run")

    def store(self, values: NDArray[Any]) -> StoredOnDevice:
        """Return an array with these values."""
        self._stored.append(StoredOnDevice(self._device, values))
        return self._stored[-1]

    def run(self, sets: Stored, begin: Stored, count: int, work: NDArray[np.int64]) -> None:
        """Run the texts of some sets: a warp for each row, as many as fit at once."""
        device, rows = self._device, len(work) - 1
        blocks = min(-(-rows // (_THREADS // 32)), _WAVES * device.processors)
        with device.current():
            values = sets.address, begin.address, count
            launch(device, self._run, blocks, _THREADS, values, (POINTER, POINTER, INT))
            device.wait()

    def close(self) -> None:
        """Give the memory back."""
        if not self._open:
            return
        self._open = False
        with self._device.current():
            for one in self._stored:
                one.free()
            self._code.unload()
