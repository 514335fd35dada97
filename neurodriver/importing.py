"""End the command ``neurodriver`` without a traceback if Ctrl-C comes during its imports.

If a program of the user imports the package, Ctrl-C raises KeyboardInterrupt as usual.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
"""Exit code of a program that SIGINT has ended, as shells give it."""


def _is_command() -> bool:
    """Whether this process is the command."""
    if sys.argv[:1] == ["-m"]:  # the package is imported before its __main__
        return sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1] == ["neurodriver"]
    return bool(sys.argv) and os.path.basename(sys.argv[0]) == "neurodriver"


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)


def begin() -> None:
    """Let Ctrl-C end the command with one sentence."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_command():
        signal.signal(signal.SIGINT, _end)


def end() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


begin()
