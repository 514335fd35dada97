"""Values of parameters and states that are vectors -> those of their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import Faults
from ..model.component import NDComponent
from ..model.vectors import elements
from ..quantities import is_quantity
from .distributions import Distribution


def with_elements(
    model: type[NDComponent], given: dict[str, Any], faults: Faults
) -> dict[str, Any]:
    """Return keywords of a population with the elements of vectors in the place of vectors.

    Parameters
    ----------
    given : dict
        The value of a vector is one number or one distribution for all elements, (size,) numbers,
        or one number for each component and element: (count, size), or the population's shape +
        (size,).
    """
    out: dict[str, Any] = {}
    for name, value in given.items():
        vector = name if name in model.vectors else name.removeprefix("init")
        size = model.vectors.get(vector, 0)
        if not size or (name == vector and f"{name}__0" not in model.params):
            out[name] = value
            continue
        own = elements(name, size)
        if isinstance(value, Distribution) or is_quantity(value) or np.ndim(value) == 0:
            out |= dict.fromkeys(own, value)
            continue
        columns = np.asarray(value)
        if columns.shape[-1] != size:
            want = f"its last axis has {size} elements"
            faults.add(f"{model.__name__}.{name}: {want}, got shape {columns.shape}")
            columns = np.zeros(size)
        for place, one in enumerate(own):
            out[one] = columns[..., place]
    return out
