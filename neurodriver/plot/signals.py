"""Variables and events of recordings -> what a moving panel shows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import NeurodriverError
from ..results import Events, Variable
from ..results.events import nonzero
from ..results.variable import slabs

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """Rows at equal distances in time, read when they are needed."""

    values: Any  # (rows, n): a `Variable`, an array, anything that gives rows when sliced
    start: float  # time of the first row, s
    step: float  # time between rows, s
    label: str = ""  # name and unit
    names: Sequence[str] = ()  # of the components, where they are known

    @property
    def count(self) -> int:
        """Number of components."""
        return int(self.values.shape[1])

    @property
    def stop(self) -> float:
        """Time of the last row, s."""
        return self.start + (len(self.values) - 1) * self.step

    def row_at(self, time: float) -> int:
        """Return the row nearest to a time, the first and the last one beyond the ends."""
        row = round((time - self.start) / self.step)
        return min(max(row, 0), len(self.values) - 1)

    def at(self, time: float) -> Array:
        """Return the values at a time, (n,)."""
        return np.asarray(self.values[self.row_at(time)], np.float64)

    def limits(self, first: int = 0) -> tuple[float, float]:
        """Return the least and the largest finite value from a row on, read slab by slab."""
        low, high = np.inf, -np.inf
        for rows in slabs(first, len(self.values), 8 * self.count):
            part = np.asarray(self.values[rows], np.float64)
            part = part[np.isfinite(part)]
            if part.size:
                low, high = min(low, float(part.min())), max(high, float(part.max()))
        return (low, high) if low <= high else (0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Spikes:
    """Events of some components, in memory."""

    time: Array  # (m,), ascending, s
    index: Array  # (m,), number of the component, from 0
    count: int  # components
    start: float  # first and last time of the recording, s
    stop: float
    names: Sequence[str] = ()  # as of a signal


def as_signal(part: Any) -> Signal:
    """Return a variable as rows in time.

    Raises
    ------
    NeurodriverError
        When it has no row, or is stored as events.
    """
    if isinstance(part, Signal):
        return part
    if not isinstance(part, Variable):
        raise NeurodriverError(f"{part!r}: rows are needed, a Variable of a recording")
    if not len(part):
        raise NeurodriverError(f"'{part.name}': no rows to show")
    part = part[part.uids]  # two axes, also for one component
    label = f"{part.name} ({part.unit})" if part.unit else part.name
    return Signal(part, float(part.times(0, 1)[0]), part.dt, label, part.uids)


def as_spikes(part: Any) -> Spikes:
    """Return events, or the values of rows that are not zero, as spikes."""
    if isinstance(part, Spikes):
        return part
    if isinstance(part, Events):
        time, index = part.read()
        ends = (float(time[0]), float(time[-1])) if len(time) else (0.0, 0.0)
        return Spikes(time, index, len(part.uids), min(0.0, ends[0]), ends[1], part.uids)
    signal = as_signal(part)

    def times(low: int, high: int) -> npt.NDArray[np.float64]:
        return signal.start + np.arange(low, high, dtype=np.float64) * signal.step

    time, index = nonzero(signal.values, times)
    return Spikes(time, index, signal.count, signal.start, signal.stop, signal.names)
