"""Instances on the CPU: numpy arrays, addresses of this process."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.component import Shape
from ..codegen.kernel import Kernel
from ..codegen.template import Signature, template_kernel
from ..plan.memory import LANES, AccessBuffer, padded
from .arrays import HostArray, host_array
from .place import Arrays
from .plan import columns_of

if TYPE_CHECKING:
    from ..plan.program import Program, Unit


class HostPlace:
    """The memory of the CPU backend.

    Parameters
    ----------
    program : Program
        Its memory is allocated.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.held: dict[int, Arrays] = dict(columns_of(program, "cpu"))

    def current(self) -> AbstractContextManager[None]:
        """Do nothing: whatever Python calls is over when it returns."""
        return nullcontext()

    def buffer(self, variable: str, step: int) -> AccessBuffer:
        """Return where a variable is read at a step."""
        return self.program.memory.access_buffer(variable, step)

    def pointers(self, number: int, step: int) -> dict[str, int]:
        """Return the addresses of a group's segments in row ``step + 1``."""
        return self.program.memory.update_pointers(number, step)

    def state(self, unit: Unit, name: str) -> Any:
        """Return the array of a hidden state of a unit; None where it has none of that name."""
        column = unit.values.get(f"state:{name}")
        return None if column is None else column[: unit.count].view(HostArray)

    def store(self, address: int, column: Any, count: int) -> None:
        """Copy a column to an address."""
        host_array(address, count, self.program.dtype)[:] = column

    def inputs(self, number: int, access: str, step: int, out: Any, first_only: bool) -> None:
        """Write the sums of an access's inputs, or the first inputs, into an array."""
        declared = self.program.circuit.groups[number].model.access(access)
        memory, held = self.program.memory, self.held[number]
        ring = memory.get_buffer(declared.variable)
        current = memory.access_buffer(declared.variable, step).current
        row = (current - held[f"conn:{access}:delay"]) % len(ring)
        values = ring[row, held[f"pre:{access}"]]
        if declared.weighted:
            values = values * held[f"conn:{access}:weight"]
        if first_only:
            out[:] = values[held[f"cumpre:{access}"][:-1]]
            return
        out[:] = 0
        degree = held[f"npre:{access}"]
        np.add.at(out, np.repeat(np.arange(len(degree)), degree), values)

    def note(self, number: int, variable: str, step: int) -> None:
        """Note whether row ``step + 1`` of a group holds events."""
        memory = self.program.memory
        ring, segment = memory.rings[variable], memory.segment(number, variable)
        row = (step + 1) % ring.depth
        count = padded(segment.count)
        written = memory.get_buffer(variable)[row, segment.start : segment.start + count] != 0
        if written.any():
            memory.active[variable][row] = step + 1
        notes = memory.noted[variable].reshape(ring.depth, -1)
        bits = np.packbits(written, bitorder="little").view(np.uint16)
        notes[row, segment.start // LANES : (segment.start + count) // LANES] = bits

    def template(self, shape: Shape, text: str, signature: Signature) -> Kernel:
        """Return the kernel around the text of a template."""
        return template_kernel(shape, text, signature)
