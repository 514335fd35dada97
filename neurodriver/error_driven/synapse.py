"""The rule of the synapses of a path: a spike adds the scaled weight to its target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity

from .neuron_text import SOURCE, UNIT, axon

MOST_WEIGHT = 1.6
"""Largest weight of a synapse: twice the largest structural weight."""

CARRIED = f"floor(weight * scale * {1 / UNIT:.1f}) / {1 / UNIT:.1f}"
"""What a spike carries, in the language of texts; ``scale`` is that of the path."""


def carried(weight: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return what spikes carry, in multiples of 2^-24; the same as `CARRIED`."""
    out: NDArray[np.float64] = np.floor(weight * scale / UNIT) * UNIT
    return out


class AxonSynapse(Plasticity):
    """Synapse whose spikes carry its weight: that of Axon times the scale of its path.

    The rule itself does not change the weight. The texts of `Trainer` set it at the end of a trial.
    """

    reference = SOURCE
    params = {
        "w_max": Parameter(
            "1", default=MOST_WEIGHT, above=0.0, doc="largest weight",
            source=axon("2 SWts.Limit.Max"),
        )
    }  # fmt: skip
    bounds = (0.0, "w_max")
