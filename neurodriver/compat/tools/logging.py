"""The old ``setup_logger`` on the logging module of Python; twiggy is not needed.

All loggers of the old API are children of one, ``neurokernel``: what is set up once holds for all.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ...errors import NeurodriverError

ROOT = "neurokernel"
"""Parent of all loggers."""

LINE = "{asctime} {levelname} {name}|{message}"
"""A line of a log: time, level, who, what."""

WIDTH = 20
"""Names are padded to this length."""


def format_name(name: str, width: int = WIDTH) -> str:
    """Pad a name with spaces."""
    return name.ljust(width)


def get_logger(name: str = "") -> logging.Logger:
    """Return the logger of a name, below the common one."""
    return logging.getLogger(f"{ROOT}.{name}" if name else ROOT)


class _Formatter(logging.Formatter):
    """Shows the padded name without that of the common parent."""

    def __init__(self, fmt: str, fmt_name: Callable[[str], str]) -> None:
        style: Any = "{" if "{message}" in fmt else "%"
        super().__init__(fmt, style=style)
        self._fmt_name = fmt_name

    def format(self, record: logging.LogRecord) -> str:
        shown = logging.makeLogRecord(record.__dict__)
        shown.name = self._fmt_name(record.name.removeprefix(ROOT).removeprefix("."))
        return super().format(shown)


def setup_logger(
    name: str = "",
    level: int | str = logging.DEBUG,
    fmt: str = LINE,
    fmt_name: Callable[[str], str] | None = format_name,
    screen: bool | None = None,
    file_name: str | None = None,
    mpi_comm: Any = None,
    zmq_addr: str | None = None,
    log_exceptions: bool = True,
    multiline: bool = False,
) -> logging.Logger:
    """Say where log messages go, and return a logger.

    A second call replaces the outputs of the same kind; other kinds stay.

    Parameters
    ----------
    name : str
        Name of the logger.
    level : int or str
        Least level, ``"INFO"`` for instance.
    fmt : str
        Format of a line as the logging module has it, with ``{}`` or ``%``.
    fmt_name : function, optional
        Turns the name of a logger into what is shown; pads it by default.
    screen : bool, optional
        Write to the standard output.
    file_name : str, optional
        Write to a file, which is begun anew.
    mpi_comm : mpi4py communicator, optional
        Its processes share the file; without ``file_name`` it has no effect.
    zmq_addr : str, optional
        Publish at an address; needs pyzmq.
    log_exceptions : bool
        Log exceptions that nobody catches; they are still shown by Python.
    multiline : bool
        An exception is logged in several lines instead of one.

    Raises
    ------
    NeurodriverError
        When the file cannot be written, or pyzmq is missing.
    """
    root = logging.getLogger(ROOT)
    root.setLevel(level)
    formatter = _Formatter(fmt, fmt_name or str)
    if screen:
        _replace(root, "screen", logging.StreamHandler(sys.stdout), formatter)
    if file_name:
        _replace(root, "file", _file_handler(file_name, mpi_comm), formatter)
    if zmq_addr:
        _replace(root, "zmq", _zmq_handler(zmq_addr), formatter)
    logger = get_logger(name)
    if log_exceptions:
        set_excepthook(logger, multiline)
    return logger


def set_excepthook(logger: logging.Logger, multiline: bool = False) -> None:
    """Log exceptions that nobody catches, besides showing them."""

    def hook(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            log_exception(kind, value, trace, logger, multiline)
        sys.__excepthook__(kind, value, trace)

    sys.excepthook = hook


def log_exception(
    type: type[BaseException],
    value: BaseException,
    tb: TracebackType | None,
    logger: logging.Logger | None = None,
    multiline: bool = False,
) -> None:
    """Log an exception as an error, in one line with bars or in several."""
    logger = logger or get_logger()
    parts = traceback.format_exception(type, value, tb)
    lines = [line.strip() for part in parts for line in part.strip().splitlines()]
    if multiline:
        for line in lines:
            logger.error(line)
    else:
        logger.error("Uncaught exception: %s", "|".join(lines))


def _replace(
    root: logging.Logger, kind: str, handler: logging.Handler, formatter: logging.Formatter
) -> None:
    """Put an output in the place of an earlier one of its kind."""
    handler.set_name(f"{ROOT}-{kind}")
    for old in [h for h in root.handlers if h.get_name() == handler.get_name()]:
        root.removeHandler(old)
        old.close()
    handler.setFormatter(formatter)
    root.addHandler(handler)


def _file_handler(file_name: str, mpi_comm: Any) -> logging.Handler:
    try:
        if mpi_comm is None:
            return logging.FileHandler(file_name, mode="w", encoding="utf-8")
        # One process begins the file anew; lines that are appended whole do not mix.
        if mpi_comm.Get_rank() == 0:
            with open(file_name, "w", encoding="utf-8"):
                pass
        mpi_comm.Barrier()
        return logging.FileHandler(file_name, mode="a", encoding="utf-8")
    except OSError as error:
        raise NeurodriverError(f"{file_name}: log cannot be written: {error.strerror}") from error


def _zmq_handler(address: str) -> logging.Handler:
    try:
        from zmq.log.handlers import PUBHandler
    except ImportError as error:
        raise NeurodriverError("setup_logger: zmq_addr needs pip install pyzmq") from error
    handler: logging.Handler = PUBHandler(address)
    return handler
