"""Runs cases in a process of their own and tells how each one ends."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import resource
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import click

from neurodriver.errors import CircuitWarning, NeurodriverError

CLEAR, WARNED, LEGAL = "clear error", "warned", "legal"
"""Ends that a case may allow."""

SILENT, TRACEBACK, VAGUE, CRASH, HANG = "silent", "traceback", "vague error", "crash", "hang"
"""Ends that are faults of ours."""

LONGEST = 20.0
"""Seconds after which a case hangs."""


@dataclass(frozen=True)
class Case:
    """Something that a user may do, and how it may end.

    Attributes
    ----------
    run : callable
        Is given an empty folder.
    allowed : tuple of str
        ``CLEAR``, ``WARNED``, ``LEGAL``.
    words : tuple of str
        What an error or a warning has to say.
    """

    name: str
    run: Callable[[Path], object]
    allowed: tuple[str, ...] = (CLEAR,)
    words: tuple[str, ...] = ()


class Unnoticed(Exception):
    """What a user gave had no effect, and nothing was said."""


@dataclass(frozen=True)
class End:
    """How a case ended, and what was said."""

    kind: str
    said: str = ""


def end_of(case: Case, folder: Path) -> End:
    """Run a case in this process."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            case.run(folder)
        except (NeurodriverError, click.ClickException) as error:
            said = error.message if isinstance(error, click.ClickException) else str(error)
            return _judged(case, CLEAR, said)
        except Unnoticed as error:
            return End(SILENT, str(error))
        except BaseException as error:
            ours = [
                f for f in traceback.extract_tb(error.__traceback__) if "neurodriver" in f.filename
            ]
            place = "; ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in ours[-3:])
            return End(TRACEBACK, f"{type(error).__name__}: {str(error)[-1500:]} ({place})")
    told = [str(w.message) for w in caught if issubclass(w.category, CircuitWarning)]
    return _judged(case, WARNED if told else LEGAL, "; ".join(told))


_VAGUE = re.compile(r"Traceback|\n\n|NoneType|h5py\.|numpy\.")


def _judged(case: Case, kind: str, said: str) -> End:
    if kind not in case.allowed:
        return End(SILENT if kind != CLEAR else VAGUE, f"{kind}: {said}")
    vague = kind == CLEAR and (_VAGUE.search(said) or not said.strip() or len(said) > 6000)
    missing = [word for word in case.words if word not in said] if kind != LEGAL else []
    if vague or missing:
        return End(VAGUE, f"{said} (lacks {missing})")
    return End(kind, said)


def ends_of(cases: Sequence[Case], folder: Path, longest: float = LONGEST) -> list[End]:
    """Run cases in a child; a new one goes on behind one that crashes or hangs."""
    ends: list[End] = []
    context = multiprocessing.get_context("fork")
    while len(ends) < len(cases):
        ours, theirs = context.Pipe()
        child = context.Process(target=_serve, args=(cases, len(ends), folder, theirs))
        child.start()
        theirs.close()
        try:
            while len(ends) < len(cases):
                if not ours.poll(longest):
                    ends.append(End(HANG))
                    break
                ends.append(ours.recv())
        except EOFError:
            child.join()
            ends.append(End(CRASH, f"exit code {child.exitcode}"))
        finally:
            child.kill()
            child.join()
    return ends


def _serve(cases: Sequence[Case], first: int, folder: Path, out: Connection) -> None:
    faulthandler.disable()  # a crash is counted
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not os.environ.get("SHOW"):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
    for number in range(first, len(cases)):
        mine = folder / f"{number:05}"
        mine.mkdir(parents=True, exist_ok=True)
        os.chdir(mine)
        out.send(end_of(cases[number], mine))
    os._exit(0)


def faults(cases: Sequence[Case], ends: Sequence[End]) -> list[str]:
    """Return what is wrong, as lines."""
    pairs = zip(cases, ends, strict=True)
    return [f"{c.name}: {e.kind}: {e.said}" for c, e in pairs if e.kind not in c.allowed]


def row(ends: Sequence[End]) -> dict[str, Any]:
    """Return the counts of one class of cases."""
    counts = {kind: sum(e.kind == kind for e in ends) for kind in COLUMNS[1:]}
    return {"tried": len(ends), **counts}


COLUMNS = ("tried", CLEAR, WARNED, LEGAL, TRACEBACK, VAGUE, CRASH, HANG, SILENT)
