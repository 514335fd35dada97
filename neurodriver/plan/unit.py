"""``Unit``: a kernel with what its arguments stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codegen.kernel import Kernel
from .memory import LANES


@dataclass
class Unit:
    """One kernel with what its arguments stand for.

    Attributes
    ----------
    kernel : Kernel
    groups : tuple of int
        Groups it advances.
    count : int
        Components it loops over.
    values : dict
        Argument key -> array, int or float; rings are looked up in the memory.
    cost : (slices,) float64
        Estimated work of each ``grain`` components.
    stepwise : bool
        Whether an instance launches it.
    grain : int
        Components of a thread at least.
    spread : bool
        Whether threads share a component, on a GPU.
    idle : bool
        Whether what they share is nothing at most steps.
    sources : dict of (variable, group number) to int
        Whose events it deals out -> the first of its sources, on a GPU.
    """

    kernel: Kernel
    groups: tuple[int, ...]
    count: int
    values: dict[str, Any]
    cost: NDArray[np.float64]
    stepwise: bool = False
    grain: int = LANES
    spread: bool = False
    idle: bool = False
    sources: dict[tuple[str, int], int] = field(default_factory=dict)
