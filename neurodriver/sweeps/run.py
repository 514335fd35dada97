"""``sweep``: one function, many points, any executor."""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from multiprocessing import active_children
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..arguments import checked_arguments, file_path, optional, text, truth
from ..circuit.numbers import real, whole
from ..errors import SHOWN, NeurodriverError, SweepError, SweepInterrupted, shown
from ..quantities import seconds
from ..results.export import needed
from ..system import cores
from .interrupts import INTERRUPT, interrupts_into
from .points import Axes, SweepPoints, check_arguments, points_of
from .results import check_names, dataset_of
from .store import SweepFolder, description_of, identity_of
from .values import PointResult
from .worker import PointFailure, begin_worker, run_point

if TYPE_CHECKING:
    import xarray


@checked_arguments(path=optional(file_path), errors=text, progress=truth)
def sweep(
    build: Callable[..., Any],
    axes: Axes,
    *,
    steps: int | None = None,
    duration: float | None = None,
    executor: Executor | None = None,
    path: str | os.PathLike[str] | None = None,
    errors: str = "raise",
    progress: bool = True,
) -> xarray.Dataset:
    """Call a function for every point of some axes, in parallel, and collect what it returns.

    Parameters
    ----------
    build : callable
        ``build(**point)`` gets one value of each axis. It returns an `LPU`, of which the sweep
        keeps what each `MemoryRecorder` has recorded; or a recording; or a mapping of names to
        numbers, texts, arrays (of NumPy or xarray), LPUs and recordings.
    axes : mapping of str to sequence, or sequence of mappings
        Values of each argument, of which all combinations are taken; or the points themselves.
        Values are numbers or texts.
    steps, duration : int or float, optional
        How long to run each LPU that ``build`` returns, in steps or in seconds; without them it
        must have run.
    executor : concurrent.futures.Executor, optional
        Where points are computed: anything with ``submit``, such as those of mpi4py, Dask and
        ipyparallel. Default: one process for each core. An LPU without ``threads=`` gets one
        thread.
    path : path, optional
        Folder that gets the result of each point as soon as it is finished. A second call with
        the same folder computes the missing points alone.
    errors : {"raise", "keep"}
        What to do when points fail: begin no further ones and raise, or compute all others and
        return the messages as variable ``error``.
    progress : bool
        Whether to show a bar on a terminal and in a notebook.

    Returns
    -------
    xarray.Dataset
        Each value has the dimensions of the axes (``point`` where points were listed) before its
        own. ``point`` numbers the points. A variable ``s`` that was recorded as events becomes
        ``s_count`` for each uid, and ``s_time`` (s), ``s_index`` and ``s_point`` of each event.

    Raises
    ------
    SweepError
        Points have failed. Its ``results`` are those of the other points.
    SweepInterrupted
        Ctrl-C was pressed. Its ``results`` are those of the points that were done.
    NeurodriverError
        The arguments are wrong, or the folder holds another sweep.

    Examples
    --------
    >>> found = nd.sweep(build, {"g": [0.5, 1.0], "seed": range(10)}, duration=1.0)
    ... # doctest: +SKIP
    >>> found.spike_state_count.mean("seed")  # doctest: +SKIP
    """
    needed("xarray")
    points = points_of(axes)
    check_arguments(build, points)
    if errors not in ("raise", "keep"):
        raise NeurodriverError(f"sweep: errors must be 'raise' or 'keep' (got {errors!r:.60})")
    length = _length(steps, duration)
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise NeurodriverError(f"sweep: executor has no method 'submit' (got {shown(executor)})")
    if executor is None or isinstance(executor, ProcessPoolExecutor):
        _check_sendable(build)
    folder = None if path is None else SweepFolder(path)
    state = _Sweep(points, folder, keeps_errors=errors == "keep")
    description = description_of(points, identity_of(build), *length) if folder else {}
    with folder.opened(description) if folder else nullcontext():
        state.run(executor, (build, length), progress)
    return state.finish()


