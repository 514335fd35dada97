"""Starts programs: such as get signals, and jobs under the ``mpiexec`` of this environment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
"""Signals that a parent may have told its children to ignore."""


def start_in_foreground(words: Sequence[str | Path], **more: Any) -> subprocess.Popen[str]:
    """Start a program that will get signals; ``more`` goes to ``Popen``.

    A shell starts programs of the background with SIGINT ignored, and their children inherit that.
    Here the child begins with the default handlers, whoever started the tests.
    """
    return subprocess.Popen([*map(str, words)], text=True, preexec_fn=_default_signals, **more)


def _default_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


NOT_STARTED = "PMIx server's listener thread failed to start"
"""What Open MPI says where its own thread is late on a busy machine; no program has run then."""


def mpiexec(
    ranks: int, arguments: Sequence[str], seconds: float = 300.0, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run Python with ``arguments`` on so many ranks, for at most ``seconds``."""
    command = [*launcher(ranks), sys.executable, *arguments]
    for _ in range(3):
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, timeout=seconds, cwd=ROOT
        )
        if NOT_STARTED not in done.stderr:
            break
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def launcher(ranks: int) -> list[str]:
    """Return the beginning of a command line; skip the test where there is no MPI."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        pytest.skip("no mpiexec beside this Python, nor in PATH; install neurodriver[test]")
    return [found, "--oversubscribe", "-n", str(ranks)]


def environment() -> dict[str, str]:
    """Return the environment for a job on one host, also as root and in a small container."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "PRTE_"))}
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), own.get("PYTHONPATH", "")])
    return {
        **own,
        "PYTHONPATH": path,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        # Open MPI 4 looks for a remote shell, also where nothing is remote
        "OMPI_MCA_plm_rsh_agent": shutil.which("true") or "",
    }
