"""The sigmoidal function between linear weights, which learn, and the weights of synapses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

GAIN = 6
"""Exponent of the contrast."""


def contrast(linear: Reals) -> Reals:
    """Return ``2 / (1 + ((1 - l) / l)^6)`` of linear weights l: 0 at 0, 1 at 0.5, 2 at 1.

    The weight of a synapse is this factor times its structural weight.
    """
    up, down = linear * linear, (1 - linear) * (1 - linear)
    up, down = up * up * up, down * down * down
    out: Reals = 2 * up / (up + down)
    return out


def linear_of(weight: Reals, structural: Reals) -> Reals:
    """Return the linear weights for which ``structural * contrast(linear)`` is the weight."""
    h = np.clip(weight / structural / 2, 0, 1)
    with np.errstate(divide="ignore"):
        out: Reals = 1 / (1 + ((1 - h) / h) ** (1 / GAIN))
    return out
