"""``Diagnostics``: what kernels watch while they run, and where they record what they find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from .arrays import Array, Key, Kind, Role, RunOwner, row

FAULT = Key(RunOwner(), Kind.SIZE, "first fault")
"""The first value that is not finite, (8,) int64: lock, step, component, number of the variable,
whether the value before is known, that value, the value, both as the bits of float64
(``codegen/first_fault.h``)."""

PRINTED = Key(RunOwner(), Kind.SIZE, "printed")
"""What ``PRINT`` and ``ERROR`` have written, int64: the number of records, then lock, step and
component of the first ``ERROR`` and its record, then the records (``codegen/prints.h``)."""

HEAD, RECORD = 16, 12
"""Words before the first record, and words of a record: step, component, sub-step, number of the
statement, values as the bits of float64."""

LEAST_RECORDS, MOST_RECORDS = 1 << 14, 1 << 18
"""Records that there is room for, by the number of components that print."""

NO_FAULT = np.iinfo(np.int64).max
"""The step while nothing was found."""


def no_fault() -> NDArray[np.int64]:
    """Return the record while nothing was found."""
    words = np.zeros(8, np.int64)
    words[1] = NO_FAULT
    return words


@dataclass(frozen=True)
class Diagnostics:
    """What the kernels of a program watch.

    Attributes
    ----------
    finite : bool
        Whether the first value that is not finite is recorded.
    debug : bool
        Whether the mathematics of models prints.
    """

    finite: bool = False
    debug: bool = False

    def rows(self, prints: int) -> list[Array]:
        """Return the rows of the array table that the kernels write to.

        Parameters
        ----------
        prints : int
            Records that a step may write.
        """
        rows = [row(FAULT, no_fault(), Role.SCRATCH)] if self.finite else []
        if self.debug:
            words = np.zeros(HEAD + records(prints) * RECORD, np.int64)
            words[2] = NO_FAULT
            rows.append(row(PRINTED, words, Role.SCRATCH))
        return rows


def words_used(head: NDArray[np.int64], size: int) -> int:
    """Return how many of ``size`` words hold what was printed, from the first ones."""
    return min(HEAD + int(head[0]) * RECORD, size)


def records(prints: int) -> int:
    """Return how many records there is room for, where a step may write ``prints``."""
    return min(max(prints, LEAST_RECORDS), MOST_RECORDS)


def prints_of_step(circuit: Circuit, dt: float) -> int:
    """Return how many records a step may write, where no statement is in a loop."""
    return sum(
        group.count * len(group.model.printing) * group.model.substeps(dt)
        for group in circuit.groups
        if not group.is_port
    )


OFF = Diagnostics()
