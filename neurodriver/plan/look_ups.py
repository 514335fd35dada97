"""Look-ups about each cell of an own axis, which are made before the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..circuit.axis import Axis
from ..model.language import to_text, tree


@dataclass(frozen=True)
class LookUp:
    """A look-up about each cell of an own axis, which is made before the run.

    Attributes
    ----------
    name : str
        Of the rows with first and last index.
    first, last : (n,) int32
        For each index along the own axis; they may lie beyond the ends.
    even : bool
        Whether all runs have one length and the first index grows evenly: no table is needed.
    inside : bool
        Whether all of every run exists.
    """

    name: str
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    even: bool
    inside: bool

    @property
    def most(self) -> int:
        """Length of the longest run."""
        return int((self.last - self.first).max()) + 1

    @property
    def stride(self) -> int:
        """How many cells further the run of the next cell begins, where it is even."""
        return int(self.first[1] - self.first[0]) if len(self.first) > 1 else 0


def look_up_name(node: tree.Call, label: str) -> str:
    """Return the name of a look-up: what it looks up where, and the text of its amount."""
    over, *given = node.arguments
    assert isinstance(over, tree.Path)
    return f"{node.name} {label}.{over.names[1]} {', '.join(map(to_text, given))}"


def look_up_of(name: str, axis: Axis, first: NDArray[np.int64], last: NDArray[np.int64]) -> LookUp:
    """Return a look-up from first and last index of each run."""
    low, high = axis.valid(first, last)
    lengths, steps = last - first, np.diff(first)
    even = bool((lengths == lengths[0]).all() and (steps == steps[:1]).all() and lengths[0] >= 0)
    inside = bool((low == first).all() and (high == last).all())
    return LookUp(name, first.astype(np.int32), last.astype(np.int32), even, inside)
