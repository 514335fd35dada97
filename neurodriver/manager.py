"""``Manager``: several LPUs, wired by patterns, in one process or over the ranks of a job."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import settings
from .errors import CircuitError, LPUExecutionError, NeurodriverError
from .lpu import LPU
from .network.job import ConstructionError, Error, Job, Order
from .network.mpi import World, world
from .network.patterns import crossings
from .network.routes import Crossing
from .network.run import Run

_LEAVE_SECONDS = 15.0


class Manager:
    """Runs several LPUs together.

    The same script runs alone, with all LPUs in this process, and under ``mpiexec -n R``, where
    every rank executes the script and takes its share of the LPUs. The results do not depend on it.

    Parameters
    ----------
    required_args, ctrl_tag, quit_on_error
        Accepted for old scripts; without effect.
    threads : int, optional
        Worker threads of each rank.
    timeout : float, optional
        Seconds to wait for another rank's values; by default as long as it takes.
    strict : bool
        Turn warnings about ports and patterns into errors.
    quiet : bool
        Leave it to the caller to print errors; they are raised all the same.

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

    def __init__(
        self,
        required_args: Sequence[str] = (),
        ctrl_tag: int = 1,
        quit_on_error: bool = True,
        *,
        threads: int | None = None,
        timeout: float | None = None,
        strict: bool = False,
        quiet: bool = False,
    ) -> None:
        self._quiet = quiet
        self._world: World = world()
        self._threads = threads
        self._timeout = settings.timeout() if timeout is None else float(timeout)
        self._strict = strict
        self._orders: dict[str, Order] = {}
        self._connections: list[Callable[[float], list[Crossing]]] = []
        self._job: Job | None = None
        self._run: Run | None = None
        self._errors: list[Error] = []
        self._seconds = 0.0

    def __len__(self) -> int:
        return len(self._orders)

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
        """Ids of the LPUs in the order in which they were added."""
        return list(self._orders)

    @property
    def lpus(self) -> dict[str, LPU]:
        """The LPUs of this rank, after ``spawn``."""
        return {} if self._job is None else self._job.lpus

    def add(
        self, target: type[LPU], id: str, *args: Any, rank: int | None = None, **kwargs: Any
    ) -> str:
        """Add an LPU.

        Parameters
        ----------
        target : LPU or a subclass
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
        if not (inspect.isclass(target) and issubclass(target, LPU)):
            raise CircuitError(f"Manager.add: target must be LPU or a subclass, got {target!r:.60}")
        if id in self._orders:
            raise CircuitError(f"Manager.add: there is an LPU '{id}' already")
        parameters = inspect.signature(target).parameters
        if "id" in parameters:
            kwargs.setdefault("id", id)
        try:
            inspect.signature(target).bind(*args, **kwargs)
        except TypeError as error:
            raise CircuitError(f"Manager.add: {id}: {target.__name__}: {error}") from None
        self._orders[id] = Order(id, lambda: target(*args, **kwargs), rank)
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
        for name in (id_0, id_1):
            if name not in self._orders:
                from .errors import near

                hint = near(name, self._orders)
                raise CircuitError(f"Manager.connect: there is no LPU '{name}'{hint}; add it first")
        make = crossings(pat, (id_0, id_1), (int_0, int_1), delay)
        self._connections.append(make)

    def spawn(self, **info: Any) -> None:
        """Construct the LPUs of this rank and wire them.

        Raises
        ------
        LPUExecutionError
            On every rank, when an LPU of any rank cannot be made.
        """
        if not self._orders:
            raise CircuitError("Manager.spawn: there are no LPUs; add some first")
        if self._job is not None:
            raise NeurodriverError("Manager.spawn: spawned already; make a new Manager")
        self._world.engaged = True
        try:
            self._job = Job(
                self._world,
                list(self._orders.values()),
                self._connections,
                seconds=self._timeout,
                threads=self._threads,
                strict=self._strict,
            )
        except ConstructionError as error:
            self._errors += error.errors
            self._world.engaged = False
            raise self._failure() from error

    def start(
        self, steps: float = float("inf"), progress: Callable[[int], None] | None = None
    ) -> None:
        """Run in the background; returns at once.

        Parameters
        ----------
        steps : int
            Number of steps; by default until ``stop``.
        progress : callable, optional
            Told the number of steps done by each call into compiled code.
        """
        if self._job is None:
            self.spawn()
        assert self._job is not None
        if self._run is not None:
            raise NeurodriverError("Manager.start: started already; make a new Manager")
        if steps != float("inf") and (steps != int(steps) or steps < 0):
            message = f"steps must be a whole number, got {steps!r}"
            raise NeurodriverError(f"Manager.start: {message}")
        self._run = Run(self._job, None if steps == float("inf") else int(steps), progress)

    def stop(self) -> None:
        """End the run at the next call into compiled code; recordings are closed."""
        if self._run is not None:
            self._run.stopping.set()

    quit = stop

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
        except KeyboardInterrupt:
            run.stopping.set()
            run.join(_LEAVE_SECONDS)
            raise
        self._seconds = run.seconds
        failed = bool(run.errors)
        gathered = self._world.gather(run.errors, _LEAVE_SECONDS if failed else 0.0)
        self._errors = [error for errors in gathered for error in errors]
        self._world.engaged = False
        if self._errors:
            raise self._failure()
        return self._seconds if return_timing else None

    def timed_wait(self) -> float:
        """Wait, print and return the seconds that the steps took."""
        self.wait()
        print(f"Execution completed in {self._seconds} seconds")
        return self._seconds

    def _failure(self) -> LPUExecutionError:
        """Print and return what went wrong."""
        lpu, step, lines = self._errors[0]
        if not self._quiet:
            print(
                f"An error occurred during execution of LPU {lpu} at step {step}:\n"
                f"{''.join(lines)}",
                file=sys.stderr,
            )
        error = LPUExecutionError(lpu=lpu, step=step, traceback=lines)
        error.known_to_all_ranks = True  # type: ignore[attr-defined]
        return error
