"""The memory of the CPU backend, for instances of users' classes and for what kernels write."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from ...native.addresses import HostArray, host_array
from ...native.buffers import LANES, padded
from ...plan.arrays import InstanceReceptorOwner, Key, Kind
from ...plan.diagnostics import FAULT, PRINTED, no_fault, words_used
from ..memory import AccessBuffer, MemoryManager


class HostMemory:
    """The memory of the CPU backend; `MemorySpace` says what the methods do."""

    def __init__(self, memory: MemoryManager) -> None:
        self.memory, self.program = memory, memory.program

    def array(self, key: Key) -> Any:
        return self.memory.array(key).view(HostArray)

    def current(self) -> AbstractContextManager[None]:
        """Do nothing: whatever Python calls is over when it returns."""
        return nullcontext()

    def buffer(self, variable: str, step: int) -> AccessBuffer:
        return self.memory.access_buffer(variable, step)

    def pointers(self, number: int, step: int) -> dict[str, int]:
        return self.memory.update_pointers(number, step)

    def store(self, address: int, column: Any, count: int) -> None:
        host_array(address, count, self.program.dtype)[:] = column

    def inputs(self, number: int, access: str, step: int, out: Any, first_only: bool) -> None:
        declared = self.program.circuit.groups[number].model.access(access)
        memory, owner = self.memory, InstanceReceptorOwner(number, access)

        def index(name: str) -> Any:
            return memory.array(Key(owner, Kind.INDEX, name))

        ring = memory.get_buffer(declared.variable)
        current = memory.access_buffer(declared.variable, step).current
        row = (current - index("delay")) % len(ring)
        values = ring[row, index("pre")]
        if declared.weighted:
            values = values * memory.array(Key(owner, Kind.WEIGHT, "weight"))
        shape, count = np.shape(out), self.program.circuit.groups[number].count
        if not isinstance(out, np.ndarray) or shape != (count,):
            name = self.program.circuit.groups[number].name
            got = f"the shape {shape}" if isinstance(out, np.ndarray) else f"{out!r:.40}"
            raise ModelError(f"{name}: the inputs of '{access}' need a ({count},) array, got {got}")
        if first_only:
            out[:] = values[index("cumpre")[:-1]]
            return
        out[:] = 0
        degree = index("npre")
        np.add.at(out, np.repeat(np.arange(len(degree)), degree), values)

    def mark(self, number: int, variable: str, step: int) -> None:
        memory, layout = self.memory, self.program.layout
        ring, segment = layout.rings[variable], layout.segment(number, variable)
        row = (step + 1) % ring.depth
        count = padded(segment.count)
        written = memory.get_buffer(variable)[row, segment.start : segment.start + count] != 0
        if written.any():
            memory.active[variable][row] = step + 1
        dirty = memory.dirty[variable].reshape(ring.depth, -1)
        bits = np.packbits(written, bitorder="little").view(np.uint16)
        dirty[row, segment.start // LANES : (segment.start + count) // LANES] = bits


class HostFindings:
    """The rows of ``plan.diagnostics`` in host memory; `Findings` says what the methods do."""

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
