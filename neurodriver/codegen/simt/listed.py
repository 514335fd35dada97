"""Loops of a text over connections, by a thread of a GPU."""

from __future__ import annotations

from .thread_sums import ThreadSum


class ListedThreadSum(ThreadSum):
    """Writes what a thread of a GPU does for a sum that nothing reads."""

    def sum(self) -> list[str]:
        return [f"nd_x_{self.name}[nd_i] = 0;"]
