"""What instances need of the memory that a backend computes in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..plan.arrays import Key
from .memory import AccessBuffer


class MemorySpace(Protocol):
    """The memory of one backend."""

    def array(self, key: Key) -> Any:
        """Return an array of the program in the backend's memory, as a user's class knows it."""

    def current(self) -> AbstractContextManager[None]:
        """Get ready for a user's code; what it has begun is over at the end."""

    def buffer(self, variable: str, step: int) -> AccessBuffer:
        """Return where a variable is read at a step."""

    def pointers(self, number: int, step: int) -> dict[str, int]:
        """Return the addresses of a group's segments in row ``step + 1``."""

    def store(self, address: int, column: Any, count: int) -> None:
        """Copy a column of ``count`` numbers to an address."""

    def inputs(self, number: int, access: str, step: int, out: Any, first_only: bool) -> None:
        """Write the sums of an access's inputs, or the first inputs, into an array."""

    def mark(self, number: int, variable: str, step: int) -> None:
        """Note whether row ``step + 1`` of a group holds events: silent rows are not read."""
