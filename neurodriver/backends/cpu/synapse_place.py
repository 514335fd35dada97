"""``HostSynapses``: numbers of synapses in the memory of the host, and texts that run there."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codegen.synapse_texts import host_text
from ...model.synapse_texts import SynapseTexts
from ...native.compiler import build
from ...side_by_side import in_threads
from ..synapse_place import ALONE, Stored

THREAD_WORTH = 1 << 18
"""Synapses, times copies, that are worth a thread."""


class StoredOnHost:
    """An array in host memory."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = np.array(values, order="C")
        self.address, self.nbytes = self.values.ctypes.data, self.values.nbytes

    def read(self) -> NDArray[Any]:
        """Return a copy of the values."""
        return self.values.copy()

    def write(self, values: NDArray[Any]) -> None:
        """Set all values."""
        self.values[...] = values

    def write_first(self, values: NDArray[Any]) -> None:
        """Set the values of the first row."""
        self.values[0] = values


class HostSynapses:
    """The memory of this machine; `SynapsePlace` says what the methods do.

    Parameters
    ----------
    dtype : dtype
        Of states.
    threads : int
        At most.
    """

    def __init__(self, texts: SynapseTexts, dtype: np.dtype, threads: int) -> None:
        (library,) = build([(host_text(texts, dtype.name), ())])
        self._run, self._greatest, self._threads = library.nd_run, library.nd_greatest, threads
        self._stored: list[StoredOnHost] = []

    def store(self, values: NDArray[Any]) -> StoredOnHost:
        self._stored.append(StoredOnHost(values))
        return self._stored[-1]

    def find_greatest(self, units: Stored, count: int) -> None:
        """Find the greatest values, in one thread."""
        self._greatest(ct.c_void_p(units.address), ct.c_longlong(count))

    def run(
        self,
        sets: Stored,
        begin: Stored,
        count: int,
        work: NDArray[np.int64],
        light: bool,
        share: int = ALONE,
    ) -> None:
        """Run the texts of some sets, on several threads where there is enough to do."""
        given = ct.c_void_p(sets.address), ct.c_void_p(begin.address)
        number, rows = ct.c_longlong(count), len(work) - 1
        threads = min(self._threads, int(work[-1]) // THREAD_WORTH + 1)
        cuts = np.searchsorted(work, work[-1] * np.arange(threads + 1) / threads)
        cuts[0], cuts[-1] = 0, rows
        spans = [
            (ct.c_longlong(low), ct.c_longlong(high))
            for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        ]
        in_threads(partial(self._run, *given, number), spans, "neurodriver-synapses")

    def wait(self) -> None:
        """Do nothing: they have."""

    def synchronize(self) -> None:
        """Do nothing: all is done."""

    def offer(self, rows: int, synapses: int, ranks: int) -> bytes:
        """Return nothing: ranks send each other what is in host memory."""
        return b""

    def reach(self, offers: Sequence[bytes], own: int) -> bool:
        """Return False."""
        return False

    def close(self) -> None:
        self._stored.clear()
