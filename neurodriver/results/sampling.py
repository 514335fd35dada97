"""When the rows of a recording are taken; `neurodriver.recorders.base` has the whole rule."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def sample_times(
    first_row: int, rows: int, interval: int, dt: float, from_start: bool = False
) -> npt.NDArray[np.float64]:
    """Return the times of consecutive rows under the sampling rule, (rows,) float64, s."""
    steps = np.arange(first_row, first_row + rows, dtype=np.int64) * interval
    return np.asarray((steps if from_start else steps + interval - 1) * dt, dtype=np.float64)
