"""What the rank that runs a script sends to the others: LPUs to make, steps to do, the end."""

from __future__ import annotations

import io
import os
import pickle
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from types import FunctionType
from typing import Any

from ..errors import NeurodriverError
from ..mpi import World
from .job_plan import JobPlan

_ADVICE = "put it into a module of its own beside the script, or install dill"


@contextmanager
def leading(world: World) -> Iterator[None]:
    """Let rank 0 run a script whose Managers send the other ranks what to do.

    They end with it; they exit with 1 where it ends by an exception.
    """
    world.leading = world.size > 1
    status = 1
    try:
        yield
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
    finally:
        led, world.leading = world.leading, False
        if led and not world.engaged:
            world.spread(("end", status))  # else they are in a run, and leaving the script ends it


def send_plan(world: World, plan: JobPlan) -> None:
    """On the rank that leads, send all others what to construct.

    Raises
    ------
    NeurodriverError
        When something cannot be sent.
    """
    if not world.leading:
        return
    data = dumps((plan, os.getcwd()))
    world.spread(("plan", (data, sys.path, sys.argv)))
    failed = [text for text in world.gather("") if text]
    if failed:
        raise NeurodriverError(f"Manager.spawn: another rank cannot take the LPUs: {failed[0]}")


def send_start(world: World, steps: float, checkpoint: Path | None, every: float) -> None:
    """On the rank that leads, let all others start."""
    if world.leading:
        world.spread(("start", (steps, None, checkpoint, every)))


def send_resume(world: World, path: Path) -> None:
    """On the rank that leads, let all others go on from a checkpoint."""
    if world.leading:
        world.spread(("resume", path))


def take_plan(world: World, value: Any) -> JobPlan | None:
    """Return what rank 0 has sent; None where a rank cannot take it."""
    data, path, arguments = value
    sys.path[:] = path
    sys.argv[:] = arguments
    failed, plan = "", None
    try:
        plan, folder = loads(data)
        os.chdir(folder)
    except Exception as error:
        failed = traceback.format_exception_only(error)[-1].strip()
    return plan if not any(world.gather(failed)) else None


def dumps(value: Any) -> bytes:
    """Return a value as bytes for another process.

    Raises
    ------
    NeurodriverError
        For what cannot be sent.
    """
    dill, file = _dill(), io.BytesIO()
    try:
        if dill is not None:
            return bytes(dill.dumps(value, recurse=True))
        _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
        return file.getvalue()
    except NeurodriverError:
        raise
    except Exception as error:
        text = f"an argument cannot be sent to another rank ({error})"
        raise NeurodriverError(f"Manager: {text}; {_ADVICE}") from None


def loads(data: bytes) -> Any:
    """Return what ``dumps`` was given."""
    return (_dill() or pickle).loads(data)


def _dill() -> Any:
    """Return the module dill, which sends classes and functions as a whole; None without it."""
    if PathFinder.find_spec("dill") is None:  # what else bears its name cannot do that
        return None
    return import_module("dill")


class _Pickler(pickle.Pickler):
    """Refuses what is known in the script alone: the other ranks have not run it."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type | FunctionType) and obj.__module__ == "__main__":
            raise NeurodriverError(
                f"Manager: {obj.__qualname__} is defined in the script, which the other ranks do "
                f"not run; {_ADVICE}"
            )
        return NotImplemented
