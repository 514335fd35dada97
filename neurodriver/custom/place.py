"""What instances need of the memory that a backend computes in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from ..codegen.component import Shape
from ..codegen.kernel import Kernel
from ..codegen.template import Signature
from ..plan.memory import AccessBuffer

if TYPE_CHECKING:
    from ..plan.program import Unit

Arrays = dict[str, Any]
"""Key of a column (see ``plan.columns_of``) -> array in the backend's memory."""


class Place(Protocol):
    """The memory of one backend.

    Attributes
    ----------
    held : dict of int to Arrays
        The arrays of each instance, by the number of its group.
    """

    held: dict[int, Arrays]

    def current(self) -> AbstractContextManager[None]:
        """Get ready for a user's code; what it has begun is over at the end."""
        ...

    def buffer(self, variable: str, step: int) -> AccessBuffer:
        """Return where a variable is read at a step."""
        ...

    def pointers(self, number: int, step: int) -> dict[str, int]:
        """Return the addresses of a group's segments in row ``step + 1``."""
        ...

    def state(self, unit: Unit, name: str) -> Any:
        """Return the array of a hidden state of a unit; None where it has none of that name."""
        ...

    def store(self, address: int, column: Any, count: int) -> None:
        """Copy a column of ``count`` numbers to an address."""
        ...

    def inputs(self, number: int, access: str, step: int, out: Any, first_only: bool) -> None:
        """Write the sums of an access's inputs, or the first inputs, into an array."""
        ...

    def note(self, number: int, variable: str, step: int) -> None:
        """Note whether row ``step + 1`` of a group holds events: silent rows are not read."""
        ...

    def template(self, shape: Shape, text: str, signature: Signature) -> Kernel:
        """Return the kernel around the text of a template."""
        ...
