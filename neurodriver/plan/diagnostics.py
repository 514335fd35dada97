"""``Diagnostics``: what kernels watch while they run, and where they note what they find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Key, Kind, Role, RunOwner, row

FAULT = Key(RunOwner(), Kind.SIZE, "first fault")
"""The first value that is not finite, (8,) int64: lock, step, component, number of the variable,
whether the value before is known, that value, the value, both as the bits of float64
(``codegen/first_fault.h``)."""

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
        Whether the first value that is not finite is noted.
    """

    finite: bool = False

    def rows(self) -> list[Array]:
        """Return the rows of the array table that the kernels note things in."""
        if not self.finite:
            return []
        return [row(FAULT, no_fault(), Role.SCRATCH)]


OFF = Diagnostics()
