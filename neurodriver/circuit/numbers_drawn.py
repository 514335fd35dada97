"""Numbers of components that are drawn from a distribution, each by its place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .distributions import Distribution
from .drawing import Rows
from .projections import key_of
from .rules import Ends, OneToOne


def numbers_drawn(
    law: Distribution, count: int, seed: int, name: str, what: str
) -> NDArray[np.float64]:
    """Return numbers, (count,): a function of seed, names and place."""
    every = range(count)
    rows = Rows(OneToOne(), Ends(every, every), key_of(seed, name, what), law.law(), law.law())
    rows.place(np.empty(count, dtype=np.int32))
    out = np.empty(count)
    rows.values("weight", out)
    return out
