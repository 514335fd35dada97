"""``python -m neurodriver.compat script.py ...``: runs a script of the old library unchanged."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from types import CodeType, ModuleType

from ..errors import NeurodriverError
from ..mpi import world
from ..parallel.service import leading, serve
from . import children, names

USAGE = """usage: python -m neurodriver.compat SCRIPT [ARGUMENT ...]

Runs a Python script that imports `neurokernel` with this library in its place. The script sees
its own arguments in sys.argv and its own folder first in sys.path. Under mpiexec it runs on rank 0
alone; the other ranks take their share of its LPUs. See docs/migration.md.
"""

_OURS = str(Path(__file__).parents[1]) + os.sep


def main(arguments: list[str]) -> int:
    """Run a script as Python itself would.

    Parameters
    ----------
    arguments : list of str
        The script and its own arguments.

    Returns
    -------
    int
        The exit status: 2 without a script that can be read, 1 after an uncaught exception.
        ``SystemExit`` passes through.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    script = arguments[0]
    try:
        source = Path(script).read_bytes()
    except OSError as error:
        print(f"neurodriver.compat: {script}: cannot be read ({error.strerror})", file=sys.stderr)
        return 2
    names.install()
    children.follow()
    sys.argv = list(arguments)
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    try:
        code = compile(source, script, "exec", dont_inherit=True)
        ranks = world()
        if ranks.rank:
            return serve(ranks)
        with leading(ranks):
            _execute(code, script)
    except KeyboardInterrupt:
        print("KeyboardInterrupt", file=sys.stderr)
        return 128 + signal.SIGINT
    except Exception as error:
        _show(error)
        return 1
    return 0


def _execute(code: CodeType, script: str) -> None:
    """Run compiled text as the module ``__main__``."""
    module = ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _show(error: Exception) -> None:
    """Print a traceback with the script's own frames.

    An error of this library, or of an import, says all in its message: its frames are left out.
    """
    sys.stdout.flush()
    told = traceback.TracebackException.from_exception(error)
    chain: traceback.TracebackException | None = told
    while chain is not None:
        ours = isinstance(error, NeurodriverError | ImportError)
        _shorten(chain, ours and chain is told)
        chain = chain.__cause__ or chain.__context__
    print("".join(told.format()), end="", file=sys.stderr)


def _shorten(told: traceback.TracebackException, to_user: bool) -> None:
    runner = [f for f in told.stack if f.filename == __file__]
    frames = [f for f in told.stack if f not in runner]
    if to_user:
        while frames and frames[-1].filename.startswith((_OURS, "<frozen importlib")):
            frames.pop()
        told.__cause__ = told.__context__ = None
    told.stack = traceback.StackSummary.from_list(frames)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
