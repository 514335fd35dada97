"""Groups that leave out steps -> CUDA text: what is skipped then, and what values are meanwhile."""

from __future__ import annotations

from ...model.text import block
from ..component import ComponentText


class ThreadPace:
    """Writes what depends on whether a group is computed in a step."""

    def __init__(self, component: ComponentText) -> None:
        self.component = component
        self.slow = (component.spec.every, component.spec.first) != (1, 0)

    def head(self) -> list[str]:
        """Declare whether the group is computed in this step."""
        every, first = self.component.spec.every, self.component.spec.first
        due = f"nd_k >= {first} && (nd_k - {first}) % {every} == 0"
        return [f"const bool nd_due = {due};"] if self.slow else []

    def if_due(self, lines: list[str]) -> list[str]:
        """Return lines that are left out where the group is not computed."""
        return block("if (nd_due)", lines) if self.slow else lines

    def output(self, name: str, row: str = "") -> str:
        """Return an updated variable; in a step that is left out, what a row has, or 0."""
        computed, held = self.component.output(name), f"({row})[nd_at]" if row else "0"
        return f"(nd_due ? {computed} : {held})" if self.slow else computed
