"""One pulse of constant value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .base import Chunk, Input, active_steps, check_span, values_for


class StepInput(Input):
    """Injects ``value`` at every step k with ``start <= k * dt < stop``, zero otherwise.

    Parameters
    ----------
    variable : str
    uids : sequence of str
    value : float or (n,) array
        In the unit of the variable.
    start, stop : float
        Seconds; compared as float64 with ``k * dt``.
    """

    def __init__(
        self,
        variable: str,
        uids: Sequence[str],
        value: ArrayLike,
        start: float = 0.0,
        stop: float = np.inf,
    ) -> None:
        super().__init__([(variable, uids)])
        name = f"StepInput '{variable}'"
        self.value = values_for(value, self.targets[0][1], name)
        self.start, self.stop = check_span(start, stop, name)

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        self._table = self.value.astype(dtype)[None, :]

    def chunk(self, number: int, first: int, steps: int) -> Chunk:
        rows = np.full(steps, -1, dtype=np.int32)
        rows[slice(*active_steps(first, steps, self.dt, self.start, self.stop))] = 0
        return Chunk(self._table, rows, version=1)

    def row_bytes(self) -> int:
        return 4
