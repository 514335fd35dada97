"""One script on rank 0: the other ranks wait for their LPUs and do as its Manager tells them.

``python -m neurodriver.parallel.service script.py`` does both.
A script may generate files, run a Manager and read the results, and all of that only once. Under
``mpiexec`` rank 0 runs such a script within ``leading``, and every other rank calls ``serve``.
"""

from __future__ import annotations

import runpy
import sys

from ..errors import NeurodriverError
from ..mpi import World, world
from .leader import dumps as dumps
from .leader import leading as leading
from .leader import loads as loads
from .leader import take_plan
from .manager import Manager


def serve(world: World) -> int:
    """Do what rank 0 asks for until its script ends; return the exit status."""
    manager: Manager | None = None
    while True:
        what, value = world.spread(None)
        if what == "end":
            return int(value)
        if what == "plan":
            manager = None
            plan = take_plan(world, value)
            if plan is not None:
                manager = Manager.of_plan(plan)
        try:
            if manager is not None and what == "plan":
                manager.spawn()
            elif manager is not None and what == "resume":
                manager.resume(value)
            elif manager is not None and what == "start":
                manager.start(*value)
                manager.wait()
        except NeurodriverError as error:
            if not getattr(error, "known_to_all_ranks", False):
                raise
            manager = None  # rank 0 has the same error, and decides


def main(arguments: list[str]) -> int:
    """Run a script on rank 0; the other ranks serve it."""
    own = world()
    if own.rank:
        return serve(own)
    sys.argv = list(arguments)
    with leading(own):
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
