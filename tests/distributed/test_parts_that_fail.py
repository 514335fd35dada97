"""A part that fails, or whose rank is killed, ends all ranks soon, and its error is shown."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from launch import mpiexec

PROGRAM = Path(__file__).with_name("failing_part.py")
WITHIN = 30.0


@pytest.mark.parametrize(
    ("kind", "says"), [("raises", "ValueError: broken on purpose"), ("killed", "Killed")]
)
def test_all_ranks_end(kind: str, says: str) -> None:
    """Long before the run would."""
    begin = time.perf_counter()
    done = mpiexec(2, [str(PROGRAM), kind], 4 * WITHIN, check=False)
    assert time.perf_counter() - begin < 2 * WITHIN  # the start of the job included
    assert done.returncode != 0 and done.stdout.count("begun") == 2, done.stderr
    assert says in done.stdout + done.stderr


def test_a_launcher_that_hangs() -> None:
    """It is ended, too; what it did not print is lost."""
    done = mpiexec(2, [str(PROGRAM), "launcher"], 4 * WITHIN, check=False)
    assert done.returncode == -signal.SIGKILL and done.stdout.count("begun") == 2
