"""The events of a profile as a Chrome trace: JSON for chrome://tracing and Perfetto.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import NeurodriverError


@dataclass(frozen=True)
class Event:
    """One stretch of time; seconds of ``time.perf_counter``."""

    name: str
    thread: str
    begin: float
    end: float


@dataclass(frozen=True)
class ProcessTrace:
    """What one process adds to a trace.

    Attributes
    ----------
    epoch : float
        Seconds to add to the times of the events to get those since 1970.
    lost : int
        Events that were not kept.
    """

    epoch: float
    events: list[Event]
    lost: int


def check(path: str | Path) -> None:
    """Refuse a file that cannot be written, before anything runs.

    Raises
    ------
    NeurodriverError
    """
    path = Path(path)
    if path.is_dir():
        raise NeurodriverError(f"{path}: is a folder; name a file for the trace")
    if not path.parent.is_dir():
        raise NeurodriverError(f"{path}: there is no folder {path.parent}; make it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise NeurodriverError(f"{path}: cannot be written; name another file for the trace")


def write(path: str | Path, processes: Sequence[ProcessTrace]) -> None:
    """Write the events of all ranks; times count from the first event of any.

    Raises
    ------
    NeurodriverError
        When the file cannot be written.
    """
    shifts = [process.epoch - processes[0].epoch for process in processes]
    begins = [e.begin + shift for p, shift in zip(processes, shifts, strict=True) for e in p.events]
    origin = min(begins, default=0.0)
    rows: list[dict[str, Any]] = []
    for rank, (process, shift) in enumerate(zip(processes, shifts, strict=True)):
        rows.append(_named("process_name", rank, 0, f"rank {rank}"))
        threads: dict[str, int] = {}
        for event in sorted(process.events, key=lambda e: (e.begin, -e.end)):
            if event.thread not in threads:
                threads[event.thread] = len(threads)
                rows.append(_named("thread_name", rank, threads[event.thread], event.thread))
            # whole nanoseconds: what lies inside another stays inside it
            begin, end = (round((t + shift - origin) * 1e9) for t in (event.begin, event.end))
            rows.append(
                {
                    "name": event.name, "cat": "neurodriver", "ph": "X", "pid": rank,
                    "tid": threads[event.thread], "ts": begin / 1e3, "dur": (end - begin) / 1e3,
                }
            )  # fmt: skip
    lost = sum(p.lost for p in processes)
    content = {"traceEvents": rows, "displayTimeUnit": "ms", "otherData": {"events lost": lost}}
    try:
        Path(path).write_text(json.dumps(content), encoding="utf-8")
    except OSError as error:
        raise NeurodriverError(f"{path}: cannot be written: {error.strerror}") from None


def _named(what: str, rank: int, thread: int, name: str) -> dict[str, Any]:
    """Return the event that gives a process or a thread its name."""
    return {"name": what, "ph": "M", "pid": rank, "tid": thread, "args": {"name": name}}
