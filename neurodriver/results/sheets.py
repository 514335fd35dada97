"""Recorded rows in the shape of a population with axes, such as (rows, y, x)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecordingError, near, quoted

AXES = "axes"
"""Attribute of a recording: population -> number of cells along each of its axes, as JSON."""

MOST_TEXT = 60_000
"""Largest number of characters of the attribute; HDF5 limits those of an object to 64 KiB."""

Sizes = Mapping[str, int]
"""Axis -> number of cells along it; the last axis is the fastest."""


def axes_attribute(sizes: Mapping[str, Sizes]) -> dict[str, str]:
    """Return the attribute with the axes of populations, or none if it would be too long."""
    text = json.dumps(sizes)
    return {AXES: text} if sizes and len(text) < MOST_TEXT else {}


def axes_of(attributes: Mapping[str, Any]) -> dict[str, Sizes]:
    """Return the axes in the attributes of a recording, or none if they cannot be read."""
    try:
        found = json.loads(str(attributes.get(AXES, "{}")))
        return {str(p): {str(a): int(n) for a, n in axes.items()} for p, axes in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def chosen(name: str, populations: Sequence[str], axes: Mapping[str, Sizes], where: str) -> str:
    """Return the population with this name, or without a name the only one with axes.

    Raises
    ------
    RecordingError
        If no population of this name has axes, or if several have and no name is given.
    """
    there = [one for one in populations if one in axes]
    if name and name not in there:
        has = ", ".join(map(quoted, there)) or "none"
        say = f"no population {quoted(name)} on axes{near(name, there)}; there are: {has}"
        raise RecordingError(f"{where}: {say}")
    if not name and len(there) != 1:
        has = ", ".join(map(quoted, there)) or "none"
        say = f"name one of the populations on axes; there are: {has}"
        raise RecordingError(f"{where}: {say}")
    return name or there[0]


def in_shape(
    values: npt.NDArray[Any], uids: Sequence[str], sizes: Sizes, where: str
) -> npt.NDArray[Any]:
    """Return rows of the cells of a population in the shape of its axes.

    Parameters
    ----------
    values : (rows, n) array
    uids : sequence of str
        The cell of each column: ``<population>/<number>``.
    where : str
        Name of the values in error messages.

    Returns
    -------
    array
        (rows, ...), with the cells that were recorded along each axis.

    Raises
    ------
    RecordingError
        If the recorded cells are not a rectangular block of indices along the axes.
    """
    extent = tuple(sizes.values())
    numbers = np.array([int(uid.rpartition("/")[2]) for uid in uids], dtype=np.int64)
    index = np.unravel_index(numbers, extent)
    kept = [np.unique(one) for one in index]
    shape = tuple(map(len, kept))
    flat = np.ravel_multi_index(
        [np.searchsorted(k, one) for k, one in zip(kept, index, strict=True)], shape
    )
    if len(numbers) != np.prod(shape) or len(np.unique(flat)) < len(flat):
        named = ", ".join(f"{name} ({size})" for name, size in sizes.items())
        say = f"the {len(numbers):,} recorded cells are no block of indices along {named}"
        raise RecordingError(f"{where}: {say}; record the population, or a slice of it")
    out: npt.NDArray[Any] = values[:, np.argsort(flat)].reshape(len(values), *shape)
    return out
