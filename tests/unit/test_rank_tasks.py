"""What the threads of a rank do, noted by all of them at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from neurodriver.mpi.tasks import Seen, Tasks


@pytest.fixture
def hasty() -> Iterator[None]:
    """Let threads interrupt each other as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_begin_and_end_tasks(hasty: None) -> None:
    """Parts of a circuit do so side by side; none removes the task of another one."""
    tasks = Tasks()

    def work(thread: int) -> int:
        for _ in range(1000):
            with tasks.task("the run") as run:
                with tasks.task(f"thread {thread}"):
                    waiting = tasks.begin_waiting()
                    assert waiting.name == f"thread {thread}"
                    tasks.end_waiting(waiting)
                run.advanced(1)
        return thread

    with ThreadPoolExecutor(6) as pool:
        assert [*pool.map(work, range(6))] == [*range(6)]
    assert not tasks._tasks and tasks.seen().state == Seen().state
