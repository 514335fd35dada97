"""The scale of a path: one over the number of inputs that are expected to be active.

So paths from large and small layers, and from dense and sparse activity, have equal effects.
"""

from __future__ import annotations

import math

MOST_EXTRA = 2
"""Active inputs above the expected number, which chance may give a receiver of a sparse path."""


def rounded(x: float) -> int:
    """Return the nearest whole number, halves away from zero; x is not negative."""
    return math.floor(x + 0.5)


def activity_scale(active: float, senders: int, inputs: float) -> float:
    """Return one over the expected number of active inputs of a receiver.

    Parameters
    ----------
    active : float
        Share of active units in the sending layer, its ``nominal``.
    senders : int
        Units of the sending layer.
    inputs : float
        Mean number of connections of a receiver.
    """
    most = max(rounded(active * senders), 1)
    if inputs == senders:
        return 1.0 / most
    expected = max(rounded(active * inputs), 1) + MOST_EXTRA
    return 1.0 / min(expected, max(math.floor(min(inputs, most)), 1))
