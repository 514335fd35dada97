"""The old ``LoggerMixin``: an object with its own logger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .tools.logging import get_logger


class LoggerMixin:
    """Gives an object a logger that can be turned off.

    Parameters
    ----------
    name : str
        Name of the logger.
    log_on : bool
        Log at all.

    Attributes
    ----------
    log_on : bool
        If False, nothing is logged.
    log_debug, log_info, log_warning, log_error, log_critical : function
        Log a message at a level.
    """

    log_debug: Callable[..., None]
    log_info: Callable[..., None]
    log_warning: Callable[..., None]
    log_error: Callable[..., None]
    log_critical: Callable[..., None]

    def __init__(self, name: str, log_on: bool = True) -> None:
        super().__init__()
        self.logger = get_logger(str(name))
        self.log_on = log_on

    @property
    def log_on(self) -> bool:
        """If False, nothing is logged."""
        return self._log_on

    @log_on.setter
    def log_on(self, value: bool) -> None:
        self._log_on = bool(value)
        for level in ("debug", "info", "warning", "error", "critical"):
            setattr(self, f"log_{level}", getattr(self.logger, level) if value else _nothing)


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Log nothing."""
