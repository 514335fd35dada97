"""Ctrl-C as a message in a queue, so that it ends nothing in the middle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

INTERRUPT = -1
"""What Ctrl-C puts into the queue."""


@contextmanager
def interrupts_into(queue: SimpleQueue[int]) -> Iterator[None]:
    """Let the first Ctrl-C put `INTERRUPT` into a queue; a second one raises as usual.

    Other threads than the main one, and scripts with a handler of their own, are left alone.
    """
    usual = signal.default_int_handler
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return

    def first(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, usual)
        queue.put(INTERRUPT)

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
