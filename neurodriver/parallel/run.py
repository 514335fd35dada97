"""The run of one rank's simulation in a thread of its own, with its errors."""

from __future__ import annotations

import threading
import time
from contextvars import copy_context

from ..errors import StepInterrupted, lines_of
from ..mpi import TASKS, RankTask
from ..run.interrupts import PATIENCE, end_call, outlasts
from ..run.progress import Progress, end_progress, step_progress
from ..run.simulation import Simulation
from .exchange import Left
from .job import FAILED_SECONDS, Error, Job
from .saving import Saving

_WATCH_SECONDS = 0.02


class Run:
    """Advances a job in the background, by some steps or until ``stop`` is called.

    ``progress`` is that of `Manager.start`, ``saving`` saves checkpoints; ``seconds`` is the time
    that the steps took.
    """

    def __init__(
        self,
        job: Job,
        steps: int | None,
        progress: bool | Progress | None = None,
        saving: Saving | None = None,
    ) -> None:
        self.job, self._saving = job, saving
        self._stopping = threading.Event()
        self.errors: list[Error] = []
        self.seconds = 0.0
        self._steps = steps
        self._progress = progress
        self._looked = 0.0
        self._ended = threading.Event()
        self._task = RankTask("the run")
        run = copy_context().run  # a thread of its own belongs to no profile
        self._thread = threading.Thread(
            target=run, args=(self._run,), name="neurodriver-run", daemon=True
        )
        self._thread.start()

    def join(self, seconds: float) -> bool:
        """Wait for the end; return whether it has come."""
        return self._ended.wait(seconds)  # Thread.join is not to be trusted after an interrupt

    def stop(self) -> None:
        """End the run on all ranks at the next call."""
        if self.job.simulation is None and self._saving is None:
            self.job.world.tell()
        self._stopping.set()

    @property
    def stopping(self) -> bool:
        """Whether the run was asked to end."""
        return self._stopping.is_set()

    def end(self) -> None:
        """Stop, and end a step that takes too long.

        Raises
        ------
        StepInterrupted
            Where compiled code was ended within a step.
        """
        self.stop()
        if not outlasts(PATIENCE, lambda: self.join(0.0)):
            return
        simulation = self.job.simulation
        ended = simulation is not None and end_call(simulation.backend)
        self.join(FAILED_SECONDS)
        if ended and self.errors:
            lpu, _, lines = self.errors[0]
            raise StepInterrupted(f"LPU '{lpu}': {lines[-1].partition(': ')[2].strip()}")

    def _run(self) -> None:
        try:
            with TASKS.task("the run") as self._task:
                if self.job.simulation is not None:
                    self._advance(self.job.simulation)
                elif self._saving is not None:
                    self._attend(self._saving)
        finally:
            self._ended.set()

    def _advance(self, simulation: Simulation) -> None:
        simulation.watch = self._watch
        self._task.advanced(simulation.step)
        begin = time.perf_counter()
        shown = step_progress(self._progress, self._steps, simulation.dt)
        try:
            simulation.start(self._steps)
            begin = time.perf_counter()
            if self._saving is not None:
                self._saving.advance(self._steps, self._stopping, shown)
            else:
                while self._steps is None:
                    simulation.advance(1 << 20, shown)
                simulation.advance(self._steps, shown)
            self.seconds = time.perf_counter() - begin
            simulation.end()
        except Left:
            simulation.leave()
        except BaseException as error:
            self._note(error)
            self.job.world.tell()
            simulation.leave()
        finally:
            self.seconds = self.seconds or time.perf_counter() - begin
            end_progress(shown, self._progress)
            try:
                simulation.close()
                if self._saving is not None:
                    self._saving.close()
            except Exception as error:
                self._note(error)

    def _attend(self, saving: Saving) -> None:
        """Agree with the ranks that have LPUs, without steps of its own."""
        try:
            saving.advance(self._steps, self._stopping, None)
        except Left:
            pass
        except BaseException as error:
            self.errors.append(("", 0, lines_of(error)))
            self.job.world.tell()
        finally:
            saving.close()

    def _note(self, error: BaseException) -> None:
        assert self.job.simulation is not None
        name = self.job.simulation.culprit
        if name is None:
            name = next(iter({**self.job.lpus, **self.job.modules}))
        self.errors.append((name, self.job.simulation.step, lines_of(error)))

    def _watch(self) -> None:
        """Leave the run when asked to, here or by another rank."""
        assert self.job.simulation is not None
        self._task.advanced(self.job.simulation.step)
        if self._stopping.is_set() and self._saving is None:  # else at the next meeting
            self.job.world.tell()
            raise Left("stopped")
        now = time.perf_counter()
        if now - self._looked > _WATCH_SECONDS:
            self._looked = now
            if self.job.world.alarm():
                raise Left(self.job.world.verdict or "another rank has failed")
