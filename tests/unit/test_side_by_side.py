"""Calls side by side in threads, or one after the other where no thread can begin."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from neurodriver.side_by_side import in_threads


def test_each_call_has_a_thread() -> None:
    """They run at the same time; a single call runs in the thread of the caller."""
    together, names = threading.Barrier(3, timeout=20), []

    def work(number: int) -> None:
        together.wait()
        names.append(threading.current_thread().name)

    in_threads(work, [(0,), (1,), (2,)], "some")
    assert len({*names}) == 3 and all(name.startswith("some") for name in names)
    found: list[Any] = []
    in_threads(lambda: found.append(threading.current_thread()), [()], "one")
    assert found == [threading.current_thread()]
    in_threads(work, [], "none")


@pytest.mark.parametrize("begun", [0, 2])
def test_a_program_that_ends_begins_no_threads(begun: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has not begun is done nevertheless, once each."""
    submit, left, done = ThreadPoolExecutor.submit, iter(range(begun)), []

    def refused(self: ThreadPoolExecutor, *given: Any) -> Any:
        if next(left, None) is None:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        return submit(self, *given)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refused)
    in_threads(done.append, [(n,) for n in range(4)], "some")
    assert sorted(done) == [0, 1, 2, 3]


def test_what_goes_wrong_is_raised() -> None:
    """Also an error of the kind that a pool raises."""

    def work(number: int) -> None:
        if number == 1:
            raise RuntimeError("wrong")

    with pytest.raises(RuntimeError, match="wrong"):
        in_threads(work, [(0,), (1,)], "some")
