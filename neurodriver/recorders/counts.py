"""Events -> how many there were, of each component and in each interval of time."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from ..arguments import checked_arguments, optional
from ..circuit.intervals import rounded
from ..errors import CircuitWarning, RecordingError, near
from ..quantities import number_of_seconds
from .base import Block, Columns, Record, Recorder, RecordingPlan, RecordingProgress

Counts = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]


class CountRecorder(Recorder):
    """Counts events, such as spikes, instead of keeping them.

    A second of 4 million neurons at 15 Hz has 60 million spikes. To keep them takes 0.7 GB, and to
    count them 16 MB.

    Parameters
    ----------
    record
        Variables of events; see `Recorder`.
    interval : float, optional
        Length of an interval in s, a whole number of steps. The first one begins with the
        recording, and the last one may be shorter. By default there is one interval.

    Raises
    ------
    RecordingError
        When a run begins: a variable has no events, or the interval is no step long.

    Examples
    --------
    >>> recorder = CountRecorder("spike_state", interval=0.5)  # doctest: +SKIP
    >>> LPU(circuit, 1e-4, recorders=[recorder]).run(duration=10.0)  # doctest: +SKIP
    >>> recorder.rates("spike_state")[1:].mean(0)  # without the first half second  # doctest: +SKIP
    """

    @checked_arguments(interval=optional(number_of_seconds))
    def __init__(self, record: Record, interval: float | None = None) -> None:
        super().__init__(record)
        self.interval = interval
        self._known: RecordingPlan | None = None
        self._every = 0  # steps of an interval; 0: there is one interval
        self._counts: dict[str, list[Counts]] = {}

    def counts(self, variable: str) -> Counts:
        """Return how many events there were so far, (intervals, n)."""
        columns = self._columns(variable)
        some = self._counts[variable]
        absent = [np.zeros(columns.width, np.int32)] * (len(self.edges()) - 1 - len(some))
        return np.stack([*some, *absent])

    def rates(self, variable: str) -> Reals:
        """Return the events per second, (intervals, n), Hz."""
        rates: Reals = self.counts(variable) / np.diff(self.edges())[:, None]
        return rates

    def edges(self) -> Reals:
        """Return where intervals begin, and where the last one ends so far, (intervals + 1,), s."""
        plan = self._begun()
        done = max(self._progress.step - plan.first_step, 1)
        begins = np.arange(0, done, self._every or done)
        edges: Reals = (plan.first_step + np.append(begins, done)) * plan.dt
        return edges

    def uids(self, variable: str) -> list[str]:
        """Return the uids of the columns of one variable."""
        uids: list[str] = self._columns(variable).uids.tolist()
        return uids

    def _begun(self) -> RecordingPlan:
        self.settle()
        if self._known is None:
            raise RecordingError("CountRecorder: nothing counted yet; run first")
        return self._known

    def _columns(self, variable: str) -> Columns:
        known = {one.variable: one for one in self._begun().columns}
        if variable not in known:
            raise RecordingError(
                f"CountRecorder: {variable!r} was not counted{near(variable, known)}; counted are: "
                f"{', '.join(known)}"
            )
        return known[variable]

    def _open(self, plan: RecordingPlan) -> None:
        if plan.dense:
            names = ", ".join(repr(one.variable) for one in plan.dense)
            raise RecordingError(
                f"CountRecorder: {names}: no events that could be counted; count variables such as "
                f"'spike_state', and record others with a MemoryRecorder"
            )
        self._every = self._steps(plan.dt)
        self._known, self._counts = plan, {one.variable: [] for one in plan.events}

    def _steps(self, dt: float) -> int:
        """Return the steps of an interval; 0 where there is one."""
        if self.interval is None:
            return 0
        if (steps := round(self.interval / dt)) < 1:
            raise RecordingError(
                f"CountRecorder: interval must be one step of {dt * 1e3:g} ms at least (got "
                f"{self.interval * 1e3:g} ms)"
            )
        if text := rounded(self.interval, dt):
            said = f"CountRecorder: interval = {self.interval * 1e3:g} ms is {text}"
            warnings.warn(said, CircuitWarning, stacklevel=2)
        return steps

    def _reopen(self, plan: RecordingPlan, step: int) -> RecordingProgress:
        if self._known is None or self._progress.step != step:
            raise RecordingError(f"CountRecorder: holds no counts up to step {step:,}")
        return self._progress

    def _append(self, block: Block, rows: int) -> None:
        for variable, (time, index) in block.events.items():
            step = np.rint(time / self.plan.dt).astype(np.int64) - self.plan.first_step
            number = step // (self._every or np.iinfo(np.int64).max)
            counts = self._counts[variable]
            for one in np.unique(number).tolist():
                while len(counts) <= one:
                    counts.append(np.zeros(self._width(variable), np.int32))
                low, high = np.searchsorted(number, (one, one + 1))
                np.add.at(counts[one], index[low:high], np.int32(1))

    def _width(self, variable: str) -> int:
        return next(one.width for one in self.plan.events if one.variable == variable)

    def _close(self) -> None:
        pass