class _Sweep:
    """The state of a sweep while it goes on."""

    def __init__(self, points: SweepPoints, folder: SweepFolder | None, keeps_errors: bool) -> None:
        self.points = points
        self.folder = folder
        self.keeps_errors = keeps_errors
        self.results: dict[int, PointResult] = {}
        self.failures: dict[int, PointFailure] = {}
        self.owns_executor = False
        self.broken = ""  # why the executor takes no more points
        self._reference: PointResult | None = None

    @property
    def stopped(self) -> bool:
        """Whether no further point is begun."""
        return bool(self.broken or (self.failures and not self.keeps_errors))

    def run(self, executor: Executor | None, task: tuple[Any, Any], progress: bool) -> None:
        """Compute the points that are missing."""
        from tqdm.auto import tqdm

        self.owns_executor = executor is None
        if self.folder is not None:
            stored = self.folder.results()
            self.results = {n: stored[n] for n in sorted(stored) if n < len(self.points)}
            self._reference = next(iter(self.results.values()), None)
        missing = [n for n in range(len(self.points)) if n not in self.results]
        if not missing:
            return
        hidden = None if progress else True  # None: shown where there is a terminal or a notebook
        bar = tqdm(total=len(self.points), initial=len(self.results), unit="point", disable=hidden)
        with bar, _executor_for(executor, len(missing)) as workers:
            self._compute(workers, missing, task, bar)

    def _compute(
        self, workers: Executor, missing: Sequence[int], task: tuple[Any, Any], bar: Any
    ) -> None:
        arrived: SimpleQueue[int] = SimpleQueue()
        waiting: dict[int, Any] = {}
        with interrupts_into(arrived):
            try:
                self._submit(workers, missing, task, arrived, waiting, bar)
                while waiting or not arrived.empty():  # Ctrl-C may come after the last point
                    self._take_next(arrived, waiting, bar)
            except KeyboardInterrupt:
                for number, future in waiting.items():
                    if future.done():
                        self._take(number, future)
                self._cancel(waiting)
                raise self._interrupted() from None
            except BaseException:  # a full disk, for instance
                self._cancel(waiting)
                raise

    def _submit(
        self,
        workers: Executor,
        missing: Sequence[int],
        task: tuple[Any, Any],
        arrived: SimpleQueue[int],
        waiting: dict[int, Any],
        bar: Any,
    ) -> None:
        """Hand out the points, and take those that have ended in the meantime."""
        build, (steps, duration) = task
        for number in missing:
            if self.stopped:
                return
            try:
                future = workers.submit(run_point, build, self.points[number], steps, duration)
            except BrokenExecutor as error:
                self.broken = str(error)
                return
            waiting[number] = future
            future.add_done_callback(partial(_put, arrived, number))
            while not arrived.empty():
                self._take_next(arrived, waiting, bar)

    def _cancel(self, waiting: dict[int, Any]) -> None:
        """Cancel what an executor of the caller has not begun; our own does it at its end."""
        for future in () if self.owns_executor else waiting.values():
            future.cancel()

    def _take_next(self, arrived: SimpleQueue[int], waiting: dict[int, Any], bar: Any) -> None:
        """Take the next point that has ended; cancel what waits where no more are wanted."""
        number = arrived.get()
        if number == INTERRUPT:
            raise KeyboardInterrupt
        self._take(number, waiting.pop(number))
        bar.update()
        if self.stopped and not self.broken:  # a broken executor ends what waits itself
            for future in list(waiting.values()):
                future.cancel()

    def _take(self, number: int, future: Any) -> None:
        """Keep and store the result of a point, or note why there is none."""
        try:
            outcome = future.result()
        except CancelledError:
            return
        except BrokenExecutor as error:
            self.broken = str(error)
            return
        except Exception as error:  # of the executor: nothing could be sent, for instance
            outcome = PointFailure(f"{type(error).__name__}: {error}")
        if isinstance(outcome, PointResult):
            outcome = self._checked(outcome)
        if isinstance(outcome, PointFailure):
            self.failures[number] = outcome
            return
        if self.folder is not None:
            self.folder.store(number, outcome)
        self.results[number] = outcome

    def _checked(self, result: PointResult) -> PointResult | PointFailure:
        """Return a result, or how it differs from those before it."""
        try:
            check_names(self.points, result)
        except NeurodriverError as error:
            return PointFailure(str(error))
        if self._reference is None:
            self._reference = result
        if differs := self._reference.misfit(result):
            number = next(n for n, one in self.results.items() if one is self._reference)
            advice = "all points must give the same names and shapes"
            other = self.points.label(number)
            return PointFailure(f"build returned {differs} at the point {other}; {advice}")
        return result

    def finish(self) -> xarray.Dataset:
        """Return the results, or raise what went wrong."""
        if self.broken or (self.failures and not self.keeps_errors):
            raise SweepError(self._report(), self._dataset())
        return self._dataset()

    def _dataset(self) -> xarray.Dataset:
        errors = {number: failure.summary for number, failure in self.failures.items()}
        return dataset_of(self.points, self.results, errors if self.keeps_errors else None)

    def _report(self) -> str:
        lines = []
        if self.broken:
            cause = "out of memory, a crash, or a script without `if __name__ == '__main__':`"
            lines = [f"sweep: a worker ended too soon ({self.broken}); it may be {cause}"]
        failed = sorted(self.failures.items())
        if failed:
            lines.append(f"sweep: {len(failed)} of {len(self.points)} points failed")
        for place, (number, failure) in enumerate(failed[:SHOWN]):
            text = failure.text if not place else failure.summary
            lines.append(f"  {self.points.label(number)}: {text}")
        if len(failed) > SHOWN:
            lines.append(f"  ... and {len(failed) - SHOWN} more")
        return "\n".join([*lines, self._what_is_done()])

    def _interrupted(self) -> SweepInterrupted:
        return SweepInterrupted(f"sweep: interrupted; {self._what_is_done()}", self._dataset())

    def _what_is_done(self) -> str:
        done = f"{len(self.results)} of {len(self.points)} points are done"
        if self.folder is None:
            return f"{done}: `results` of this error holds them"
        return f"{done}; call again with path='{self.folder.path}' to go on"


