"""The launcher (``mpiexec``), which ends all ranks where one of them fails, and may hang then."""

from __future__ import annotations

import os

from ..system import end_process_later

SECONDS = 10.0
"""What the launcher gets to end the job. On a busy machine it may need some seconds."""


def end_launcher_later() -> None:
    """See to it that the launcher ends, whatever happens to this process.

    Open MPI 5.0.11 prints that it ends the job, and hangs then, once in some thousand jobs. Its
    ranks are gone by then. So another process waits for the launcher, and ends it.
    """
    if "PRTE_LAUNCHED" in os.environ:  # by Open MPI: the parent of a rank is its launcher
        end_process_later(os.getppid(), SECONDS)
