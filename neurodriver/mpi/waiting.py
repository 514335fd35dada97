"""``wait_until``: every wait is a loop of tests, so that a rank hears of the others meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..errors import NeurodriverError
from ..system import give_way
from .tasks import TASKS

_SPIN = 1e-4
"""Seconds of testing without pause where every rank has a core of its own."""

_YIELD = 2e-3
"""Seconds of giving way between tests there, before naps begin."""

_NAP = 5e-5
_LONGEST_NAP = 2e-3
_LISTEN_SECONDS = 0.1


def wait_until(
    ready: Callable[[], bool],
    seconds: float,
    whom: str,
    listen: Callable[[], None] = lambda: None,
    crowded: bool = True,
) -> None:
    """Test until it is so: first without pause, then giving way to other processes.

    Ranks that share cores take naps soon: one that spins keeps the core from the one it waits for.
    A deadline of 0 ``seconds`` waits for ever; then heartbeats tell whether the others are there.
    ``listen`` is called now and then; it may raise.
    """
    begin = time.perf_counter()
    listened, task = 0.0, None
    try:
        while not ready():
            waited = time.perf_counter() - begin
            if seconds and waited > seconds:
                raise NeurodriverError(f"no answer from {whom} within {seconds:g} s")
            if waited < (_NAP if crowded else _YIELD):
                if crowded or waited > _SPIN:
                    give_way()
                continue
            time.sleep(min(max(_NAP, waited / 50), _LONGEST_NAP))
            if waited - listened > _LISTEN_SECONDS:
                listened = waited
                task = task or TASKS.begin_waiting()
                listen()
    finally:
        if task is not None:
            TASKS.end_waiting(task)