def _put(arrived: SimpleQueue[int], number: int, _: object) -> None:
    arrived.put(number)


def _length(steps: int | None, duration: float | None) -> tuple[int | None, float | None]:
    """Return the length of runs as numbers of Python."""
    if steps is not None and duration is not None:
        raise NeurodriverError("sweep: give either steps or duration")
    if steps is not None and not (whole(steps) and steps >= 0):
        raise NeurodriverError(f"sweep: steps must be a whole number >= 0 (got {shown(steps)})")
    duration = seconds(duration, "sweep: duration")
    if duration is not None and not 0 <= real(duration) < math.inf:
        raise NeurodriverError(f"sweep: duration must be seconds >= 0 (got {shown(duration)})")
    return None if steps is None else int(steps), None if duration is None else float(duration)


def _check_sendable(build: Callable[..., Any]) -> None:
    """Raise NeurodriverError where a function cannot be sent to another process."""
    try:
        pickle.dumps(build)
    except Exception as error:
        advice = "define it with def at the top of a module, or pass executor=ThreadPoolExecutor()"
        raise NeurodriverError(
            f"sweep: build cannot be sent to other processes ({error}); {advice}"
        ) from None


@contextmanager
def _executor_for(given: Executor | None, points: int) -> Iterator[Executor]:
    """Give the executor to use: the caller's, or processes of our own, which end with it."""
    if given is not None:
        yield given
        return
    before = set(active_children())
    count = min(cores(), points)
    own = ProcessPoolExecutor(count, initializer=begin_worker)
    try:
        yield own
    except BaseException:
        own.shutdown(wait=False, cancel_futures=True)
        for child in set(active_children()) - before:
            child.terminate()
        raise
    finally:
        own.shutdown()
