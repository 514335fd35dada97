"""What every recorder has in common: the plan of a recording, its blocks, the checks.

The sampling rule
-----------------
Step k of a run computes row k + 1 of a variable from row k; row 0 is the initial state. With
sample interval ``s`` (steps), row j of a recording is the value at step ``(j + 1) * s - 1``, so a
run of ``steps`` steps gives ``steps // s`` rows, at the times ``((j + 1) * s - 1) * dt`` seconds.
The attributes of a recording are ``start_time = (s - 1) * dt``, ``sample_interval = s`` and
``dt``: the formula of older readers, ``start_time + j * s * dt``, gives the true times. With
``s = 1`` row j is step j.

A recorded input (``from_start``) has rows at the steps 0, s, 2 s ... instead, as in files of older
programs, and no ``start_time``, by which readers know it.

Variables in event form (``spike_state``) are scanned at every step, whatever ``s``: an event at
step k has the time ``k * dt`` and the index of its column.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arguments import MANY_STEPS, ArgumentError, some, whole_number
from ..circuit.uids import Uids, Who, frozen_names, uids_named
from ..errors import RecordingError, near
from ..results.sampling import sample_times
from .cells import cells_asked, of_population

Record = Iterable[str | tuple[str, Who | None]]
"""What a user asks to be recorded."""

Request = tuple[str, Uids | None]
"""A variable and the uids of it; None means all components that are not hidden."""


class LateNames:
    """Names that are made when somebody reads them: there may be millions.

    Parameters
    ----------
    count : int
    make : callable
        Returns them, (count,) str.
    """

    def __init__(self, count: int, make: Callable[[], npt.NDArray[np.str_]]) -> None:
        self._count, self._make = count, make

    @cached_property
    def made(self) -> npt.NDArray[np.str_]:
        """The names."""
        return self._make()

    def __len__(self) -> int:
        return self._count

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.made, dtype) if copy else np.asarray(self.made, dtype)

    def __getitem__(self, which: Any) -> Any:
        return self.made[which]

    def tolist(self) -> list[str]:
        """Return the names."""
        names: list[str] = self.made.tolist()
        return names

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (self.made,)  # another process gets the names


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of one recorded variable, in the order in which they are stored."""

    variable: str  # ``V`` for instance
    uids: npt.NDArray[np.str_] | LateNames  # (n,), the component of each column
    unit: str  # ``mV`` for instance; empty for a variable without one
    events: bool  # stored as times and column indices instead of rows
    population: npt.NDArray[np.str_] | None = None  # (n,), where populations have names
    copies: int = 0  # of a batch: n columns for each, one copy after the other; 0: no batch
    ends: tuple[npt.NDArray[np.str_], npt.NDArray[np.str_]] | None = None
    """Of synapses: uids of the source and of the target of each column."""

    @property
    def width(self) -> int:
        """Number of columns of all copies."""
        return max(self.copies, 1) * len(self.uids)


