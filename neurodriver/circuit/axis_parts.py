"""Parts of arrays and of populations, by indices along named axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError, near, quoted
from .space import AxisGrid, Space


def part(
    values: NDArray[Any], axes: Sequence[str], at: Mapping[str, Any], given: Any, said: str
) -> None:
    """Set a part of an array, by indices along its axes."""
    if not isinstance(at, Mapping):
        raise NeurodriverError(f"{said}: 'at' is a mapping of axes to indices, got {at!r:.60}")
    for name in at:
        if name not in axes:
            among = ", ".join(axes) or "none"
            hint = near(str(name), axes)
            raise NeurodriverError(f"{said}: no axis {quoted(name)}{hint}; its axes are {among}")
    index = tuple(at.get(name, slice(None)) for name in axes)
    try:
        values[index] = given
    except (IndexError, TypeError, ValueError) as error:
        raise NeurodriverError(f"{said}: {error}") from None


def rows_at(space: Space | None, at: Mapping[str, Any], said: str) -> NDArray[np.int64]:
    """Return the numbers of the cells of a population at indices along its axes."""
    if not isinstance(space, AxisGrid):
        raise NeurodriverError(f"{said}: 'at' needs a population on axes")
    chosen = np.zeros(space.extent, bool)
    part(chosen, space.names, at, True, said)
    numbers = space.numbers()[chosen]
    return numbers[numbers >= 0]
