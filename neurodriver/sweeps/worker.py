"""What a worker does: one point of a sweep."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import parent_process
from threading import Thread
from typing import Any

from .. import settings
from ..errors import NeurodriverError, lines_of
from .values import PointResult, result_of


@dataclass(frozen=True)
class PointFailure:
    """Why a point has no result: the error as text, since not every error can be sent."""

    text: str

    @property
    def summary(self) -> str:
        """The last line."""
        return self.text.splitlines()[-1]


def run_point(
    build: Callable[..., Any],
    point: Mapping[str, Any],
    steps: int | None,
    duration: float | None,
) -> PointResult | PointFailure:
    """Return what is kept of one point.

    An LPU without ``threads=`` gets one thread, as the points are what runs in parallel.
    """
    try:
        with settings.defaults(NEURODRIVER_THREADS="1"):
            return result_of(build(**point), steps, duration)
    except (Exception, SystemExit) as error:
        if isinstance(error, NeurodriverError) and error.__cause__ is None:  # the message says all
            return PointFailure(f"{type(error).__name__}: {error}")
        return PointFailure("".join(lines_of(error)).strip() or type(error).__name__)


def begin_worker() -> None:
    """Let a worker process end with the process that began it, which also handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
