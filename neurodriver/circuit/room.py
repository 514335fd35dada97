"""Whether arrays of some size fit into free memory, before they are made."""

from __future__ import annotations

from ..errors import CircuitError
from ..system import free_memory

GIB = 2.0**30

FEWER = "take fewer cells or a shorter reach"
"""What to do where rules make too many connections."""


def fits(size: float) -> bool:
    """Whether so many bytes are free."""
    return size <= free_memory()


def check_free(size: float, what: str, fix: str = FEWER) -> None:
    """Raise CircuitError where ``size`` bytes are more than the free memory.

    Parameters
    ----------
    what : str
        What needs them, in the plural.
    fix : str
        What to do.
    """
    if size > (room := free_memory()):
        free = f"{room / GIB:,.1f} GiB of memory are free"
        raise CircuitError(f"{what} need {size / GIB:,.1f} GiB, {free}; {fix}")
