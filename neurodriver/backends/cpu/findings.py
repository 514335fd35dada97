"""``HostFindings``: what kernels have written about their values, in the memory of the host."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...plan.diagnostics import FAULT, PRINTED, no_fault, words_used
from ..memory import MemoryManager


class HostFindings:
    """The rows of ``plan.diagnostics`` in host memory; `Findings` says what the methods do.

    Parameters
    ----------
    memory : MemoryManager
    """

    def __init__(self, memory: MemoryManager) -> None:
        self._memory = memory
        self._fault: NDArray[np.int64] | None = None

    def fault(self) -> NDArray[np.int64]:
        """Return the record of the first value that is not finite."""
        if self._fault is None:
            self._fault = self._memory.array(FAULT)
        return self._fault

    def forget(self) -> None:
        self._memory.array(FAULT)[:] = no_fault()

    def printed(self) -> NDArray[np.int64]:
        """Return what ``PRINT`` and ``ERROR`` have written; what comes next takes its place."""
        words = self._memory.array(PRINTED)
        used: NDArray[np.int64] = words[: words_used(words, len(words))].copy()
        words[0] = 0
        return used
