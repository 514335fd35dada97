"""A linear ramp."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .base import Chunk, Input, values_for


class RampInput(Input):
    """Injects a value that goes linearly from one to another and stays there.

    ``start_value`` up to ``start_time``, ``stop_value`` from ``start_time + duration`` on.

    Parameters
    ----------
    variable : str
    uids : sequence of str
    start_time, duration : float
        Seconds.
    start_value, stop_value : float or (n,) array
        In the unit of the variable.
    """

    def __init__(
        self,
        variable: str,
        uids: Sequence[str],
        start_time: float,
        duration: float,
        start_value: ArrayLike,
        stop_value: ArrayLike,
    ) -> None:
        super().__init__([(variable, uids)])
        name = f"RampInput '{variable}'"
        if not 0 < duration < np.inf:
            raise InputError(f"{name}: duration must be positive seconds, got {duration}")
        if not np.isfinite(start_time):
            raise InputError(f"{name}: start_time must be finite seconds, got {start_time}")
        self.start_time, self.duration = float(start_time), float(duration)
        self.start_value = values_for(start_value, self.targets[0][1], name)
        self.stop_value = values_for(stop_value, self.targets[0][1], name)

    def chunk(self, number: int, first: int, steps: int) -> Chunk:
        time = np.arange(first, first + steps) * self.dt
        part = np.clip((time - self.start_time) / self.duration, 0.0, 1.0)[:, None]
        values = self.start_value + part * (self.stop_value - self.start_value)
        values = np.where(part < 1, values, self.stop_value)  # exactly
        return Chunk(values.astype(self.dtype), np.arange(steps, dtype=np.int32))
