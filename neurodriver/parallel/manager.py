"""``Manager``: several LPUs, wired by patterns, in one process or over the ranks of a job."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from .. import settings
from ..errors import CircuitError, LPUExecutionError, NeurodriverError
from ..mpi import TASKS, World, world
from ..profiling.phases import phased
from ..quantities import seconds
from ..run.lpu import LPU
from ..run.progress import Progress, check_progress
from . import leader
from .agreement import of_plan
from .checkpoints import resume
from .job import FAILED_SECONDS, ConstructionError, Error, Job
from .job_plan import JobPlan, Order
from .module import Module
from .run import Run
from .saving import Saving
from .timing import Exchanged


class Manager:
    """Runs several LPUs together.

    The same script runs alone, with all LPUs in this process, and under ``mpiexec -n R``, where
    every rank executes the script and takes its share of the LPUs. The results do not depend on it.

    The id of an LPU is the namespace of its random numbers: equal uids of two LPUs draw independent
    numbers. The parts of a circuit that `neurodriver.circuit.cut` made share one namespace instead
    and draw the numbers of the whole.

    Parameters
    ----------
    threads : int, optional
        Worker threads of each rank.
    timeout : float, optional
        Seconds without progress of a rank after which the job ends, 0 for never; by default
        those of ``NEURODRIVER_TIMEOUT``.
    strict : bool
        Turn warnings about ports, patterns and shared random numbers into errors.
    quiet : bool
        Leave it to the caller to print errors; they are raised all the same.

    Attributes
    ----------
    exchanged : list of Exchanged
        What the exchange of values between ranks took, one entry for each rank; filled by ``wait``.
    first_step : int
        Steps that were done before the run: 0, or those of the checkpoint that it goes on from.
    last_wins : bool
        Of the class: whether of several connections to one input port the last one counts, with
        a warning. Else they are an error.

    Examples
    --------
    >>> man = Manager()  # doctest: +SKIP
    >>> man.add(LPU, "retina", retina, dt=1e-4, recorders=[...])
    >>> man.add(LPU, "lamina", lamina, dt=1e-4)
    >>> man.connect("retina", "lamina", pattern)
    >>> man.spawn()
    >>> man.start(steps=1000)
    >>> man.wait()
    """

    last_wins: ClassVar[bool] = False

    def __init__(
        self,
        *,
        threads: int | None = None,
        timeout: float | None = None,
        strict: bool = False,
        quiet: bool = False,
    ) -> None:
        self._quiet = quiet
        self._world: World = world()
        seconds = settings.timeout() if timeout is None else float(timeout)
        self.plan = JobPlan(
            threads=threads, timeout=seconds, strict=strict, last_wins=self.last_wins
        )
        self._job: Job | None = None
        self._run: Run | None = None
        self._errors: list[Error] = []
        self._seconds = 0.0
        self.first_step = 0
        self.exchanged: list[Exchanged] = []

    @classmethod
    def of_plan(cls, plan: JobPlan) -> Manager:
        """Return a Manager of what another rank's one was asked for."""
        out = cls()
        out.plan = plan
        return out

    def __len__(self) -> int:
        return len(self.plan.orders)

    @property
    def rank(self) -> int:
        """This process's place among the ranks."""
        return self._world.rank

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._world.size

    @property
    def ids(self) -> list[str]:
        """Ids of the LPUs and Modules in the order in which they were added."""
        return self.plan.ids

    @property
    def lpus(self) -> dict[str, LPU]:
        """The LPUs of this rank, after ``spawn``."""
        return {} if self._job is None else self._job.lpus

    @property
    def modules(self) -> dict[str, Module]:
        """The Modules of this rank, after ``spawn``."""
        return {} if self._job is None else self._job.modules

    def add(
        self,
        target: type[LPU] | type[Module],
        id: str,
        *args: Any,
        rank: int | None = None,
        **kwargs: Any,
    ) -> str:
        """Add an LPU or a Module.

        Parameters
        ----------
        target : LPU, Module or a subclass
        id : str
            Its name here.
        *args, **kwargs
            What its constructor takes.
        rank : int, optional
            Where it shall run; by its cost when not given.

        Returns
        -------
        str
            The id.
        """
        self.plan.add(Order(id, target, args, kwargs, rank))
        return id

    def connect(
        self, id_0: str, id_1: str, pat: Any, int_0: int = 0, int_1: int = 1, delay: float = 0.0
    ) -> None:
        """Wire two LPUs through their ports, in both directions of the pattern.

        Parameters
        ----------
        id_0, id_1 : str
        pat : Pattern
        int_0, int_1 : int
            The interfaces of the pattern that stand for the two LPUs.
        delay : float
            Seconds on top of the one step that every crossing takes.
        """
        delay = seconds(delay, f"{id_0} - {id_1}: delay")
        self.plan.connect((id_0, id_1), pat, (int_0, int_1), delay)

    @phased("spawn")
    def spawn(self) -> None:
        """Construct the LPUs of this rank and wire them.

        Raises
        ------
        LPUExecutionError
            On every rank, when an LPU of any rank cannot be made.
        """
        if not self.plan.orders:
            raise CircuitError("Manager.spawn: there are no LPUs; add some first")
        if self._job is not None:
            raise NeurodriverError("Manager.spawn: spawned already; make a new Manager")
        leader.send_plan(self._world, self.plan)
        self._world.limit(self.plan.timeout)
        with TASKS.task("Manager.spawn"):
            self._world.agree("Manager.spawn", of_plan(self.plan) if self.size > 1 else {})
            self._spawn()

    def _spawn(self) -> None:
        self._world.engaged = True
        try:
            self._job = Job(self._world, self.plan)
        except ConstructionError as error:
            self._errors += error.errors
            self._world.engaged = not error.known_to_all
            raise self._failure(error.known_to_all) from error

    def resume(self, path: str | Path) -> int:
        """Let all LPUs go on from a checkpoint, before the run; recordings in files go on, too.

        LPUs may lie on other ranks, and on another number of ranks, than those of the run before.

        Parameters
        ----------
        path : str or Path
            What a run with ``start(checkpoint=...)`` wrote, of the same LPUs.

        Returns
        -------
        int
            Steps that are done.

        Raises
        ------
        NeurodriverError
            On every rank, for a file that is missing or damaged, or of other LPUs.
        """
        if self._job is None:
            self.spawn()
        assert self._job is not None
        if self._run is not None:
            raise NeurodriverError("Manager.resume: started already; make a new Manager")
        leader.send_resume(self._world, Path(path))
        with TASKS.task("Manager.resume"):
            self.first_step = resume(self._job, Path(path))
        return self.first_step

    def start(
        self,
        steps: float = float("inf"),
        progress: bool | Progress | None = None,
        checkpoint: str | Path | None = None,
        every: float = 60.0,
    ) -> None:
        """Run in the background; returns at once.

        Parameters
        ----------
        steps : int
            Number of steps; by default until ``stop``.
        progress : bool or callable, optional
            True shows a bar, on rank 0 alone. A callable gets the number of steps that each call
            into compiled code has done.
        checkpoint : path, optional
            File that is saved during the run and at its end, also of one that is stopped; see
            `resume`. On several ranks it tells which files beside it hold the parts of the ranks.
        every : float
            Real time between two checkpoints in seconds.
        """
        if self._job is None:
            self.spawn()
        assert self._job is not None
        if self._run is not None:
            raise NeurodriverError("Manager.start: started already; make a new Manager")
        _check_start(steps, every)
        check_progress(progress)
        path = None if checkpoint is None else Path(checkpoint)
        leader.send_start(self._world, steps, path, every)
        self._world.agree("Manager.start", {"steps": steps, "checkpoint": path, "every": every})
        saving = None if path is None else Saving(self._job, path, every)
        count = None if steps == float("inf") else int(steps)
        shown = None if progress is True and self._world.rank else progress
        self._run = Run(self._job, count, shown, saving)

    def stop(self) -> None:
        """End the run on all ranks at the next call into compiled code; recordings are closed."""
        if self._run is not None:
            self._run.stop()

    def wait(self, return_timing: bool = False) -> float | None:
        """Wait until all ranks have closed their recordings.

        Returns
        -------
        float or None
            Seconds that the steps took, if asked for.

        Raises
        ------
        LPUExecutionError
            On every rank, when an LPU of any rank has failed.
        """
        run = self._run
        if run is None:
            raise NeurodriverError("Manager.wait: not started; call start(steps=...) first")
        try:
            while not run.join(0.1):
                pass
        except BaseException:  # Ctrl-C above all
            run.end()
            raise
        self._seconds = run.seconds
        assert self._job is not None
        report = run.errors, Exchanged.of(self._job.simulation)
        try:
            seconds = FAILED_SECONDS if run.errors else 0.0
            with TASKS.task("Manager.wait"):
                gathered = self._world.gather(report, seconds, "Manager.wait")
        except NeurodriverError:  # others are busy with something; the script's end is theirs
            self._errors = run.errors
            if not run.errors:
                raise
            raise self._failure(False) from None
        self._errors = [error for errors, _ in gathered for error in errors]
        self.exchanged = [exchanged for _, exchanged in gathered]
        self._world.engaged = False
        if self._errors:
            raise self._failure()
        return self._seconds if return_timing else None

    def _failure(self, known_to_all: bool = True) -> LPUExecutionError:
        """Print and return what went wrong; ``known_to_all``: all ranks know."""
        return _failure_of(self._errors, known_to_all, not self._quiet, self.rank)


def is_stopping(man: Manager) -> bool:
    """Return whether the run of a Manager was asked to end, by ``stop`` or by Ctrl-C."""
    return man._run is not None and man._run.stopping


def _failure_of(
    errors: Sequence[Error], known_to_all: bool, aloud: bool, rank: int
) -> LPUExecutionError:
    """Return the first error; one rank prints its cause, and then its traceback if it has one."""
    lpu, step, lines = errors[0]
    error = LPUExecutionError(lpu=lpu, step=step, traceback=lines)
    error.known_to_all_ranks, error.printed = known_to_all, aloud  # type: ignore[attr-defined]
    if aloud and (rank == 0 or not known_to_all):
        more = "".join(lines) if len(lines) > 1 else ""
        print(f"error: {error}\n{more}", end="", file=sys.stderr, flush=True)
    return error


def _check_start(steps: float, every: float) -> None:
    """Raise NeurodriverError for a run that cannot be."""
    if steps != float("inf") and (steps != int(steps) or steps < 0):
        raise NeurodriverError(f"Manager.start: steps must be a whole number, got {steps!r}")
    if not every > 0:
        raise NeurodriverError(f"Manager.start: every must be positive seconds, got {every!r}")
