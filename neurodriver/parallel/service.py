"""One script on rank 0: the other ranks wait for their LPUs and do as its Manager tells them.

``python -m neurodriver.parallel.service script.py`` does both, for a script of the new API.
Scripts of the old library generate files, run a Manager and read the results, once. Under
``mpiexec`` rank 0 runs such a script within ``leading``, every other rank calls ``serve``.
"""

from __future__ import annotations

import io
import os
import pickle
import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..errors import LPUExecutionError, NeurodriverError

if TYPE_CHECKING:
    from .job_plan import JobPlan
    from .mpi import World

_ADVICE = "put it into a module of its own beside the script, or install dill"


@contextmanager
def leading(world: World) -> Iterator[None]:
    """Let rank 0 run a script whose Managers tell the other ranks what to do.

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
        if (
            led and not world.engaged
        ):  # else the others are within a run, and leaving the script ends them
            _send(world, ("end", status))


def serve(world: World) -> int:
    """Do what rank 0 asks for until its script ends; return the exit status."""
    from .manager import Manager

    manager: Manager | None = None
    while True:
        what, value = world.spread(None)
        if what == "end":
            return int(value)
        if what == "plan":
            manager = None
            plan = _take_plan(world, value)
            if plan is not None:
                manager = Manager.of_plan(plan)
        try:
            if manager is not None and what == "plan":
                manager.spawn()
            elif manager is not None and what == "steps":
                manager.start() if value is None else manager.start(value)
                manager.wait()
        except LPUExecutionError as error:
            if not getattr(error, "known_to_all_ranks", False):
                raise
            manager = None  # rank 0 has the same error, and decides


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
    _send(world, ("plan", (data, sys.path, sys.argv)))
    failed = [text for text in world.gather("") if text]
    if failed:
        raise NeurodriverError(f"Manager.spawn: another rank cannot take the LPUs: {failed[0]}")


def send_steps(world: World, steps: int | None) -> None:
    """On the rank that leads, let all others start."""
    if world.leading:
        _send(world, ("steps", steps))


def _send(world: World, order: tuple[str, Any]) -> None:
    world.spread(order)


def _take_plan(world: World, value: Any) -> JobPlan | None:
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
    dill = _dill()
    file = io.BytesIO()
    try:
        if dill is not None:
            return bytes(dill.dumps(value, recurse=True))
        _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    except NeurodriverError:
        raise
    except Exception as error:
        raise NeurodriverError(
            f"Manager: an argument cannot be sent to another rank ({error}); {_ADVICE}"
        ) from None
    return file.getvalue()


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


def main(arguments: list[str]) -> int:
    """Run a script on rank 0; the other ranks serve it."""
    from .mpi import world

    own = world()
    if own.rank:
        return serve(own)
    sys.argv = list(arguments)
    with leading(own):
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
