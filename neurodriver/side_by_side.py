"""``in_threads``: calls of compiled code side by side, which hold no lock of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any


def in_threads(work: Callable[..., object], parts: Sequence[tuple[Any, ...]], name: str) -> None:
    """Call a function with each of some arguments, each time in a thread of its own.

    A single call is made in the caller's thread. A program that ends cannot begin threads any more.
    Then the calls follow one another.

    Parameters
    ----------
    parts : sequence of tuple
        Arguments of each call.
    name : str
        Of the threads.
    """
    begun: list[Future[object]] = []
    if len(parts) > 1:
        with ThreadPoolExecutor(len(parts), name) as pool, suppress(RuntimeError):
            for part in parts:
                begun.append(pool.submit(work, *part))
    for part in parts[len(begun) :]:
        work(*part)
    for one in begun:
        one.result()
