"""Events -> how many there were, of each component and in each interval of time."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import numpy.typing as npt

from ..arguments import MANY_STEPS, checked_arguments, optional
from ..circuit.intervals import rounded
from ..errors import CircuitWarning, RecordingError, near
from ..quantities import number_of_seconds
from .base import Block, Columns, Record, Recorder, RecordingPlan, RecordingProgress
from .room import check_room

Counts = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]

_COUNTING = threading.Lock()
"""One thread may append while another one reads."""


class CountRecorder(Recorder):
    """Counts events, such as spikes, instead of keeping them.

    A second of 4 million neurons at 15 Hz has 60 million spikes. To keep them takes 0.7 GB. Counts
    take 16 MB for each interval.

    Parameters
    ----------
    record
        Variables of events; see `Recorder`.
    interval : float, optional
        Length of an interval in s, a whole number of steps. The last one may be shorter. By default
        there is one interval.
    start : float
        When counting begins, in s from step 0, or with the recording where this begins later.

    Raises
    ------
    RecordingError
        If the interval is not above 0. When a run begins: if a variable has no events, if the
        interval is less than half a step, or if memory has no room for the counts.

    Examples
    --------
    >>> recorder = CountRecorder("spike_state", start=0.5)  # doctest: +SKIP
    >>> LPU(circuit, 1e-4, recorders=[recorder]).run(duration=10.5)  # doctest: +SKIP
    >>> (rates,) = recorder.rates("spike_state")  # of 10 s, (n,) Hz  # doctest: +SKIP
    """

    @checked_arguments(interval=optional(number_of_seconds), start=number_of_seconds)
    def __init__(self, record: Record, interval: float | None = None, start: float = 0.0) -> None:
        super().__init__(record)
        if interval is not None and interval <= 0.0:
            raise RecordingError(f"CountRecorder: interval must be above 0 s (got {interval:g})")
        self.interval, self.start = interval, start
        self._known: RecordingPlan | None = None
        self._begin = self._done = 0  # step at which counting begins; steps done
        self._every = 0  # steps of an interval; 0: there is one interval
        self._counts: dict[str, list[Counts]] = {}

    def counts(self, variable: str) -> Counts:
        """Return how many events there were so far, (intervals, n).

        Of a batch, the columns of copy b begin at b * n.
        """
        return self._so_far(variable)[1]

    def rates(self, variable: str) -> Reals:
        """Return the events per second in each interval, (intervals, n), Hz."""
        edges, counts = self._so_far(variable)
        rates: Reals = counts / np.diff(edges)[:, None]
        return rates

    def edges(self) -> Reals:
        """Return where intervals begin, and where the last one ends so far, (intervals + 1,), s."""
        plan = self._begun()
        with _COUNTING:
            return self._edges(plan)

    def uids(self, variable: str) -> list[str]:
        """Return the uid of each column of a variable."""
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

    def _edges(self, plan: RecordingPlan) -> Reals:
        steps = max(self._done - self._begin, 0)
        begins = np.arange(0, steps, self._every or max(steps, 1))
        edges: Reals = (self._begin + np.append(begins, steps)) * plan.dt
        return edges

    def _so_far(self, variable: str) -> tuple[Reals, Counts]:
        """Return the edges of intervals, and the counts of a variable in these."""
        plan, width = self._begun(), self._columns(variable).width
        with _COUNTING:
            edges = self._edges(plan)
            counts = np.zeros((len(edges) - 1, width), np.int32)
            for row, some in zip(counts, self._counts[variable], strict=False):
                row[:] = some
        return edges, counts

    def _open(self, plan: RecordingPlan) -> None:
        if plan.dense:
            names = ", ".join(repr(one.variable) for one in plan.dense)
            raise RecordingError(
                f"CountRecorder: {names}: no events that could be counted; count variables of "
                f"events, as spikes are, and record others with a MemoryRecorder"
            )
        every = self._steps(plan.dt)
        begin = max(round(self.start / plan.dt), plan.first_step)
        _check_room(plan, begin, every)
        with _COUNTING:
            self._known, self._every, self._begin, self._done = plan, every, begin, plan.first_step
            self._counts = {one.variable: [] for one in plan.events}

    def _steps(self, dt: float) -> int:
        """Return the steps of an interval; 0 where there is one."""
        if self.interval is None or self.interval >= MANY_STEPS * dt:
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
        if self._known is None or self._done != step:
            raise RecordingError(f"CountRecorder: holds no counts up to step {step:,}")
        _check_room(plan, self._begin, self._every)
        return self._progress

    def _append(self, block: Block, rows: int) -> None:
        dt = self.plan.dt
        with _COUNTING:
            for variable, (time, index) in block.events.items():
                low = int(np.searchsorted(time, (self._begin - 0.5) * dt))
                while low < len(time):
                    number, high = 0, len(time)
                    if self._every:
                        number = (round(float(time[low]) / dt) - self._begin) // self._every
                        end = self._begin + (number + 1) * self._every
                        high = int(np.searchsorted(time, (end - 0.5) * dt))
                    self._add(variable, number, index[low:high])
                    low = high
            self._done = block.step

    def _add(self, variable: str, number: int, index: npt.NDArray[np.int32]) -> None:
        """Count events of an interval."""
        counts = self._counts[variable]
        if len(counts) <= number:
            (width,) = (one.width for one in self.plan.events if one.variable == variable)
            counts += [np.zeros(width, np.int32) for _ in range(number + 1 - len(counts))]
        np.add.at(counts[number], index, np.int32(1))

    def _close(self) -> None:
        pass


def _check_room(plan: RecordingPlan, begin: int, every: int) -> None:
    """Raise RecordingError where there is no memory for the counts of a run."""
    if plan.steps is None:
        return
    intervals = -(-max(plan.first_step + plan.steps - begin, 0) // every) if every else 1
    widths = ", ".join(f"{one.width:,} of '{one.variable}'" for one in plan.events)
    need = 4 * intervals * sum(one.width for one in plan.events)
    say = f"CountRecorder: counts of {widths} in {intervals:,} intervals"
    check_room(need, say, "count fewer components, or in longer intervals")
