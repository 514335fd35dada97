"""Starts programs under the ``mpiexec`` of this environment, with a deadline."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def mpiexec(
    ranks: int, arguments: Sequence[str], seconds: float = 300.0, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run Python with ``arguments`` on so many ranks, for at most ``seconds``."""
    command = [*launcher(ranks), sys.executable, *arguments]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=seconds, cwd=ROOT
    )
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
