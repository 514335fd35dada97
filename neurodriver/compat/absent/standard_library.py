"""Names of ``future.standard_library``: Python 3 needs nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["hooks", "install_aliases", "install_hooks", "remove_hooks"]


def install_aliases() -> None:
    """Do nothing."""


def install_hooks() -> None:
    """Do nothing."""


def remove_hooks() -> None:
    """Do nothing."""


@contextmanager
def hooks() -> Iterator[None]:
    """Do nothing for a while."""
    yield
