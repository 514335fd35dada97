"""What ``PRINT`` and ``ERROR`` in models say: lines in order, and the end of a run."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..errors import LPUExecutionError
from ..model.index_checks import statement
from ..plan.diagnostics import HEAD, NO_FAULT, PRINTED, RECORD, prints_of_step
from ..plan.program import Program

LINES = 10_000
"""Lines of a run at most; the others are counted."""


class Printed:
    """Prints what the components of a program have to say.

    Parameters
    ----------
    program : Program
    said : str
        What lines begin with.

    Attributes
    ----------
    on : bool
        Whether the program prints.
    longest : int
        Steps of a call at most, so that there is room for what they print.
    number : int or None
        Component whose ``ERROR`` ended the run.
    """

    def __init__(self, program: Program, said: str = "") -> None:
        self._program, self._said = program, said
        self.on = PRINTED in program.arrays
        self.longest = 1 << 30
        self.number: int | None = None
        self._lines = self._left = self._lost = 0
        if self.on:
            room = (program.arrays[PRINTED].size - HEAD) // RECORD
            self.longest = max(1, room // max(1, prints_of_step(program.circuit, program.dt)))

    def check(self, backend: Backend) -> None:
        """Print what the last call has written.

        Raises
        ------
        LPUExecutionError
            Where a component has reached ``ERROR``.
        """
        if not self.on:
            return
        words = backend.findings.printed()
        last = int(words[2])
        kept = words[HEAD : HEAD + (len(words) - HEAD) // RECORD * RECORD].reshape(-1, RECORD)
        self._lost += max(0, int(words[0]) - len(kept))
        order = np.lexsort((kept[:, 2], kept[:, 1], kept[:, 0]))
        for record in kept[order]:
            if last == NO_FAULT or record[0] <= last:
                self._print(record)
        if last != NO_FAULT:
            self.number = int(words[3])
            error = np.concatenate([words[2:4], words[4:6], words[6 : 6 + RECORD - 4]])
            raise LPUExecutionError(self._line(error), step=last + 1)

    def finish(self) -> None:
        """Say how many lines were left out."""
        if self._left or self._lost:
            print(f"... and {self._left + self._lost:,} more lines of PRINT", file=sys.stdout)
        self._lines = self._left = self._lost = 0

    def _print(self, record: NDArray[np.int64]) -> None:
        if self._lines < LINES:
            print(self._line(record), file=sys.stdout)
            self._lines += 1
        else:
            self._left += 1

    def _line(self, record: NDArray[np.int64]) -> str:
        """Return uid, step and text of a record."""
        circuit, number = self._program.circuit, int(record[1])
        group = circuit.groups[int(circuit.group_of(number))]
        said = statement(group.model, int(record[3]))
        text = said.text(record[4:].view(np.float64).tolist())
        return f"{self._said}{circuit.uids[number]}, step {int(record[0]) + 1}: {text}"
