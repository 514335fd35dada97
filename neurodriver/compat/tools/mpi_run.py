"""Run a function or a Manager under ``mpiexec`` from a notebook, and get what it prints."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ... import system
from ...errors import NeurodriverError

_KEPT = ("OMPI_", "PMIX_", "PRTE_", "SLURM")
"""Variables of a launcher that another launcher must not see."""

_REMOTE = "OMPI_MCA_plm_rsh_agent"
"""Names the remote shell of Open MPI."""

_ALIASES = """\
from importlib.util import find_spec
if find_spec("neurodriver.compat.old"):
    import neurodriver.compat.old"""
"""Makes the old import paths known."""


def mpi_run(
    func: Callable[[], Any],
    targets: Iterable[Any] | None = None,
    delete_tempfile: bool = True,
    log: bool = False,
    log_screen: bool = False,
    log_file_name: str = "neurokernel.log",
    ranks: int = 1,
) -> str:
    """Run a function in processes of its own.

    Parameters
    ----------
    func : function
        Without arguments; it has to import what it uses. Its text is what runs.
    targets : iterable of functions and classes, optional
        What it uses besides; their texts stand before it.
    delete_tempfile : bool
        Remove the script that is made.
    log, log_screen, log_file_name
        Log to a file of this name, or to the output.
    ranks : int
        Processes; rank 0 runs the function, the others the LPUs of its Managers.

    Returns
    -------
    str
        What was printed.

    Raises
    ------
    RuntimeError
        When it fails, with what it printed.
    """
    lines = [_ALIASES]
    if log or log_screen:
        file = repr(log_file_name) if log else None
        lines.append("from neurodriver.compat.tools.logging import setup_logger")
        lines.append(f"setup_logger(file_name={file}, screen={log_screen})")
    lines += [_text(one) for one in (*(targets or ()), func)]
    lines.append(f"{func.__name__}()")
    return _run("\n".join(lines) + "\n", None, delete_tempfile, ranks)


def mpi_run_manager(
    man: Any,
    steps: int,
    targets: Iterable[Any] | None = None,
    delete_tempfile: bool = True,
    log: bool = False,
    log_screen: bool = False,
    log_file_name: str = "neurokernel.log",
    ranks: int = 1,
) -> str:
    """Spawn and run a Manager in processes of its own; the one given is not changed.

    Parameters
    ----------
    man : Manager
        With its LPUs and patterns, not spawned.
    steps : int
        Number of steps.
    targets, delete_tempfile, log, log_screen, log_file_name, ranks
        As for `mpi_run`; classes of the notebook itself need dill.

    Returns
    -------
    str
        What was printed.

    Raises
    ------
    RuntimeError
        When it fails, with what it printed.
    """
    from ...parallel.service import dumps

    handle, name = tempfile.mkstemp(suffix=".plan", prefix="neurodriver_")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(dumps(man.plan))
        setup = f"setup_logger(file_name={log_file_name if log else None!r}, screen={log_screen})"
        lines = [
            "from pathlib import Path",
            _ALIASES,
            "from neurodriver.compat.tools.logging import setup_logger",
            *([setup] if log or log_screen else []),
            "from neurodriver.parallel.manager import Manager",
            "from neurodriver.parallel.service import loads",
            *[_text(one) for one in targets or ()],
            f"man = Manager.of_plan(loads(Path({name!r}).read_bytes()))",
            f"man.spawn(); man.start(steps={int(steps)}); man.wait()",
        ]
        return _run("\n".join(lines) + "\n", sys.path, delete_tempfile, ranks)
    finally:
        Path(name).unlink(missing_ok=True)


def _text(target: Any) -> str:
    """Return the text of a function or a class."""
    try:
        return textwrap.dedent(inspect.getsource(target))
    except (OSError, TypeError) as error:
        message = f"mpi_run: {target!r:.60}: its text cannot be found ({error})"
        raise NeurodriverError(f"{message}; define it in a cell or a file") from None


def _run(text: str, path: list[str] | None, delete: bool, ranks: int) -> str:
    """Run a script on ranks; return what it prints."""
    handle, name = tempfile.mkstemp(suffix=".py", prefix="neurodriver_")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    own = _environment(path or sys.path)
    command = [*_launcher(ranks), sys.executable, "-m", "neurodriver.parallel.service", name]
    try:
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    finally:
        if delete:
            Path(name).unlink(missing_ok=True)
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _environment(path: list[str]) -> dict[str, str]:
    """Return the environment of a job on this host."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(_KEPT) or k == _REMOTE}
    own["PYTHONPATH"] = os.pathsep.join(p or os.getcwd() for p in path)
    if _REMOTE not in own and not any(map(shutil.which, ("ssh", "rsh"))):
        # Open MPI 4 does not start without one, also where nothing is remote
        own[_REMOTE] = shutil.which("true") or ""
    return own


def _launcher(ranks: int) -> list[str]:
    """Return how a job is started; nothing for one process."""
    if ranks == 1:
        return []
    found = system.program("mpiexec")
    if found is None:
        raise NeurodriverError("mpi_run: there is no mpiexec; install MPI, or ask for 1 rank")
    root = ["--allow-run-as-root"] if system.is_root() else []
    return [found, "--oversubscribe", *root, "-n", str(ranks)]
