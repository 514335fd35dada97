"""What this rank does: in a call of this package, waiting for other ranks, or in its script."""

from __future__ import annotations

import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(__file__).parents[1])

SCRIPT, BUSY, WAITING = range(3)
"""In no call of this package; in one; in one that waits for other ranks."""


@dataclass(eq=False)  # threads find their own in a list: comparing others would let them interrupt
class RankTask:
    """A call of this package that other ranks wait for.

    Attributes
    ----------
    since : float
        When it last got on, by ``time.monotonic``.
    step : int
        Steps that it has done; -1 where it does none.
    waits : bool
        Whether it waits for other ranks.
    """

    name: str
    thread: int = field(default_factory=threading.get_ident)
    since: float = field(default_factory=time.monotonic)
    step: int = -1
    waits: bool = False

    def advanced(self, step: int = -1) -> None:
        """Note that the task got on."""
        self.step, self.since = step, time.monotonic()


@dataclass(frozen=True)
class Seen:
    """What a rank does at a moment.

    Attributes
    ----------
    state : int
        ``SCRIPT``, ``BUSY`` or ``WAITING``.
    seconds : float
        Without progress.
    place : str
        The call, the step, and the line of the user's program.
    """

    state: int = SCRIPT
    seconds: float = 0.0
    place: str = ""


class Tasks:
    """The tasks of this process, the newest of a thread last."""

    def __init__(self) -> None:
        self._tasks: list[RankTask] = []

    @contextmanager
    def task(self, name: str) -> Iterator[RankTask]:
        """Let a ``with`` block be a task."""
        made = RankTask(name)
        self._tasks.append(made)
        try:
            yield made
        finally:
            self._tasks.remove(made)
            if outer := self._here():
                outer.advanced(outer.step)

    def _here(self) -> RankTask | None:
        own, now = threading.get_ident(), list(self._tasks)  # other threads change it meanwhile
        return next((one for one in reversed(now) if one.thread == own), None)

    def begin_waiting(self) -> RankTask:
        """Note that this thread waits for other ranks."""
        task = self._here()
        if task is None:
            task = RankTask("the script")
            self._tasks.append(task)
        task.waits, task.since = True, time.monotonic()
        return task

    def end_waiting(self, task: RankTask) -> None:
        """Note that this thread waits no longer."""
        task.waits = False
        task.advanced(task.step)
        if task.name == "the script":
            self._tasks.remove(task)

    def paused(self, seconds: float) -> None:
        """Leave out a time in which the whole process was stopped."""
        for one in list(self._tasks):
            one.since += seconds

    def seen(self) -> Seen:
        """Look at the tasks; one that is in the middle of work of this package gets on."""
        now, frames = time.monotonic(), sys._current_frames()
        newest = {one.thread: one for one in list(self._tasks)}
        longest = Seen()
        for task in newest.values():
            if task.waits:
                seen = Seen(WAITING, now - task.since, f"in {task.name}")
                if longest.state == SCRIPT or (
                    longest.state == WAITING and seen.seconds < longest.seconds
                ):
                    longest = seen
                continue
            line, own = _line_of(frames.get(task.thread), task.step >= 0)
            if own:
                task.since = now
            seconds = now - task.since
            if longest.state != BUSY or seconds > longest.seconds:
                step = f" at step {task.step:,}" if task.step >= 0 else ""
                longest = Seen(BUSY, seconds, f"in {task.name}{step}{line}")
        if longest.state == SCRIPT:
            line, _ = _line_of(frames.get(threading.main_thread().ident or 0), False)
            return Seen(SCRIPT, 0.0, f"in its script{line}")
        return longest


TASKS = Tasks()
"""That of this process."""

_FOREIGN = (
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen ",
)
"""Where the files of libraries are."""

_STEPS = str(Path(PACKAGE, "backends"))


def _line_of(frame: FrameType | None, steps: bool) -> tuple[str, bool]:
    """Return where a thread is, and whether this package does work that may take long there.

    It does where the innermost frame, but for those of libraries, is one of its own. A call into
    compiled code for some ``steps`` is short.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(PACKAGE):
            if steps and file.startswith(_STEPS):
                return ", in compiled code", False
            return "", True
        if not file.startswith(_FOREIGN):
            return f", {file}:{frame.f_lineno} in {frame.f_code.co_name}", False
        frame = frame.f_back
    return "", True
