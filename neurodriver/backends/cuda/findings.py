"""``DeviceFindings``: what kernels have written about their values, in the memory of a GPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...plan.diagnostics import FAULT, HEAD, PRINTED, no_fault, words_used
from .binding import Binding


class DeviceFindings:
    """The rows of ``plan.diagnostics`` on a device; `Findings` says what the methods do."""

    def __init__(self, binding: Binding) -> None:
        self._binding, self._device = binding, binding.device
        self._rows = binding.program.arrays
        self._fault = no_fault()

    def receive(self, words: NDArray[np.int64]) -> None:
        """Begin to copy the record of a fault into page-locked memory, behind a launch."""
        if FAULT in self._rows:
            place = self._binding.pool.address[FAULT]
            self._device.receive(words.ctypes.data, place, words.nbytes)

    def take(self, words: NDArray[np.int64]) -> None:
        """Take the record of a completed call; its memory is that of a later call, too."""
        if FAULT in self._rows:
            self._fault = words.copy()

    def fault(self) -> NDArray[np.int64]:
        """Return the record of the first value that is not finite, of the completed calls."""
        return self._fault

    def forget(self) -> None:
        self._fault = no_fault()
        with self._device.current():
            self._device.upload(self._binding.pool.address[FAULT], self._fault)

    def printed(self) -> NDArray[np.int64]:
        """Return what ``PRINT`` and ``ERROR`` have written, while nothing runs; begin anew."""
        device, place, head = self._device, self._binding.pool.address[PRINTED], np.empty(HEAD, int)
        with device.current():
            device.download(place, head)
            words = np.empty(words_used(head, self._rows[PRINTED].size), np.int64)
            device.download(place, words)
            device.upload(place, np.zeros(1, np.int64))
        return words
