"""The launcher (``mpiexec``), which ends all ranks where one of them fails, and may hang then."""

from __future__ import annotations

import os

from ..system import end_process_later

SECONDS = 10.0
"""What the launcher gets to end the job. On a busy machine it may need some seconds."""


def leave_job() -> None:
    """End this process with status 1 where the launcher ends the other ranks then.

    Open MPI's does. Its ``MPI_Abort`` would do the same, but the launcher of Open MPI 5.0.11 hangs
    or crashes at it once in some hundred jobs. Other launchers may let the other ranks go on: there
    nothing is done.
    """
    if _by_open_mpi():
        end_launcher_later()
        os._exit(1)


def end_launcher_later() -> None:
    """See to it that Open MPI's launcher ends, whatever happens to this process.

    Its ranks may be gone while it hangs. So another process waits for it, and ends it.
    """
    if _by_open_mpi():
        end_process_later(os.getppid(), SECONDS)


def _by_open_mpi() -> bool:
    return "PRTE_LAUNCHED" in os.environ  # the parent of a rank is its launcher
