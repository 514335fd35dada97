"""``ProgramCache``: values that were computed for a program, until the program changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from ..plan.program import Program

T = TypeVar("T")


class ProgramCache:
    """Values by key, which are valid for one program."""

    def __init__(self) -> None:
        self._program: Program | None = None
        self._values: dict[Hashable, Any] = {}

    def get(self, program: Program, key: Hashable, find: Callable[[], T]) -> T:
        """Return the value of a key; ``find`` computes it the first time."""
        if program is not self._program:
            self._program, self._values = program, {}
        if key not in self._values:
            self._values[key] = find()
        value: T = self._values[key]
        return value
