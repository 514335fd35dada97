"""How connections are followed from component to component: methods of `Circuit`."""

from __future__ import annotations

from .builders import BUILDERS
from .groups import Column


class CircuitNeighbours:
    """Base of `Circuit`: what leads to a component, and from it."""

    def inputs_of(self, uid: str) -> dict[str, Column]:
        """Return what leads to a component, also by rules whose connections are stored nowhere.

        Columns are ``variable``, ``access``, ``uid`` (of the sources), ``weight`` and ``delay``
        (s), one entry for each connection, in the order in which the component takes them.
        """
        return BUILDERS["inputs_of"](self, uid)  # type: ignore[return-value]

    def outputs_of(self, uid: str) -> dict[str, Column]:
        """Return where a component leads; ``uid`` are the targets. See `inputs_of`."""
        return BUILDERS["outputs_of"](self, uid)  # type: ignore[return-value]
