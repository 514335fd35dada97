"""Ctrl-C waits for the end of a step."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class StepBoundary:
    """Lets a SIGINT that arrives within a step take effect after it.

    A second one takes effect at once. Nothing is done where a program has a handler of its own, or
    in other threads than the first one.

    Attributes
    ----------
    asked : bool
        Whether Ctrl-C has been pressed.

    Examples
    --------
    >>> with StepBoundary() as boundary:
    ...     for step in range(3):
    ...         boundary.reached()  # raises KeyboardInterrupt if Ctrl-C has been pressed
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> StepBoundary:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            signal.default_int_handler(number, frame)
        self.asked = True

    def reached(self) -> None:
        """Raise KeyboardInterrupt if it has been asked for."""
        if self.asked:
            self.asked = False
            raise KeyboardInterrupt

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None
        if error[0] is None:
            self.reached()