@dataclass(frozen=True, slots=True, eq=False)
class RecordingPlan:
    """A recording before its first step."""

    dt: float  # s
    steps: int | None  # length of the run; None if it ends when the caller says so
    sample_interval: int  # steps per row
    dtype: np.dtype[np.generic]  # of the rows
    columns: tuple[Columns, ...]  # the variables
    attributes: dict[str, str | int | float]  # software, version, seed, digest of the circuit ...
    from_start: bool = False  # rows are taken at steps 0, s, 2 s ... (recorded inputs)
    first_step: int = 0  # steps done before the recording begins

    @property
    def rows(self) -> int | None:
        """Number of rows of the whole run, None if its length is not known."""
        if self.steps is None:
            return None
        return self.rows_before(self.first_step + self.steps) - self.first_row

    @property
    def first_row(self) -> int:
        """Number of the first row, counted from step 0."""
        return self.rows_before(self.first_step)

    def rows_before(self, step: int) -> int:
        """Return how many rows are taken in the steps before ``step``, from step 0 on."""
        last = self.sample_interval - 1 if self.from_start else 0
        return (step + last) // self.sample_interval

    @property
    def sampling(self) -> dict[str, str | int | float]:
        """The attributes by which readers know the times of the rows."""
        out: dict[str, str | int | float] = {"sample_interval": self.sample_interval}
        out["dt"] = self.dt
        if self.copies:
            out["copies"] = self.copies
        if not self.from_start:
            out["start_time"] = float(self.time(0, 1)[0])
        return out

    @property
    def copies(self) -> int:
        """Number of copies of a batch; 0 without one."""
        return max((c.copies for c in self.columns), default=0)

    @property
    def dense(self) -> tuple[Columns, ...]:
        """The variables stored as rows."""
        return tuple(c for c in self.columns if not c.events)

    @property
    def events(self) -> tuple[Columns, ...]:
        """The variables stored as events."""
        return tuple(c for c in self.columns if c.events)

    def time(self, first_row: int, rows: int) -> npt.NDArray[np.float64]:
        """Return the times of consecutive rows of the recording, (rows,) float64, s."""
        first_row += self.first_row
        return sample_times(first_row, rows, self.sample_interval, self.dt, self.from_start)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A stretch of a recording. Its arrays belong to the recorder: pass copies of reused buffers.

    ``rows`` holds the sampled values of every dense variable, (rows, width); it is empty if no row
    fell into the stretch. ``events`` are times in s, ascending, and column indices.
    """

    first_row: int  # of ``rows``, counted from step 0; blocks follow each other without gap
    rows: dict[str, npt.NDArray[np.generic]]
    events: dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]]
    step: int  # steps completed when the block was taken


def settled() -> None:
    """Wait for nothing: no block is on its way to the recorder."""


def sampled(first_step: int, steps: int, interval: int) -> tuple[int, slice]:
    """Return which of ``steps`` consecutive steps are rows of the recording.

    Returns
    -------
    first_row : int
        Number of the first row among them.
    picked : slice
        The steps to keep, counted from ``first_step``.
    """
    row = first_step // interval
    return row, slice((row + 1) * interval - 1 - first_step, steps, interval)


@dataclass(slots=True)
class RecordingProgress:
    """How far a recording has come; guards against gaps and overlaps."""

    rows: int = 0
    step: int = 0
    last_event: dict[str, float] = field(default_factory=dict)


class Recorder(ABC):
    """Takes the blocks of one run; used by one thread at a time.

    The life cycle is ``open(plan)``, ``append(block)`` any number of times, ``close()``. After
    ``close`` the recorder can be opened again. A subclass implements ``_open``, ``_append`` and
    ``_close``; plans and blocks are checked here.

    Parameters
    ----------
    record : list of (variable, uids), or of names of variables
        What to record; ``uids`` None, or the name alone, means every component that updates the
        variable and is not hidden. A `Population`, its name, a part of one or a `Selection` stands
        for its uids. ``"s1.val"`` is
        ``val`` of the population ``s1``, and ``("s1.val", {"theta": 2})`` that of the cells with
        this index along an axis. Requests of one variable are joined: it has the columns of all of
        them, in this order.
    sample_interval : int
        Steps per row (see the module's sampling rule).

    Attributes
    ----------
    per_step : bool
        Whether the run has to wait for the recorder, in the thread that runs; else blocks are
        appended in another thread.
    copies : bool
        Whether appending rows copies them, and so takes time of a core.
    outlives : bool
        Whether another process can go on with the recording.
    lenient : bool
        Whether uids that do not update their variable are left out, with a warning; and whether
        ``uids`` None takes hidden components, too, and may mean nothing.
    """

    per_step = False
    copies = True
    outlives = False
    lenient = False

    def __init__(self, record: Record, sample_interval: int = 1) -> None:
        each = [record] if isinstance(record, str) else some(record, "record")
        self._asked = [
            (one, None) if isinstance(one, str) else _with_frozen_names(one) for one in each
        ]
        self.record = _requests([one for one in self._asked if not of_population(one)])
        try:
            self.sample_interval = whole_number(sample_interval, "sample_interval", 1, MANY_STEPS)
        except ArgumentError as error:
            raise RecordingError(str(error)) from None
        self._plan: RecordingPlan | None = None
        self._progress = RecordingProgress()
        self.settle: Callable[[], None] = settled
        """Waits until the blocks of all steps done have been appended; set by who appends them."""

    @property
    def plan(self) -> RecordingPlan:
        """The plan of the open recording."""
        if self._plan is None:
            raise RecordingError(f"{type(self).__name__}: not open; call open(plan) first")
        return self._plan

    @property
    def is_open(self) -> bool:
        """Whether a recording is going on."""
        return self._plan is not None

    def attach(self, lpu: Any) -> None:
        """Get to know the LPU, and what its populations are; called before it is compiled."""
        self.record = _requests([cells_asked(one, lpu.circuit) for one in self._asked])

    def check(self) -> None:  # noqa: B027  (most recorders can always begin)
        """Raise RecordingError where a recording must not begin.

        Called before the first recorder of a run opens, so that nothing has been written then.
        """

    def open(self, plan: RecordingPlan) -> None:
        """Begin a recording."""
        if self._plan is not None:
            raise RecordingError(f"{type(self).__name__}: already open; close it first")
        names = [c.variable for c in plan.columns]
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise RecordingError(f"{type(self).__name__}: recorded twice: {', '.join(twice)}")
        self._progress = RecordingProgress()
        self._open(plan)
        self._progress.step = plan.first_step
        self._plan = plan

    def reopen(self, plan: RecordingPlan, step: int) -> RecordingProgress:
        """Go on with a recording that has been closed, or whose run was killed.

        Return how far it has come.

        Parameters
        ----------
        plan : RecordingPlan
            As before, but for ``steps``, which counts those of all runs.
        step : int
            Steps done. What was recorded in later ones is forgotten.

        Raises
        ------
        RecordingError
            Where there is no recording of this plan up to that step.
        """
        if self._plan is not None:
            raise RecordingError(f"{type(self).__name__}: already open; close it first")
        self._progress = self._reopen(plan, step)
        self._plan = plan
        return replace(self._progress)

    def append(self, block: Block) -> None:
        """Take the next block."""
        rows = self._check(block)
        self._append(block, rows)
        self._progress.rows += rows
        self._progress.step = block.step
        for variable, (time, _) in block.events.items():
            if len(time):
                self._progress.last_event[variable] = float(time[-1])

    def close(self) -> None:
        """End the recording; a recorder that is not open is left alone."""
        if self._plan is None:
            return
        try:
            self._close()
        finally:
            self._plan = None

    def place(self, variable: str, first_row: int, rows: int) -> npt.NDArray[np.generic] | None:
        """Return where the step loop may write rows of a dense variable itself, (rows, n).

        The block that brings these rows then holds this very memory. None, as here: the loop
        writes them into a buffer of its own.
        """
        return None

    def longest(self, step: int) -> int | None:
        """Return the most steps that may pass from ``step`` to the next block; None: any number."""
        return None

    @abstractmethod
    def _open(self, plan: RecordingPlan) -> None:
        """Get ready for the first block."""

    def _reopen(self, plan: RecordingPlan, step: int) -> RecordingProgress:
        """Get ready for blocks from a step on; return how far the recording has come."""
        raise RecordingError(
            f"{type(self).__name__}: a recording that was closed cannot go on; add a new recorder"
        )

    @abstractmethod
    def _append(self, block: Block, rows: int) -> None:
        """Store a checked block of ``rows`` rows."""

    @abstractmethod
    def _close(self) -> None:
        """Finish; every block before has been stored."""

    def _check(self, block: Block) -> int:
        """Return the number of rows of a block that fits the plan and what came before."""
        plan, done = self.plan, self._progress
        counts = {v: len(block.rows[v]) for v in block.rows}
        rows = max(counts.values(), default=0)
        wanted = {c.variable: (rows, c.width) for c in plan.dense}
        got = {v: block.rows[v].shape for v in block.rows}
        if got != wanted and (rows or not got.keys() <= wanted.keys()):
            raise RecordingError(f"block at step {block.step}: rows {got}, expected {wanted}")
        expected = plan.first_row + done.rows
        if rows and block.first_row != expected:
            raise RecordingError(
                f"block at step {block.step}: first row {block.first_row}, expected {expected}"
            )
        if plan.rows is not None and done.rows + rows > plan.rows:
            raise RecordingError(
                f"block at step {block.step}: row {done.rows + rows}, but {plan.steps} steps with "
                f"sample interval {plan.sample_interval} give {plan.rows}"
            )
        if block.step < done.step:
            raise RecordingError(f"block at step {block.step}: step {done.step} was stored before")
        self._check_events(block)
        return rows

    def _check_events(self, block: Block) -> None:
        """Refuse events that would make a recording unreadable."""
        sizes = {c.variable: c.width for c in self.plan.events}
        for variable, (time, index) in block.events.items():
            where = f"block at step {block.step}, events of {variable}"
            if variable not in sizes:
                raise RecordingError(f"{where}: not recorded as events{near(variable, sizes)}")
            if time.ndim != 1 or time.shape != index.shape:
                raise RecordingError(f"{where}: {time.shape} times, {index.shape} indices")
            if not len(time):
                continue
            if index.min() < 0 or index.max() >= sizes[variable]:
                raise RecordingError(
                    f"{where}: index {index.min()} to {index.max()}, allowed is 0 to "
                    f"{sizes[variable] - 1}"
                )
            before = self._progress.last_event.get(variable, -np.inf)
            if time[0] < before or not np.all(time[1:] >= time[:-1]):
                raise RecordingError(f"{where}: times do not ascend")


def _with_frozen_names(entry: Any) -> Any:
    """Return what is asked for, with names in an array that nobody changes."""
    pair = isinstance(entry, tuple | list) and len(entry) == 2
    return (entry[0], frozen_names(entry[1])) if pair else entry


def _requests(record: Iterable[tuple[str, Who | None]]) -> tuple[Request, ...]:
    """Return the requests in one spelling."""
    requests: list[Request] = []
    for entry in some(record, "record"):
        pair = isinstance(entry, tuple | list) and len(entry) == 2
        if not pair or not isinstance(entry[0], str):
            raise RecordingError(
                f"record: names of variables or pairs (variable, uids or None) are needed (got "
                f"{entry!r:.60})"
            )
        variable, uids = entry
        known = None if uids is None else uids_named(uids, RecordingError)
        requests.append((variable, known))
    return tuple(_joined(requests))


def _joined(requests: Sequence[Request]) -> Iterator[Request]:
    """Yield one request for each variable, with the uids of all that name it."""
    for variable in dict.fromkeys(variable for variable, _ in requests):
        asked = [uids for name, uids in requests if name == variable]
        if len(asked) == 1:
            yield variable, asked[0]
            continue
        if any(uids is None for uids in asked):
            say = f"'{variable}' of all components is recorded, and '{variable}' is named again"
            raise RecordingError(f"record: {say}; name it once")
        every = tuple(str(uid) for uids in asked if uids is not None for uid in uids)
        twice = [uid for uid, count in Counter(every).items() if count > 1]
        if twice:
            some = ", ".join(f"'{uid}'" for uid in twice[:3])
            more = f" and {len(twice) - 3:,} more" if len(twice) > 3 else ""
            raise RecordingError(f"record: '{variable}' of {some}{more} is named twice")
        yield variable, every
