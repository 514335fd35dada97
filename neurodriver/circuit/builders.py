"""What makes circuits and saves them, by name: modules above `Circuit` enter their functions here.

So ``Circuit.from_file`` and the like need not know the modules that know `Circuit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .circuit import Circuit

BUILDERS: dict[str, Callable[..., Circuit]] = {}

F = TypeVar("F", bound=Callable[..., Any])


def builds(name: str) -> Callable[[F], F]:
    """Enter a function as what ``Circuit.<name>`` calls."""

    def enter(function: F) -> F:
        BUILDERS[name] = function
        return function

    return enter
