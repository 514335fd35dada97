"""Values that have been read of a simulation: copies, to whose elements nothing is assigned."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NeurodriverError


class CopiedValues(np.ndarray):
    """Values that have been read; an assignment to their elements would be lost."""

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NeurodriverError(
            "these values are a copy; set those of some components, as in lpu[cells[3]].V = -60.0, "
            "or change np.array(values) and set all"
        )

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return what is computed from the values as an array like any other."""
        if array is self:  # view.V += 1 sets what is added
            return self
        return array[()] if return_scalar else np.asarray(array)

    def copy(self, order: Any = "C") -> Any:
        """Return an array like any other."""
        return np.array(self, order=order)


def copied(values: Any) -> Any:
    """Return an array, or the arrays of a list, as copies."""
    many = isinstance(values, list)
    return [one.view(CopiedValues) for one in values] if many else values.view(CopiedValues)
