"""The old managers of signals; unlike those, they put back the handler that was there before."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from ..system import USER_SIGNAL

Handler = Callable[[int, FrameType | None], Any]


@contextlib.contextmanager
def _handling(number: int, handler: Any) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, signal.SIG_DFL if before is None else before)


@contextlib.contextmanager
def ExceptionOnSignal(
    s: int = USER_SIGNAL, e: type[Exception] = Exception, i: object = None
) -> Iterator[None]:
    """Raise an exception when a signal comes; ``i`` tells in the message who got it."""

    def raise_it(number: int, frame: FrameType | None) -> None:
        raise e(f"signal {int(s)} detected" + (f" in {i}" if i is not None else ""))

    with _handling(s, raise_it):
        yield


@contextlib.contextmanager
def TryExceptionOnSignal(
    s: int = USER_SIGNAL, e: type[Exception] = Exception, i: object = None
) -> Iterator[None]:
    """Leave the block, without an exception, when a signal comes."""
    with ExceptionOnSignal(s, e, i), contextlib.suppress(e):
        yield


@contextlib.contextmanager
def IgnoreSignal(s: int = USER_SIGNAL) -> Iterator[None]:
    """Ignore a signal."""
    with _handling(s, signal.SIG_IGN):
        yield


@contextlib.contextmanager
def IgnoreKeyboardInterrupt() -> Iterator[None]:
    """Ignore Ctrl-C."""
    with _handling(signal.SIGINT, signal.SIG_IGN):
        yield


@contextlib.contextmanager
def OnKeyboardInterrupt(handler: Handler) -> Iterator[None]:
    """Call a function on Ctrl-C, as handlers of `signal` are called."""
    with _handling(signal.SIGINT, handler):
        yield
